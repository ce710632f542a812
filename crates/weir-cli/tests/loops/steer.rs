//! Who may steer a run, and how its commits reach a branch that they cannot be put on while it works.

use crate::common::{Place, Running};
use crate::repository::{commits, git, repository, state, task, weir_loop};

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
fn a_session_that_gets_away_from_its_parents_cannot_steer_its_run_either() {
    let weir = env!("CARGO_BIN_EXE_weir");
    let place = Place::new();
    let said = place.path("said.txt");
    // Without environment, in a session of its own, in another folder, and its parents have ended.
    let command = format!(
        "cd /; (env -i HOME=$HOME setsid sh -c '({weir} loop skip two --cwd {work} > {said}.new 2>&1; mv {said}.new {said}) \
         &' &); while [ ! -e {said} ]; do sleep 0.05; done; cd -; echo 1 > one.txt",
        work = place.workspace().display(),
        said = said.display()
    );
    repository(&place, &(task("One", &command) + &task("Two", "echo 2 > two.txt")), "");
    weir_loop(&place, &["run"]).expect(0);
    assert_eq!(commits(&place), ["One", "Two"]);
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("only a person can steer it"), "{said}");
}

#[test]
fn what_a_session_puts_in_the_place_of_the_socket_is_not_believed() {
    let place = Place::new();
    let begun = place.path("begun");
    let go = place.path("go");
    // It removes the socket, and waits.
    let command = format!(
        "rm ../../state/steering.sock; touch {}; while [ ! -e {} ]; do sleep 0.05; done; echo 1 > one.txt",
        begun.display(),
        go.display()
    );
    repository(&place, &(task("One", &command) + &task("Two", "echo 2 > two.txt")), "");
    let running = Running::start(place.command(&["loop", "run"]));
    place.wait_until("the session", || begun.exists());
    // The run makes its socket again, and a person reaches it.
    weir_loop(&place, &["skip", "two"]).expect(0);
    std::fs::write(go, "").unwrap();
    let done = running.finish().expect(1);
    assert!(done.text().contains("removed the socket"), "{done:?}");
    assert_eq!(commits(&place), ["One"]);
}

#[test]
fn a_paused_run_begins_no_session_and_a_kill_does_not_change_that() {
    let place = Place::new();
    let (begun, go) = (place.path("begun"), place.path("go"));
    let command = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.05; done; echo 1 > one.txt",
        begun.display(),
        go.display()
    );
    repository(&place, &(task("One", &command) + &task("Two", "echo 2 > two.txt")), "");
    let running = Running::start(place.command(&["loop", "run"]));
    place.wait_until("the session", || begun.exists());
    weir_loop(&place, &["pause"]).expect(0);
    std::fs::write(go, "").unwrap();
    place.wait_until("the first task", || commits(&place) == ["One"]);
    let status = weir_loop(&place, &["status"]).expect(0);
    assert!(status.text().contains("paused by"), "{status:?}");
    running.signal(rustix::process::Signal::KILL);
    running.finish();
    let running = Running::start(place.command(&["loop", "run"]));
    running.wait_for("weir loop unpause");
    weir_loop(&place, &["unpause"]).expect(0);
    running.finish().expect(0);
    assert_eq!(commits(&place), ["One", "Two"]);
    // Without a run in progress it is noted for the next one.
    assert!(weir_loop(&place, &["pause"]).expect(0).text().contains("no loop is running"));
    place.wait_until_empty();
}

#[test]
fn results_are_a_branch_for_each_task_and_texts_for_pull_requests() {
    let place = Place::new();
    let config = "[loop.git]\nresults = \"branches\"\n[[loop.gates]]\nname = \"ok\"\ncommand = [\"true\"]\n";
    repository(&place, &(task("One", "echo 1 > one.txt") + &task("Two", "echo 2 > two.txt")), config);
    let head = git(&place, &["rev-parse", "HEAD"]);
    let done = weir_loop(&place, &["run"]).expect(0);
    assert!(done.text().contains("each on a branch of its own"), "{done:?}");
    assert_eq!(git(&place, &["rev-parse", "HEAD"]), head, "the branch of the person stays");
    assert_eq!(git(&place, &["status", "--porcelain"]), "", "and so does their tree");
    let requests = weir_loop(&place, &["pull-request", "--each", "--json"]).expect(0).json();
    let field = |at: usize, name: &str| requests[at][name].as_str().unwrap().to_owned();
    let (one, two) = (field(0, "branch"), field(1, "branch"));
    assert!(one.ends_with("/one") && two.ends_with("/two") && one.starts_with("weir/task/"), "{requests}");
    assert_eq!((field(0, "base"), field(1, "base")), ("main".to_owned(), one.clone()));
    let shown = |name: &str| git(&place, &["ls-tree", "--name-only", name]);
    assert!(shown(&one).contains("one.txt") && !shown(&one).contains("two.txt"));
    assert!(shown(&two).contains("one.txt") && shown(&two).contains("two.txt"));
    assert!(git(&place, &["show", &format!("{two}:TASKS.md")]).matches("- [x]").count() == 2);
    assert!(field(0, "body").contains("Passed: ok"), "{requests}");
    // Nothing is done a second time, and merging them ends it.
    assert!(weir_loop(&place, &["run"]).expect(0).text().contains("each on a branch of its own"));
    git(&place, &["merge", "-q", &two]);
    weir_loop(&place, &["run"]).expect(0);
    assert_eq!(commits(&place), ["One", "Two"]);
    assert_eq!(state(&place)["status"]["end"]["end"], "completed");
}

#[test]
fn limits_hold_over_the_runs_of_a_period() {
    let place = Place::new();
    repository(&place, &task("One", "echo 1 > one.txt"), "");
    let args = ["run", "--max-iterations", "1", "--limit-period", "24h"];
    weir_loop(&place, &args).expect(0);
    let list = std::fs::read_to_string(place.workspace().join("TASKS.md")).unwrap();
    let list = list + &task("Two", "echo 2 > two.txt");
    std::fs::write(place.workspace().join("TASKS.md"), list).unwrap();
    git(&place, &["commit", "-qam", "More"]);
    // A new run, and the limit is used up.
    let done = weir_loop(&place, &args).expect(8);
    assert!(done.text().contains("1 of 1 iterations"), "{done:?}");
    assert!(done.text().contains("counted over all runs of the last 24 h"), "{done:?}");
    assert_eq!(commits(&place), ["One", "More"]);
    weir_loop(&place, &["run", "--max-iterations", "1"]).expect(0);
    assert_eq!(commits(&place), ["One", "More", "Two"]);
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
