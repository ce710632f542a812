//! Asking an editor what waits for a person. The first answer counts, wherever it comes from; if another client was
//! faster, the task ends and what the editor shows is withdrawn.

use std::sync::{Arc, Weak};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, ElicitationFormMode, ElicitationSessionScope, ElicitationUrlMode,
    PermissionOption, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use weir_host::{Decision, HostError, SessionId};
use weir_transcript::{Request, RequestKind, ToolDetail};
use weir_wire::PermissionUpdate;

use super::{Connection, Editor};
use crate::guard::Right;
use crate::translate::choices::{self, Given};
use crate::translate::diff::hunks;
use crate::translate::permission::{self, Choice, Extent};
use crate::translate::{Features, form, question, shown, tool};

/// A request that the editor is asked.
pub(super) struct Asking {
    connection: Weak<Connection>,
    session: SessionId,
    /// The session in which the editor shows it: a sub-agent may have its own.
    shown_in: String,
    request: Request,
    editor: Editor,
    features: Features,
}

impl Asking {
    pub(super) fn new(
        connection: &Arc<Connection>,
        (session, shown_in): (&SessionId, String),
        request: Request,
        editor: Editor,
        features: Features,
    ) -> Self {
        Self {
            connection: Arc::downgrade(connection),
            session: session.clone(),
            shown_in,
            request,
            editor,
            features,
        }
    }

    /// Asks and answers.
    pub(super) async fn run(self) {
        let decision = match self.ask().await {
            Ok(decision) => decision,
            Err(error) => {
                tracing::debug!(request = %self.request.id, code = ?error.code, "the editor cannot be asked");
                self.unasked()
            }
        };
        let Some(connection) = self.connection.upgrade() else { return };
        // Rights may have changed while the person was thinking.
        let Some(decision) = decision.filter(|_| connection.may(Right::Answer).is_ok()) else { return };
        let actor = connection.guard.actor();
        let said = format!("{} {}", word(&decision), self.request.id);
        match connection.host.answer(&self.session, &self.request.id, decision, &actor).await {
            Ok(()) => connection.guard.record("answer", Some(&self.session), Some(said)),
            Err(HostError::AlreadyAnswered { .. } | HostError::NoSuchRequest) => {}
            Err(error) => {
                // It would wait for ever, and it is not allowed.
                tracing::warn!(request = %self.request.id, %error, "the editor's answer was not taken");
                let denied = self.denied("The editor's answer could not be used.");
                let _ = connection.host.answer(&self.session, &self.request.id, denied, &actor).await;
            }
        }
    }

    /// What to do if the editor cannot be asked: denied where no one else would answer, left to the others elsewhere.
    fn unasked(&self) -> Option<Decision> {
        let connection = self.connection.upgrade()?;
        let gone = self.editor.is_incoming_closed();
        let is_alone = connection.guard.is_alone() && !gone;
        is_alone.then(|| self.denied("The editor has no way to ask the user this."))
    }

    fn denied(&self, reason: &str) -> Decision {
        match &self.request.kind {
            RequestKind::Elicitation { .. } => choices::declined(),
            _ => Decision::deny(reason),
        }
    }

    async fn ask(&self) -> Result<Option<Decision>, Error> {
        let Some(choices) = self.choices() else { return self.ask_question().await };
        let response = self.show(self.call().await, &choices).await?;
        Ok(Some(permission::decide(&choices, &response)))
    }

    /// The options of a permission or a plan.
    fn choices(&self) -> Option<Vec<Choice>> {
        let connection = self.connection.upgrade()?;
        let guard = &connection.guard;
        let modes = guard.offer().modes;
        let may_remember = |suggestion: &PermissionUpdate| guard.may_remember(suggestion);
        let may_drive = connection.may(Right::Drive).is_ok();
        permission::choices(
            &self.request.kind,
            &Extent { may_drive, may_remember: &may_remember, modes: &modes },
        )
    }

    async fn ask_question(&self) -> Result<Option<Decision>, Error> {
        match &self.request.kind {
            RequestKind::Question { questions, .. } if self.features.forms => {
                let mode = ElicitationFormMode::new(self.scope(), question::form(questions));
                let response = self
                    .editor
                    .elicit(CreateElicitationRequest::new(mode, question::message(questions)))
                    .await?;
                Ok(Some(question::decide(questions, &response)))
            }
            RequestKind::Elicitation { message, form: Some(fields), .. } if self.features.forms => {
                let mode = ElicitationFormMode::new(self.scope(), form::form(fields));
                let response =
                    self.editor.elicit(CreateElicitationRequest::new(mode, shown(message))).await?;
                Ok(Some(form::decide(&response)))
            }
            RequestKind::Elicitation { message, url: Some(url), .. } if self.features.links => {
                let id = self.request.id.as_str().to_owned();
                let mode = ElicitationUrlMode::new(self.scope(), id, url.clone());
                let response =
                    self.editor.elicit(CreateElicitationRequest::new(mode, shown(message))).await?;
                Ok(Some(form::decide(&response)))
            }
            _ => self.ask_in_steps().await,
        }
    }

    /// Asks by options, one step after another.
    async fn ask_in_steps(&self) -> Result<Option<Decision>, Error> {
        let Some(steps) = choices::steps(&self.request.kind) else { return Ok(self.unasked()) };
        let mut given = Given::default();
        for step in steps {
            let call = ToolCallUpdateFields::new().title(step.title.clone()).status(ToolCallStatus::Pending);
            let call = ToolCallUpdate::new(self.call_id(), call);
            let response = self.show(call, &step.choices).await?;
            let decision = permission::decide(&step.choices, &response);
            let option = match &response.outcome {
                RequestPermissionOutcome::Selected(selected) => &*selected.option_id.0,
                _ => "",
            };
            if let Some(declined) = step.take(&decision, option, &mut given) {
                return Ok(Some(declined));
            }
        }
        Ok(Some(given.decision(&self.request.kind)))
    }

    async fn show(
        &self,
        call: ToolCallUpdate,
        choices: &[Choice],
    ) -> Result<RequestPermissionResponse, Error> {
        let options: Vec<PermissionOption> = choices.iter().map(|choice| choice.option.clone()).collect();
        let request = RequestPermissionRequest::new(self.shown_in.clone(), call, options);
        self.editor.permission(request).await
    }

    fn call_id(&self) -> String {
        let tool = self.request.tool.as_ref().map(weir_wire::ToolUseId::as_str);
        tool.unwrap_or(self.request.id.as_str()).to_owned()
    }

    fn scope(&self) -> ElicitationSessionScope {
        let scope = ElicitationSessionScope::new(self.shown_in.clone());
        match &self.request.tool {
            Some(tool) => scope.tool_call_id(tool.as_str()),
            None => scope,
        }
    }

    /// The call that waits, as the person has to see it to decide.
    async fn call(&self) -> ToolCallUpdate {
        let Some(request) = self.request.kind.permission() else {
            return ToolCallUpdate::new(self.call_id(), ToolCallUpdateFields::new());
        };
        let name = &request.tool_name;
        // Never the description, which is the agent's own word for what it does.
        let subject = subject(&request.input).unwrap_or_default();
        let mut content = self.preview().await;
        if content.is_empty() {
            content = tool::proposed(name, &request.input);
        }
        if let Some(plan) = request.input.get("plan").and_then(serde_json::Value::as_str) {
            content.push(tool::text_content(shown(plan)));
        }
        if content.is_empty() {
            content = tool::arguments(name, &request.input);
        }
        let reasons =
            [request.reason.clone(), request.blocked_path.clone().map(|path| format!("outside: {path}"))];
        content.extend(reasons.into_iter().flatten().map(|reason| tool::text_content(shown(&reason))));
        let fields = ToolCallUpdateFields::new()
            .title(shown(&tool::title(name, &subject)))
            .kind(tool::kind(name))
            .status(ToolCallStatus::Pending)
            .locations(tool::locations(&request.input, &ToolDetail::None, None))
            .raw_input(request.input.clone());
        let fields = if content.is_empty() { fields } else { fields.content(content) };
        ToolCallUpdate::new(self.call_id(), fields)
    }

    /// What the call would do to the file that it writes, as it is now.
    async fn preview(&self) -> Vec<agent_client_protocol::v1::schema::ToolCallContent> {
        let Some(connection) = self.connection.upgrade() else { return Vec::new() };
        if !matches!(self.request.kind, RequestKind::Permission(_)) {
            return Vec::new();
        }
        let found = connection.host.preview(&self.session, &self.request.id).await;
        let Ok(Some(preview)) = found else { return Vec::new() };
        let is_new = preview.effect == weir_transcript::FileEffect::Creates;
        let Some(diff) = preview.diff.filter(|_| !preview.cut) else { return Vec::new() };
        hunks(&diff).iter().map(|hunk| hunk.of_file(&preview.path, is_new).into()).collect()
    }
}

/// What a call is about, from its arguments.
fn subject(input: &serde_json::Value) -> Option<String> {
    let keys = ["command", "file_path", "notebook_path", "path", "url", "query", "pattern", "description"];
    keys.iter().find_map(|key| input.get(key)?.as_str().map(str::to_owned))
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow { remember, .. } if remember.is_empty() => "allow",
        Decision::Allow { .. } => "allow and remember",
        Decision::Deny { .. } => "deny",
        _ => "answer",
    }
}
