//! What a real CLI does when the model refuses: another model takes over, and who wants to decides that in a dialog.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weir_session::{Ask, Deciding, Decision, DialogRequest, Handler, Session, SessionError};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::scenario::Cli;
use weir_transcript::{EntryBody, Notice};

use crate::model::{body, made};
use crate::session_options::{V2_1_197, V2_1_325, since};

/// The dialog in which a person decides whether another model takes over.
const KIND: &str = "refusal_fallback_prompt";

/// A model that has another one to fall back to.
const REFUSES: &str = "claude-fable-5";

/// Answers the dialog, and keeps it.
#[derive(Clone)]
struct Person {
    answer: Option<&'static str>,
    asked: Arc<Mutex<Vec<DialogRequest>>>,
}

impl Handler for Person {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        let decision = match ask {
            Ask::Dialog(dialog) => {
                self.asked.lock().unwrap().push(dialog);
                match self.answer {
                    Some(answer) => Decision::Value(json!(answer)),
                    None => Decision::deny("closed"),
                }
            }
            _ => Decision::allow(),
        };
        Box::pin(std::future::ready(decision))
    }
}

/// What came of a refusal: the dialogs, the models that were asked, and what the transcript says.
struct Seen {
    asked: Vec<DialogRequest>,
    models: Vec<String>,
    notices: Vec<Notice>,
}

/// Asks a model that refuses. `Err` if the version does not take dialogs.
async fn refuse(
    cli: &Cli,
    answer: Option<&'static str>,
    is_shown: bool,
    settings: &Value,
) -> Result<Seen, String> {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let person = Person { answer, asked: Arc::default() };
    let mut options = made(cli, &place, &api)
        .model(REFUSES)
        .handler(person.clone())
        .settings(settings.as_object().cloned().unwrap());
    if is_shown {
        options = options.dialogs([KIND]);
    }
    let session = Session::new(options);
    let refusal = json!({"text": "I would rather not", "stop_reason": "refusal"});
    let steps = Value::Array(vec![refusal; 6]);
    // A turn that ends with the refusal has failed.
    if let Err(error @ SessionError::NotStarted(_)) = session.ask(format!("@@{steps}")).await {
        return Err(error.to_string());
    }
    let view = session.view().await.unwrap();
    session.stop().await;
    let notices = view.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Notice { notice } => Some(notice.clone()),
        _ => None,
    });
    let requests = api.requests();
    let own = requests.iter().filter(|request| request.is_message() && !request.tools.is_empty());
    Ok(Seen {
        asked: person.asked.lock().unwrap().clone(),
        models: own.map(|request| body(request)["model"].as_str().unwrap_or_default().to_owned()).collect(),
        notices: notices.collect(),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_decides_whether_another_model_takes_over() {
    // The person's own choice: ask each time.
    let settings = json!({"switchModelsOnFlag": false});
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for (answer, is_shown, takes_over) in [
            (Some("retry_fallback"), true, true),
            (Some("edit_prompt"), true, false),
            (None, true, false),
            (Some("retry_fallback"), false, false),
        ] {
            let seen = refuse(&cli, answer, is_shown, &settings).await;
            let needed = if is_shown { V2_1_197 } else { cli.version };
            let Some(seen) = since(&cli, needed, "dialogs", seen) else { continue };
            if cli.version < V2_1_325 {
                // It knows dialogs, but has no other model for this one.
                continue;
            }
            assert_eq!(seen.asked.len(), usize::from(is_shown), "{cli} {answer:?}: {:?}", seen.asked);
            let named =
                |dialog: &DialogRequest| dialog.kind == KIND && dialog.payload["originalModel"] == REFUSES;
            assert!(seen.asked.iter().all(named), "{cli}: {:?}", seen.asked);
            let is_other = seen.models.iter().any(|model| model != REFUSES);
            assert_eq!(is_other, takes_over, "{cli} {answer:?}: {:?}", seen.models);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_takes_over_is_told() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        if cli.version < V2_1_325 {
            continue;
        }
        let seen = refuse(&cli, None, false, &json!({})).await.unwrap();
        let is_told = |notice: &Notice| {
            matches!(notice, Notice::ModelFallback { from, to, .. }
                if from.as_deref() == Some(REFUSES) && to.is_some())
        };
        assert!(seen.notices.iter().any(is_told), "{cli}: {:?}", seen.notices);
        assert!(seen.models.iter().any(|model| model != REFUSES), "{cli}: {:?}", seen.models);
    }
}
