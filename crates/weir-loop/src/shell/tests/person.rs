//! A person's requests are not lost when the run is killed.

use super::place::Place;
use super::player::{Said, Script};
use crate::shell::person::addressed;
use crate::shell::{Delivered, PersonCommand, tell};
use crate::state::{Asked, AskedQuestion, OpenQuestion, RunState, StateWriter, TaskState, load};
use crate::tasks::TaskId;

#[test]
fn what_was_accepted_is_not_lost_whenever_the_run_is_killed() {
    let script: Script = |task, folder| {
        std::fs::write(folder.join(task), "").unwrap();
        Said::Answer("Done.")
    };
    let place = Place::new("- [ ] One\n- [ ] Two\n", "[loop]\nparallel = 1\n", script);
    let mut is_ever_accepted_before_a_kill = false;
    let stride = if weir_testkit::is_long_run() { 1 } else { 4 };
    for after in (1..).step_by(stride) {
        place.reset();
        let skip = PersonCommand::Skip { task: TaskId::new("two") };
        let (killed, is_accepted) = place.tell_until_killed(after, skip);
        if !place.is_over() {
            place.finish();
        }
        let run = load(&place.folders().state()).unwrap().unwrap();
        let state = run.task(&TaskId::new("two")).unwrap().state;
        if is_accepted {
            assert_eq!(state, TaskState::Skipped, "killed after {after} changes: {killed:?}");
        }
        is_ever_accepted_before_a_kill |= is_accepted && killed.is_some();
        if killed.is_none() {
            assert!(is_accepted && is_ever_accepted_before_a_kill);
            return;
        }
    }
}

fn ask(place: &Place, questions: &[&str]) {
    let folders = place.folders();
    folders.create().unwrap();
    let list = crate::shell::read_tasks(&folders.workspace.join("TASKS.md")).unwrap();
    let mut run = RunState::new("r".into(), 0, list.tasks, &crate::config::Config::default());
    run.questions = questions
        .iter()
        .map(|id| OpenQuestion {
            id: (*id).to_owned(),
            task: TaskId::new("one"),
            asked: Asked::Questions {
                questions: vec![AskedQuestion {
                    question: "Which?".into(),
                    options: vec!["Red".into(), "Blue".into()],
                    several: false,
                }],
            },
            since: 0,
        })
        .collect();
    StateWriter::new(folders.state()).write(&run).unwrap();
}

#[test]
fn an_answer_must_be_valid_and_is_for_the_question_that_was_open() {
    let place = Place::new("- [ ] One\n", "", |_, _| Said::Answer("Done."));
    ask(&place, &["11aa", "22bb"]);
    let folders = place.folders();
    let answer = |question: Option<&str>, words: &str| PersonCommand::Answer {
        question: question.map(str::to_owned),
        answers: vec![words.to_owned()],
        by: "alice".into(),
    };
    let refused = |mail: &PersonCommand| tell(&folders, mail).unwrap_err().to_string();
    assert!(refused(&answer(None, "1")).contains("several questions are open"));
    assert!(refused(&answer(Some("33"), "1")).contains("no such question"));
    assert!(refused(&answer(Some("11"), "3")).contains("choice 3 does not exist"));
    assert!(refused(&answer(Some("11"), " ")).contains("empty"));
    // A running loop gets the answer with the id of its question, even if none was given.
    ask(&place, &["11aa"]);
    let run = load(&folders.state()).unwrap().unwrap();
    assert_eq!(addressed(&run, &answer(None, "2")).unwrap(), answer(Some("11aa"), "2"));
}

#[test]
fn a_workspace_that_something_else_uses_is_not_mistaken_for_a_loop() {
    let place = Place::new("- [ ] One\n", "", |_, _| Said::Answer("Done."));
    ask(&place, &[]);
    let folders = place.folders();
    let skip = PersonCommand::Skip { task: TaskId::new("one") };
    let lock = weir_process::Lock::acquire(&folders.lock_file(), "weir loop plan").unwrap();
    // Somebody else listens: whoever has the lock is another process.
    let socket = std::os::unix::net::UnixListener::bind(folders.state().join("steering.sock"));
    std::thread::scope(|scope| {
        let told = scope.spawn(|| tell(&folders, &skip));
        // The lock is given back while the command is tried.
        drop(lock);
        assert_eq!(told.join().unwrap().unwrap(), Delivered::ToTheState);
    });
    drop(socket);
    let run = load(&folders.state()).unwrap().unwrap();
    assert_eq!(run.tasks[0].state, TaskState::Skipped);
}
