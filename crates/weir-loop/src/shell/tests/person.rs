//! A person's requests are not lost when the run is killed.

use super::place::Place;
use super::player::{Said, Script};
use crate::shell::{Delivered, Mail, Mailbox, tell};
use crate::state::{Asked, AskedQuestion, OpenQuestion, RunState, StateWriter, TaskState, load};
use crate::tasks::TaskId;

#[test]
fn a_mail_is_not_lost_whenever_the_run_is_killed() {
    let script: Script = |task, folder| {
        std::fs::write(folder.join(task), "").unwrap();
        Said::Answer("Done.")
    };
    for after in 1.. {
        let place = Place::new("- [ ] One\n- [ ] Two\n", "[loop]\nparallel = 1\n", script);
        place.folders().create().unwrap();
        let mail = Mail::Skip { task: TaskId::new("two") };
        Mailbox::new(place.folders().mailbox()).send(&mail).unwrap();
        let killed = place.run_until_killed(after);
        if !place.is_over() {
            place.finish();
        }
        let run = load(&place.folders().state()).unwrap().unwrap();
        let two = run.task(&TaskId::new("two")).unwrap();
        assert_eq!(two.state, TaskState::Skipped, "killed after {after} changes: {killed:?}");
        if killed.is_none() {
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
    let answer = |question: Option<&str>, words: &str| Mail::Answer {
        question: question.map(str::to_owned),
        answers: vec![words.to_owned()],
        by: "alice".into(),
    };
    let refused = |mail: &Mail| tell(&folders, mail).unwrap_err().to_string();
    assert!(refused(&answer(None, "1")).contains("several questions are open"));
    assert!(refused(&answer(Some("33"), "1")).contains("no such question"));
    assert!(refused(&answer(Some("11"), "3")).contains("choice 3 does not exist"));
    assert!(refused(&answer(Some("11"), " ")).contains("empty"));
    // A running loop gets the answer with the id of its question, even if none was given.
    ask(&place, &["11aa"]);
    let lock = weir_process::Lock::acquire(&folders.lock_file(), "test").unwrap();
    assert_eq!(tell(&folders, &answer(None, "2")).unwrap(), Delivered::ToTheRun);
    drop(lock);
    assert_eq!(Mailbox::new(folders.mailbox()).take().0, [answer(Some("11aa"), "2")]);
}
