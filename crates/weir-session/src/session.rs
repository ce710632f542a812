//! A session, for programs.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;
use weir_process::Process;
use weir_transcript::View;
use weir_wire::{HostRequest, MessageId, OutgoingMessage, RequestId, TextHandling};

use crate::ask::Decision;
use crate::calls::{Caller, channel};
use crate::driver::{Call, Driver, Facts, Launcher, OurSide};
use crate::error::SessionError;
use crate::feed::Updates;
use crate::fingerprint::Fingerprint;
use crate::machine::{Command, Machine, Now, Reply, SendMode, Ticket, TurnEnd};
use crate::message::Message;
use crate::options::SessionOptions;
use crate::status::Glance;

/// A session with the CLI.
///
/// It is a handle: clones refer to the same session. When the last one is dropped, the process is stopped. All
/// its futures can be dropped at any time; whatever they started continues without them.
///
/// ```no_run
/// # async fn example() -> Result<(), weir_session::SessionError> {
/// use weir_session::{Session, SessionOptions};
///
/// let session = Session::new(SessionOptions::new());
/// let answer = session.ask("What is a weir?").await?;
/// println!("{}", answer.text);
/// let answer = session.ask("And a sluice?").await?;
/// println!("{}", answer.text);
/// session.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session {
    calls: Caller,
}

/// An accepted message, through which to wait for its answer.
#[derive(Debug)]
pub struct Sent {
    /// Id of the message.
    pub id: MessageId,
    answer: oneshot::Receiver<Result<Arc<TurnEnd>, SessionError>>,
    /// The answer, once it has arrived.
    known: Option<Result<Arc<TurnEnd>, SessionError>>,
}

impl Sent {
    /// Waits for the end of the turn that answers the message. Cancel safe, and can be called again.
    pub async fn answer(&mut self) -> Result<Arc<TurnEnd>, SessionError> {
        match &self.known {
            Some(known) => known.clone(),
            None => {
                let answer = (&mut self.answer).await.unwrap_or(Err(SessionError::Stopped));
                self.known.insert(answer).clone()
            }
        }
    }
}

impl Session {
    /// Creates a session. Its process is started by the first message, or by [`Session::start`].
    ///
    /// Must be called in a tokio runtime with IO and time enabled.
    pub fn new(mut options: SessionOptions) -> Self {
        let (machine, side) = (machine(&mut options), OurSide::take(&mut options));
        Self::spawn(machine, Launcher::new(options), side)
    }

    /// Creates a session whose processes are provided by the caller, such as those of [`weir_process::memory`].
    /// Each time a process is needed, the next one is taken.
    pub fn over(mut options: SessionOptions, processes: mpsc::UnboundedReceiver<Process>) -> Self {
        let (machine, side) = (machine(&mut options), OurSide::take(&mut options));
        Self::spawn(machine, Launcher::provided(processes, options), side)
    }

    fn spawn(machine: Machine, launcher: Launcher, side: OurSide) -> Self {
        let (caller, calls) = channel();
        tokio::spawn(Box::new(Driver::new(machine, launcher, calls, side)).run());
        Self { calls: caller }
    }

    pub(crate) fn glance(&self) -> &Glance {
        self.calls.glance()
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.calls.is_closed()
    }

    /// Continues with other options.
    ///
    /// The session stays the same; `conversation` and `history` are ignored. Limits and the handler take effect
    /// at once, and so does an observer, if one is given. If the process would have to be started differently,
    /// it is replaced once nothing is running, not even in the background; waiting messages go to the new one,
    /// which has the same history.
    pub fn reconfigure(&self, options: SessionOptions) {
        self.reconfigure_as(options, None);
    }

    pub(crate) fn reconfigure_as(&self, options: SessionOptions, fingerprint: Option<Fingerprint>) {
        // A session that is over needs no options.
        let _ = self.call(Call::Reconfigure(Box::new(options), fingerprint));
    }

    /// Starts the process now and waits until it is ready.
    pub async fn start(&self) -> Result<(), SessionError> {
        self.command(|ticket| Command::Start { ticket }).await.map(drop)
    }

    /// Sends a message, which waits for its turn. Returns once the message is accepted.
    pub async fn send(&self, message: impl Into<Message>) -> Result<Sent, SessionError> {
        self.send_as(message, SendMode::Queue).await
    }

    /// Sends a message into the running turn. If the CLI cannot report what became of such a message, it waits
    /// like any other.
    pub async fn steer(&self, message: impl Into<Message>) -> Result<Sent, SessionError> {
        self.send_as(message, SendMode::Steer).await
    }

    pub(crate) async fn send_as(
        &self,
        message: impl Into<Message>,
        mode: SendMode,
    ) -> Result<Sent, SessionError> {
        let Message { content, id, is_interpreted, origin, priority, is_note } = message.into();
        let id = id.unwrap_or_else(|| MessageId::new(Uuid::new_v4().to_string()));
        let handling = if is_interpreted { TextHandling::Interpreted } else { TextHandling::Escaped };
        let message = OutgoingMessage {
            uuid: Some(id.clone()),
            handling,
            priority,
            origin,
            is_note,
            ..OutgoingMessage::new(content)
        };
        let (reply, accepted) = oneshot::channel();
        let (waiter, answer) = oneshot::channel();
        let command = move |ticket| Command::Send { ticket, message: Box::new(message), mode };
        self.call(Call::Send(Box::new(command), reply, id.clone(), waiter))?;
        accepted.await.unwrap_or(Err(SessionError::Stopped))?;
        Ok(Sent { id, answer, known: None })
    }

    /// Sends a message and waits for its answer.
    ///
    /// # Errors
    /// [`SessionError::TurnFailed`] if the turn ended with an error, such as one of the model's API or a limit. To get
    /// such a turn as a value, wait for [`Sent::answer`].
    pub async fn ask(&self, message: impl Into<Message>) -> Result<Arc<TurnEnd>, SessionError> {
        self.send(message).await?.answer().await?.checked()
    }

    /// Sends a message and waits for its answer as a value. For a session whose answers have a schema:
    /// [`SessionOptions::output_schema`], or `SessionOptions::output_type` with the feature `schemars`.
    ///
    /// # Errors
    /// [`SessionError::Unstructured`] if the answer has no value, or one of another shape.
    pub async fn ask_as<T: serde::de::DeserializeOwned>(
        &self,
        message: impl Into<Message>,
    ) -> Result<T, SessionError> {
        self.ask(message).await?.value()
    }

    /// Cancels a message.
    pub async fn cancel(&self, message: &MessageId) -> Result<(), SessionError> {
        let message = message.clone();
        self.command(|ticket| Command::Cancel { ticket, message }).await.map(drop)
    }

    /// Ends the current turn: the one that is running, with every message that was sent into it, or else the
    /// next one, whose message is cancelled. It never runs later; anyone waiting for it gets
    /// [`SessionError::Interrupted`], or the turn as far as it got. Messages queued behind it stay, and so do
    /// background tasks. Returns when the turn has ended, and says whether there was one. A CLI that does not
    /// comply within [`crate::Limits::interrupt`] is ended, with its background tasks; the next message starts
    /// another one.
    pub async fn interrupt(&self) -> Result<bool, SessionError> {
        let reply = self.command(|ticket| Command::Interrupt { ticket, only: None }).await?;
        Ok(reply != Reply::NothingRuns)
    }

    /// Like [`Session::interrupt`], but does nothing if this message is already finished.
    pub async fn interrupt_message(&self, message: &MessageId) -> Result<bool, SessionError> {
        let only = Some(message.clone());
        let reply = self.command(|ticket| Command::Interrupt { ticket, only }).await?;
        Ok(reply != Reply::NothingRuns)
    }

    /// Answers a request of the CLI; the first answer counts.
    pub async fn answer(
        &self,
        request: &RequestId,
        decision: Decision,
        by: Option<String>,
    ) -> Result<(), SessionError> {
        let request = request.clone();
        self.command(|ticket| Command::Answer { ticket, request, decision, by }).await.map(drop)
    }

    /// Sends a control request. Most have a method of their own.
    pub async fn request(&self, request: HostRequest) -> Result<Value, SessionError> {
        let reply = self.command(|ticket| Command::Request { ticket, request: Box::new(request) }).await?;
        Ok(if let Reply::Answer(answer) = reply { answer } else { Value::Null })
    }

    /// The current view of the session.
    pub async fn view(&self) -> Result<Box<View>, SessionError> {
        let (reply, view) = oneshot::channel();
        self.call(Call::View(reply))?;
        view.await.map_err(|_| SessionError::Stopped)
    }

    /// Follows the session from now on.
    pub async fn follow(&self) -> Result<Updates, SessionError> {
        let (reply, updates) = oneshot::channel();
        self.call(Call::Follow(reply))?;
        updates.await.map_err(|_| SessionError::Stopped)
    }

    /// Current facts about the process.
    pub async fn facts(&self) -> Result<Facts, SessionError> {
        let (reply, facts) = oneshot::channel();
        self.call(Call::Facts(reply))?;
        facts.await.map_err(|_| SessionError::Stopped)
    }

    /// Waits until nothing is running, not even in the background.
    pub async fn settled(&self) -> Result<(), SessionError> {
        self.command(|ticket| Command::Settle { ticket }).await.map(drop)
    }

    /// Ends the process after its turn. The next message starts another one.
    pub async fn close(&self) -> Result<(), SessionError> {
        self.command(|ticket| Command::Close { ticket }).await.map(drop)
    }

    /// Like [`Session::close`], unless there is something to do: a start, a message, a turn, a background task.
    /// Says whether it was closed.
    pub async fn close_if_idle(&self) -> Result<bool, SessionError> {
        let reply = self.command(|ticket| Command::CloseIfIdle { ticket }).await?;
        Ok(reply != Reply::Busy)
    }

    /// Ends the session. When this returns, no process is left.
    pub async fn stop(&self) {
        // An error means that it is already over.
        let _ = self.command(|ticket| Command::Stop { ticket }).await;
        self.calls.closed().await;
    }

    /// Like [`Session::stop`], but at once: nothing is interrupted first, and the process gets SIGKILL, with
    /// everything it started. Also works while [`Session::stop`] is waiting.
    pub async fn kill(&self) {
        // An error means that it is already over.
        let _ = self.command(|ticket| Command::Kill { ticket }).await;
        self.calls.closed().await;
    }

    async fn command(
        &self,
        command: impl FnOnce(Ticket) -> Command + Send + 'static,
    ) -> Result<Reply, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.call(Call::Command(Box::new(command), reply))?;
        answer.await.unwrap_or(Err(SessionError::Stopped))
    }

    fn call(&self, call: Call) -> Result<(), SessionError> {
        if self.calls.send(call) { Ok(()) } else { Err(SessionError::Stopped) }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("over", &self.calls.is_closed()).finish()
    }
}

fn machine(options: &mut SessionOptions) -> Machine {
    let now = Now { instant: tokio::time::Instant::now().into_std(), unix_ms: 0 };
    let settings = options.machine_settings();
    match options.history.take() {
        Some(history) => Machine::with_history(settings, *history, now),
        // Also for a shared fold: the machine's own one is not used then.
        None => Machine::new(settings, now),
    }
}
