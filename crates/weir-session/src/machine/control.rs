//! Our control requests and their answers.

use std::time::Instant;

use serde_json::Value;
use weir_process::{Capabilities, Version};
use weir_wire::{
    CommandState, ControlResponse, HostRequest, Message, MessageId, Outgoing, RequestId, SystemMessage,
};

use super::action::{Action, Reply};
use super::event::{Now, Ticket};
use super::{Machine, Sink};
use crate::error::SessionError;

/// The oldest examined version that answers every request, if only to refuse it.
const REFUSES_UNKNOWN: Version = Version::new(2, 1, 61);

/// The oldest supported version. It does not report its version.
const OLDEST: Version = Version::new(1, 0, 124);

/// Our requests that the CLI has not answered yet.
#[derive(Debug, Default)]
pub(super) struct Control {
    pending: Vec<Pending>,
    next: u64,
}

#[derive(Debug)]
struct Pending {
    id: RequestId,
    purpose: Purpose,
    what: &'static str,
    /// `None` if the watchdog covers it.
    deadline: Option<Instant>,
    /// Whether the requested change has happened, although the CLI has not answered.
    is_done: bool,
}

/// What a request was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The handshake.
    Initialize,
    /// A caller's request.
    Caller(Ticket),
    /// To cancel a message.
    Cancel(Ticket, MessageId),
    /// To cancel a message because it was interrupted.
    TakeBack(MessageId),
    /// To end the current turn. Success shows in the turn's result, not in the answer.
    Interrupt,
}

impl Control {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pending.iter().filter_map(|pending| pending.deadline).min()
    }

    /// Whether the CLI has not yet reacted to an interrupt.
    pub(super) fn is_interrupting(&self) -> bool {
        self.pending.iter().any(|pending| matches!(pending.purpose, Purpose::Interrupt) && !pending.is_done)
    }

    /// A turn has ended because it was interrupted.
    pub(super) fn turn_interrupted(&mut self) {
        for pending in &mut self.pending {
            pending.is_done |= matches!(pending.purpose, Purpose::Interrupt);
        }
    }
}

impl Machine {
    pub(super) fn ask_cli(&mut self, now: Now, purpose: Purpose, request: HostRequest) {
        self.control.next += 1;
        let id = RequestId::new(format!("weir-{}", self.control.next));
        let deadline = match purpose {
            Purpose::Initialize => None,
            _ => Some(now.instant + self.settings.limits.control),
        };
        let what = name_of(&request);
        self.control.pending.push(Pending { id: id.clone(), purpose, what, deadline, is_done: false });
        self.actions.push(Action::Write(Outgoing::Request { id, request }));
    }

    pub(super) fn request(&mut self, now: Now, ticket: Ticket, request: HostRequest) {
        if !self.life.is_ready() {
            return self.reply(ticket, Err(SessionError::NotRunning));
        }
        if !self.would_answer(&request) {
            return self.reply(ticket, Err(SessionError::NotSupported { what: name_of(&request) }));
        }
        let request = match request {
            // The CLI drops servers that are not named.
            HostRequest::McpSetServers { servers, mut own } => {
                own.extend(
                    self.settings
                        .greeting
                        .request()
                        .map(|greeting| greeting.sdk_mcp_servers)
                        .unwrap_or_default(),
                );
                HostRequest::McpSetServers { servers, own }
            }
            request => request,
        };
        self.ask_cli(now, Purpose::Caller(ticket), request);
    }

    /// Whether the CLI would answer a request. Old versions do not even refuse those that they do not know. A version
    /// that is not reported is too old; one that cannot be parsed may know the request.
    fn would_answer(&self, request: &HostRequest) -> bool {
        let session = &self.view().session;
        match session.version.as_deref() {
            _ if matches!(request, HostRequest::Other { .. }) => true,
            Some(version) => Version::parse(version).is_none_or(|version| {
                version >= REFUSES_UNKNOWN || Capabilities::of(version).has_control(request.subtype())
            }),
            None => session.id.is_none() || Capabilities::of(OLDEST).has_control(request.subtype()),
        }
    }

    /// Handles a line of the control protocol. Returns whether it was one, or one that ends something.
    pub(super) fn protocol_line(&mut self, now: Now, message: &Message<'_>, sink: &mut dyn Sink) -> bool {
        match message {
            Message::ControlResponse(message) => self.answered(&message.response, sink),
            Message::ControlRequest(request) => self.asked(now, request),
            Message::ControlCancel(cancel) => self.withdrawn(&cancel.request_id.to_id()),
            Message::CommandLifecycle(line) => {
                self.messages.mark_named();
                // The view may have dropped the entry, in which case nothing changes there.
                let id = line.command_uuid.to_id();
                match line.state {
                    CommandState::Cancelled => self.message_withdrawn(&id),
                    CommandState::Discarded => self.message_dropped(&id, SessionError::Discarded),
                    CommandState::Refused => {
                        let message = "it does not accept the message".to_owned();
                        self.message_dropped(&id, SessionError::Refused { message });
                    }
                    _ => {}
                }
            }
            Message::Result(result) => {
                if !result.user_message_uuids.is_empty() {
                    self.messages.mark_named();
                }
                if result.session_id.is_some() {
                    self.life.mark_named();
                }
            }
            Message::System(SystemMessage::Init(init)) => {
                if init.session_id.is_some() {
                    self.life.mark_named();
                }
                self.check_folder(sink);
            }
            Message::System(SystemMessage::SessionStateChanged(changed)) => {
                self.life.heard_of_work(changed.state.to_str() != "idle");
            }
            Message::System(_) => {}
            _ => return false,
        }
        true
    }

    fn answered(&mut self, response: &ControlResponse<'_>, sink: &mut dyn Sink) {
        let place = self.control.pending.iter().position(|pending| response.request_id == pending.id);
        // A second answer to the same request, or one that came too late.
        let Some(place) = place else { return };
        let pending = self.control.pending.swap_remove(place);
        if self.control.pending.is_empty() {
            // Usually none are pending, and an idle session should be small.
            self.control.pending = Vec::new();
        }
        let result = if response.is_success() {
            Ok(response.response.map(|answer| answer.to_value()).unwrap_or_default())
        } else {
            Err(refusal(response, pending.what))
        };
        match pending.purpose {
            // A CLI that does not know this request is still running.
            Purpose::Initialize => {
                if let Ok(answer) = result {
                    self.asks.set_introduction(answer);
                }
                self.ready();
            }
            Purpose::Caller(ticket) => self.reply(ticket, result.map(Reply::Answer)),
            Purpose::Cancel(ticket, message) => {
                let cancelled = result.map(|answer| answer.get("cancelled") == Some(&Value::Bool(true)));
                let reply = match cancelled {
                    Ok(true) => {
                        self.message_taken_back(&message, sink);
                        Ok(Reply::Done)
                    }
                    Ok(false) => Err(SessionError::NotCancellable),
                    Err(error) => Err(error),
                };
                self.reply(ticket, reply);
            }
            Purpose::TakeBack(message) => {
                if result.is_ok_and(|answer| answer.get("cancelled") == Some(&Value::Bool(true))) {
                    self.message_taken_back(&message, sink);
                }
            }
            Purpose::Interrupt => {}
        }
    }

    pub(super) fn expire_requests(&mut self, now: Now) {
        let after = self.settings.limits.control;
        let late = |pending: &Pending| pending.deadline.is_some_and(|deadline| deadline <= now.instant);
        let (late, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.control.pending).into_iter().partition(late);
        self.control.pending = waiting;
        for pending in late {
            self.fail(&pending.purpose, &SessionError::NoAnswer { what: pending.what, after });
        }
    }

    pub(super) fn fail_requests(&mut self, error: &SessionError) {
        for pending in std::mem::take(&mut self.control.pending) {
            self.fail(&pending.purpose, error);
        }
    }

    fn fail(&mut self, purpose: &Purpose, error: &SessionError) {
        if let Purpose::Caller(ticket) | Purpose::Cancel(ticket, _) = purpose {
            self.reply(*ticket, Err(error.clone()));
        }
    }
}

fn refusal(response: &ControlResponse<'_>, what: &'static str) -> SessionError {
    let message = response.error.map(|error| error.to_str().into_owned()).unwrap_or_default();
    let code = response.source.json().get("error_code").and_then(|code| code.as_text());
    let is_unknown = code.is_some_and(|code| code == "unsupported_request")
        || message.starts_with("Unsupported control request");
    if is_unknown { SessionError::NotSupported { what } } else { SessionError::Refused { message } }
}

/// What a request is called in messages.
fn name_of(request: &HostRequest) -> &'static str {
    match request {
        HostRequest::Initialize(_) => "initialize",
        HostRequest::Interrupt => "interrupt",
        HostRequest::SetModel { .. } => "set model",
        HostRequest::SetPermissionMode { .. } => "set permission mode",
        HostRequest::McpStatus => "MCP status",
        HostRequest::McpSetServers { .. } => "set MCP servers",
        HostRequest::McpToggle { .. } => "switch an MCP server on or off",
        HostRequest::McpReconnect { .. } => "reconnect an MCP server",
        HostRequest::McpAuthenticate { .. } | HostRequest::McpOauthCallback { .. } => {
            "log in to an MCP server"
        }
        HostRequest::McpCall { .. } => "call a tool of an MCP server",
        HostRequest::McpReadResource { .. } => "read a resource of an MCP server",
        HostRequest::ListModels => "list models",
        HostRequest::GetContextUsage => "context usage",
        HostRequest::GetSessionCost => "session cost",
        HostRequest::GetUsage => "usage",
        HostRequest::SetMaxThinkingTokens { .. } => "limit thinking",
        HostRequest::ApplyFlagSettings { .. } => "change settings of the session",
        HostRequest::UpdateSettings { .. } => "change a settings file",
        HostRequest::GetSettings => "settings",
        HostRequest::ListPermissionRules => "permission rules",
        HostRequest::GetHooksListing => "hooks",
        HostRequest::ReadFile { .. } => "read file",
        HostRequest::BackgroundTasks { .. } => "send to background",
        HostRequest::GetTaskOutput { .. } => "output of a task",
        HostRequest::RenameSession { .. } => "rename session",
        HostRequest::RewindFiles { .. } => "rewind files",
        HostRequest::RewindConversation { .. } => "rewind conversation",
        HostRequest::StopTask { .. } => "stop task",
        HostRequest::GetPlan => "plan",
        HostRequest::SideQuestion { .. } => "side question",
        HostRequest::GetWorkspaceDiff => "changes in the folder",
        HostRequest::GenerateSessionTitle { .. } => "make up a title",
        HostRequest::ExportConversation => "export",
        HostRequest::SetCwd { .. } => "move to another folder",
        HostRequest::GetBinaryVersion => "version",
        HostRequest::ReloadSkills => "reload skills",
        HostRequest::ReloadPlugins => "reload plugins",
        HostRequest::SeedReadState { .. } => "mark a file as read",
        HostRequest::CancelMessage { .. } => "cancel message",
        HostRequest::EndSession => "end session",
        _ => "control request",
    }
}
