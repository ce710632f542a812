//! Who may steer a run, and how its commits reach a branch that they cannot be put on while it works.

use crate::common::Place;
use crate::repository::{commits, git, repository, task, weir_loop};

#[test]
fn a_session_cannot_steer_its_own_run() {
    let weir = env!("CARGO_BIN_EXE_weir");
    for before in ["", "env -u WEIR_LOOP_INSIDE ", "cd /; env -i HOME=$HOME "] {
        let place = Place::new();
        let said = place.path("said.txt");
        let command = format!(
            "({before}{weir} loop skip two --cwd {} > {} 2>&1); echo 1 > one.txt",
            place.workspace().display(),
            said.display()
        );
        repository(&place, &(task("One", &command) + &task("Two", "echo 2 > two.txt")), "");
        weir_loop(&place, &["run"]).expect(0);
        assert_eq!(commits(&place), ["One", "Two"], "{before}");
        let said = std::fs::read_to_string(said).unwrap();
        assert!(said.contains("only a person can steer it"), "{before}: {said}");
    }
}

#[test]
fn commits_that_wait_for_a_persons_edit_are_merged_at_their_request() {
    let place = Place::new();
    // The gate stands for a person who edits the same file meanwhile.
    let notes = place.workspace().join("notes.txt");
    let gate = format!(
        "[[loop.gates]]\nname = \"edit\"\ncommand = [\"sh\", \"-c\", \"sed -i s/five/FIVE/ {}\"]\n",
        notes.display()
    );
    repository(&place, &task("One", "sed -i s/one/ONE/ notes.txt"), &gate);
    std::fs::write(place.workspace().join("notes.txt"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-qm", "Notes"]);
    let done = weir_loop(&place, &["run"]).expect(0);
    assert!(done.text().contains("notes.txt") && done.text().contains("weir loop merge"), "{done:?}");
    assert_eq!(commits(&place), ["Notes"], "the branch has not moved");
    let read = || std::fs::read_to_string(place.workspace().join("notes.txt")).unwrap();
    assert_eq!(read(), "one\ntwo\nthree\nfour\nFIVE\n");
    weir_loop(&place, &["merge"]).expect(0);
    assert_eq!(commits(&place), ["Notes", "One"]);
    assert_eq!(read(), "ONE\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(git(&place, &["status", "--porcelain"]), " M notes.txt\n");
    assert_eq!(git(&place, &["branch", "--list", "weir/*"]), "");
    assert!(weir_loop(&place, &["merge"]).expect(0).text().contains("has all commits"));
}
