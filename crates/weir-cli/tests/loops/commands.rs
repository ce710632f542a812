//! The commands as a person types them.

use rustix::process::Signal;

use crate::common::{Place, Running, Terminal};
use crate::repository::{commits, git, repository, state, task, weir_loop};

#[test]
fn init_proposes_the_checks_of_the_project() {
    let place = Place::new();
    std::fs::write(place.workspace().join("Makefile"), "test:\n\ttrue\n").unwrap();
    let done = weir_loop(&place, &["init"]).expect(0);
    assert!(done.text().contains("Gate test: make test"), "{done:?}");
    weir_loop(&place, &["config", "check"]).expect(0);
    let again = weir_loop(&place, &["init"]).expect(2);
    assert!(again.stderr.contains("--force"), "{again:?}");
    let ignored = std::fs::read_to_string(place.workspace().join(".ralph/.gitignore")).unwrap();
    assert!(ignored.ends_with("*\n"));
}

#[test]
fn a_whole_run_with_its_report_and_replay() {
    let place = Place::new();
    let list =
        task("Good", "echo 1 > one") + &task("Bad", "echo 2 > broken") + "- [ ] Later\n  - needs: bad\n";
    let gate = "[[loop.gates]]\nname = \"check\"\ncommand = [\"test\", \"!\", \"-e\", \"broken\"]\n";
    repository(&place, &list, gate);
    let done = weir_loop(&place, &["run"]).expect(1);
    assert!(done.text().contains("limits of the run: $10.00"), "limits are echoed: {done:?}");
    assert!(done.text().contains("✓ good: done, commit"), "{done:?}");
    assert_eq!(commits(&place), ["Good"]);
    let report = weir_loop(&place, &["report"]).expect(0);
    assert!(
        report.text().contains("| Bad | failed | 3 |")
            && report.text().contains("| Later | blocked by bad |"),
        "{report:?}"
    );
    let html = weir_loop(&place, &["report", "--html"]).expect(0);
    assert!(html.text().contains("<svg") && place.workspace().join(".ralph/report.html").is_file());
    let status = weir_loop(&place, &["status"]).expect(0);
    assert!(status.text().contains("1 of 3 done"), "{status:?}");
    let replay = weir_loop(&place, &["replay", "--json"]).expect(0);
    assert_eq!(replay.json_lines().len(), 4);
    assert!(replay.json_lines().iter().all(|line| line["agrees"] == true));
    let story = weir_loop(&place, &["replay"]).expect(0);
    assert!(story.text().contains("== bad attempt 3: failed"), "{story:?}");
    // A person removes the gate and retries the task.
    std::fs::write(place.workspace().join("weir.toml"), "").unwrap();
    git(&place, &["commit", "-qam", "No gate"]);
    weir_loop(&place, &["skip", "later"]).expect(0);
    weir_loop(&place, &["retry", "good"]).expect(2);
    weir_loop(&place, &["retry", "bad"]).expect(0);
    let again = weir_loop(&place, &["run"]).expect(1);
    // A session could have removed the gate as well, so the person has to say that the commit is theirs.
    assert_eq!(commits(&place), ["Good", "No gate"], "{again:?}");
    assert!(again.text().contains("`weir loop merge`"), "{again:?}");
    weir_loop(&place, &["merge"]).expect(0);
    let merged = git(&place, &["log", "--format=%s"]);
    assert!(
        ["Good", "No gate", "Bad"].iter().all(|name| merged.lines().any(|line| line == *name)),
        "{merged}"
    );
    assert_eq!(state(&place)["tasks"][2]["state"], "skipped");
    place.wait_until_empty();
}

#[test]
fn a_state_of_another_version_is_refused_and_set_aside_for_a_new_run() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 > a"), "");
    let folder = place.workspace().join(".ralph/state");
    std::fs::create_dir_all(&folder).unwrap();
    let other = "{\"version\": 77, \"shape\": \"unknown\"}";
    std::fs::write(folder.join("run.json"), other).unwrap();
    let refused = weir_loop(&place, &["run"]);
    assert!(refused.stderr.contains("version 77") && refused.stderr.contains("--new"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(folder.join("run.json")).unwrap(), other);
    weir_loop(&place, &["run", "--new"]).expect(0);
    assert_eq!(commits(&place), ["A"]);
    assert_eq!(std::fs::read_to_string(folder.join("run.json.version-77")).unwrap(), other);
}

#[test]
fn the_allowlist_is_checked_before_anything_is_spent() {
    let place = Place::new();
    repository(
        &place,
        &task("A", "echo 1 > a"),
        "[loop.coder]\nallowed_tools = [\"bash\", \"Bash(a && b)\"]\n",
    );
    let done = weir_loop(&place, &["run"]).expect(2);
    assert!(done.stderr.contains("did you mean Bash?") && done.stderr.contains("part by part"), "{done:?}");
    assert!(!place.workspace().join(".ralph/logs").exists(), "no session was started");
    let check = weir_loop(&place, &["config", "check", "--json"]).expect(2);
    assert_eq!(
        check.json().as_array().unwrap().iter().filter(|finding| finding["level"] == "error").count(),
        2
    );
}

#[test]
fn a_denial_halts_and_prints_tool_input_and_rule() {
    let place = Place::new();
    let list = "- [ ] A\n  @@[{\"tool\":\"WebFetch\",\"input\":{\"url\":\"https://example.com/\",\"prompt\":\"x\"}},{\"text\":\"x\"}]\n";
    let rules = "[loop.coder]\nallowed_tools = [\"Read\", \"WebFetch(domain:docs.rs)\"]\n";
    repository(&place, list, rules);
    let done = weir_loop(&place, &["run"]).expect(6);
    for part in [
        "not allowed: WebFetch https://example.com/",
        "\"prompt\":\"x\"",
        "this rule would allow it: WebFetch(domain:example.com)",
    ] {
        assert!(done.text().contains(part), "{part}: {done:?}");
    }
}

#[test]
fn json_events_are_one_object_per_line() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 > a"), "");
    let done = weir_loop(&place, &["run", "--json"]).expect(0);
    let events = done.json_lines();
    let names: Vec<&str> = events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .filter(|name| *name != "activity")
        .collect();
    assert_eq!(
        names,
        ["run_started", "task_started", "attempt_started", "attempt_ended", "task_done", "run_ended"]
    );
    assert_eq!(events.last().unwrap()["end"], "completed");
}

#[test]
fn nothing_is_spent_by_a_dry_run() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 > a"), "");
    let done = weir_loop(&place, &["run", "--dry-run"]).expect(0);
    assert!(done.text().contains("# Task: A") && !place.workspace().join(".ralph").exists(), "{done:?}");
}

#[test]
fn ctrl_c_ends_with_130_and_the_next_run_resumes() {
    let place = Place::new();
    repository(
        &place,
        &task("A", "if [ -e ../../../../go ]; then echo 1 > a; else touch ../../../../go; sleep 300; fi"),
        "",
    );
    let running = Running::start(place.command(&["loop", "run"]));
    place.wait_for_file("go");
    running.signal(Signal::INT);
    running.finish().expect(130);
    assert_eq!(state(&place)["status"]["end"]["end"], "interrupted");
    weir_loop(&place, &["run"]).expect(0);
    assert_eq!(commits(&place), ["A"]);
    place.wait_until_empty();
}

#[test]
fn a_question_is_answered_from_another_terminal() {
    let place = Place::new();
    let ask = "- [ ] A\n  @@[{\"tool\":\"AskUserQuestion\",\"input\":{\"questions\":[{\"question\":\"Which?\",\"header\":\"x\",\"multiSelect\":false,\"options\":[{\"label\":\"Red\",\"description\":\"r\"},{\"label\":\"Blue\",\"description\":\"b\"}]}]}},{\"tool\":\"Bash\",\"input\":{\"command\":\"echo 1 > a\"}},{\"text\":\"ok\"}]\n";
    repository(&place, ask, "");
    let terminal = Terminal::weir(&place, &["loop", "run"]);
    terminal.wait_for("answer with: weir loop answer");
    assert!(weir_loop(&place, &["answer"]).expect(0).text().contains("2. Blue"));
    weir_loop(&place, &["answer", "blue"]).expect(0);
    terminal.wait_for("All tasks are done.");
    assert_eq!(commits(&place), ["A"]);
}

#[test]
fn a_plan_is_made_and_its_questions_continue_in_the_same_session() {
    let place = Place::new();
    repository(&place, "", "");
    std::fs::remove_file(place.workspace().join("TASKS.md")).unwrap();
    std::fs::write(place.workspace().join("PRD.md"), "@@[{\"text\":\"Which database?\"}]").unwrap();
    let asked = weir_loop(&place, &["plan", "PRD.md"]).expect(1);
    assert!(asked.text().contains("Which database?") && asked.stderr.contains("--continue"), "{asked:?}");
    let sessions = || -> serde_json::Value {
        serde_json::from_str(
            &std::fs::read_to_string(place.workspace().join(".ralph/state/claude-session.json")).unwrap(),
        )
        .unwrap()
    };
    let first = sessions()["planner_session_id"].clone();
    let list = "@@[{\"text\":\"- [ ] First\\n- [ ] Second\\n  - needs: First\\n\"}]";
    weir_loop(&place, &["plan", "--continue", list]).expect(0);
    assert_eq!(sessions()["planner_session_id"], first);
    assert_eq!(
        std::fs::read_to_string(place.workspace().join("TASKS.md")).unwrap(),
        "- [ ] First\n- [ ] Second\n  - needs: First\n"
    );
    weir_loop(&place, &["plan", "PRD.md"]).expect(2);
    // The cost of planning counts towards the run's budget, once.
    let planned: serde_json::Value = serde_json::from_str(
        &std::fs::read_to_string(place.workspace().join(".ralph/state/planning.json")).unwrap(),
    )
    .unwrap();
    let costs: Vec<f64> =
        planned.as_array().unwrap().iter().map(|p| p["cost_usd"].as_f64().unwrap()).collect();
    assert_eq!(costs.len(), 2);
    std::fs::write(place.workspace().join("TASKS.md"), task("First", "echo 1 > one.txt")).unwrap();
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-qm", "Planned"]);
    weir_loop(&place, &["run"]).expect(0);
    let budget = || -> serde_json::Value {
        serde_json::from_str(
            &std::fs::read_to_string(place.workspace().join(".ralph/state/budget.json")).unwrap(),
        )
        .unwrap()
    };
    let kept = state(&place);
    let worked: f64 = kept["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|task| task["attempts"].as_array().cloned().unwrap_or_default())
        .filter_map(|a| a["cost_usd"].as_f64())
        .sum();
    let all = costs.iter().sum::<f64>() + worked;
    assert!(
        all > worked && (budget()["total_cost_usd"].as_f64().unwrap() - all).abs() < 1e-9,
        "{:?} {all}",
        budget()
    );
    assert!(!place.workspace().join(".ralph/state/planning.json").exists());
}

#[test]
fn questions_of_the_planner_can_be_answered_later() {
    let place = Place::new();
    repository(&place, "", "");
    std::fs::remove_file(place.workspace().join("TASKS.md")).unwrap();
    let ask = r#"@@[{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","multiSelect":false,
        "options":[{"label":"SQLite","description":""},{"label":"Postgres","description":""}]}]}},{"text":"ok"}]"#;
    std::fs::write(place.workspace().join("PRD.md"), ask).unwrap();
    let asked = weir_loop(&place, &["plan", "PRD.md"]).expect(1);
    assert!(asked.stderr.contains("Which database?") && asked.stderr.contains("--continue"), "{asked:?}");
    weir_loop(&place, &["plan", "--continue", "SQLite @@[{\"text\":\"- [ ] One\\n\"}]"]).expect(0);
    assert_eq!(std::fs::read_to_string(place.workspace().join("TASKS.md")).unwrap(), "- [ ] One\n");
}

#[test]
fn permissions_are_not_skipped_outside_of_a_container_by_mistake() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 > a"), "");
    if !std::path::Path::new("/.dockerenv").exists() && !std::path::Path::new("/run/.containerenv").exists() {
        let groups = std::fs::read_to_string("/proc/1/cgroup").unwrap_or_default();
        if !["docker", "kubepods", "containerd", "lxc", "podman"].iter().any(|word| groups.contains(word)) {
            let done = weir_loop(&place, &["run", "--dangerously-skip-permissions"]).expect(2);
            assert!(done.stderr.contains("--outside-container"), "{done:?}");
        }
    }
    let done = weir_loop(&place, &["run", "--outside-container"]).expect(2);
    assert!(done.stderr.contains("--dangerously-skip-permissions"), "{done:?}");
}

#[test]
fn missing_prerequisites_are_reported_with_advice() {
    let place = Place::new();
    let done = weir_loop(&place, &["run"]).expect(1);
    assert!(done.stderr.contains("git init"), "{done:?}");
    weir_loop(&place, &["status"]).expect(2);
    repository(&place, "nothing", "");
    let done = weir_loop(&place, &["run"]).expect(1);
    assert!(done.stderr.contains("- [ ] what to do"), "{done:?}");
    std::fs::write(place.workspace().join("weir.toml"), "[loop]\nfoo = 1\n").unwrap();
    let done = weir_loop(&place, &["run"]).expect(2);
    assert!(done.stderr.contains("foo") && done.stderr.contains("config schema"), "{done:?}");
}
