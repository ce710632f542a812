//! Unattended runs: in the background, without a terminal, with a full disk, with sessions that reach out of their
//! place, and with people who say No.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::json;
use weir_testkit::small_disk;

use crate::common::{Place, Running, eventually};
use crate::repository::{commits, git, repository, state, task, weir_loop};

const GATE: &str = "[[loop.gates]]\nname = \"ok\"\ncommand = [\"true\"]\n";

/// A session that waits for a file next to the workspace.
fn waits(name: &str) -> String {
    format!("touch ../../../../begun; while [ ! -e ../../../../{name} ]; do sleep 0.02; done; echo 1 > a")
}

#[test]
fn below_nohup_the_end_of_the_terminal_changes_nothing() {
    let place = Place::new();
    repository(&place, &task("A", &waits("go")), GATE);
    let running = Running::start(place.command_without_hangups(&["loop", "run"]));
    place.wait_for_file("begun");
    running.signal(Signal::HUP);
    std::fs::write(place.path("go"), "").unwrap();
    running.finish().expect(0);
    assert_eq!(commits(&place), ["A"]);
    place.wait_until_empty();
}

#[test]
fn a_run_in_the_background_is_followed_until_it_ends() {
    let place = Place::new();
    repository(&place, &task("A", &waits("go")), GATE);
    let begun = weir_loop(&place, &["run", "--detach"]).expect(0);
    assert!(begun.text().contains("in the background, pid"), "{begun:?}");
    place.wait_for_file("begun");
    let attached = Running::start(place.command(&["loop", "attach"]));
    attached.wait_for("attempt 1");
    std::fs::write(place.path("go"), "").unwrap();
    let done = attached.finish().expect(0);
    assert!(
        done.text().contains("a: done, commit") && done.text().contains("All tasks are done."),
        "{done:?}"
    );
    assert_eq!(commits(&place), ["A"]);
    place.wait_until_empty();
    // What cannot begin says why.
    git(&place, &["commit", "-q", "--allow-empty", "-m", "x"]);
    std::fs::write(place.workspace().join("TASKS.md"), "nothing").unwrap();
    let failed = weir_loop(&place, &["run", "--new", "--allow-dirty", "--detach"]);
    assert!(failed.code != Some(0) && failed.stderr.contains("no tasks"), "{failed:?}");
}

#[test]
fn what_was_said_before_says_what_the_next_run_may_cost() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 > a"), GATE);
    let first = weir_loop(&place, &["run", "--dry-run"]).expect(0);
    assert!(first.text().contains("forecast: 1 open task; what they cost is not known"), "{first:?}");
    weir_loop(&place, &["run"]).expect(0);
    std::fs::write(place.workspace().join("TASKS.md"), task("B", "echo 1 > b") + &task("C", "echo 1 > c"))
        .unwrap();
    let next = weir_loop(&place, &["run", "--dry-run"]).expect(0);
    assert!(
        next.text().contains("forecast: 2 open tasks, about $") && next.text().contains("by 1 earlier tasks"),
        "{next:?}"
    );
}

#[test]
fn without_gates_each_line_says_that_nothing_was_checked() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 > a"), "");
    let done = weir_loop(&place, &["run"]).expect(0);
    let lines = done.text().lines().filter(|line| line.contains("done") && !line.contains(" 0 of "));
    let lines: Vec<&str> = lines.collect();
    assert!(lines.len() == 3 && lines.iter().all(|line| line.contains("not checked")), "{lines:?}");
    let report = weir_loop(&place, &["report"]).expect(0);
    assert!(
        report.text().contains("| A | done, not checked |") && report.text().contains("## Needs you"),
        "{report:?}"
    );
}

#[test]
fn the_report_is_data_as_well() {
    let place = Place::new();
    let gate =
        "[[loop.gates]]\nname = \"check\"\ncommand = [\"sh\", \"-c\", \"echo seen; test ! -e broken\"]\n";
    repository(&place, &(task("Good", "echo 1 > one") + &task("Bad", "echo 2 > broken")), gate);
    weir_loop(&place, &["run"]).expect(1);
    let report = weir_loop(&place, &["report", "--json"]).expect(0).json();
    let (good, bad) = (&report["tasks"][0], &report["tasks"][1]);
    assert_eq!(
        (&good["is_checked"], &good["files"], &good["gates"][0]["output"]),
        (&json!(true), &json!(1), &json!("seen\n"))
    );
    assert_eq!(good["attempts"][0]["said"], "Done.");
    assert_eq!(good["commit"].as_str().unwrap(), git(&place, &["rev-parse", "HEAD"]).trim());
    assert_eq!((bad["attempts"].as_array().unwrap().len(), &bad["is_done"]), (3, &json!(false)));
    assert!(bad["attempts"][0]["output"].as_str().unwrap().contains("seen"), "{bad}");
    assert!(
        report["needs_you"][0].as_str().unwrap().contains("Task bad is not done: gates failed"),
        "{report}"
    );
    let schema = weir_loop(&place, &["report", "--schema"]).expect(0).json();
    for key in report.as_object().unwrap().keys() {
        assert!(schema["properties"].get(key).is_some(), "{key} is not in the schema");
    }
    for required in schema["required"].as_array().unwrap() {
        assert!(report.get(required.as_str().unwrap()).is_some(), "{required} is not in the report");
    }
    weir_loop(&place, &["replay"]).expect(0);
}

#[test]
fn a_replay_notices_a_report_that_was_changed() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 > a"), GATE);
    weir_loop(&place, &["run"]).expect(0);
    weir_loop(&place, &["replay"]).expect(0);
    let journal = place.workspace().join(".ralph/state/journal.ndjson");
    let text = std::fs::read_to_string(&journal).unwrap();
    let changed = text.replace("\"said\":\"Done.\"", "\"said\":\"All of it, and more.\"");
    assert_ne!(changed, text);
    std::fs::write(&journal, changed).unwrap();
    let done = weir_loop(&place, &["replay"]).expect(1);
    assert!(done.text().contains("the log has another last answer"), "{done:?}");
}

#[test]
fn a_person_who_says_no_refuses_one_call_and_nothing_else() {
    let place = Place::new();
    let list = "- [ ] A\n  @@[{\"tool\":\"WebFetch\",\"input\":{\"url\":\"https://example.com/\",\"prompt\":\"x\"}},\
                {\"tool\":\"Bash\",\"input\":{\"command\":\"echo 1 > a\"}},{\"text\":\"Done.\"}]\n";
    let asks = format!(
        "[loop.permissions]\npolicy = \"ask\"\n[loop.coder]\nallowed_tools = [\"Read\", \"Bash\"]\n{GATE}"
    );
    repository(&place, list, &asks);
    let running = Running::start(place.command(&["loop", "run"]));
    eventually("the question", || {
        let text = std::fs::read_to_string(place.workspace().join(".ralph/state/run.json")).ok()?;
        let run: serde_json::Value = serde_json::from_str(&text).ok()?;
        run["questions"].as_array().is_some_and(|open| !open.is_empty()).then_some(())
    });
    weir_loop(&place, &["answer", "no"]).expect(0);
    running.finish().expect(0);
    assert_eq!(commits(&place), ["A"]);
    assert_eq!(state(&place)["tasks"][0]["attempts"].as_array().unwrap().len(), 1);
    place.wait_until_empty();
}

/// The gate is `make test`, and the session puts another `make` before it.
#[test]
fn a_program_that_a_session_puts_into_the_path_is_not_believed() {
    let place = Place::new();
    let tools = place.home().join(".local/bin");
    std::fs::create_dir_all(&tools).unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let place = place.set("PATH", path);
    std::fs::write(place.workspace().join("Makefile"), "test:\n\tfalse\n").unwrap();
    let shim =
        format!("printf '#!/bin/sh\\nexit 0\\n' > {0}/make; chmod +x {0}/make; echo 1 > a", tools.display());
    let gate = "[[loop.gates]]\nname = \"test\"\ncommand = [\"make\", \"test\"]\n";
    repository(&place, &task("A", &shim), gate);
    let done = weir_loop(&place, &["run"]).expect(1);
    let text = format!("{}{}", done.text(), done.stderr);
    assert!(
        text.contains(".local/bin/make (which comes before") && text.contains("would say nothing"),
        "{text}"
    );
    assert_eq!(commits(&place), [""; 0]);
    let mode = std::fs::metadata(tools.join("make")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "the cheat was played");
    place.wait_until_empty();
}

#[test]
fn settings_that_a_session_leaves_in_the_home_are_not_believed() {
    let place = Place::new();
    let config = place.home().join(".npmrc");
    let gate = format!(
        "[[loop.gates]]\nname = \"test\"\ncommand = [\"sh\", \"-c\", \"test -e {} || test -e done\"]\n",
        config.display()
    );
    repository(
        &place,
        &task("A", &format!("echo script-shell=/bin/true > {}; echo 1 > a", config.display())),
        &gate,
    );
    let done = weir_loop(&place, &["run"]).expect(1);
    let text = format!("{}{}", done.text(), done.stderr);
    assert!(text.contains(".npmrc is not as it was when the run began"), "{text}");
    assert_eq!(commits(&place), [""; 0]);
}

#[test]
fn a_list_that_cannot_be_meant_is_refused_with_its_line() {
    let place = Place::new();
    repository(&place, "# Plan\n\n- [ ] One\n- [ ]\n", GATE);
    let done = weir_loop(&place, &["run"]);
    assert!(done.code != Some(0) && done.stderr.contains("line 4: a box without text"), "{done:?}");
}

#[test]
fn tasks_may_come_from_a_program_and_results_are_ready_for_a_request() {
    let place = Place::new();
    let script = |text: &str| {
        format!("@@{}", json!([{"tool": "Bash", "input": {"command": text}}, {"text": "Done."}]))
    };
    let issues = json!([
        {"number": 7, "title": "First", "body": script("echo 1 > one")},
        {"number": 8, "title": "Second", "body": script("echo 2 > two"), "needs": ["7"]},
    ]);
    let told = place.path("told.ndjson");
    let config = format!(
        "[loop.source]\ncommand = [\"cat\", \"issues.json\"]\n[loop.notify]\non = [\"done\"]\n\
         command = [\"sh\", \"-c\", \"cat >> {0}; echo >> {0}\"]\n{GATE}",
        told.display()
    );
    std::fs::write(place.workspace().join("issues.json"), issues.to_string()).unwrap();
    repository(&place, "", &config);
    weir_loop(&place, &["run"]).expect(0);
    assert_eq!(commits(&place), ["First", "Second"]);
    let told = std::fs::read_to_string(told).unwrap();
    let told: Vec<serde_json::Value> =
        told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut tasks: Vec<&str> = told
        .iter()
        .filter(|news| news["kind"] == "done")
        .filter_map(|news| news["event"]["task"].as_str())
        .collect();
    tasks.sort_unstable();
    assert_eq!(tasks, ["7", "8"]);
    let request = weir_loop(&place, &["pull-request", "--json"]).expect(0).json();
    assert_eq!((&request["title"], &request["branch"]), (&json!("First and 1 more task"), &json!("main")));
    assert!(request["body"].as_str().unwrap().contains("Passed: ok"), "{request}");
    weir_loop(&place, &["pull-request", "9"]).expect(2);
    // An issue that was done is not done again.
    std::fs::write(place.workspace().join("issues.json"), issues.to_string()).unwrap();
    weir_loop(&place, &["run"]).expect(0);
    assert_eq!(commits(&place).len(), 2);
    place.wait_until_empty();
}

/// The state is on a small disk, which another program fills while a session works.
#[test]
fn a_disk_that_is_full_is_waited_for() {
    let Some(disk) = small_disk::mounted() else {
        let run = small_disk::run_test("nights::a_disk_that_is_full_is_waited_for", 16);
        return run.unwrap_or_else(|output| panic!("{output}"));
    };
    let place = Place::new();
    repository(&place, &task("A", &format!("echo 1 > a; {}", waits("go"))), GATE);
    std::fs::create_dir(place.workspace().join(".ralph")).unwrap();
    std::os::unix::fs::symlink(&disk, place.workspace().join(".ralph/state")).unwrap();
    let running = Running::start(place.command(&["loop", "run"]));
    place.wait_for_file("begun");
    small_disk::fill(&disk, 0).unwrap();
    std::fs::write(place.path("go"), "").unwrap();
    running.wait_for("waits for space");
    small_disk::empty(&disk).unwrap();
    let done = running.finish().expect(0);
    assert!(done.text().contains("the disk has space again"), "{done:?}");
    // The state is on another disk than the tree, so that files cannot be exchanged, and the commit waits on a branch.
    assert_eq!(state(&place)["tasks"][0]["state"], "done");
    place.wait_until_empty();
}
