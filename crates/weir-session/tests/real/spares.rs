//! Started CLIs that belong to no folder: what a session tells one has the effect of a cold start.

use std::time::Duration;

use weir_session::{Session, Spares};
use weir_testkit::Place;
use weir_testkit::api::{RecordedRequest, ScriptedApi};
use weir_testkit::real::Version;
use weir_testkit::scenario::Cli;

use crate::model::{body, made};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spare_is_told_folder_model_mode_and_prompts() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api, spares) = (Place::new().unwrap(), ScriptedApi::start().unwrap(), Spares::new(1));
        let options = || {
            let mut options = made(&cli, &place, &api).spares(spares.clone());
            (options.log, options.sandbox) = (None, None);
            options
        };
        let first = Session::new(options());
        assert_eq!(first.ask(r#"@@[{"text":"one"}]"#).await.unwrap().text, "one", "{cli}");
        first.settled().await.unwrap();
        if cli.version < Version::new(2, 1, 325) {
            assert_eq!((spares.ready(), spares.taken()), (0, 0), "{cli}");
            first.stop().await;
            continue;
        }
        weir_testkit::until("a spare", || spares.ready() == 1).await;
        let folder = place.path("elsewhere");
        std::fs::create_dir_all(&folder).unwrap();
        let own = options()
            .cwd(&folder)
            .model("claude-haiku-4-5")
            .permission_mode("plan")
            .append_system_prompt("The dam is made of oak.")
            .title("Oak");
        let second = Session::new(own);
        let end = tokio::time::timeout(Duration::from_secs(60), second.ask(r#"@@[{"text":"two"}]"#)).await;
        assert_eq!(end.unwrap().unwrap().text, "two", "{cli}");
        assert_eq!(spares.taken(), 1, "{cli}");
        let view = second.view().await.unwrap();
        assert_eq!(view.session.cwd.as_deref(), folder.canonicalize().unwrap().to_str(), "{cli}");
        assert_eq!(view.session.permission_mode.as_deref(), Some("plan"), "{cli}");
        assert_eq!(view.session.title.as_deref(), Some("Oak"), "{cli}");
        let requests = api.requests();
        let last = requests.iter().rfind(|request| request.is_message() && !request.tools.is_empty());
        let body = body(last.unwrap());
        assert_eq!(body["model"], "claude-haiku-4-5", "{cli}");
        assert!(body["system"].to_string().contains("made of oak"), "{cli}");
        // It has the hooks that every session has.
        let asked = second.ask(r#"@@[{"tool":"ListAgents","input":{}},{"text":"three"}]"#).await;
        assert_eq!(asked.unwrap().text, "three", "{cli}");
        let is_refused = |request: &RecordedRequest| {
            crate::model::body(request)["messages"].to_string().contains("out of reach")
        };
        assert!(api.requests().iter().any(is_refused), "{cli}");
        spares.close();
        second.stop().await;
        first.stop().await;
    }
}
