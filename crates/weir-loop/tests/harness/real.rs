//! Runs on real CLIs against the scripted API: the costs match what the API counted.

use std::collections::BTreeMap;

use serde_json::json;
use weir_loop::outcome::Outcome;
use weir_loop::state::{RunEnd, TaskRecord};
use weir_testkit::Place as CliPlace;
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::RealCli;

use crate::place::{Place, task};

const CONFIG: &str = "[loop.coder]\nallowed_tools = [\"Read\", \"Bash\", \"WebFetch(domain:docs.rs)\"]\n\
    [loop.permissions]\non_denial = \"next_task\"\n\
    [[loop.gates]]\nname = \"test\"\ncommand = [\"sh\", \"test.sh\"]\nfiles = [\"test.sh\"]\n";

/// A repository whose test fails until the first task is done, and whose second task needs two attempts.
fn list() -> String {
    let edit = "printf 'answer=42\\n' > answer.txt";
    let flaky = "if [ -e broken ]; then rm broken; echo done > second.txt; else touch broken; fi";
    let bash = |command: &str| json!([{"tool": "Bash", "input": {"command": command, "description": "work"}}, {"text": "All tests pass."}]);
    task("Make the test pass", &bash(edit))
        + &task("Needs two attempts", &bash(flaky))
        + &task(
            "Is denied",
            &json!([{"tool": "WebFetch", "input": {"url": "https://example.com/", "prompt": "x"}}, {"text": "ok"}]),
        )
}

#[tokio::test]
async fn a_planner_enters_no_worktree_and_has_a_system_prompt_of_its_own() {
    let planner = weir_loop::config::Config::default().planner;
    for cli in RealCli::required() {
        let (api, home) = (ScriptedApi::start().unwrap(), CliPlace::new().unwrap());
        let place = Place::new("- [ ] a\n", "").await.on(&cli.program, home.environment(&api.url()));
        let (_hurry, around) = crate::seed::around();
        let mut request = crate::seed::request(&place, "4f1f6c1e-2f5a-4a6e-9a51-0f2a0d5f7c14", false);
        request.spec = planner.session(1.0, None);
        let calls = json!([{"tool": "EnterWorktree", "input": {"name": "side"}}, {"text": "- [ ] one\n"}]);
        request.prompt = format!("@@{calls}");
        let run = weir_loop::agent::Agent::run(&place.agent().await, request, around).await;
        let version = &cli.version;
        assert_eq!(run.end, weir_loop::agent::AgentEnd::Answered, "{version}: {run:?}");
        assert_eq!(place.git(&["worktree", "list"]).await.lines().count(), 1, "{version}");
        assert!(!place.has(".claude"), "{version}");
        let requests = api.requests();
        let has_planner_rules =
            requests.iter().any(|request| format!("{:?}", request.body).contains("You plan work"));
        assert!(has_planner_rules, "{version}: the rules of the planner");
        let has_coder_rules = |request: &weir_testkit::api::RecordedRequest| {
            format!("{:?}", request.body).contains("You work unattended on one task")
        };
        assert!(!requests.iter().any(has_coder_rules), "{version}: the rules of the coder");
    }
}

#[tokio::test]
async fn three_tasks_on_each_real_cli_cost_what_the_api_counted() {
    for cli in RealCli::required() {
        let api = ScriptedApi::start().unwrap();
        let home = CliPlace::new().unwrap();
        let place = Place::new(&list(), CONFIG).await.on(&cli.program, home.environment(&api.url()));
        place.write(
            "test.sh",
            "grep -q answer=42 answer.txt || exit 1\nif [ -e broken ]; then echo it is broken; exit 1; fi\n",
        );
        place.git(&["add", "-A"]).await;
        place.git(&["commit", "-qm", "A test that fails"]).await;
        let ran = place.run().await;
        let version = &cli.version;
        let outcomes: Vec<Option<Outcome>> = ran.state.tasks.iter().map(TaskRecord::outcome).collect();
        assert_eq!(
            outcomes,
            [Some(Outcome::Done), Some(Outcome::Done), Some(Outcome::Denied)],
            "{version}: {:#?}",
            ran.state
        );
        assert_eq!(ran.end, RunEnd::Unfinished);
        assert_eq!(ran.task("needs-two-attempts").receipt.as_ref().unwrap().attempts, 2);
        let denial = &ran.task("is-denied").failure.as_ref().unwrap().denials[0];
        assert_eq!(
            (denial.tool.as_str(), denial.rule.as_str()),
            ("WebFetch", "WebFetch(domain:example.com)")
        );
        assert_eq!(place.commits().await, ["A test that fails", "Make the test pass", "Needs two attempts"]);

        // The API answers each request with 100 tokens in and 50 out. Old versions also use a small model.
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for request in
            api.requests().into_iter().filter(|request| request.is_message() && request.status == 200)
        {
            *counted.entry(request.model.unwrap_or_default()).or_default() += 150;
        }
        let budget = ran.state.budget();
        assert_eq!(budget.unknown_costs, 0, "{version}");
        assert_eq!(budget.tokens, counted.values().sum::<u64>(), "{version}: {:#?}", ran.state.tasks);
        let mut reported: BTreeMap<String, (u64, f64)> = BTreeMap::new();
        let models =
            ran.state.tasks.iter().flat_map(|task| &task.attempts).flat_map(|attempt| &attempt.models);
        for model in models {
            let sum = reported.entry(model.model.clone()).or_default();
            *sum = (sum.0 + model.tokens, sum.1 + model.usd);
        }
        let tokens: BTreeMap<String, u64> =
            reported.iter().map(|(model, sum)| (model.clone(), sum.0)).collect();
        assert_eq!(tokens, counted, "{version}");
        let by_model: f64 = reported.values().map(|sum| sum.1).sum();
        assert!(
            budget.cost_usd > 0.0 && (budget.cost_usd - by_model).abs() < 1e-9,
            "{version}: {budget:?} {reported:?}"
        );
    }
}
