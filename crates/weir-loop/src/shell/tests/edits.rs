//! A person saves files while the loop runs: nothing of theirs is lost, at whatever instant they save, and also if the run
//! is killed after that.

use std::path::Path;

use super::place::Place;
use super::player::{Said, Script};
use crate::instant;
use crate::state::{TaskState, load};
use crate::tasks::TaskId;

const LIST: &str = "# Plan\n\n- [ ] One\n- [ ] Two\n";
const GATE: &str = "[[loop.gates]]\nname = \"whole\"\ncommand = [\"test\", \"!\", \"-e\", \"broken\"]\n";

/// Number of changes between two edits in a short test run.
const STRIDE: usize = 3;

/// What both tasks do: a new file, and a changed, shared one.
const SCRIPT: Script = |task, folder| {
    std::fs::write(folder.join(format!("{task}.txt")), "x\n").unwrap();
    if task == "one" {
        std::fs::write(folder.join("README"), "by the task\n").unwrap();
    }
    Said::Answer("Done.")
};

/// Runs with an edit after each number of changes, and checks what is there in the end. Every other run is killed soon
/// after the edit and resumed.
fn edit_at_each_instant(config: &str, edit: fn(&Path), check: fn(&Place, usize)) {
    let place = Place::new(LIST, config, SCRIPT);
    let stride = if weir_testkit::is_long_run() { 1 } else { STRIDE };
    for after in (1..).step_by(stride) {
        place.reset();
        let workspace = place.workspace();
        if after % 2 == 0 {
            let killed = {
                instant::revive();
                instant::meanwhile(after, edit_during_the_run(&workspace, edit));
                place.run_until_killed(after + 1 + after % 5)
            };
            if killed.is_some() && !place.is_over() {
                place.finish();
            }
        } else {
            instant::revive();
            instant::meanwhile(after, edit_during_the_run(&workspace, edit));
            place.finish();
        }
        if instant::was_too_late() {
            return;
        }
        let run = load(&place.folders().state()).unwrap().unwrap();
        for id in ["one", "two"] {
            let record = run.task(&TaskId::new(id)).unwrap();
            assert_eq!(record.state, TaskState::Done, "{id}, edited after {after}: {:?}", record.failure);
        }
        check(&place, after);
    }
}

/// The edit, as soon as the run has begun: before, it would be refused.
fn edit_during_the_run(workspace: &Path, edit: fn(&Path)) -> impl FnMut() -> bool + 'static {
    let workspace = workspace.to_owned();
    move || {
        let has_begun = workspace.join(".ralph/state/journal.ndjson").exists();
        if has_begun {
            edit(&workspace);
        }
        has_begun
    }
}

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.workspace().join(name)).unwrap_or_default()
}

/// A file that no task changes.
fn note(folder: &Path) {
    std::fs::write(folder.join("notes.txt"), "mine\n").unwrap();
}

fn note_is_there(place: &Place, after: usize) {
    assert_eq!(read(place, "notes.txt"), "mine\n", "{after}");
    assert_eq!(place.status(), "?? notes.txt", "{after}");
}

#[test]
fn a_file_that_no_task_changes_stays_and_is_not_committed() {
    edit_at_each_instant(&format!("[loop]\nparallel = 1\n{GATE}"), note, note_is_there);
}

#[test]
fn it_also_stays_next_to_parallel_tasks() {
    edit_at_each_instant(&format!("[loop]\nparallel = 2\n{GATE}"), note, note_is_there);
}

/// A file that a task changes, and another that a task creates.
#[test]
fn a_file_that_a_task_changes_is_as_the_person_saved_it() {
    let edit = |folder: &Path| {
        std::fs::write(folder.join("README"), "by the person\n").unwrap();
        std::fs::write(folder.join("two.txt"), "by the person\n").unwrap();
    };
    edit_at_each_instant(GATE, edit, |place, after| {
        assert_eq!(read(place, "README"), "by the person\n", "{after}");
        assert_eq!(read(place, "two.txt"), "by the person\n", "{after}");
        let run = load(&place.folders().state()).unwrap().unwrap();
        let line = run.line.unwrap();
        // The work is on the branch, or waits on one of Weir's own.
        let shown = |name: &str| place.git(&["show", &format!("{}:{name}", line.tip)]);
        assert_eq!((shown("README").as_str(), shown("two.txt").as_str()), ("by the task", "x"), "{after}");
        let names = place.git(&["branch", "--contains", &line.tip, "--format=%(refname:short)"]);
        assert!(names.lines().any(|name| name == "main" || name.starts_with("weir/run/")), "{names}");
        // What git says about the person's tree is only about their own edits.
        let status = place.status();
        let is_theirs =
            |line: &str| line.ends_with("README") || line.ends_with("two.txt") || line.ends_with("TASKS.md");
        assert!(status.lines().all(is_theirs), "{after}: {status}");
    });
}

#[test]
fn an_edit_of_the_list_is_kept_and_both_boxes_are_checked() {
    let edit = |folder: &Path| {
        let path = folder.join("TASKS.md");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, text.replace("# Plan\n", "# My plan\n\nFirst this.\n")).unwrap();
    };
    edit_at_each_instant(GATE, edit, |place, after| {
        let list = read(place, "TASKS.md");
        assert_eq!(list, "# My plan\n\nFirst this.\n\n- [x] One\n- [x] Two\n", "{after}");
        assert_eq!(place.status(), "M TASKS.md", "{after}");
    });
}

#[test]
fn commits_of_a_person_are_taken_in() {
    let edit = |folder: &Path| {
        std::fs::write(folder.join("more.txt"), "mine\n").unwrap();
        // While Weir moves the branch, the index is locked, and git refuses: the file stays as it was saved.
        let git = |args: &'static [&'static str]| {
            let folder = folder.to_owned();
            std::panic::catch_unwind(move || weir_testkit::git(&folder, args)).is_ok()
        };
        let _ = git(&["add", "more.txt"]) && git(&["commit", "-q", "-m", "Mine", "more.txt"]);
    };
    edit_at_each_instant(GATE, edit, |place, after| {
        assert_eq!(read(place, "more.txt"), "mine\n", "{after}");
        let run = load(&place.folders().state()).unwrap().unwrap();
        let line = run.line.unwrap();
        let log = place.git(&["log", "--format=%s", "main", &line.tip]);
        for subject in ["One", "Two"] {
            assert_eq!(log.lines().filter(|line| *line == subject).count(), 1, "{after}: {log}");
        }
    });
}
