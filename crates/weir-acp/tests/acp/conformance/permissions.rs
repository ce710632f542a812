//! Permissions: only an option that allows allows.

use super::*;

fn selected(option: &Value) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

fn of_kind(options: &Value, kind: &str) -> Value {
    let all = options.as_array().cloned().unwrap_or_default();
    let found = all.into_iter().find(|option| option["kind"] == kind);
    found.map(|option| option["optionId"].clone()).unwrap_or_default()
}

/// Waits for a request for permission and chooses the option of this kind.
pub(super) async fn answer(peer: &mut Peer, kind: &str) {
    let ask = peer.asked("session/request_permission").await;
    peer.respond(&ask["id"], selected(&of_kind(&ask["params"]["options"], kind))).await;
}

/// A client that is asked whether a file may be written.
struct Asked {
    client: Client,
    session: String,
    prompt: u64,
    ask: Value,
    file: std::path::PathBuf,
}

impl Asked {
    async fn open(subject: &impl Subject, name: &str) -> Result<Self, Outcome> {
        let (mut client, session) = Client::open(subject).await?;
        let file = subject.folder().join(name);
        let steps =
            json!([{"tool": "Write", "input": {"file_path": file, "content": "x\n"}}, {"text": "done"}]);
        let prompt = client.peer.prompt(&session, &script(&steps)).await;
        let ask = client.peer.asked("session/request_permission").await;
        Ok(Self { client, session, prompt, ask, file })
    }

    async fn respond(&mut self, answer: Value) {
        self.client.peer.respond(&self.ask["id"], answer).await;
    }

    fn option(&self, kind: &str) -> Value {
        of_kind(&self.ask["params"]["options"], kind)
    }

    /// Waits for the end of the prompt, and checks whether the file was written.
    async fn expect(mut self, is_written: bool) -> Result<Value, Outcome> {
        let ended = self.client.peer.response(self.prompt).await?;
        expect(self.file.exists() == is_written, || format!("{ended}, written: {}", !is_written))?;
        expect(ended["stopReason"].is_string(), || ended.to_string())?;
        Ok(ended)
    }
}

pub(super) async fn allows_what_is_allowed(subject: &impl Subject) -> Checked {
    let mut asked = Asked::open(subject, "allowed").await?;
    asked.respond(selected(&asked.option("allow_once"))).await;
    expect_end(&Ok(asked.expect(true).await?), "end_turn")
}

pub(super) async fn denies_what_is_denied(subject: &impl Subject) -> Checked {
    let mut asked = Asked::open(subject, "denied").await?;
    asked.respond(selected(&asked.option("reject_once"))).await;
    // The model is told, and says what it makes of it.
    expect_end(&Ok(asked.expect(false).await?), "end_turn")
}

pub(super) async fn denies_an_invented_option(subject: &impl Subject) -> Checked {
    let mut asked = Asked::open(subject, "invented").await?;
    asked.respond(selected(&json!("allow-everything"))).await;
    expect_end(&Ok(asked.expect(false).await?), "end_turn")
}

pub(super) async fn ends_with_a_cancelled_permission(subject: &impl Subject) -> Checked {
    let mut asked = Asked::open(subject, "closed").await?;
    asked.respond(json!({"outcome": {"outcome": "cancelled"}})).await;
    // A client answers so when the turn was cancelled.
    expect_end(&Ok(asked.expect(false).await?), "cancelled")
}

pub(super) async fn denies_if_the_client_cannot_ask(subject: &impl Subject) -> Checked {
    let mut asked = Asked::open(subject, "unasked").await?;
    asked.client.peer.respond_with_error(&asked.ask["id"], -32601).await;
    // No one has cancelled anything: it is a denial.
    expect_end(&Ok(asked.expect(false).await?), "end_turn")
}

pub(super) async fn cancels_while_it_asks(subject: &impl Subject) -> Checked {
    let mut asked = Asked::open(subject, "asked").await?;
    asked.client.peer.notify("session/cancel", json!({"sessionId": asked.session})).await;
    // What a client does with an open request when it cancels.
    asked.respond(json!({"outcome": {"outcome": "cancelled"}})).await;
    expect_end(&Ok(asked.expect(false).await?), "cancelled")
}
