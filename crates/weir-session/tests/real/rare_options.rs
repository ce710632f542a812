//! Options that are set rarely do what they say on real CLIs, and a version that lacks one refuses to start.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use weir_process::Transport;
use weir_session::{AgentSpec, Ask, Deciding, Decision, Effort, Handler, PreviewFormat, Session};
use weir_testkit::Place;
use weir_testkit::api::{RecordedRequest, ScriptedApi};
use weir_testkit::real::Version;
use weir_testkit::scenario::Cli;
use weir_transcript::{Entry, EntryBody, Notice, RequestKind};
use weir_wire::{HookEvent, HookInput, HookOutput, HookRegistration, McpServerConfig};

use crate::model::{asked, body, made};
use crate::session_options::{V2_0_72, V2_1_9, V2_1_61, V2_1_197, V2_1_325, since, told};

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_takes_over_while_the_first_is_overloaded() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let mut options =
            made(&cli, &place, &api).model("claude-opus-4-1").fallback_models(["claude-haiku-4-5"]);
        options.environment = options.environment.set("CLAUDE_CODE_MAX_RETRIES", "3");
        let session = Session::new(options);
        let steps = json!([{"status": 529, "etype": "overloaded_error", "msg": "Overloaded", "times": 3, "text": "there"}]);
        let end = session.ask(format!("@@{steps}")).await.unwrap();
        session.stop().await;
        assert_eq!(end.text, "there", "{cli}");
        let requests = api.requests();
        let own = requests.iter().filter(|request| request.is_message() && !request.tools.is_empty());
        let models: Vec<String> =
            own.map(|request| body(request)["model"].as_str().unwrap_or_default().to_owned()).collect();
        assert!(models.first().is_some_and(|model| model.contains("opus")), "{cli}: {models:?}");
        // Older versions take the option, and stayed with the model in each of four attempts (2.0.72, 2.1.9, 2.1.61).
        let takes_over = cli.version >= V2_1_325;
        assert_eq!(
            models.last().is_some_and(|model| model.contains("haiku")),
            takes_over,
            "{cli}: {models:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_an_additional_folder_may_be_edited() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for is_added in [false, true] {
            let other = Place::new().unwrap();
            let file = other.directory().join("a.txt");
            let prompt =
                json!([{"tool": "Write", "input": {"file_path": &file, "content": "a\n"}}, {"text": "done"}]);
            let told = told(&cli, &prompt, |options, _| {
                let made = std::mem::take(options).permission_mode("acceptEdits");
                *options = if is_added { made.add_dir(other.directory()) } else { made };
                // Nobody is asked.
                options.handler = None;
            });
            told.await.unwrap();
            assert_eq!(file.exists(), is_added, "{cli}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_named_servers_are_started_where_that_is_wanted() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for strict in [false, true] {
            let started = Place::new().unwrap();
            let mark = started.path("started");
            let prompt = json!([{"text": "done"}]);
            let told = told(&cli, &prompt, |options, place| {
                let server = json!({"mcpServers": {"settings": {"command": "touch", "args": [&mark]}}});
                std::fs::create_dir_all(place.home()).unwrap();
                std::fs::write(place.home().join(".claude.json"), server.to_string()).unwrap();
                *options = std::mem::take(options).strict_mcp(strict);
            });
            told.await.unwrap();
            assert_eq!(mark.exists(), !strict, "{cli}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restrictions_are_managed_by_the_program() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let rules = object(&json!({"permissions": {"deny": ["Bash"]}}));
        let asked = asked(&cli, |options| options.managed_settings = Some(rules)).await;
        let Some(request) = since(&cli, V2_1_197, "--managed-settings", asked) else { continue };
        assert!(!request.tools.iter().any(|tool| tool == "Bash"), "{cli}: {:?}", request.tools);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_settings_of_a_worktree_are_those_of_its_checkout() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let root = Place::new().unwrap();
        let folder = root.directory().join(".claude");
        std::fs::create_dir_all(&folder).unwrap();
        let rules = json!({"permissions": {"deny": ["Bash"]}});
        std::fs::write(folder.join("settings.json"), rules.to_string()).unwrap();
        let asked = asked(&cli, |options| {
            *options = std::mem::take(options).project_config_root(root.directory()).load_project_settings();
        });
        let Some(request) = since(&cli, V2_1_325, "--project-config-root", asked.await) else { continue };
        assert!(!request.tools.iter().any(|tool| tool == "Bash"), "{cli}: {:?}", request.tools);
    }
}

/// The lines of this type in the raw log.
async fn logged(session: &Session, kind: &str) -> Vec<Value> {
    let log = session.facts().await.unwrap().logs.unwrap().output;
    let text = std::fs::read_to_string(log).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["type"] == kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_ends_at_a_line_and_drops_one_turn() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let session = Session::new(made(&cli, &place, &api));
        assert_eq!(session.ask(r#"the first @@[{"text":"one"}]"#).await.unwrap().text, "one", "{cli}");
        let lines = logged(&session, "assistant").await;
        let line = lines.last().unwrap()["uuid"].as_str().unwrap().to_owned();
        let mut second = session.send(r#"the second @@[{"text":"two"}]"#).await.unwrap();
        let id = second.answer().await.unwrap().session_id.clone().unwrap();
        session.stop().await;
        for (dropped, needed) in [(None, V2_0_72), (Some(second.id.clone()), V2_1_325)] {
            let before = api.requests().len();
            let mut options = made(&cli, &place, &api).fork_at(id.as_str(), line.as_str());
            options.resume_drops_turn = dropped.as_ref().map(ToString::to_string);
            let copy = Session::new(options);
            let answer =
                copy.ask(r#"the third @@[{"text":"three"}]"#).await.map_err(|error| error.to_string());
            copy.stop().await;
            let named = match (&dropped, cli.version < V2_0_72) {
                (Some(_), false) => "--resume-drops-turn",
                _ => "earlier point",
            };
            let Some(end) = since(&cli, needed, named, answer) else { continue };
            assert_eq!(end.text, "three", "{cli}");
            assert_ne!(end.session_id.as_ref(), Some(&id), "{cli}");
            let requests = api.requests();
            let own = |request: &&RecordedRequest| request.is_message() && !request.tools.is_empty();
            let told = body(requests.iter().skip(before).rfind(own).unwrap())["messages"].to_string();
            assert!(told.contains("the first") && !told.contains("the second"), "{cli} {dropped:?}: {told}");
        }
        // A message that is not the only one after the line is not dropped.
        let mut options = made(&cli, &place, &api).fork_at(id.as_str(), line.as_str());
        options.resume_drops_turn = Some("8d0e2a4c-0000-4000-8000-000000000000".to_owned());
        let copy = Session::new(options);
        let answer = copy.ask(r#"@@[{"text":"never"}]"#).await;
        assert!(answer.is_err(), "{cli}: {answer:?}");
        copy.stop().await;
    }
}

#[cfg(feature = "mcp")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_our_own_server_has_a_time_limit() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (make, _events, _) = crate::calc::calc();
        let prompt = json!([{"tool": "mcp__calc__wait", "input": {}}, {"text": "done"}]);
        let told = told(&cli, &prompt, |options, _| {
            let made = std::mem::take(options).mcp_server("calc", make).allowed_tools(["mcp__calc"]);
            *options = made.mcp_server_timeout("calc", Duration::from_secs(1));
        });
        let Some(told) = since(&cli, V2_1_325, "mcp_server_timeouts", told.await) else { continue };
        assert!(told.to_lowercase().contains("timed out"), "{cli}");
    }
}

/// Fails to answer hooks, and is never asked for anything else.
struct Failing(&'static str);

impl Handler for Failing {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        Box::pin(async move {
            match ask {
                Ask::Hook(_) if self.0 == "late" => std::future::pending().await,
                Ask::Hook(_) => Decision::Error("the hook is broken".to_owned()),
                _ => Decision::allow(),
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_is_late_or_fails_blocks_the_call_where_that_is_wanted() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for (how, timeout_s, blocks, needed, named) in
            [("late", Some(1), false, V2_1_9, "timeout"), ("broken", None, true, V2_1_325, "fail")]
        {
            let ran = Place::new().unwrap();
            let mark = ran.path("ran");
            let command = format!("touch {}", mark.display());
            let prompt = json!([{"tool": "Bash", "input": {"command": command, "description": "x"}}, {"text": "done"}]);
            let told = told(&cli, &prompt, |options, _| {
                let hook = HookRegistration {
                    matcher: Some("Bash".to_owned()),
                    timeout_s,
                    blocks_on_failure: blocks,
                    ..HookRegistration::new(HookEvent::PreToolUse, "mine")
                };
                let made = std::mem::take(options).handler(Failing(how)).handler_hook(hook);
                *options = made.allowed_tools(["Bash"]);
            });
            if since(&cli, needed, named, told.await).is_none() {
                continue;
            }
            // Up to 2.1.61 a call goes ahead when a hook is late.
            let is_blocked = how == "broken" || cli.version >= V2_1_197;
            assert_eq!(mark.exists(), !is_blocked, "{cli} {how}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_hear_the_hooks_of_a_turn() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let events = [
            HookEvent::UserPromptSubmit,
            HookEvent::PreToolUse,
            HookEvent::PostToolUse,
            HookEvent::SubagentStop,
            HookEvent::Stop,
        ];
        let heard = Arc::new(Mutex::new(Vec::new()));
        let prompt = format!("@@{}", json!([{"text": "reported"}]));
        let input = json!({"description": "d", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false});
        let steps = json!([{"tool": "Task", "input": input}, {"text": "done"}]);
        let told = told(&cli, &steps, |options, _| {
            let mut made = std::mem::take(options).allowed_tools(["Task", "Agent"]);
            for event in events.clone() {
                let heard = Arc::clone(&heard);
                made = made.hook(event, None, move |call: HookInput| {
                    heard.lock().unwrap().push(call.details.event().as_str().to_owned());
                    std::future::ready(HookOutput::new())
                });
            }
            *options = made;
        });
        told.await.unwrap();
        let heard = heard.lock().unwrap();
        for event in &events {
            assert!(heard.iter().any(|name| name == event.as_str()), "{cli} {event:?}: {heard:?}");
        }
    }
}

/// A server whose tool asks the user for a colour, and tells the model what was answered.
const ASKS: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    [ -n "$id" ] || continue
    case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"asks","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"paint","description":"Paints","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
        call=$id
        printf '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"Which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"]}}}\n'
        continue ;;
    *'"id":900'*)
        id=$call
        said=$(printf '%s' "$line" | tr -d '"{}\\')
        result="{\"content\":[{\"type\":\"text\",\"text\":\"heard $said\"}]}" ;;
    *) result='{}' ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// Answers forms, and keeps what was asked.
#[derive(Clone, Default)]
struct Answering(Arc<Mutex<Vec<String>>>);

impl Handler for Answering {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        let decision = match ask.kind() {
            Some(form @ RequestKind::Elicitation { .. }) => {
                self.0.lock().unwrap().push(format!("{form:?}"));
                Decision::Value(json!({"action": "accept", "content": {"colour": "teal"}}))
            }
            _ => Decision::allow(),
        };
        Box::pin(std::future::ready(decision))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_asks_the_user_for_a_value() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let prompt = json!([{"tool": "mcp__asks__paint", "input": {}}, {"text": "done"}]);
        let handler = Answering::default();
        let told = told(&cli, &prompt, |options, _| {
            let server = McpServerConfig::stdio("sh", ["-c", ASKS]);
            let made = std::mem::take(options).external_mcp_server("asks", server).strict_mcp(true);
            *options = made.handler(handler.clone()).allowed_tools(["mcp__asks"]);
        });
        let told = told.await.unwrap();
        // Older versions do not offer it to servers, or decline by themselves.
        let is_asked = cli.version >= V2_1_197;
        assert_eq!(told.contains("teal"), is_asked, "{cli}");
        let asked = handler.0.lock().unwrap();
        assert_eq!(asked.len(), usize::from(is_asked), "{cli}: {asked:?}");
        assert!(asked.iter().all(|form| form.contains("Which colour?")), "{cli}: {asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_an_agent_reach_the_api() {
    type Set = fn(&mut AgentSpec);
    type Check = fn(&Value) -> bool;
    let members: [(&str, Version, Set, Check); 4] = [
        (
            "model",
            V2_0_72,
            |agent| agent.model = Some("haiku".into()),
            |body| body["model"].as_str().is_some_and(|model| model.contains("haiku")),
        ),
        (
            "effort",
            V2_1_197,
            |agent| agent.effort = Some(Effort::Low),
            |body| body["output_config"]["effort"] == "low",
        ),
        (
            "disallowed_tools",
            V2_1_9,
            |agent| agent.disallowed_tools = vec!["Bash".into()],
            |body| !body["tools"].to_string().contains(r#""name":"Bash""#),
        ),
        (
            "skills",
            V2_1_61,
            |agent| agent.skills = vec!["masonry".into()],
            |body| body["messages"].to_string().contains("lay the bricks"),
        ),
    ];
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let prompt = format!("@@{}", json!([{"text": "reported"}]));
        let input = json!({"description": "d", "prompt": prompt, "subagent_type": "mason", "run_in_background": false});
        let steps = json!([{"tool": "Task", "input": input}, {"text": "done"}]);
        for (name, needed, set, check) in members {
            let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
            let skill = place.directory().join(".claude/skills/masonry");
            std::fs::create_dir_all(&skill).unwrap();
            let text = "---\nname: masonry\ndescription: Masonry\n---\nFirst lay the bricks.";
            std::fs::write(skill.join("SKILL.md"), text).unwrap();
            let mut agent = AgentSpec::new("Builds walls", "You are the mason of the house.");
            // Only some models have levels.
            agent.model = Some("opus".into());
            set(&mut agent);
            let options = made(&cli, &place, &api).allowed_tools(["Task", "Agent", "Skill"]);
            let session = Session::new(options.define_agent("mason", agent).load_project_settings());
            let answer = session.ask(format!("@@{steps}")).await.map_err(|error| error.to_string());
            session.stop().await;
            let named = if cli.version < V2_0_72 { "--agents" } else { name };
            if since(&cli, needed, named, answer).is_none() {
                continue;
            }
            let requests = api.requests();
            let of_agent = |request: &&RecordedRequest| {
                request.is_message() && body(request)["system"].to_string().contains("mason of the house")
            };
            let request = requests.iter().find(of_agent).unwrap_or_else(|| panic!("{cli} {name}: no agent"));
            assert!(check(&body(request)), "{cli} {name}: {}", request.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_works_on_a_terminal() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let prompt = json!([{"text": "done"}]);
        let told = told(&cli, &prompt, |options, _| options.transport = Transport::Pty);
        assert!(told.await.unwrap().contains("done"), "{cli}: the message reached the model");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_message_is_suggested() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let session = Session::new(made(&cli, &place, &api).prompt_suggestions(true));
        let mut last = Ok(());
        for text in ["one", "two", "three"] {
            let answer =
                session.ask(format!("@@{}", json!([{"text": text}, {"text": "run the tests"}]))).await;
            last = answer.map(drop).map_err(|error| error.to_string());
            if last.is_err() {
                break;
            }
        }
        let Some(()) = since(&cli, V2_1_197, "--prompt-suggestions", last) else { continue };
        let is_suggested =
            || api.requests().iter().any(|request| request.body.to_string().contains("SUGGESTION MODE"));
        weir_testkit::until("a request for a suggestion", is_suggested).await;
        let mut updates = session.follow().await.unwrap();
        let suggested = async {
            loop {
                let view = session.view().await.unwrap();
                let is_it = |entry: &Arc<Entry>| match &entry.body {
                    EntryBody::Notice { notice: Notice::Info { level: Some(level), text } } => {
                        level == "suggestion" && text == "run the tests"
                    }
                    _ => false,
                };
                if view.entries.iter().any(is_it) {
                    return;
                }
                updates.next().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(20), suggested)
            .await
            .unwrap_or_else(|_| panic!("{cli}: no suggestion"));
        session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_choices_of_a_question_may_have_previews() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for format in [PreviewFormat::Markdown, PreviewFormat::Html] {
            let asked = asked(&cli, |options| options.question_previews = Some(format)).await;
            let Some(request) = since(&cli, V2_1_197, "previews", asked) else { continue };
            let tools = body(&request)["tools"].clone();
            let question = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "AskUserQuestion");
            assert!(question.unwrap().to_string().contains("preview"), "{cli}: {question:?}");
        }
    }
}

/// The CLI sums up every half minute, so the agent has to work that long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_of_an_agent_is_summed_up() {
    let is_long = std::env::var_os("WEIR_ALL_SCENARIOS").is_some_and(|value| value == "1");
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let wait = if is_long || cli.version < V2_1_197 { 45 } else { 1 };
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let options = made(&cli, &place, &api).agent_summaries(true).allowed_tools(["Task", "Agent", "Bash"]);
        let session = Session::new(options);
        let step = json!({"tool": "Bash", "input": {"command": "true", "description": "x"}});
        let prompt = format!("@@{}", json!([step, {"sleep": wait, "text": "reported"}]));
        let input = json!({"description": "d", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false});
        let answer =
            session.ask(format!("@@{}", json!([{"tool": "Task", "input": input}, {"text": "done"}]))).await;
        let answer = answer.map_err(|error| error.to_string());
        let told = since(&cli, V2_1_197, "--agent-summaries", answer);
        if told.is_some() && is_long {
            let is_asked = |request: &RecordedRequest| {
                request.body.to_string().to_lowercase().contains("most recent action in 3-5 words")
            };
            assert!(api.requests().iter().any(is_asked), "{cli}");
        }
        session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_hear_the_rarer_hooks() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let known = weir_process::Capabilities::of(cli.version);
        let events = [
            HookEvent::PostToolUseFailure,
            HookEvent::PostToolBatch,
            HookEvent::SubagentStart,
            HookEvent::PermissionRequest,
            HookEvent::PreCompact,
            HookEvent::PostCompact,
        ];
        let events: Vec<HookEvent> =
            events.into_iter().filter(|event| known.has_hook(event.as_str())).collect();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        std::fs::write(place.directory().join("CLAUDE.md"), "The dam is made of oak.").unwrap();
        let mut options = made(&cli, &place, &api).allowed_tools(["Task", "Agent"]).load_project_settings();
        for event in events.clone() {
            let heard = Arc::clone(&heard);
            options = options.hook(event, None, move |call: HookInput| {
                heard.lock().unwrap().push(call.details.event().as_str().to_owned());
                std::future::ready(HookOutput::new())
            });
        }
        let session = Session::new(options);
        let prompt = format!("@@{}", json!([{"text": "reported"}]));
        let input = json!({"description": "d", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false});
        let steps = json!([
            {"tool": "Bash", "input": {"command": "touch made && false", "description": "x"}},
            {"tool": "Task", "input": input},
            {"text": "done"},
        ]);
        assert_eq!(session.ask(format!("@@{steps}")).await.unwrap().text, "done", "{cli}");
        session.ask(r#"@@[{"text":"again"}]"#).await.unwrap();
        session.ask(weir_session::Message::command("compact", "").unwrap()).await.unwrap();
        session.stop().await;
        let heard = heard.lock().unwrap();
        for event in &events {
            assert!(heard.iter().any(|name| name == event.as_str()), "{cli} {event:?}: {heard:?}");
        }
    }
}
