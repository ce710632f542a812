//! A test for each problem of other loops. Tests that need no process are those of the machine.

use serde_json::json;
use weir_loop::event::LoopEvent;
use weir_loop::machine::Wanted;
use weir_loop::outcome::Outcome;
use weir_loop::shell::{OpenError, OpenOptions, PersonCommand, open, tell};
use weir_loop::state::{RunEnd, TaskState};
use weir_testkit::blocking;

use crate::place::{Place, does, task, until};

const GATE: &str =
    "[[loop.gates]]\nname = \"check\"\ncommand = [\"sh\", \"check.sh\"]\nfiles = [\"check.sh\"]\n";

async fn place_with_gate(list: &str, check: &str) -> Place {
    let place = Place::new(list, GATE).await;
    place.write("check.sh", check);
    place.git(&["add", "-A"]).await;
    place.git(&["commit", "-q", "-m", "Add the check"]).await;
    place
}

#[tokio::test]
async fn the_harness_runs_the_gates_itself_and_believes_no_promise() {
    let list = task("A", &does("touch broken"));
    let place = place_with_gate(&list, "if [ -e broken ]; then echo it is broken; exit 1; fi\n").await;
    let ran = place.run().await;
    let record = ran.task("a");
    assert_eq!(record.outcome(), Some(Outcome::Failed));
    assert!(record.failure.as_ref().unwrap().output.contains("it is broken"));
    let when: Vec<&str> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            LoopEvent::Gates { when, .. } => Some(*when),
            _ => None,
        })
        .collect();
    assert_eq!(when, ["before", "after", "after", "after"]);
    assert_eq!(place.read("TASKS.md"), list, "its box is not checked");
    assert!(!place.has("broken"), "the tree is clean for the next task");
    let kept = place.git(&["show", "--stat", "--format=%s", record.kept.as_ref().unwrap()]).await;
    assert!(kept.contains("broken"), "{kept}");
}

#[tokio::test]
async fn a_gate_has_no_shell_and_a_time_limit() {
    let config = "[[loop.gates]]\nname = \"echo\"\ncommand = [\"test\", \"$HOME && x\", \"=\", \"$HOME && x\"]\n\
                  [[loop.gates]]\nname = \"slow\"\ncommand = [\"sleep\", \"300\"]\ntimeout = \"300ms\"";
    let place = Place::new(&task("A", &does("echo 1 > a")), config).await;
    let ran = place.run().await;
    let before = &ran.task("a").before;
    assert!(before[0].passed, "arguments are passed literally: {before:?}");
    assert!(!before[1].passed && before[1].ending.contains("longer than"), "{before:?}");
}

#[tokio::test]
async fn what_defines_the_gates_is_protected_and_restored() {
    let list = task("A", &does("echo 'exit 0 # sure' > check.sh; echo > weir.toml; echo 1 > a.txt"));
    let place = place_with_gate(&list, "exit 0\n").await;
    let ran = place.run().await;
    let record = ran.task("a");
    assert_eq!(record.outcome(), Some(Outcome::Failed));
    assert!(record.failure.as_ref().unwrap().reason.contains("check.sh, weir.toml"), "{:?}", record.failure);
    assert_eq!((place.read("check.sh").as_str(), place.read("weir.toml").as_str()), ("exit 0\n", GATE));
}

#[tokio::test]
async fn an_edit_of_a_protected_file_is_refused_before_it_happens() {
    let edit = json!([{"tool": "Write", "input": {"file_path": "weir.toml", "content": "x"}}, {"tool": "Bash", "input": {"command": "echo 1 > a.txt"}}, {"text": "ok"}]);
    let place = Place::new(&task("A", &edit), "[loop]\n").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed, "{:#?}", ran.state);
    assert_eq!(place.read("weir.toml"), "[loop]\n");
}

#[tokio::test]
async fn a_box_that_the_model_checked_means_nothing() {
    let list = task("A", &does("sed -i 's/\\[ \\]/[x]/' TASKS.md; echo 1 > a.txt"))
        + &task("B", &does("echo 2 > b.txt"));
    let place = Place::new(&list, "").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    assert_eq!(place.commits().await, ["A", "B"], "B was done, whatever the list said");
}

#[tokio::test]
async fn a_question_and_no_change_are_not_done() {
    let list = task("Asks", &json!([{"text": "Shall I do it?"}]))
        + &task("Idles", &json!([{"text": "It is done already."}]));
    let place = Place::new(&list, "").await;
    let ran = place.run().await;
    assert_eq!(
        (ran.task("asks").outcome(), ran.task("idles").outcome()),
        (Some(Outcome::Question), Some(Outcome::NoChange))
    );
    assert_eq!(ran.end, RunEnd::Unfinished);
    assert_eq!(place.read("TASKS.md"), list);
}

#[tokio::test]
async fn a_file_that_says_limit_is_no_limit() {
    let list = task("A", &does("echo 'usage limit reached, 429, resets at 5pm' | tee a.txt"));
    let place = Place::new(&list, "").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    assert!(!ran.events.iter().any(|event| matches!(event, LoopEvent::Waiting { .. })));
}

#[tokio::test]
async fn a_structured_limit_is_waited_for_and_not_counted() {
    // Each session is refused for a second.
    let script =
        json!([{"misbehave": {"rate_limit": 1}, "status": 429, "etype": "rate_limit_error", "msg": "limit"}]);
    let config = "[loop.rate_limit]\nmargin = \"100ms\"";
    let place = Place::new(&task("A", &script), config).await;
    let logs = place.folders().logs();
    let sessions = move || std::fs::read_dir(&logs).into_iter().flatten().count() / 3;
    let run = place.run_with(Wanted::default(), |handles| {
        tokio::spawn(async move {
            until("two sessions", || sessions() >= 2).await;
            handles.interrupt();
        });
    });
    let ran = run.await;
    let attempts = &ran.task("a").attempts;
    assert!(attempts.len() >= 2, "{attempts:#?}");
    assert!(attempts.iter().all(|attempt| !attempt.counted), "{attempts:#?}");
    assert_eq!((attempts[0].outcome, ran.state.budget().iterations), (Outcome::RateLimited, 0));
    assert!(ran.events.iter().any(|event| matches!(event, LoopEvent::Waiting { .. })), "it is announced");
}

#[tokio::test]
async fn state_of_another_run_does_not_poison_the_next_one() {
    let list = task("A", &does("echo 1 > a.txt"));
    let place = Place::new(&list, "").await;
    let first = place.run().await;
    place.write("TASKS.md", &(place.read("TASKS.md") + &task("B", &does("echo 2 > b.txt"))));
    place.git(&["commit", "-qam", "More to do"]).await;
    let second = place.run().await;
    assert_ne!(first.state.run_id, second.state.run_id);
    assert_eq!((second.end, second.state.budget().iterations), (RunEnd::Completed, 1));
    assert!(place.has(&format!(".ralph/runs/{}.json", first.state.run_id)));
    // An incomplete state is refused and kept.
    std::fs::write(place.folders().state().join("journal.ndjson"), "{\"whole\":{\"version\":3,\"run")
        .unwrap();
    let error = open(&place.folders(), &place.config, OpenOptions::default()).await.unwrap_err();
    assert!(matches!(error, OpenError::State(_)), "{error}");
    assert!(place.has(".ralph/state/journal.ndjson.damaged"));
}

#[tokio::test]
async fn two_loops_do_not_work_in_one_place() {
    let place = Place::new("- [ ] a\n", "").await;
    let first = open(&place.folders(), &place.config, OpenOptions::default()).await.unwrap();
    let error = open(&place.folders(), &place.config, OpenOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains(&format!("held by pid {}", std::process::id())), "{error}");
    drop(first.lock);
    open(&place.folders(), &place.config, OpenOptions::default()).await.unwrap();
}

#[tokio::test]
async fn a_dirty_tree_is_refused_unless_allowed() {
    let place = Place::new(&task("A", &does("echo 1 > a.txt")), "").await;
    place.write("README", "changed\n");
    let error = open(&place.folders(), &place.config, OpenOptions::default()).await.unwrap_err();
    assert!(matches!(&error, OpenError::Dirty(names) if names == "README"), "{error}");
    let options = OpenOptions { allow_dirty: true, ..OpenOptions::default() };
    drop(open(&place.folders(), &place.config, options).await.unwrap());
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    assert_eq!(place.commits().await, ["Keep changes from before the run", "A"]);
}

#[tokio::test]
async fn nothing_runs_in_the_background() {
    let script = json!([
        {"tool": "Bash", "input": {"command": "sleep 300", "run_in_background": true}},
        {"tool": "Bash", "input": {"command": "echo 1 > a.txt"}},
        {"text": "ok"}
    ]);
    let place = Place::new(&task("A", &script), "").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed, "{:#?}", ran.state.tasks);
    let log = std::fs::read_to_string(&place.logs()[0]).unwrap();
    assert!(log.contains("Nothing may run in the background"), "{log}");
}

#[tokio::test]
async fn a_question_waits_for_a_person_who_answers_from_another_process() {
    let ask = json!([
        {"tool": "AskUserQuestion", "input": {"questions": [{"question": "Which database?", "header": "DB", "multiSelect": false,
            "options": [{"label": "SQLite", "description": "s"}, {"label": "Postgres", "description": "p"}]}]}},
        {"tool": "Bash", "input": {"command": "echo 1 > a.txt"}},
        {"text": "ok"}
    ]);
    let place = Place::new(&task("A", &ask), "").await;
    let folders = place.folders();
    let answer = tokio::task::spawn_blocking(move || {
        let answers = vec!["2".into()];
        let answer = PersonCommand::Answer { question: None, answers, by: "alice".into() };
        blocking::until("a question", || tell(&folders, &answer).is_ok());
    });
    let ran = place.run().await;
    answer.await.unwrap();
    assert_eq!(ran.end, RunEnd::Completed);
    assert_eq!(ran.task("a").answers.get("Which database?").map(String::as_str), Some("Postgres"));
    let log = std::fs::read_to_string(&place.logs()[0]).unwrap();
    assert!(log.contains("Postgres"), "the session received it");
}

#[tokio::test]
async fn a_question_is_skipped_where_that_is_the_policy() {
    let ask = json!([{"tool": "AskUserQuestion", "input": {"questions": [{"question": "Which?", "header": "x", "multiSelect": false,
        "options": [{"label": "A", "description": ""}, {"label": "B", "description": ""}]}]}}, {"text": "ok"}]);
    let place = Place::new(
        &(task("A", &ask) + &task("B", &does("echo 2 > b.txt"))),
        "[loop.questions]\npolicy = \"skip\"",
    )
    .await;
    let ran = place.run().await;
    assert_eq!(
        (ran.task("a").outcome(), ran.task("b").outcome()),
        (Some(Outcome::Question), Some(Outcome::Done))
    );
    assert!(ran.task("a").failure.as_ref().unwrap().reason.contains("Which?"));
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_the_next_start_resumes() {
    let list = task(
        "A",
        &does(
            "if [ -e ../../../../again ]; then echo 1 > a.txt; else touch ../../../../again partial; sleep 300; fi",
        ),
    );
    let place = Place::new(&list, "").await;
    let folder = place.workspace();
    let ran = place.run_with(Wanted::default(), |handles| {
        tokio::spawn(async move {
            until("the tool", || folder.join("../again").exists()).await;
            handles.interrupt();
        });
    });
    let ran = ran.await;
    assert_eq!((&ran.end, ran.task("a").state), (&RunEnd::Interrupted, TaskState::Active));
    let again = place.run().await;
    assert_eq!((again.end, again.state.run_id), (RunEnd::Completed, ran.state.run_id));
    assert!(!place.has("partial"), "partial work was reverted");
    assert_eq!(again.state.tasks[0].counted(), 1);
}
