//! A minimal event server: sends the lines of a process to all listeners, and stores nothing.

use std::convert::Infallible;

use axum::Router;
use axum::extract::State;
use axum::response::sse::{Event, Sse};
use axum::routing::get;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::broadcast;

use super::sse::Place;
use crate::live::cli_program;

/// A running relay.
#[derive(Debug)]
pub(super) struct Relay {
    pub(super) place: Place,
    lines: broadcast::Sender<String>,
}

impl Relay {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let (lines, _) = broadcast::channel(1 << 16);
        let router = Router::new().route("/events", get(events)).with_state(lines.clone());
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
            let _ = stream.set_nodelay(true);
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        let place = Place { address, path: "/events".into(), token: String::new(), begins_with: "ready" };
        Ok(Self { place, lines })
    }

    /// Plays a turn, and ends all streams after it.
    #[expect(clippy::disallowed_methods, reason = "the bare relay starts its process itself")]
    pub(super) async fn play(self, prompt: &str) -> anyhow::Result<()> {
        let mut child = tokio::process::Command::new(cli_program()?)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            anyhow::bail!("the child has no pipes");
        };
        let message =
            serde_json::json!({"type": "user", "uuid": "u", "message": {"role": "user", "content": prompt}});
        stdin.write_all(format!("{message}\n").as_bytes()).await?;
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next_line().await? {
            let is_last = line.contains("\"type\":\"result\"");
            // There may be no listeners any more.
            let _ = self.lines.send(line);
            if is_last {
                break;
            }
        }
        drop(stdin);
        child.wait().await?;
        // An empty line marks the end.
        let _ = self.lines.send(String::new());
        Ok(())
    }
}

async fn events(
    State(lines): State<broadcast::Sender<String>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let first = stream::once(async { Ok(Event::default().data("ready")) });
    let rest = stream::unfold(lines.subscribe(), |mut lines| async move {
        let line = lines.recv().await.ok().filter(|line| !line.is_empty())?;
        Some((Ok(Event::default().data(line)), lines))
    });
    Sse::new(first.chain(rest))
}
