//! Options that say how the model works reach the API, and a version that lacks one refuses to start.

use std::num::NonZeroU32;

use serde_json::{Value, json};
use weir_session::{Effort, Session, SessionError, SessionOptions, Thinking};
use weir_testkit::Place;
use weir_testkit::api::{RecordedRequest, ScriptedApi};
use weir_testkit::real::Version;
use weir_testkit::scenario::{Cli, Process};

use crate::host::Host;
use crate::options::options;
use crate::recorder::Recorder;

pub(crate) fn made(cli: &Cli, place: &Place, api: &ScriptedApi) -> SessionOptions {
    let process = Process::default();
    options((cli, place, api), &process, "", &Host::new(&process), &Recorder::default())
}

/// The request for the answer to `prompt`, or the flags that the version does not have.
pub(crate) async fn asked(
    cli: &Cli,
    set: impl FnOnce(&mut SessionOptions),
) -> Result<RecordedRequest, String> {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let mut options = made(cli, &place, &api);
    set(&mut options);
    let session = Session::new(options);
    let answer = session.ask(r#"@@[{"text":"done"}]"#).await;
    session.stop().await;
    match answer {
        Ok(end) => assert_eq!(end.text, "done", "{cli}"),
        Err(error @ SessionError::NotStarted(_)) => return Err(error.to_string()),
        Err(error) => panic!("{cli}: {error}"),
    }
    let requests = api.requests();
    let own = |request: &&RecordedRequest| request.is_message() && !request.tools.is_empty();
    Ok(requests.iter().find(own).cloned().unwrap())
}

pub(crate) fn body(request: &RecordedRequest) -> Value {
    serde_json::from_str(&request.body.to_string()).unwrap()
}

/// Asserts that a version without the flag was refused by its name, and returns the request of any other.
pub(crate) fn known(
    cli: &Cli,
    flag: &str,
    asked: Result<RecordedRequest, String>,
) -> Option<RecordedRequest> {
    let flags = weir_testkit::real::FLAGS;
    let since = flags.iter().find(|known| known.name == flag).unwrap().since;
    match asked {
        Ok(request) => {
            assert!(cli.version >= since, "{cli} ignored {flag}");
            Some(request)
        }
        Err(error) => {
            assert!(cli.version < since && error.contains(flag), "{cli} {flag}: {error}");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn effort_reaches_the_api() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for effort in [Effort::Low, Effort::High] {
            // Only some models have levels.
            let set = |options: &mut SessionOptions| {
                options.spec.effort = Some(effort);
                options.spec.model = Some("claude-opus-4-6".into());
            };
            let Some(request) = known(&cli, "--effort", asked(&cli, set).await) else { continue };
            assert_eq!(body(&request)["output_config"]["effort"], effort.as_str(), "{cli}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thinking_is_switched_off_and_limited() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let off = |options: &mut SessionOptions| options.spec.thinking = Some(Thinking::Disabled);
        if let Some(request) = known(&cli, "--thinking", asked(&cli, off).await) {
            let thinking = &body(&request)["thinking"];
            assert!(thinking.is_null() || thinking["type"] == "disabled", "{cli}: {thinking}");
        }
        let limited = |options: &mut SessionOptions| {
            options.spec.max_thinking_tokens = NonZeroU32::new(3000);
            options.spec.model = Some("claude-sonnet-4-5".into());
        };
        if let Some(request) = known(&cli, "--max-thinking-tokens", asked(&cli, limited).await) {
            assert_eq!(body(&request)["thinking"]["budget_tokens"], 3000, "{cli}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_budget_reaches_the_api() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let set = |options: &mut SessionOptions| options.spec.task_budget_tokens = NonZeroU32::new(50_000);
        let Some(request) = known(&cli, "--task-budget", asked(&cli, set).await) else { continue };
        let budget = &body(&request)["output_config"]["task_budget"];
        assert_eq!(budget["total"], json!(50_000), "{cli}: {budget}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn betas_reach_the_api() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let set = |options: &mut SessionOptions| options.spec.betas = vec!["context-1m-2025-08-07".into()];
        let Some(request) = known(&cli, "--betas", asked(&cli, set).await) else { continue };
        let betas = request.betas.unwrap_or_default();
        assert!(betas.split(',').any(|beta| beta == "context-1m-2025-08-07"), "{cli}: {betas}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cost_limit_that_the_cli_cannot_keep_is_refused() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let set = |options: &mut SessionOptions| options.spec.max_cost_usd = Some(5.0);
        known(&cli, "--max-budget-usd", asked(&cli, set).await);
        let set = |options: &mut SessionOptions| options.spec.no_session_persistence = true;
        known(&cli, "--no-session-persistence", asked(&cli, set).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_restored_to_their_state_at_a_message() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let file = place.directory().join("notes.txt");
        std::fs::write(&file, "before").unwrap();
        let mut options = made(&cli, &place, &api).permission_mode("acceptEdits");
        options.spec.file_checkpointing = true;
        let session = Session::new(options);
        let script = json!([
            {"tool": "Read", "input": {"file_path": &file}},
            {"tool": "Write", "input": {"file_path": &file, "content": "after"}},
            {"text": "done"},
        ]);
        let mut sent = session.send(format!("@@{script}")).await.unwrap();
        match sent.answer().await {
            Ok(end) => assert_eq!(end.text, "done", "{cli}"),
            Err(error) => {
                assert!(cli.version < Version::new(2, 0, 72), "{cli}: {error}");
                assert!(error.to_string().contains("copies of the files"), "{cli}: {error}");
                continue;
            }
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "after", "{cli}");
        let report = session.rewind_files(&sent.id, false).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "before", "{cli}: {report:?}");
        assert!(report.error.is_none(), "{cli}: {report:?}");
        session.stop().await;
    }
}
