//! Kills a run after each change it makes: the result is that of an undisturbed run.

use std::path::Path;

use super::place::{Instant, Place};
use super::player::{COST, Said, Script};
use crate::state::RunEnd;

const GATE: &str = "[[loop.gates]]\nname = \"whole\"\ncommand = [\"test\", \"!\", \"-e\", \"broken\"]\n";

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

/// Number of changes between two kills in a short test run.
const STRIDE: usize = 4;

/// Kills runs after each change (in a short test run, after some of them), and lets them resume to the end.
fn check(list: &str, config: &str, script: Script) {
    check_place(&Place::new(list, config, script));
}

/// Everything that is on the disk at an instant is what a kill at that instant leaves. So the run goes through once, a copy is
/// made at each instant, and each copy resumes.
fn check_place(place: &Place) {
    let stride = if weir_testkit::is_long_run() { 1 } else { STRIDE };
    let (expected, instants) = place.finish_keeping(stride);
    assert!(instants.len() > 15 / stride && expected.end.is_some(), "{}: {expected:?}", instants.len());
    for instant in instants {
        place.put(&instant);
        let Instant { after, last, .. } = instant;
        // After the last change the run is over, and another start would be a new run.
        // Some runs are killed a second time while they resume, at a different point each time.
        let is_again = after % 3 == 0 && !place.is_over();
        let again = is_again.then(|| place.run_until_killed(1 + after % 7));
        if !place.is_over() {
            place.finish();
        }
        assert_eq!(place.outcome(), expected, "killed after {after} changes ({last}), then after {again:?}");
    }
}

#[test]
fn a_task_that_is_done_and_one_that_needs_two_attempts() {
    let script: Script = |task, folder| {
        if task == "one" {
            write(folder, "one.txt", "1\n");
            return Said::Answer("Done.\n\n## Learned\n- it is easy");
        }
        if folder.join("broken").exists() {
            std::fs::remove_file(folder.join("broken")).unwrap();
            write(folder, "two.txt", "2\n");
            return Said::Answer("Done.");
        }
        write(folder, "broken", "");
        Said::Answer("Done.\n\n## Learned\n- it is hard")
    };
    let place = Place::new("- [ ] One\n- [ ] Two\n", GATE, script);
    place.finish();
    let outcome = place.outcome();
    assert_eq!((outcome.end, outcome.iterations, outcome.cost), (Some(RunEnd::Completed), 3, 3.0 * COST));
    assert_eq!(outcome.commits, ["Two", "One", "Begin"]);
    check("- [ ] One\n- [ ] Two\n", GATE, script);
}

#[test]
fn a_task_that_is_given_up_and_its_work_on_a_branch() {
    let script: Script = |_, folder| {
        write(folder, "broken", "");
        write(folder, "README", "changed\n");
        Said::Answer("Done.")
    };
    let config = format!("[loop.task_limits]\nattempts = 1\n{GATE}");
    check("- [ ] One\n- [ ] Two\n", &config, script);
}

#[test]
fn a_task_that_is_given_up_and_its_work_in_the_stash() {
    let script: Script = |_, folder| {
        write(folder, "broken", "");
        std::fs::remove_file(folder.join("README")).unwrap();
        Said::Answer("Done.")
    };
    let config = format!("[loop.task_limits]\nattempts = 1\n[loop.git]\nkeep_failed = \"stash\"\n{GATE}");
    check("- [ ] One\n", &config, script);
}

#[test]
fn a_denial_that_halts_the_run() {
    let script: Script = |_, folder| {
        write(folder, "one.txt", "1\n");
        Said::Denied
    };
    check("- [ ] One\n- [ ] Two\n", GATE, script);
}

#[test]
fn protected_files_and_a_list_that_a_session_changed() {
    let script: Script = |_, folder| {
        write(folder, "one.txt", "1\n");
        write(folder, "TASKS.md", "- [x] One\n");
        if folder.join("new.txt").exists() {
            return Said::Answer("Done.");
        }
        write(folder, "weir.toml", "");
        write(folder, "README", "protected, too\n");
        write(folder, "new.txt", "1\n");
        Said::Answer("Done.")
    };
    let config = format!("[loop]\nprotected = [\"READ*\"]\n{GATE}");
    check("- [ ] One\n", &config, script);
}

#[test]
fn a_rate_limit() {
    let script: Script = |_, folder| {
        let logs = std::fs::read_dir(folder.join("../../logs/claude")).unwrap();
        let mut logs = logs.map(|log| std::fs::read_to_string(log.unwrap().path()).unwrap());
        if logs.any(|log| log.contains("\"is_error\":true")) {
            write(folder, "one.txt", "1\n");
            return Said::Answer("Done.");
        }
        write(folder, "half.txt", "1\n");
        Said::Limited
    };
    check("- [ ] One\n", &format!("[loop.rate_limit]\nmargin = \"1ms\"\n{GATE}"), script);
}

const TWO: &str = "- [ ] One\n- [ ] Two\n";

#[test]
fn parallel_tasks_are_each_merged_once() {
    let script: Script = |task, folder| {
        write(folder, &format!("{task}.txt"), "x\n");
        Said::Answer("Done.")
    };
    check(TWO, &format!("[loop]\nparallel = 2\n{GATE}"), script);
}

#[test]
fn a_parallel_task_with_a_conflict_is_done_again_on_what_was_merged() {
    let script: Script = |task, folder| {
        write(folder, "README", &format!("{task}\n"));
        Said::Answer("Done.")
    };
    check(TWO, "[loop]\nparallel = 2\n", script);
}

#[test]
fn a_parallel_task_that_cannot_be_merged_keeps_its_branch() {
    let script: Script = |task, folder| {
        if task == "one" || std::fs::read_to_string(folder.join("README")).unwrap() != "one\n" {
            write(folder, "README", &format!("{task}\n"));
        }
        Said::Answer("Done.")
    };
    let place = Place::new(TWO, "[loop]\nparallel = 2\n", script);
    place.finish();
    assert_eq!(
        place.git(&["branch", "--list", "weir/*"]).lines().count(),
        1,
        "the work of the first attempt"
    );
    place.reset();
    check_place(&place);
}

#[test]
fn a_parallel_task_without_work_leaves_no_branch() {
    check("- [ ] One\n", "[loop]\nparallel = 2\n", |_, _| Said::Answer("Done."));
}

#[test]
fn the_one_task_of_once_is_not_followed_by_another() {
    let script: Script = |task, folder| {
        write(folder, &format!("{task}.txt"), "x\n");
        Said::Answer("Done.")
    };
    let mut place = Place::new(TWO, "[loop]\nparallel = 1\n", script);
    place.wanted.once = true;
    place.finish();
    assert_eq!((place.outcome().end, place.outcome().commits.len()), (Some(RunEnd::Enough), 2));
    place.reset();
    check_place(&place);
}

#[test]
fn every_notification_is_sent() {
    let script: Script = |_, folder| {
        write(folder, "broken", "");
        Said::Answer("Done.")
    };
    let command = "mkdir -p .ralph/news; cat > .ralph/news/$$.new; mv .ralph/news/$$.new .ralph/news/$$.json";
    let notify = format!("[loop.notify]\ncommand = [\"sh\", \"-c\", \"{command}\"]\n");
    let config = format!("[loop.task_limits]\nattempts = 1\n{notify}{GATE}");
    let place = Place::new("- [ ] One\n", &config, script);
    place.finish();
    assert_eq!(place.outcome().news.len(), 2, "a failure and the end: {:?}", place.outcome().news);
    place.reset();
    check_place(&place);
}
