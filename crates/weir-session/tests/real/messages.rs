//! What a message can have besides text reaches the model on every version, and what a version would misread is refused.

use serde_json::{Value, json};
use weir_session::{Attachment, Message, Session, SessionError};
use weir_testkit::Place;
use weir_testkit::api::{RecordedRequest, ScriptedApi};
use weir_testkit::real::Version;
use weir_testkit::scenario::Cli;
use weir_wire::{MessageOrigin, MessagePriority};

use crate::model::{body, made};

/// The content of the user messages of the last request.
fn content(api: &ScriptedApi) -> Vec<Value> {
    let own = |request: &&RecordedRequest| request.is_message() && !request.tools.is_empty();
    let requests = api.requests();
    let body = body(requests.iter().rfind(own).unwrap());
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks =
        messages.filter(|message| message["role"] == "user").flat_map(|message| match &message["content"] {
            Value::Array(blocks) => blocks.clone(),
            text => vec![json!({"type": "text", "text": text})],
        });
    blocks.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_and_addresses_reach_the_model() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let session = Session::new(made(&cli, &place, &api));
        let address = "https://example.org/a";
        let message = Message::from(r#"@@[{"text":"seen"}]"#)
            .attach(Attachment::pdf(b"%PDF-1.4\n".to_vec(), Some("a.pdf".into())))
            .attach(Attachment::text("plain", None))
            .attach(Attachment::image_url(format!("{address}.png")))
            .attach(Attachment::pdf_url(format!("{address}.pdf"), None))
            .origin(MessageOrigin::Human)
            .priority(MessagePriority::Next);
        assert_eq!(session.ask(message).await.unwrap().text, "seen", "{cli}");
        session.stop().await;
        let content = content(&api);
        let has = |kind: &str, source: &Value| {
            let is_it = |block: &&Value| block["type"] == kind && block["source"] == *source;
            assert!(content.iter().any(|block| is_it(&block)), "{cli}: no {kind} {source} in {content:?}");
        };
        has("document", &json!({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}));
        has("document", &json!({"type": "text", "media_type": "text/plain", "data": "plain"}));
        has("image", &json!({"type": "url", "url": format!("{address}.png")}));
        has("document", &json!({"type": "url", "url": format!("{address}.pdf")}));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_gets_no_answer_and_is_seen_with_the_next_message() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let session = Session::new(made(&cli, &place, &api));
        assert_eq!(session.ask(r#"@@[{"text":"one"}]"#).await.unwrap().text, "one", "{cli}");
        let before = api.requests().len();
        match session.ask(Message::note("the dam is made of oak")).await {
            Ok(end) => {
                assert!(cli.version >= Version::new(2, 1, 197), "{cli} answered: {}", end.text);
                assert_eq!((end.text.as_str(), end.cost_usd().unwrap_or(0.0)), ("", 0.0), "{cli}");
                assert_eq!(api.requests().len(), before, "{cli}");
            }
            Err(SessionError::NotSupported { .. }) => assert!(cli.version < Version::new(2, 1, 197), "{cli}"),
            Err(error) => panic!("{cli}: {error}"),
        }
        assert_eq!(session.ask(r#"@@[{"text":"two"}]"#).await.unwrap().text, "two", "{cli}");
        session.stop().await;
        let is_told =
            content(&api).iter().any(|block| block["text"].as_str().is_some_and(|text| text.contains("oak")));
        assert_eq!(is_told, cli.version >= Version::new(2, 1, 197), "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_come_by_themselves_are_known() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let session = Session::new(made(&cli, &place, &api));
        assert_eq!(session.ask(r#"@@[{"text":"one"}]"#).await.unwrap().text, "one", "{cli}");
        session.settled().await.unwrap();
        let (log, view) = (session.facts().await.unwrap().logs.unwrap(), session.view().await.unwrap());
        session.stop().await;
        // The newest version says when it works; none says anything that has no type.
        let said = std::fs::read_to_string(log.output).unwrap();
        let says =
            |state: &str| said.contains(&format!(r#""subtype":"session_state_changed","state":"{state}""#));
        let is_new = cli.version >= Version::new(2, 1, 325);
        assert_eq!((says("running"), says("idle")), (is_new, is_new), "{cli}");
        assert_eq!(
            (view.oddities.unknown_types, view.oddities.mismatches),
            (0, 0),
            "{cli}: {:?}",
            view.oddities
        );
    }
}
