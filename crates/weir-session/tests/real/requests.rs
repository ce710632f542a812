//! Control requests of a session on real CLIs: what each version answers, and that others are refused.

use serde_json::{Map, json};
use weir_process::Capabilities;
use weir_session::{Session, SessionError, SettingsFile};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::scenario::Cli;
use weir_wire::{HostRequest, MessageId};

use crate::model::made;
use crate::session_options::echo;

/// A session after its first turn.
struct Talk {
    cli: Cli,
    session: Session,
    place: Place,
    _api: ScriptedApi,
}

async fn talk(cli: Cli, set: impl FnOnce(&mut weir_session::SessionOptions)) -> Talk {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let mut options = made(&cli, &place, &api);
    set(&mut options);
    let session = Session::new(options);
    assert_eq!(session.ask(r#"@@[{"text":"done"}]"#).await.unwrap().text, "done", "{cli}");
    Talk { cli, session, place, _api: api }
}

impl Talk {
    /// The answer, or none from a version that is listed without the request and refused.
    fn since<T>(&self, subtype: &str, answer: Result<T, SessionError>) -> Option<T> {
        let knows = Capabilities::of(self.cli.version).has_control(subtype);
        match answer {
            Ok(answer) => {
                assert!(knows, "{} knows {subtype}: say so in the table", self.cli);
                Some(answer)
            }
            Err(SessionError::NotSupported { .. }) if !knows => None,
            Err(error) => panic!("{} {subtype}: {error}", self.cli),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_tells_about_itself() {
    for cli in crate::real_clis() {
        let talk =
            talk(Cli::from(cli), |options| options.spec.allowed_tools = vec!["Bash(git:*)".into()]).await;
        let session = &talk.session;
        if let Some(usage) = talk.since("get_context_usage", session.context_usage().await) {
            assert!(usage.max_tokens > 0 && !usage.categories.is_empty(), "{usage:?}");
        }
        if let Some(models) = talk.since("list_models", session.models().await) {
            assert!(models.models.iter().any(|model| model.value == "default"), "{models:?}");
        }
        if let Some(text) = talk.since("get_session_cost", session.cost_text().await) {
            assert!(text.contains("Total cost"), "{text}");
        }
        if let Some(usage) = talk.since("get_usage", session.usage().await) {
            assert!(usage.session.contains_key("total_cost_usd"), "{usage:?}");
        }
        if let Some(settings) = talk.since("get_settings", session.settings().await) {
            assert!(settings.applied.contains_key("model"), "{settings:?}");
        }
        if let Some(rules) = talk.since("list_permission_rules", session.permission_rules().await) {
            assert!(rules.rules.iter().any(|rule| rule.rule == "Bash(git:*)"), "{rules:?}");
        }
        talk.since("get_hooks_listing", session.hooks().await);
        if let Some(plan) = talk.since("get_plan", session.plan().await) {
            assert!(!plan.exists, "{plan:?}");
        }
        if let Some(text) = talk.since("export_conversation", session.export().await) {
            assert!(text.text.contains("done") && !text.default_filename.is_empty(), "{text:?}");
        }
        if let Some(answer) =
            talk.since("side_question", session.side_question(r#"@@[{"text":"because"}]"#).await)
        {
            assert!(answer.is_some_and(|answer| !answer.is_empty()));
        }
        talk.since("generate_session_title", session.generate_title("the leak in the dam", false).await);
        talk.since("rename_session", session.rename("The dam").await);
        talk.since("reload_skills", session.reload_skills().await);
        talk.since("reload_plugins", session.reload_plugins().await);
        talk.since("background_tasks", session.send_to_background(None).await);
        talk.since("set_max_thinking_tokens", session.set_max_thinking_tokens(Some(2000)).await);
        let model = json!({"model": "claude-haiku-4-5"}).as_object().cloned().unwrap();
        talk.since("apply_flag_settings", session.apply_settings(model).await);
        session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_version_does_not_know_is_refused_and_not_waited_for() {
    for cli in crate::real_clis() {
        let talk = talk(Cli::from(cli), |_| {}).await;
        let started = std::time::Instant::now();
        for request in [
            HostRequest::GetWorkspaceDiff,
            HostRequest::McpToggle { server: "none".into(), enabled: true },
            HostRequest::GetTaskOutput { task_id: "none".into() },
        ] {
            let subtype = request.subtype().to_owned();
            match talk.session.request(request).await {
                // The server and the task do not exist.
                Ok(_) | Err(SessionError::Refused { .. }) => {}
                Err(error) => {
                    talk.since::<()>(&subtype, Err(error));
                }
            }
        }
        assert!(started.elapsed().as_secs() < 8, "{}", talk.cli);
        talk.session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mcp_servers_are_set_switched_and_called() {
    for cli in crate::real_clis() {
        let talk = talk(Cli::from(cli), |_| {}).await;
        let session = &talk.session;
        let set = session.set_mcp_servers([("echo".to_owned(), echo())].into()).await;
        let Some(set) = talk.since("mcp_set_servers", set) else {
            session.stop().await;
            continue;
        };
        assert_eq!(
            (set.added.as_slice(), set.errors.len()),
            (["echo".to_owned()].as_slice(), 0),
            "{}",
            talk.cli
        );
        let status = session.mcp_status().await.unwrap();
        let echo = status.servers.iter().find(|server| server.name == "echo").unwrap();
        assert_eq!(echo.status, "connected", "{} {status:?}", talk.cli);
        let called = session.call_mcp_tool("mcp__echo__say", Map::new()).await;
        if let Some(called) = talk.since("mcp_call", called) {
            assert_eq!(called.content[0]["text"], "echoed by the server", "{}", talk.cli);
        }
        let page = session.read_mcp_resource("echo", "ui://page").await;
        if let Some(page) = talk.since("mcp_read_resource", page) {
            assert_eq!(page.contents[0].text.as_deref(), Some("a page"), "{}", talk.cli);
        }
        if talk.since("mcp_toggle", session.toggle_mcp_server("echo", false).await).is_some() {
            let status = session.mcp_status().await.unwrap();
            // 2.1.61 lists it twice, once as it was.
            let is_off = status.servers.iter().any(|server| server.status == "disabled");
            assert!(is_off, "{} {status:?}", talk.cli);
            session.toggle_mcp_server("echo", true).await.unwrap();
        }
        talk.since("mcp_reconnect", session.reconnect_mcp_server("echo").await);
        session.stop().await;
    }
}

#[cfg(feature = "mcp")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_ours_stays_when_others_are_set() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        if cli.version < weir_testkit::real::Version::new(2, 0, 72) {
            continue;
        }
        let (make, _events, _) = crate::calc::calc();
        let talk = talk(cli, |options| {
            *options = std::mem::take(options).mcp_server("calc", make).allowed_tools(["mcp__calc"]);
        });
        let talk = talk.await;
        talk.session.set_mcp_servers([("echo".to_owned(), echo())].into()).await.unwrap();
        let steps = json!([{"tool": "mcp__calc__add", "input": {"a": 1, "b": 2}}, {"text": "done"}]);
        assert_eq!(talk.session.ask(format!("@@{steps}")).await.unwrap().text, "done", "{}", talk.cli);
        let view = talk.session.view().await.unwrap();
        let (_, called) = view.tools().last().unwrap();
        assert_eq!(called.state, weir_transcript::ToolState::Succeeded, "{}", talk.cli);
        talk.session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_taken_back_and_files_are_read() {
    for cli in crate::real_clis() {
        let talk = talk(Cli::from(cli), |_| {}).await;
        let session = &talk.session;
        std::fs::write(talk.place.directory().join("notes.txt"), "some notes").unwrap();
        if let Some(file) = talk.since("read_file", session.read_file("notes.txt", None).await) {
            assert_eq!(file.contents, "some notes", "{}", talk.cli);
        }
        let mut second = session.send(r#"second @@[{"text":"again"}]"#).await.unwrap();
        assert_eq!(second.answer().await.unwrap().text, "again");
        let back = talk.since("rewind_conversation", session.rewind_conversation(&second.id).await);
        if let Some(text) = back {
            assert!(text.is_some_and(|text| text.contains("second")), "{}", talk.cli);
            let gone =
                session.rewind_conversation(&MessageId::from("8d0e2a4c-0000-4000-8000-000000000000")).await;
            assert!(matches!(gone, Err(SessionError::Refused { .. })), "{} {gone:?}", talk.cli);
        }
        let other = talk.place.path("other");
        std::fs::create_dir_all(&other).unwrap();
        let moved = session.set_cwd(other.to_string_lossy()).await;
        talk.since("set_cwd", moved);
        session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_changes_of_the_folder_are_told() {
    for cli in crate::real_clis() {
        let talk = talk(Cli::from(cli), |options| {
            let folder = options.cwd.clone().unwrap();
            std::fs::write(folder.join("a.txt"), "one\n").unwrap();
            weir_testkit::begin_repository(&folder);
            std::fs::write(folder.join("a.txt"), "one\ntwo\n").unwrap();
        });
        let talk = talk.await;
        if let Some(diff) = talk.since("get_workspace_diff", talk.session.workspace_diff().await) {
            let file = &diff.per_file_stats[0];
            assert_eq!((file.path.as_str(), file.added, file.removed), ("a.txt", 1, 0), "{diff:?}");
            assert_eq!(diff.hunks[0].hunks[0].lines, [" one", "+two"]);
        }
        talk.session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_for_the_running_turn_is_cancelled() {
    for cli in crate::real_clis() {
        let talk = talk(Cli::from(cli), |options| options.spec.allowed_tools = vec!["Bash".into()]).await;
        let session = &talk.session;
        let started = talk.place.directory().join("started");
        let command = format!("touch {}; sleep 3", started.display());
        let steps =
            json!([{"tool": "Bash", "input": {"command": command, "description": "x"}}, {"text": "slept"}]);
        let mut first = session.send(format!("@@{steps}")).await.unwrap();
        weir_testkit::until("the command", || started.exists()).await;
        let mut second = session.steer(r#"never @@[{"text":"never"}]"#).await.unwrap();
        // Versions without the request also get no message while a turn runs: it still waits on our side.
        session.cancel(&second.id).await.unwrap();
        assert!(matches!(second.answer().await, Err(SessionError::Cancelled)), "{}", talk.cli);
        assert_eq!(first.answer().await.unwrap().text, "slept", "{}", talk.cli);
        session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_marked_as_read_can_be_written() {
    for cli in crate::real_clis() {
        for is_marked in [false, true] {
            let talk = talk(Cli::from(cli.clone()), |options| {
                options.spec.permission_mode = Some("acceptEdits".into());
            });
            let talk = talk.await;
            let file = talk.place.directory().join("notes.txt");
            std::fs::write(&file, "before").unwrap();
            let changed = std::fs::metadata(&file).unwrap().modified().unwrap();
            let changed = changed.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
            if is_marked {
                let path = file.canonicalize().unwrap();
                let marked =
                    talk.session.mark_as_read(path.to_string_lossy(), u64::try_from(changed).unwrap());
                if talk.since("seed_read_state", marked.await).is_none() {
                    talk.session.stop().await;
                    continue;
                }
            }
            let steps = json!([{"tool": "Write", "input": {"file_path": &file, "content": "after"}}, {"text": "done"}]);
            talk.session.ask(format!("@@{steps}")).await.unwrap();
            let written = std::fs::read_to_string(&file).unwrap() == "after";
            assert_eq!(written, is_marked, "{}", talk.cli);
            talk.session.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settings_file_is_changed() {
    for cli in crate::real_clis() {
        let talk = talk(Cli::from(cli), |options| {
            *options = std::mem::take(options).load_project_settings();
        });
        let talk = talk.await;
        let settings = json!({"outputStyle": "Explanatory"}).as_object().cloned().unwrap();
        let changed = talk.session.update_settings(SettingsFile::Local, settings).await;
        if talk.since("update_settings", changed).is_some() {
            let file = talk.place.directory().join(".claude/settings.local.json");
            assert!(std::fs::read_to_string(file).unwrap().contains("Explanatory"), "{}", talk.cli);
        }
        talk.since("reload_output_styles", talk.session.reload_output_styles().await);
        talk.session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_output_of_a_background_command_is_told() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        // Older ones do not report what runs in the background.
        if cli.version < weir_testkit::real::Version::new(2, 1, 197) {
            continue;
        }
        let talk = talk(cli, |options| options.spec.allowed_tools = vec!["Bash".into()]).await;
        let input =
            json!({"command": "echo so far; sleep 60", "description": "x", "run_in_background": true});
        let steps = json!([{"tool": "Bash", "input": input}, {"text": "it runs"}]);
        talk.session.ask(format!("@@{steps}")).await.unwrap();
        let task = talk.session.view().await.unwrap().tasks[0].id.clone();
        let mut told = talk.session.task_output(&task).await;
        // The command may not have printed yet.
        while matches!(&told, Ok(output) if output.output.is_empty()) {
            told = talk.session.task_output(&task).await;
        }
        if let Some(output) = talk.since("get_task_output", told) {
            assert!(output.output.contains("so far") && !output.truncated, "{} {output:?}", talk.cli);
        }
        talk.session.stop_task(&task).await.unwrap();
        talk.session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_gets_a_permission_mode_of_its_own_and_may_ask_for_a_login() {
    for cli in crate::real_clis() {
        let talk = talk(Cli::from(cli), |options| {
            *options = std::mem::take(options).external_mcp_server("echo", echo());
        });
        let talk = talk.await;
        let session = &talk.session;
        let mode = session.set_mcp_permission_mode("echo", Some("default".into())).await;
        if talk.since("set_mcp_permission_mode_override", mode).is_some() {
            session.set_mcp_permission_mode("echo", None).await.unwrap();
        }
        // A program needs no login, which the CLI says; it is not a request that it does not know.
        match session.log_in_to_mcp_server("echo").await {
            Ok(login) => assert_eq!(login.auth_url, None, "{}", talk.cli),
            Err(SessionError::Refused { message }) => assert!(!message.is_empty(), "{}", talk.cli),
            Err(error) => {
                talk.since::<()>("mcp_authenticate", Err(error));
            }
        }
        session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_version_of_the_running_program_is_told() {
    for cli in crate::real_clis() {
        let talk = talk(Cli::from(cli), |_| {}).await;
        let told = talk.session.request(HostRequest::GetBinaryVersion).await;
        if let Some(told) = talk.since("get_binary_version", told) {
            assert!(told.to_string().contains(&talk.cli.version.to_string()), "{} {told}", talk.cli);
        }
        talk.session.stop().await;
    }
}
