//! Which tools a real CLI has: a tool that is not in the list does not run, even if it would never ask.

use serde_json::json;
use weir_session::{Session, SessionOptions, Unlisted, tools_of_rules};
use weir_testkit::Place;
use weir_testkit::api::{RecordedRequest, ScriptedApi};
use weir_testkit::scenario::{Cli, Process};
use weir_transcript::ToolState;

use crate::host::Host;
use crate::options::options;
use crate::recorder::Recorder;

fn made(cli: &Cli, place: &Place, api: &ScriptedApi) -> SessionOptions {
    let process = Process::default();
    options((cli, place, api), &process, "", &Host::new(&process), &Recorder::default())
}

/// The tools of the session's own requests; old versions also query a small model without any.
fn offered(api: &ScriptedApi) -> Vec<String> {
    let requests = api.requests();
    let longest = requests.iter().filter(|request| request.is_message()).map(|request| &request.tools);
    longest.max_by_key(|tools| tools.len()).cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_no_rule_names_does_not_exist() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let rules = ["Read", "Grep(src/**)"].map(str::to_owned);
        let tools = tools_of_rules(&rules, Unlisted::Absent);
        let session = Session::new(made(&cli, &place, &api).allowed_tools(rules).tools(tools));
        let ran = place.directory().join("ran");
        let script = json!([
            {"tool": "Bash", "input": {"command": "ls"}},
            {"tool": "Bash", "input": {"command": format!("touch {}", ran.display())}},
            {"tool": "EnterWorktree", "input": {"name": "side"}},
            {"tool": "CronCreate", "input": {"cron": "* * * * *", "prompt": "hello"}},
            {"tool": "Task", "input": {"description": "d", "prompt": "@@[{\"text\":\"from the agent\"}]", "subagent_type": "general-purpose"}},
            {"text": "done"},
        ]);
        let end = session.ask(format!("@@{script}")).await.unwrap();
        assert_eq!(end.text, "done", "{cli}");
        let tools = offered(&api);
        let known = ["AskUserQuestion", "ExitPlanMode", "Grep", "Read", "TodoWrite"];
        let known = |tool: &String| known.contains(&tool.as_str()) || tool == "DeferredToolPlaceholder";
        assert!(tools.contains(&"Read".to_owned()) && tools.iter().all(known), "{cli}: {tools:?}");
        let view = session.view().await.unwrap();
        for (_, tool) in view.tools() {
            assert_eq!(tool.state, ToolState::Failed, "{cli}: {}", tool.name);
        }
        assert_eq!(view.tools().count(), 5, "{cli}");
        assert!(!ran.exists() && !place.directory().join(".claude").exists(), "{cli}");
        let asked = |request: &RecordedRequest| format!("{:?}", request.body).contains("from the agent");
        let agents = api.requests().into_iter().filter(|request| request.messages == 1 && asked(request));
        assert!(agents.count() <= 1, "{cli}: a sub-agent has begun");
        session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_with_two_names_exists_on_every_version() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for name in ["Task", "Agent"] {
            let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
            let session = Session::new(made(&cli, &place, &api).tools(["Read", name]));
            session.ask(r#"@@[{"text":"done"}]"#).await.unwrap();
            let tools = offered(&api);
            let has = |tool: &str| tools.iter().any(|known| known == tool);
            assert!((has("Task") || has("Agent")) && !has("Bash"), "{cli} {name}: {tools:?}");
            session.stop().await;
        }
    }
}

#[cfg(feature = "mcp")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_own_server_is_available_and_one_in_the_settings_is_not() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for (named, is_started) in [("Read", false), ("mcp__calc", true)] {
            let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
            let started = place.root().join("started");
            let server = json!({"mcpServers": {"settings": {"command": "touch", "args": [&started]}}});
            let home = place.root().join("home");
            std::fs::create_dir_all(&home).unwrap();
            std::fs::write(home.join(".claude.json"), server.to_string()).unwrap();
            let session = Session::new(
                made(&cli, &place, &api).mcp_server("calc", crate::calc::calc().0).tools(["Read", named]),
            );
            session.ask(r#"@@[{"text":"done"}]"#).await.unwrap();
            let tools = session.view().await.unwrap().session.tools;
            assert!(tools.iter().any(|tool| tool == "mcp__calc__add"), "{cli} {named}: {tools:?}");
            assert!(!tools.iter().any(|tool| tool == "Bash"), "{cli} {named}: {tools:?}");
            session.stop().await;
            assert_eq!(started.exists(), is_started, "{cli} {named}");
        }
    }
}
