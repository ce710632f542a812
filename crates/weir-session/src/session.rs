//! A conversation, for programs.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;
use weir_process::Process;
use weir_transcript::View;
use weir_wire::{
    HostRequest, InitializeRequest, MessageId, OutgoingContent, OutgoingMessage, RequestId, TaskId,
};

use crate::ask::Decision;
use crate::driver::{Call, Driver, Facts, Launcher};
use crate::error::SessionError;
use crate::feed::Updates;
use crate::handler::Handler;
use crate::machine::{Command, Machine, MachineSettings, Now, Reply, SendMode, Ticket, TurnEnd};
use crate::observer::Observer;
use crate::options::{Conversation, SessionOptions};
use crate::status::Glance;

/// Calls that may wait for the driver.
const WAITING_CALLS: usize = 32;

/// A conversation with the CLI.
///
/// It is a handle: cloning it gives another one to the same conversation. When the last one is dropped, the
/// process is stopped. Every future of it can be dropped at any time; what was begun goes on without it.
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
    calls: mpsc::Sender<Box<Call>>,
    glance: Arc<Glance>,
}

/// A message that was accepted, and where its answer will come.
#[derive(Debug)]
pub struct Sent {
    /// Names the message.
    pub id: MessageId,
    answer: oneshot::Receiver<Result<Arc<TurnEnd>, SessionError>>,
    /// The answer, once it has come.
    known: Option<Result<Arc<TurnEnd>, SessionError>>,
}

impl Sent {
    /// Waits for the end of the turn that answers the message. Cancel safe, and can be asked again.
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
    /// A conversation. Its process is started by the first message, or by [`Session::start`].
    ///
    /// Must be called in a tokio runtime with IO and time enabled.
    pub fn new(mut options: SessionOptions) -> Self {
        let machine = machine(&mut options);
        let (handler, observer) = (options.handler.clone(), options.observer.take());
        let launcher = Launcher::new(options);
        Self::spawn(machine, launcher, handler, observer)
    }

    /// A conversation with processes that somebody else provides, such as those of [`weir_process::memory`].
    /// Each time that a process is needed, the next one is taken.
    pub fn over(mut options: SessionOptions, processes: mpsc::UnboundedReceiver<Process>) -> Self {
        let machine = machine(&mut options);
        let (handler, observer) = (options.handler.clone(), options.observer.take());
        let launcher = Launcher::provided(processes, options.stop);
        Self::spawn(machine, launcher, handler, observer)
    }

    fn spawn(
        machine: Machine,
        launcher: Launcher,
        handler: Option<Arc<dyn Handler>>,
        observer: Option<Box<dyn Observer>>,
    ) -> Self {
        let (sender, calls) = mpsc::channel(WAITING_CALLS);
        let glance = Arc::new(Glance::default());
        let driver = Box::new(Driver::new(machine, launcher, calls, handler, observer, Arc::clone(&glance)));
        tokio::spawn(driver.run());
        Self { calls: sender, glance }
    }

    pub(crate) fn glance(&self) -> &Glance {
        &self.glance
    }

    /// Whether it has been stopped.
    pub fn is_over(&self) -> bool {
        self.calls.is_closed()
    }

    /// Lets somebody else decide and watch from now on.
    pub(crate) fn adopt(&self, handler: Option<Arc<dyn Handler>>, observer: Option<Box<dyn Observer>>) {
        // Nobody has used the session yet, so there is room.
        let _ = self.calls.try_send(Box::new(Call::Adopt(handler, observer)));
    }

    /// Starts the process now and waits until it is ready.
    pub async fn start(&self) -> Result<(), SessionError> {
        self.command(|ticket| Command::Start { ticket }).await.map(drop)
    }

    /// Sends a message; it waits for its turn. Comes back once the message is accepted.
    pub async fn send(&self, message: impl Into<Message>) -> Result<Sent, SessionError> {
        self.send_as(message, SendMode::Queue).await
    }

    /// Sends a message into the running turn. Where the CLI cannot say what became of such a message, it waits
    /// like any other.
    pub async fn steer(&self, message: impl Into<Message>) -> Result<Sent, SessionError> {
        self.send_as(message, SendMode::Steer).await
    }

    pub(crate) async fn send_as(
        &self,
        message: impl Into<Message>,
        mode: SendMode,
    ) -> Result<Sent, SessionError> {
        let Message { content, id } = message.into();
        let id = id.unwrap_or_else(|| MessageId::new(Uuid::new_v4().to_string()));
        let message =
            OutgoingMessage { content, uuid: Some(id.clone()), session_id: None, parent_tool_use_id: None };
        let (reply, accepted) = oneshot::channel();
        let (waiter, answer) = oneshot::channel();
        let command = move |ticket| Command::Send { ticket, message: Box::new(message), mode };
        self.call(Call::Send(Box::new(command), reply, id.clone(), waiter)).await?;
        accepted.await.unwrap_or(Err(SessionError::Stopped))?;
        Ok(Sent { id, answer, known: None })
    }

    /// Sends a message and waits for its answer.
    pub async fn ask(&self, message: impl Into<Message>) -> Result<Arc<TurnEnd>, SessionError> {
        self.send(message).await?.answer().await
    }

    /// Takes a message back.
    pub async fn cancel(&self, message: &MessageId) -> Result<(), SessionError> {
        let message = message.clone();
        self.command(|ticket| Command::Cancel { ticket, message }).await.map(drop)
    }

    /// Ends the running turn. Says whether there was one.
    pub async fn interrupt(&self) -> Result<bool, SessionError> {
        let reply = self.command(|ticket| Command::Interrupt { ticket }).await?;
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

    /// Uses another model from the next request on; none for the default.
    pub async fn set_model(&self, model: Option<String>) -> Result<(), SessionError> {
        self.request(HostRequest::SetModel { model }).await.map(drop)
    }

    /// Uses another permission mode from now on.
    pub async fn set_permission_mode(&self, mode: impl Into<String>) -> Result<(), SessionError> {
        self.request(HostRequest::SetPermissionMode { mode: mode.into() }).await.map(drop)
    }

    /// How the MCP servers are.
    pub async fn mcp_status(&self) -> Result<Value, SessionError> {
        self.request(HostRequest::McpStatus).await
    }

    /// What the context is filled with.
    pub async fn context_usage(&self) -> Result<Value, SessionError> {
        self.request(HostRequest::GetContextUsage).await
    }

    /// Ends a task that runs in the background.
    pub async fn stop_task(&self, task: &TaskId) -> Result<(), SessionError> {
        self.request(HostRequest::StopTask { task_id: task.clone() }).await.map(drop)
    }

    /// Puts files back to how they were at a message, or says what that would change.
    pub async fn rewind_files(&self, message: &MessageId, dry_run: bool) -> Result<Value, SessionError> {
        self.request(HostRequest::RewindFiles { user_message_id: message.clone(), dry_run }).await
    }

    /// Gives the conversation a title.
    pub async fn rename(&self, title: impl Into<String>) -> Result<(), SessionError> {
        self.request(HostRequest::RenameSession { title: title.into() }).await.map(drop)
    }

    /// Any other control request.
    pub async fn request(&self, request: HostRequest) -> Result<Value, SessionError> {
        let reply = self.command(|ticket| Command::Request { ticket, request: Box::new(request) }).await?;
        Ok(if let Reply::Answer(answer) = reply { answer } else { Value::Null })
    }

    /// The conversation as it stands.
    pub async fn view(&self) -> Result<Box<View>, SessionError> {
        let (reply, view) = oneshot::channel();
        self.call(Call::View(reply)).await?;
        view.await.map_err(|_| SessionError::Stopped)
    }

    /// Follows the conversation from here on.
    pub async fn follow(&self) -> Result<Updates, SessionError> {
        let (reply, updates) = oneshot::channel();
        self.call(Call::Follow(reply)).await?;
        updates.await.map_err(|_| SessionError::Stopped)
    }

    /// What is known of the process.
    pub async fn facts(&self) -> Result<Facts, SessionError> {
        let (reply, facts) = oneshot::channel();
        self.call(Call::Facts(reply)).await?;
        facts.await.map_err(|_| SessionError::Stopped)
    }

    /// Waits until nothing runs, in the background either.
    pub async fn settled(&self) -> Result<(), SessionError> {
        self.command(|ticket| Command::Settle { ticket }).await.map(drop)
    }

    /// Ends the process when its turn has ended. The next message starts another one.
    pub async fn close(&self) -> Result<(), SessionError> {
        self.command(|ticket| Command::Close { ticket }).await.map(drop)
    }

    /// Ends everything. When this returns, no process is left.
    pub async fn stop(&self) {
        // An error means that it is over already.
        let _ = self.command(|ticket| Command::Stop { ticket }).await;
        self.calls.closed().await;
    }

    async fn command(
        &self,
        command: impl FnOnce(Ticket) -> Command + Send + 'static,
    ) -> Result<Reply, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.call(Call::Command(Box::new(command), reply)).await?;
        answer.await.unwrap_or(Err(SessionError::Stopped))
    }

    async fn call(&self, call: Call) -> Result<(), SessionError> {
        self.calls.send(Box::new(call)).await.map_err(|_| SessionError::Stopped)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("over", &self.calls.is_closed()).finish()
    }
}

/// What is said to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// What it says.
    pub content: OutgoingContent,
    /// A name for it, which must be a UUID; one is made where none is given.
    pub id: Option<MessageId>,
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self { content: OutgoingContent::Text(text), id: None }
    }
}

impl From<OutgoingContent> for Message {
    fn from(content: OutgoingContent) -> Self {
        Self { content, id: None }
    }
}

fn machine(options: &mut SessionOptions) -> Machine {
    let now = Now { instant: tokio::time::Instant::now().into_std(), unix_ms: 0 };
    let settings = settings(options);
    match options.history.take() {
        Some(history) => Machine::with_history(settings, *history, now),
        None => Machine::new(settings, now),
    }
}

fn settings(options: &SessionOptions) -> MachineSettings {
    let (resume, fork) = match &options.conversation {
        Conversation::Resume(id) => (Some(id.clone()), false),
        Conversation::Fork(id) => (Some(id.clone()), true),
        _ => (None, false),
    };
    let initialize = InitializeRequest {
        hooks: options.hooks.clone(),
        sdk_mcp_servers: options.mcp_servers.clone(),
        extra: serde_json::Map::new(),
    };
    MachineSettings {
        resume,
        fork,
        initialize: Some(initialize),
        keep_process: options.keep_process,
        limits: options.limits.clone(),
        max_cost_usd: options.max_cost_usd,
        fold: options.fold.clone(),
    }
}
