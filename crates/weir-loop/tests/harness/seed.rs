//! The test plan from the document that the loop implements; the tests have its names.

use serde_json::json;
use weir_host::{Host, HostOptions};
use weir_loop::agent::{
    Agent as _, AgentEnd, AgentRequest, Approvals, HostAgent, Hurry, LoopSessions, Surroundings, run_from_log,
};
use weir_loop::config::{Mode, PermissionPolicy, QuestionPolicy};
use weir_loop::outcome::Outcome;
use weir_loop::protection::Protection;
use weir_loop::state::{BudgetFile, RunEnd, SessionFile};

use crate::place::{Place, does, task, until};

#[tokio::test]
async fn happy_path() {
    let list = task("Write it", &does("echo text > file.txt"));
    let place = Place::new(&list, "").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    let record = ran.task("write-it");
    let attempt = &record.attempts[0];
    assert_eq!((attempt.outcome, attempt.counted, attempt.degraded), (Outcome::Done, true, false));
    assert!(attempt.session_id.is_some() && attempt.cost_usd.is_some_and(|usd| usd > 0.0));
    assert_eq!(place.commits().await, ["Write it"]);
    assert_eq!(place.read("TASKS.md"), list.replace("- [ ]", "- [x]"));
    assert_eq!(place.git(&["status", "--porcelain"]).await, "");
    let message = place.git(&["log", "-1", "--format=%B"]).await;
    assert!(message.contains("Weir-Task: write-it") && message.contains("Weir-Receipt: {"), "{message}");
    let budget: BudgetFile = serde_json::from_str(&place.read(".ralph/state/budget.json")).unwrap();
    assert_eq!((budget.iterations, Some(budget.total_cost_usd)), (1, attempt.cost_usd));
    let sessions: SessionFile =
        serde_json::from_str(&place.read(".ralph/state/claude-session.json")).unwrap();
    assert_eq!(sessions.coder_session_id, attempt.session_id);
    let log = place.logs().remove(0);
    assert!(log.to_string_lossy().ends_with("-coder-write-it.ndjson"), "{}", log.display());
}

#[tokio::test]
async fn large_lines() {
    let place = Place::new(&task("A", &does("echo 1 > a.txt")), "").await.misbehaving(r#"{"huge_line": 12}"#);
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    assert!(std::fs::metadata(&place.logs()[0]).unwrap().len() > 12 << 20);
}

#[tokio::test]
async fn missing_result() {
    let place = Place::new(&task("A", &does("echo 1 > a.txt")), "").await.misbehaving("exit_without_result");
    let ran = place.run().await;
    let record = ran.task("a");
    assert_eq!(record.outcome(), Some(Outcome::Crashed));
    // A tool had run, so the session is not repeated; its log is recorded and its work is kept.
    assert_eq!(record.attempts.len(), 1);
    assert!(record.attempts[0].log.as_ref().is_some_and(|log| log.is_file()));
    assert!(record.kept.is_some() && !place.has("a.txt"));
    assert_eq!(place.git(&["status", "--porcelain"]).await, "");
}

#[tokio::test]
async fn permission_denials() {
    let list = task(
        "A",
        &json!([{"tool": "WebFetch", "input": {"url": "https://example.com/x", "prompt": "p"}}, {"text": "ok"}]),
    ) + &task("B", &does("echo b > b.txt"));
    let config = "[loop.coder]\nallowed_tools = [\"Read\", \"Bash\", \"WebFetch(domain:docs.rs)\"]";
    let place = Place::new(&list, config).await;
    let ran = place.run().await;
    assert!(matches!(ran.end, RunEnd::Denied { .. }), "{:?}", ran.end);
    let failure = ran.task("a").failure.clone().unwrap();
    assert_eq!((failure.outcome, failure.denials[0].tool.as_str()), (Outcome::Denied, "WebFetch"));
    assert_eq!(failure.denials[0].input["url"], "https://example.com/x");
    assert_eq!(failure.denials[0].rule, "WebFetch(domain:example.com)");
    assert!(!place.has("b.txt"), "it halts");
}

#[tokio::test]
async fn a_tool_that_no_rule_names_is_not_there() {
    let list = task(
        "A",
        &json!([
            {"tool": "Task", "input": {"description": "d", "prompt": "@@[{\"text\":\"x\"}]", "subagent_type": "general-purpose"}},
            {"tool": "Bash", "input": {"command": "echo 1 > a.txt"}},
            {"text": "ok"},
        ]),
    );
    for (rules, outcome) in [("\"Read\"", Outcome::NoChange), ("\"Bash\"", Outcome::Done)] {
        let place = Place::new(&list, &format!("[loop.coder]\nallowed_tools = [{rules}]")).await;
        let ran = place.run().await;
        assert_eq!(ran.state.tasks[0].outcome(), Some(outcome), "{rules}: {:#?}", ran.state);
        let log = std::fs::read_to_string(&place.logs()[0]).unwrap();
        assert!(log.contains("No such tool available: Task"), "{log}");
    }
}

pub(crate) fn request(place: &Place, session: &str, resume: bool) -> AgentRequest {
    AgentRequest {
        task: "plan".into(),
        mode: "planner".into(),
        cwd: place.workspace(),
        session_id: session.into(),
        resume,
        prompt: "@@[{\"text\":\"Which database?\"}]".into(),
        spec: Mode::coder().session(1.0, None),
        extra_args: Vec::new(),
        rules: weir_loop::prompt::PLANNER_RULES,
        timeout: std::time::Duration::from_secs(60),
        skip_permissions: false,
        protected: Protection::default(),
    }
}

pub(crate) fn around() -> (tokio::sync::watch::Sender<Hurry>, Surroundings) {
    let (hurry, receiver) = tokio::sync::watch::channel(Hurry::None);
    let approvals = Approvals::new(
        "plan",
        tokio::sync::mpsc::unbounded_channel().0,
        (QuestionPolicy::Skip, std::time::Duration::from_secs(1)),
        PermissionPolicy::Deny,
        std::collections::BTreeMap::new(),
    );
    (hurry, Surroundings { approvals, hurry: receiver, activity: std::sync::Arc::new(|_| {}) })
}

#[tokio::test]
async fn continue_and_fork() {
    const ID: &str = "4f1f6c1e-2f5a-4a6e-9a51-0f2a0d5f7c11";
    let place = Place::new("- [ ] a\n", "").await;
    let (_hurry, surroundings) = around();
    let first = place.agent().await.run(request(&place, ID, false), surroundings.clone()).await;
    assert_eq!((first.session_id.as_deref(), first.forked), (Some(ID), false));
    let second = place.agent().await.run(request(&place, ID, true), surroundings.clone()).await;
    assert_eq!(
        (second.session_id.as_deref(), second.forked),
        (Some(ID), false),
        "the same session continues"
    );
    let place = place.misbehaving("other_session");
    let third = place.agent().await.run(request(&place, ID, true), surroundings).await;
    assert!(third.forked && third.session_id.as_deref() != Some(ID), "another id is a fork: {third:?}");
}

#[tokio::test]
async fn each_task_has_its_own_session_and_a_fork_is_followed() {
    let sessions = |place: &Place| -> SessionFile {
        serde_json::from_str(&place.read(".ralph/state/claude-session.json")).unwrap()
    };
    let list = task("A", &does("echo a > a.txt")) + &task("B", &does("echo b > b.txt"));
    let place = Place::new(&list, "").await;
    let ran = place.run().await;
    let id = |task: &str| ran.task(task).attempts[0].session_id.clone().unwrap();
    assert_ne!(id("a"), id("b"));
    assert_eq!(sessions(&place).coder_session_id, Some(id("b")), "the last one");

    let place = Place::new(&task("A", &does("echo a > a.txt")), "").await.misbehaving("other_session");
    let ran = place.run().await;
    let attempt = &ran.task("a").attempts[0];
    let log = std::fs::read_to_string(&place.logs()[0]).unwrap();
    let id = attempt.session_id.clone().unwrap();
    assert!(log.contains(&id), "the id is the one from the CLI: {id}");
    assert_eq!(sessions(&place).coder_session_id, Some(id));
}

#[tokio::test]
async fn timeout() {
    let list = task(
        "Slow",
        &json!([{"tool": "Bash", "input": {"command": "echo $$ > pid; sleep 300"}}, {"text": "late"}]),
    );
    let place = Place::new(&list, "[loop.task_limits]\nwall_time = \"2s\"").await;
    let ran = place.run().await;
    let record = ran.task("slow");
    assert_eq!(record.outcome(), Some(Outcome::TimedOut), "{record:#?}");
    let log = record.attempts[0].log.clone().unwrap();
    assert!(std::fs::metadata(log).unwrap().len() > 0, "the log is preserved");
    // The end of the run has already checked that no process is left.
}

#[tokio::test]
async fn a_limit_of_time_holds_for_a_cli_that_responds_to_nothing() {
    const ID: &str = "4f1f6c1e-2f5a-4a6e-9a51-0f2a0d5f7c13";
    let stubborn = "ignore_sigterm,ignore_sigint,ignore_interrupt,ignore_eof";
    let mut place = Place::new("- [ ] a\n", "").await.misbehaving(stubborn);
    place.patience = std::time::Duration::from_secs(3600);
    let (_hurry, surroundings) = around();
    let mut request = request(&place, ID, false);
    request.prompt = format!("@@{}", does("sleep 300"));
    request.spec.allowed_tools = vec!["Bash".into()];
    request.timeout = std::time::Duration::from_secs(2);
    let limit = request.timeout;
    let started = std::time::Instant::now();
    let run = place.agent().await.run(request, surroundings).await;
    assert!(matches!(run.end, AgentEnd::TimedOut { .. }), "{:?}", run.end);
    // It takes a second or two; the rest is for a busy machine.
    assert!(started.elapsed() < limit + std::time::Duration::from_secs(8), "{:?}", started.elapsed());
}

#[tokio::test]
async fn what_sessions_worked_with_is_in_receipts_and_report() {
    let list = task("A", &does("echo 1 > a.txt")) + &task("B", &json!([{"text": "nothing to do"}]));
    let place = Place::new(&list, "[loop.coder]\nallowed_tools = [\"Read\", \"Bash(echo:*)\"]").await;
    let ran = place.run().await;
    let setup = ran.task("a").receipt.as_ref().unwrap().setup.clone().unwrap();
    let cwd = place.folders().place(1);
    assert_eq!(setup.cwd.as_deref(), cwd.to_str(), "its own place, which is gone by now");
    assert_eq!(setup.permission_mode.as_deref(), Some("default"));
    assert!(setup.version.is_some(), "{setup:?}");
    assert!(setup.tools.iter().any(|tool| tool == "Bash") && !setup.tools.iter().any(|tool| tool == "Task"));
    assert_eq!(ran.task("b").attempts[0].setup.as_deref(), Some(&*setup));
    let message = place.git(&["log", "-1", "--format=%B"]).await;
    assert!(message.contains("\"permission_mode\":\"default\""), "{message}");
    let report = weir_loop::report::markdown(&ran.state);
    assert!(report.contains("- 2 sessions: CLI "), "{report}");
    let logged = run_from_log(&place.logs()[0], &place.workspace(), &Protection::default()).unwrap().unwrap();
    assert_eq!(logged.setup.as_deref(), Some(&*setup), "a run that was killed finds it in the log");
}

#[tokio::test]
async fn ending_at_once_does_not_wait_for_a_stubborn_cli() {
    const ID: &str = "4f1f6c1e-2f5a-4a6e-9a51-0f2a0d5f7c12";
    let stubborn = "ignore_sigterm,ignore_sigint,ignore_interrupt,ignore_eof";
    let mut place = Place::new("- [ ] a\n", "").await.misbehaving(stubborn);
    place.patience = std::time::Duration::from_secs(3600);
    let (hurry, surroundings) = around();
    let mut request = request(&place, ID, false);
    request.prompt = format!("@@{}", does("touch began; sleep 300"));
    request.spec.allowed_tools = vec!["Bash".into()];
    request.timeout = place.patience;
    let agent = place.agent().await;
    let running = tokio::spawn(async move { agent.run(request, surroundings).await });
    until("a running tool", || place.has("began")).await;
    for hurried in [Hurry::Interrupt, Hurry::Now] {
        hurry.send(hurried).unwrap();
    }
    let run = tokio::time::timeout(std::time::Duration::from_secs(120), running).await.unwrap().unwrap();
    assert_eq!(run.end, AgentEnd::Interrupted);
}

#[tokio::test]
async fn a_parse_error_is_recorded_and_the_run_goes_on() {
    let place = Place::new(&task("A", &does("echo 1 > a.txt")), "")
        .await
        .misbehaving("broken_json,sandbox_debug,unknown_type");
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    assert!(ran.task("a").attempts[0].malformed_lines >= 2);
    let log = std::fs::read_to_string(&place.logs()[0]).unwrap();
    assert!(log.contains("[SandboxDebug]"), "the line is in the log unchanged");
}

#[tokio::test]
async fn a_fallback_to_streamed_text_is_marked_degraded() {
    let place =
        Place::new(&task("A", &json!([{"text": "only words"}])), "").await.misbehaving("exit_without_result");
    let ran = place.run().await;
    let attempts = &ran.task("a").attempts;
    assert!(attempts.iter().all(|attempt| attempt.degraded), "{attempts:#?}");
    assert_eq!(attempts.len(), 2, "no tool had run, so it was tried once more");
}

#[tokio::test]
async fn what_the_log_says_is_what_the_session_said() {
    let list = task("A", &does("echo 1 > a.txt")) + &task("B", &json!([{"text": "nothing to do"}]));
    let place = Place::new(&list, "").await;
    let ran = place.run().await;
    for record in &ran.state.tasks {
        let attempt = &record.attempts[0];
        let logged =
            run_from_log(attempt.log.as_deref().unwrap(), &place.workspace(), &Protection::default())
                .unwrap()
                .unwrap();
        assert_eq!(logged.end, AgentEnd::Answered);
        assert_eq!(
            (logged.cost_usd, logged.tokens, logged.turns),
            (attempt.cost_usd, attempt.tokens, attempt.turns)
        );
        assert_eq!(logged.session_id, attempt.session_id);
    }
}

#[tokio::test]
async fn an_agent_that_falls_behind_its_session_still_knows_how_it_went() {
    const ID: &str = "4f1f6c1e-2f5a-4a6e-9a51-0f2a0d5f7c15";
    let place = Place::new("- [ ] a\n", "").await;
    let sessions = LoopSessions::default();
    let known = sessions.clone();
    let store = std::sync::Arc::new(weir_store::MemoryStore::new());
    let mut options =
        HostOptions::new(store, move |settings| known.options(settings).unwrap()).root(place.workspace());
    // Whenever two things wait for it, it has fallen behind.
    options.viewer_bytes = 1;
    let host = Host::open(options).await.unwrap();
    let agent = HostAgent::new(host.clone(), sessions, place.factory());
    let (_hurry, surroundings) = around();
    let mut request = request(&place, ID, false);
    let tool = json!({"tool": "Bash", "input": {"command": "echo 1 >> a.txt"}});
    request.prompt = format!("@@{}", json!([tool, tool, tool, {"text": "word ".repeat(500)}]));
    let run = agent.run(request, surroundings).await;
    assert_eq!((&run.end, run.tools, run.degraded), (&AgentEnd::Answered, 3, false));
    let logged = run_from_log(run.log.as_deref().unwrap(), &place.workspace(), &Protection::default())
        .unwrap()
        .unwrap();
    assert_eq!((run.cost_usd, run.tokens, run.turns), (logged.cost_usd, logged.tokens, logged.turns));
    assert_eq!((run.text, run.setup), (logged.text, logged.setup));
    host.shut_down(std::time::Duration::ZERO).await;
}

#[tokio::test]
async fn a_person_who_continues_a_session_of_the_loop_does_so_without_its_rules() {
    const ID: &str = "4f1f6c1e-2f5a-4a6e-9a51-0f2a0d5f7c16";
    let place = Place::new("- [ ] a\n", "").await;
    let sessions = LoopSessions::default();
    let (known, factory, planner) = (sessions.clone(), place.factory(), request(&place, ID, false));
    // What the processes are started with, apart from the settings: those of the loop, and those of a person.
    let started = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&started);
    let recipe = move |settings: &weir_host::SessionSettings| {
        let options = known.options(settings).unwrap_or_else(|| factory(&planner));
        seen.lock().unwrap().push((settings.kept.spec.clone(), options.spec.clone(), options.rules.clone()));
        options
    };
    let store = std::sync::Arc::new(weir_store::MemoryStore::new());
    let host = Host::open(HostOptions::new(store, recipe).root(place.workspace())).await.unwrap();
    let agent = HostAgent::new(host.clone(), sessions, place.factory());
    let (_hurry, surroundings) = around();
    let mut request = request(&place, ID, false);
    request.spec.append_system_prompt = Some("Write short answers.".to_owned());
    let wanted = request.spec.clone();
    assert_eq!(agent.run(request, surroundings).await.end, AgentEnd::Answered);

    let page = host.list(weir_host::ListSessions::default()).await.unwrap();
    let id = page.sessions[0].id.parse().unwrap();
    let person = weir_host::Actor::new("person");
    let message = weir_host::NewMessage::text("@@[{\"text\":\"and you?\"}]");
    let accepted = host.send(&id, message, &person).await.unwrap();
    assert_eq!(host.finished(&id, &accepted.message_id).await.unwrap().text, "and you?");
    host.shut_down(std::time::Duration::ZERO).await;

    let started = started.lock().unwrap();
    let [by_loop, by_person] = &started[..] else { panic!("{started:#?}") };
    assert_eq!((&by_loop.0, &by_person.0), (&wanted, &wanted), "the settings are those of the configuration");
    assert!(by_loop.1.tools.is_some() && by_loop.1.disallowed_tools.len() == 1, "{:?}", by_loop.1);
    assert_eq!(by_loop.2.as_deref(), Some(weir_loop::prompt::PLANNER_RULES));
    assert!(by_person.1.tools.is_none() && by_person.1.disallowed_tools.is_empty(), "{:?}", by_person.1);
    assert_eq!(by_person.2, None);
}
