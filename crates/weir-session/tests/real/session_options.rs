//! Options of a session do what they say on real CLIs, and a version that lacks one refuses to start.

use serde_json::{Value, json};
use weir_session::{AgentSpec, Session, SessionError, SessionOptions, SettingSource};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::Version;
use weir_testkit::scenario::Cli;
use weir_wire::McpServerConfig;

use crate::model::{asked, body, known, made};

/// A program that answers as an MCP server with the tool `echo`.
const ECHO: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    [ -n "$id" ] || continue
    case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"echo","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"say","description":"Says it","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"echoed by the server"}]}' ;;
    *'"resources/read"'*) result='{"contents":[{"uri":"ui://page","text":"a page"}]}' ;;
    *) result='{}' ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// The server, as the CLI starts it.
pub(crate) fn echo() -> McpServerConfig {
    McpServerConfig::stdio("sh", ["-c", ECHO])
}

/// Asserts that a version older than `since` was refused with `named`, and returns what any other one was asked.
pub(crate) fn since<T>(cli: &Cli, since: Version, named: &str, result: Result<T, String>) -> Option<T> {
    match result {
        Ok(found) => {
            assert!(cli.version >= since, "{cli} ignored {named}");
            Some(found)
        }
        Err(error) => {
            assert!(cli.version < since && error.contains(named), "{cli} {named}: {error}");
            None
        }
    }
}

pub(crate) const V2_0_72: Version = Version::new(2, 0, 72);
pub(crate) const V2_1_9: Version = Version::new(2, 1, 9);
pub(crate) const V2_1_61: Version = Version::new(2, 1, 61);
pub(crate) const V2_1_197: Version = Version::new(2, 1, 197);
pub(crate) const V2_1_325: Version = Version::new(2, 1, 325);

fn agent() -> AgentSpec {
    AgentSpec::new("Reviews changes", "You are the reviewer of the house.")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_works_as_an_agent_that_it_brings_along() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let set = |options: &mut SessionOptions| {
            options.spec.agents.insert("reviewer".to_owned(), agent());
            options.spec.agent = Some("reviewer".to_owned());
        };
        let asked = asked(&cli, set).await;
        let Some(request) = since(&cli, Version::new(2, 1, 9), "--agent", asked) else { continue };
        assert!(body(&request)["system"].to_string().contains("reviewer of the house"), "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_the_session_exists() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let set = |options: &mut SessionOptions| {
            options.spec.agents.insert("reviewer".to_owned(), agent());
        };
        let asked = asked(&cli, set).await;
        let Some(request) = since(&cli, V2_0_72, "--agents", asked) else { continue };
        let tools = &body(&request)["tools"];
        // The description of the tool that starts agents names them; newer versions name them in the first message.
        let told = format!("{tools}{}", body(&request)["messages"]);
        assert!(told.contains("Reviews changes"), "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_can_do_without_the_instructions_of_the_folder() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let prompt = format!("@@{}", json!([{"text": "reported"}]));
        let input = json!({"description": "d", "prompt": prompt, "subagent_type": "reviewer", "run_in_background": false});
        let steps = json!([{"tool": "Task", "input": input}, {"text": "done"}]);
        for omit in [false, true] {
            let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
            std::fs::write(place.directory().join("CLAUDE.md"), "The dam is made of oak.").unwrap();
            let mut options =
                made(&cli, &place, &api).load_project_settings().allowed_tools(["Task", "Agent"]);
            let agent = AgentSpec { omit_instructions: omit, ..agent() };
            options.spec.agents.insert("reviewer".to_owned(), agent);
            let session = Session::new(options);
            let asked = session.ask(format!("@@{steps}")).await;
            session.stop().await;
            let result = asked.map_err(|error| error.to_string());
            let oldest = if omit { Version::new(2, 1, 325) } else { V2_0_72 };
            let named = if omit { "omit_instructions" } else { "--agents" };
            // A version without agents is refused for them first.
            let named = if cli.version < V2_0_72 { "--agents" } else { named };
            if since(&cli, oldest, named, result).is_none() {
                continue;
            }
            let is_agent = |request: &&weir_testkit::api::RecordedRequest| {
                request.is_message() && body(request)["system"].to_string().contains("reviewer of the house")
            };
            let requests = api.requests();
            let request = requests.iter().find(is_agent).unwrap_or_else(|| panic!("{cli}: no agent"));
            assert_eq!(!body(request)["messages"].to_string().contains("made of oak"), omit, "{cli}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_has_no_tool_that_the_session_does_not_have() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let command = json!({"command": "touch made", "description": "x"});
        let prompt = format!("@@{}", json!([{"tool": "Bash", "input": command}, {"text": "reported"}]));
        let input = json!({"description": "d", "prompt": prompt, "subagent_type": "maker", "run_in_background": false});
        let steps = json!([{"tool": "Task", "input": input}, {"text": "done"}]);
        for allowed in [false, true] {
            let told = told(&cli, &steps, |options, _| {
                let tools = if allowed { vec!["Read", "Task", "Bash"] } else { vec!["Read", "Task"] };
                *options = std::mem::take(options).tools(tools).allowed_tools(["Task", "Bash"]);
                let agent = AgentSpec { tools: Some(vec!["Bash".into(), "Read".into()]), ..agent() };
                options.spec.agents.insert("maker".to_owned(), agent);
            });
            let Some(told) = since(&cli, V2_0_72, "--agents", told.await) else { continue };
            assert_eq!(told.contains("No such tool available: Bash"), !allowed, "{cli}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_chosen_skills_are_shown_to_the_model() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let set = |options: &mut SessionOptions| {
            let folder = options.cwd.clone().unwrap().join(".claude/skills");
            for name in ["first", "second"] {
                let skill = folder.join(name);
                std::fs::create_dir_all(&skill).unwrap();
                let text =
                    format!("---\nname: {name}\ndescription: the {name} skill of the folder\n---\nbody");
                std::fs::write(skill.join("SKILL.md"), text).unwrap();
            }
            options.spec.skills = Some(vec!["first".to_owned()]);
            *options = std::mem::take(options).load_project_settings();
        };
        let Some(request) = since(&cli, V2_1_197, "--skills", asked(&cli, set).await) else { continue };
        let told = request.body.to_string();
        assert!(told.contains("the first skill") && !told.contains("the second skill"), "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instructions_for_a_plan_are_replaced() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let set = |options: &mut SessionOptions| {
            options.spec.permission_mode = Some("plan".to_owned());
            options.spec.plan_mode_instructions = Some("Draw the plan as a table.".to_owned());
        };
        let asked = asked(&cli, set).await;
        let Some(request) = since(&cli, V2_1_197, "--plan-mode-instructions", asked) else { continue };
        assert!(request.body.to_string().contains("Draw the plan as a table."), "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_differs_between_folders_leaves_the_system_prompt() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let set = |options: &mut SessionOptions| options.spec.exclude_dynamic_sections = true;
        let flag = "--exclude-dynamic-system-prompt-sections";
        let Some(request) = known(&cli, flag, asked(&cli, set).await) else { continue };
        assert!(!body(&request)["system"].to_string().contains("Working directory"), "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_snapshot_of_the_system_prompt_can_be_switched_off() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for on in [true, false] {
            let set = |options: &mut SessionOptions| options.spec.system_prompt_snapshot = Some(on);
            known(&cli, "--system-prompt-snapshot", asked(&cli, set).await);
        }
    }
}

/// Runs one prompt with these options, and returns the requests to the API as one text.
pub(crate) async fn told(
    cli: &Cli,
    prompt: &Value,
    set: impl FnOnce(&mut SessionOptions, &Place),
) -> Result<String, String> {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let mut options = made(cli, &place, &api);
    set(&mut options, &place);
    let session = Session::new(options);
    let answer = session.ask(format!("@@{prompt}")).await;
    session.stop().await;
    match answer {
        Ok(end) => assert!(!end.is_error(), "{cli}: {}", end.text),
        Err(error @ SessionError::NotStarted(_)) => return Err(error.to_string()),
        Err(error) => panic!("{cli}: {error}"),
    }
    let requests = api.requests();
    let bodies: Vec<String> = requests
        .iter()
        .filter(|request| request.is_message())
        .map(|request| request.body.to_string())
        .collect();
    Ok(bodies.join("\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_an_mcp_server_that_the_session_names_is_called() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let prompt = json!([{"tool": "mcp__echo__say", "input": {}}, {"text": "done"}]);
        let set = |options: &mut SessionOptions, _: &Place| {
            let made = std::mem::take(options);
            *options = made.external_mcp_server("echo", echo()).allowed_tools(["mcp__echo"]);
            options.strict_mcp = true;
        };
        assert!(told(&cli, &prompt, set).await.unwrap().contains("echoed by the server"), "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_an_alias_is_a_call_of_the_tool() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let input = json!({"command": "echo ali''ased", "description": "x"});
        let prompt = json!([{"tool": "Shell", "input": input}, {"text": "done"}]);
        let set = |options: &mut SessionOptions, _: &Place| {
            *options = std::mem::take(options).tool_alias("Shell", "Bash").allowed_tools(["Bash"]);
        };
        let told = told(&cli, &prompt, set).await;
        let Some(told) = since(&cli, V2_1_197, "--tool-alias", told) else { continue };
        assert!(told.contains("aliased"), "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_come_from_where_the_session_says() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let home = |place: &Place| {
            let folder = place.home().join(".claude");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("settings.json"), r#"{"model":"claude-haiku-4-5"}"#).unwrap();
        };
        let model = |told: &str, model: &str| told.contains(&format!(r#""model":"{model}""#));
        let prompt = json!([{"text": "done"}]);
        let own = told(&cli, &prompt, |options, place| {
            home(place);
            options.spec.model = None;
            options.settings = json!({"model": "claude-sonnet-4-5"}).as_object().cloned();
        });
        let own = own.await.unwrap();
        assert!(model(&own, "claude-sonnet-4-5"), "{cli}");
        for (sources, is_loaded) in [(vec![SettingSource::User], true), (Vec::new(), false)] {
            let told = told(&cli, &prompt, |options, place| {
                home(place);
                options.spec.model = None;
                options.setting_sources = Some(sources);
            });
            let Some(told) = since(&cli, V2_0_72, "--setting-sources", told.await) else { continue };
            // Version 2.1.9 does not send this name of a model as it is in the settings.
            if cli.to_string().ends_with("2.1.9") {
                continue;
            }
            assert_eq!(model(&told, "claude-haiku-4-5"), is_loaded, "{cli}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_brings_its_agent() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let prompt = json!([{"text": "done"}]);
        let told = told(&cli, &prompt, |options, place| {
            let plugin = place.path("plugin");
            for folder in [".claude-plugin", "agents"] {
                std::fs::create_dir_all(plugin.join(folder)).unwrap();
            }
            std::fs::write(plugin.join(".claude-plugin/plugin.json"), r#"{"name":"house"}"#).unwrap();
            let agent = "---\nname: painter\ndescription: Paints the house red\n---\nYou paint.";
            std::fs::write(plugin.join("agents/painter.md"), agent).unwrap();
            *options = std::mem::take(options).plugin_dir(plugin);
        });
        let Some(told) = since(&cli, V2_0_72, "--plugin-dir", told.await) else { continue };
        assert!(told.contains("Paints the house red"), "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_debug_log_is_written_to_a_file() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let folder = Place::new().unwrap();
        let file = folder.path("debug.log");
        let prompt = json!([{"text": "done"}]);
        let told = told(&cli, &prompt, |options, _| {
            *options = std::mem::take(options).debug_file(&file);
        });
        if since(&cli, Version::new(2, 1, 61), "--debug-file", told.await).is_some() {
            assert!(std::fs::metadata(&file).unwrap().len() > 0, "{cli}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_are_told_and_sub_agents_are_heard() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let mut options = made(&cli, &place, &api).subagent_text(true).allowed_tools(["Task", "Agent"]);
        options.spec.hook_events = cli.version >= V2_1_197;
        let hook = json!({"hooks": [{"type": "command", "command": "true"}]});
        options.settings = json!({"hooks": {"Stop": [hook]}}).as_object().cloned();
        let session = Session::new(options);
        let prompt = r#"@@[{"text":"the words of the agent"}]"#;
        let call = json!({"tool": "Task", "input": {"description": "d", "prompt": prompt,
            "subagent_type": "general-purpose", "run_in_background": false}});
        let end = session.ask(format!("@@{}", json!([call, {"text": "done"}]))).await.unwrap();
        assert!(!end.is_error(), "{cli}: {}", end.text);
        let log = session.facts().await.unwrap().logs.unwrap().output;
        session.stop().await;
        let lines: Vec<Value> = std::fs::read_to_string(log)
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let is_new = cli.version >= V2_1_197;
        let of_agent = |line: &&Value| line["type"] == "assistant" && !line["parent_tool_use_id"].is_null();
        let heard =
            lines.iter().filter(of_agent).any(|line| line.to_string().contains("the words of the agent"));
        assert_eq!(heard, is_new, "{cli}");
        let is_hook = |line: &Value| line["subtype"] == "hook_response" && line["hook_event"] == "Stop";
        assert_eq!(lines.iter().any(is_hook), is_new, "{cli}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_has_the_title_that_it_was_given() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let session = Session::new(made(&cli, &place, &api).title("The leak in the dam"));
        let answer = session.ask(r#"@@[{"text":"done"}]"#).await.map_err(|error| error.to_string());
        session.stop().await;
        let Some(end) = since(&cli, V2_1_197, "--title", answer) else { continue };
        let id = end.session_id.clone().unwrap();
        let transcripts = weir_session::transcripts::Transcripts::below(&place.home().join(".claude"));
        let found = transcripts.find(id.as_str()).unwrap();
        let text = std::fs::read_to_string(found.path).unwrap();
        assert!(text.contains("The leak in the dam"), "{cli}");
    }
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Counted {
    count: u32,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_a_value_of_our_type() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        // With what generators add, and for which newer versions would ignore the whole schema.
        let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "properties": {"count": {"type": "number", "x-order": 1}}, "required": ["count"]});
        let session = Session::new(made(&cli, &place, &api).output_schema(schema));
        let prompt = json!([{"tool": "StructuredOutput", "input": {"count": 3}}, {"text": "done"}]);
        let counted =
            session.ask_as::<Counted>(format!("@@{prompt}")).await.map_err(|error| error.to_string());
        let Some(counted) = since(&cli, V2_0_72, "JSON schema", counted) else { continue };
        assert_eq!(counted, Counted { count: 3 }, "{cli}");
        session.stop().await;
    }
}
