//! Between an editor and an agent that may go away: a server that is restarted, or another program that hosted the
//! sessions.
//!
//! The relay passes lines on. It remembers how the editor said hello; when the agent is gone it answers what the editor
//! still waits for with an error, withdraws what the agent had asked, and says hello for the editor to the next agent.
//! Sessions that the editor had opened need nothing: a prompt opens them again.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::envelope::{Envelope, INTERNAL, answer, failure};
use crate::lines::{MAX_LINE, next_line};

/// How long an agent may take to answer a hello that the relay says for the editor.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lines of one side that wait for the other.
const WAITING: usize = 64;

/// The id of a hello that the relay says for the editor. No editor has such an id.
const HELLO: &str = "weir-relay-hello";

/// What the person is told of an agent that does not answer it.
const SILENT: &str = "the server does not answer; try again";

/// Where an agent can be reached.
pub type AgentStreams = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

/// What both sides wait for.
#[derive(Default)]
struct Relay {
    hello: Option<String>,
    /// Requests of the editor.
    waiting: HashSet<String>,
    /// Requests of the agent.
    asked: HashSet<String>,
}

/// Passes messages between an editor and the agents that `connect` finds, one after another, until the editor closes its
/// end. `connect` is called for the first message of the editor, and for the next one after an agent is gone.
///
/// # Errors
/// If the editor cannot be read from or written to.
pub async fn relay<C, F>(
    input: impl AsyncRead + Send + Unpin + 'static,
    mut output: impl AsyncWrite + Unpin,
    mut connect: C,
) -> io::Result<()>
where
    C: FnMut() -> F,
    F: Future<Output = Result<AgentStreams, String>>,
{
    let mut editor = lines_of(input);
    let mut relay = Relay::default();
    // Nothing is done before the editor wants something.
    while let Some(first) = editor.recv().await {
        let first = first?;
        match connect().await {
            Ok(agent) => {
                if relay.pass(&mut editor, &mut output, first, agent).await? {
                    return Ok(());
                }
                relay.agent_is_gone(&mut output).await?;
            }
            Err(reason) => refuse(&mut output, &first, &reason).await?,
        }
    }
    Ok(())
}

/// Lines as they come, read by a task of its own: waiting for the next one can be given up without losing a part of it.
fn lines_of(input: impl AsyncRead + Send + Unpin + 'static) -> mpsc::Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        while let Some(line) = next_line(&mut input, MAX_LINE).await.transpose() {
            let is_over = line.is_err();
            if sender.send(line).await.is_err() || is_over {
                return;
            }
        }
    });
    receiver
}

async fn write(output: &mut (impl AsyncWrite + Unpin), line: &str) -> io::Result<()> {
    output.write_all(format!("{line}\n").as_bytes()).await?;
    output.flush().await
}

/// Answers a line that cannot be passed on.
async fn refuse(output: &mut (impl AsyncWrite + Unpin), line: &str, reason: &str) -> io::Result<()> {
    match answer(line, INTERNAL, reason) {
        Some(answer) => write(output, &answer).await,
        None => Ok(()),
    }
}

impl Relay {
    /// Passes messages on until one side closes; whether that was the editor.
    async fn pass(
        &mut self,
        editor: &mut mpsc::Receiver<io::Result<String>>,
        output: &mut (impl AsyncWrite + Unpin),
        first: String,
        (from, mut to): AgentStreams,
    ) -> io::Result<bool> {
        let mut agent = lines_of(from);
        let is_hello = Envelope::of(&first).is_some_and(|line| line.method() == Some("initialize"));
        if let Some(hello) = self.hello.clone().filter(|_| !is_hello)
            && let Err(reason) = timeout(PATIENCE, say_hello(&hello, &mut agent, &mut to))
                .await
                .unwrap_or_else(|_| Err(SILENT.to_owned()))
        {
            refuse(output, &first, &reason).await?;
            return Ok(false);
        }
        // An answer to something that an earlier agent asked is not for this one.
        if self.note_from_editor(&first) && write(&mut to, &first).await.is_err() {
            return Ok(false);
        }
        loop {
            tokio::select! {
                line = editor.recv() => {
                    let Some(line) = line.transpose()? else { return Ok(true) };
                    if self.note_from_editor(&line) && write(&mut to, &line).await.is_err() {
                        return Ok(false);
                    }
                }
                line = agent.recv() => {
                    let Some(Ok(line)) = line else { return Ok(false) };
                    self.note_from_agent(&line);
                    write(output, &line).await?;
                }
            }
        }
    }

    /// Notes what the editor sent; whether it is to be passed on.
    fn note_from_editor(&mut self, line: &str) -> bool {
        let Some(envelope) = Envelope::of(line) else { return true };
        let Some(key) = envelope.key() else { return true };
        match envelope.method() {
            Some(method) => {
                if method == "initialize" {
                    self.hello = Some(line.to_owned());
                }
                self.waiting.insert(key);
                true
            }
            None => self.asked.remove(&key),
        }
    }

    fn note_from_agent(&mut self, line: &str) {
        let Some(envelope) = Envelope::of(line) else { return };
        let Some(key) = envelope.key() else { return };
        if envelope.method().is_some() {
            self.asked.insert(key);
        } else {
            self.waiting.remove(&key);
        }
    }

    async fn agent_is_gone(&mut self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let reason = "the connection to the server was lost, and the prompt may still be running there; send it again to continue";
        for key in self.waiting.drain() {
            let id: Value = serde_json::from_str(&key).unwrap_or_default();
            write(output, &failure(&id, reason)).await?;
        }
        for key in self.asked.drain() {
            let id: Value = serde_json::from_str(&key).unwrap_or_default();
            let withdrawn =
                json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}});
            write(output, &withdrawn.to_string()).await?;
        }
        Ok(())
    }
}

/// Says hello for the editor.
///
/// # Errors
/// Why the agent cannot be used, for the person.
async fn say_hello(
    hello: &str,
    agent: &mut mpsc::Receiver<io::Result<String>>,
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<(), String> {
    let silent = || SILENT.to_owned();
    let mut message: Value = serde_json::from_str(hello).map_err(|_| silent())?;
    if let Some(members) = message.as_object_mut() {
        members.insert("id".to_owned(), HELLO.into());
    }
    write(to, &message.to_string()).await.map_err(|_| silent())?;
    // It says nothing else before.
    while let Some(Ok(line)) = agent.recv().await {
        let Some(envelope) = Envelope::of(&line).filter(|envelope| envelope.id == HELLO) else { continue };
        return envelope.refusal().map_or(Ok(()), Err);
    }
    Err(silent())
}
