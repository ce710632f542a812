//! What we write to the CLI. Each item is exactly one line: everything goes through a JSON serialiser, which
//! escapes line feeds, because the CLI exits on a line that is not JSON.

mod control;
mod inert;
mod mcp_server;
pub mod output_schema;
mod request;
mod user;

pub use control::{AnswerError, HostAnswer, QuestionAnswers};
pub use inert::{TextHandling, refers_to_file, slash_command};
pub use mcp_server::{McpConnection, McpServerConfig, McpServerError};
pub use request::{HookRegistration, HostRequest, InitializeRequest};
pub use user::{MessageOrigin, MessagePriority, OutgoingBlock, OutgoingContent, OutgoingMessage};

use serde_json::json;

use crate::id::RequestId;

/// A line for the CLI's standard input.
///
/// ```
/// use weir_wire::{HostRequest, Outgoing, OutgoingMessage, RequestId};
///
/// let line = Outgoing::User(OutgoingMessage::text("two\nlines")).to_line();
/// assert_eq!(line.matches('\n').count(), 1);
/// assert!(line.ends_with("}\n"));
///
/// let request = Outgoing::Request { id: RequestId::from("r1"), request: HostRequest::Interrupt };
/// assert_eq!(
///     request.to_line(),
///     "{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":{\"cancel_queued\":true,\"subtype\":\"interrupt\"}}\n",
/// );
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Outgoing {
    /// A message for the model.
    User(OutgoingMessage),
    /// We ask the CLI for something.
    Request {
        /// Id of the request; the answer carries it.
        id: RequestId,
        /// The request.
        request: HostRequest,
    },
    /// We answer a request of the CLI.
    Answer {
        /// The request.
        id: RequestId,
        /// The answer.
        answer: HostAnswer,
    },
    /// We no longer want an answer.
    Cancel {
        /// The request.
        id: RequestId,
    },
}

impl Outgoing {
    /// The line, with its line feed at the end and no other.
    pub fn to_line(&self) -> String {
        let value = match self {
            Self::User(message) => message.to_value(),
            Self::Request { id, request } => {
                json!({"type": "control_request", "request_id": id, "request": request.to_value()})
            }
            Self::Answer { id, answer } => {
                json!({"type": "control_response", "response": answer.to_value(id)})
            }
            Self::Cancel { id } => json!({"type": "control_cancel_request", "request_id": id}),
        };
        let mut line = value.to_string();
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sorted;
    use crate::{
        Body, ControlRequest, Decoder, Message, MessageId, PermissionUpdate, RawJson, RuleDestination,
    };
    use proptest::prelude::*;
    use serde_json::Value;

    fn value(outgoing: &Outgoing) -> Value {
        serde_json::from_str(&outgoing.to_line()).unwrap()
    }

    #[test]
    fn a_message_is_sent_in_full_form() {
        let mut message = OutgoingMessage::text("Hello");
        message.uuid = Some(MessageId::from("0c8e9a7e"));
        insta::assert_json_snapshot!(sorted(&value(&Outgoing::User(message))), @r#"
        {
          "client_composed": true,
          "message": {
            "content": "Hello",
            "role": "user"
          },
          "parent_tool_use_id": null,
          "session_id": "default",
          "type": "user",
          "uuid": "0c8e9a7e"
        }
        "#);
    }

    #[test]
    fn a_text_is_inert_by_default() {
        let sent = |handling| {
            let content = OutgoingContent::Blocks(vec![
                OutgoingBlock::Text("look".into()),
                OutgoingBlock::Text("/clear @x".into()),
            ]);
            let line =
                value(&Outgoing::User(OutgoingMessage { content, handling, ..OutgoingMessage::text("") }));
            (line["client_composed"].clone(), line["message"]["content"][1]["text"].clone())
        };
        assert_eq!(sent(TextHandling::default()), (json!(true), json!("\\/clear \\@x")));
        assert_eq!(sent(TextHandling::Marked), (json!(true), json!("/clear @x")));
        assert_eq!(sent(TextHandling::Interpreted), (Value::Null, json!("/clear @x")));
    }

    #[test]
    fn pictures_are_sent_as_base64() {
        let content = OutgoingContent::Blocks(vec![
            OutgoingBlock::Text("what is this?".into()),
            OutgoingBlock::Image { media_type: "image/png".into(), data: vec![1, 2, 3] },
        ]);
        let message = OutgoingMessage { content, ..OutgoingMessage::text("") };
        insta::assert_json_snapshot!(sorted(&value(&Outgoing::User(message))["message"]["content"]), @r#"
        [
          {
            "text": "what is this?",
            "type": "text"
          },
          {
            "source": {
              "data": "AQID",
              "media_type": "image/png",
              "type": "base64"
            },
            "type": "image"
          }
        ]
        "#);
    }

    #[test]
    fn documents_and_addresses_are_blocks_of_their_own() {
        let document = |media_type: &str, data: &[u8]| OutgoingBlock::Document {
            media_type: media_type.into(),
            data: data.to_vec(),
            title: Some("a.pdf".into()),
        };
        let url = || "https://example.org/x".to_owned();
        let content = OutgoingContent::Blocks(vec![
            document("application/pdf", b"%PDF"),
            document("text/plain", b"plain"),
            document("text/plain", &[0xff]),
            OutgoingBlock::ImageUrl { url: url() },
            OutgoingBlock::DocumentUrl { url: url(), title: None },
        ]);
        let sent = value(&Outgoing::User(OutgoingMessage::new(content)))["message"]["content"].clone();
        let source = |at: usize| sent[at]["source"].clone();
        assert_eq!(
            sent[0],
            json!({
                "type": "document", "title": "a.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            })
        );
        assert_eq!(source(1), json!({"type": "text", "media_type": "text/plain", "data": "plain"}));
        assert_eq!(source(2)["type"], "base64");
        assert_eq!(sent[3], json!({"type": "image", "source": {"type": "url", "url": url()}}));
        assert_eq!(sent[4], json!({"type": "document", "source": {"type": "url", "url": url()}}));
    }

    #[test]
    fn a_message_says_who_wrote_it_and_when_it_is_wanted() {
        let plain = value(&Outgoing::User(OutgoingMessage::text("x")));
        for member in ["priority", "origin", "shouldQuery"] {
            assert_eq!(plain.get(member), None, "{member}");
        }
        let sent = value(&Outgoing::User(OutgoingMessage {
            priority: Some(MessagePriority::Next),
            origin: Some(MessageOrigin::Channel { server: "matrix".into() }),
            is_note: true,
            ..OutgoingMessage::text("x")
        }));
        assert_eq!(sent["priority"], "next");
        assert_eq!(sent["origin"], json!({"kind": "channel", "server": "matrix"}));
        assert_eq!(sent["shouldQuery"], false);
    }

    #[test]
    fn a_permission_is_allowed_with_changed_arguments_and_rules() {
        let answer = HostAnswer::Allow {
            updated_input: json!({"command": "ls -l"}),
            updated_permissions: vec![
                PermissionUpdate::allow_rule("Bash", Some("ls *"), RuleDestination::Session),
                PermissionUpdate::set_mode("acceptEdits", RuleDestination::Session),
            ],
        };
        let sent = value(&Outgoing::Answer { id: "r".into(), answer });
        insta::assert_json_snapshot!(sorted(&sent["response"]["response"]), @r#"
        {
          "behavior": "allow",
          "updatedInput": {
            "command": "ls -l"
          },
          "updatedPermissions": [
            {
              "behavior": "allow",
              "destination": "session",
              "rules": [
                {
                  "ruleContent": "ls *",
                  "toolName": "Bash"
                }
              ],
              "type": "addRules"
            },
            {
              "destination": "session",
              "mode": "acceptEdits",
              "type": "setMode"
            }
          ]
        }
        "#);
    }

    const QUESTION: &[u8] = br#"{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"W","options":[{"label":"A"},{"label":"B"}],"multiSelect":true}],"kept":1},"tool_use_id":"t"}}"#;

    fn question_input() -> RawJson<'static> {
        let body = Decoder::new().decode(QUESTION).body;
        let Body::Known(Message::ControlRequest(request)) = body else { panic!("{body:?}") };
        let ControlRequest::CanUseTool(request) = request.request else { panic!() };
        request.input
    }

    #[test]
    fn a_question_is_answered_inside_its_own_arguments() {
        let answers = QuestionAnswers::new().choose_all("Which?", ["A", "B"]);
        let answer = HostAnswer::questions(question_input(), &answers).unwrap();
        let sent = value(&Outgoing::Answer { id: "q1".into(), answer });
        assert_eq!(sent["response"]["response"]["behavior"], "allow");
        assert_eq!(sent["response"]["response"]["updatedInput"]["answers"], json!({"Which?": "A, B"}));
        assert_eq!(sent["response"]["response"]["updatedInput"]["kept"], 1);
    }

    #[test]
    fn a_question_is_never_answered_empty() {
        for answers in [
            QuestionAnswers::new(),
            QuestionAnswers::new().choose("Which?", "  "),
            QuestionAnswers::new().choose("Another?", "A"),
        ] {
            let error = HostAnswer::questions(question_input(), &answers).unwrap_err();
            assert!(matches!(error, AnswerError::Unanswered { .. }), "{error}");
        }
        let surplus = QuestionAnswers::new().choose("Which?", "A").choose("Another?", "A");
        let error = HostAnswer::questions(question_input(), &surplus).unwrap_err();
        assert!(matches!(error, AnswerError::NotAsked { .. }), "{error}");
    }

    #[test]
    fn every_request_of_ours_has_the_subtype_that_the_cli_knows() {
        let subtypes: Vec<String> = [
            HostRequest::Initialize(InitializeRequest::default()),
            HostRequest::Interrupt,
            HostRequest::SetModel { model: Some("opus".into()) },
            HostRequest::SetPermissionMode { mode: "plan".into() },
            HostRequest::McpStatus,
            HostRequest::ListModels,
            HostRequest::GetContextUsage,
            HostRequest::GetSessionCost,
            HostRequest::GetUsage,
            HostRequest::RenameSession { title: "t".into() },
            HostRequest::RewindFiles { user_message_id: "m".into(), dry_run: false },
            HostRequest::StopTask { task_id: "t".into() },
            HostRequest::CancelMessage { message: "m".into() },
            HostRequest::EndSession,
            HostRequest::Other { subtype: "next".into(), fields: serde_json::Map::new() },
        ]
        .iter()
        .map(|request| request.to_value()["subtype"].as_str().unwrap().to_owned())
        .collect();
        insta::assert_snapshot!(subtypes.join(" "), @"initialize interrupt set_model set_permission_mode mcp_status list_models get_context_usage get_session_cost get_usage rename_session rewind_files stop_task cancel_async_message end_session next");
    }

    #[test]
    fn servers_of_ours_stay_when_others_are_set() {
        let servers = [("db".to_owned(), McpServerConfig::stdio("db", ["-v"]))].into();
        let sent = HostRequest::McpSetServers { servers, own: vec!["calc".into()] }.to_value();
        assert_eq!(
            sent,
            json!({"subtype": "mcp_set_servers", "servers": {
                "db": {"type": "stdio", "command": "db", "args": ["-v"], "env": {}},
                "calc": {"type": "sdk", "name": "calc"},
            }})
        );
    }

    #[test]
    fn hooks_mcp_and_errors_are_answered() {
        let sent = |answer| value(&Outgoing::Answer { id: "r".into(), answer })["response"].take();
        assert_eq!(
            sent(HostAnswer::Hook(json!({"continue": true}))),
            json!({"subtype": "success", "request_id": "r", "response": {"continue": true}}),
        );
        assert_eq!(
            sent(HostAnswer::Mcp(json!({"jsonrpc": "2.0", "id": 1, "result": {}})))["response"]["mcp_response"]
                ["id"],
            1
        );
        assert_eq!(
            sent(HostAnswer::Error("not supported".into())),
            json!({"subtype": "error", "request_id": "r", "error": "not supported"}),
        );
        assert_eq!(
            sent(HostAnswer::Deny { message: "no".into(), interrupt: true })["response"],
            json!({"behavior": "deny", "message": "no", "interrupt": true}),
        );
    }

    proptest! {
        #[test]
        fn no_line_feed_can_leak_into_a_line(text in any::<String>(), id in any::<String>()) {
            let mut message = OutgoingMessage::text(text.clone());
            message.uuid = Some(MessageId::new(id.clone()));
            let outgoing = [
                Outgoing::User(message),
                Outgoing::Request { id: RequestId::new(id.clone()), request: HostRequest::RenameSession { title: text.clone() } },
                Outgoing::Answer { id: RequestId::new(id), answer: HostAnswer::Deny { message: text.clone(), interrupt: false } },
            ];
            for outgoing in outgoing {
                let line = outgoing.to_line();
                prop_assert_eq!(line.find('\n'), Some(line.len() - 1));
                prop_assert!(!line.contains('\r'));
                serde_json::from_str::<Value>(&line).unwrap();
            }
        }
    }
}
