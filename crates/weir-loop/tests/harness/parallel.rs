//! Parallel tasks, each in its own worktree.

use weir_loop::event::LoopEvent;
use weir_loop::outcome::Outcome;
use weir_loop::state::RunEnd;

use crate::place::{Place, does, task};

#[tokio::test]
async fn tasks_in_worktrees_are_merged_in_order() {
    let list = task("One", &does("sleep 0.5; echo 1 > one.txt"))
        + &task("Two", &does("echo 2 > two.txt"))
        + &task("Three", &does("echo 3 > three.txt"));
    let place =
        Place::new(&list, "[loop]\nparallel = 2\n[[loop.gates]]\nname = \"ok\"\ncommand = [\"true\"]").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed, "{:#?}", ran.state);
    assert_eq!(place.commits().await, ["One", "Two", "Three"]);
    assert_eq!(place.read("TASKS.md").matches("- [x]").count(), 3);
    assert!(place.has("one.txt") && place.has("two.txt") && place.has("three.txt"));
    assert_eq!(place.git(&["status", "--porcelain"]).await, "");
    assert_eq!(place.git(&["worktree", "list"]).await.lines().count(), 1, "no worktree is left");
    assert_eq!(place.git(&["branch", "--list", "weir/*"]).await, "", "no branch is left");
}

#[tokio::test]
async fn a_conflict_is_tried_once_more_on_what_was_merged_before_it() {
    let list = task("One", &does("echo mine > README"))
        + &task("Two", &does("echo yours >> README; echo 2 > two.txt"));
    let place =
        Place::new(&list, "[loop]\nparallel = 2\n[[loop.gates]]\nname = \"ok\"\ncommand = [\"true\"]").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed, "{:#?}", ran.state);
    assert_eq!(place.commits().await, ["One", "Two"]);
    assert_eq!(place.read("README"), "mine\nyours\n");
    assert_eq!(ran.task("two").receipt.as_ref().unwrap().attempts, 2);
    assert!(ran.task("two").failure.is_none());
    let prompts: Vec<String> = place
        .logs()
        .iter()
        .map(|log| std::fs::read_to_string(log.with_extension("in.ndjson")).unwrap())
        .collect();
    let is_told =
        |prompt: &String| prompt.contains("it conflicts with earlier merges") && prompt.contains("git show ");
    assert_eq!(prompts.iter().filter(|prompt| is_told(prompt)).count(), 1);
    assert_eq!(place.git(&["branch", "--list", "weir/*"]).await, "", "no branch is left");
}

#[tokio::test]
async fn a_task_that_fails_on_the_new_base_too_keeps_both_its_works() {
    let two = "if grep -q mine README; then echo 2 > broken; else echo yours > README; fi";
    let list = task("One", &does("echo mine > README")) + &task("Two", &does(two));
    let config = "[loop]\nparallel = 2\n[loop.task_limits]\nattempts = 2\n\
                  [[loop.gates]]\nname = \"whole\"\ncommand = [\"test\", \"!\", \"-e\", \"broken\"]";
    let place = Place::new(&list, config).await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Unfinished);
    assert_eq!(
        (ran.task("one").outcome(), ran.task("two").outcome()),
        (Some(Outcome::Done), Some(Outcome::Failed))
    );
    let kept = ran.task("two").kept.clone().unwrap();
    assert_eq!(place.git(&["show", &format!("{kept}:broken")]).await, "2\n");
    let branches = place.git(&["branch", "--list", "weir/*", "--format=%(refname:short)"]).await;
    let first = branches.lines().find(|name| *name != kept).unwrap();
    assert_eq!(place.git(&["show", &format!("{first}:README")]).await, "yours\n");
    assert_eq!(place.read("README"), "mine\n");
    assert_eq!(place.git(&["status", "--porcelain"]).await, "");
}

#[tokio::test]
async fn what_breaks_only_together_is_found_by_the_gates_after_the_merge() {
    let list = task("One", &does("echo 1 > one.txt")) + &task("Two", &does("echo 2 > two.txt"));
    let config = "[loop]\nparallel = 2\n[[loop.gates]]\nname = \"apart\"\ncommand = [\"sh\", \"-c\", \"test ! -e one.txt || test ! -e two.txt\"]";
    let place = Place::new(&list, config).await;
    let ran = place.run().await;
    assert_eq!(ran.task("two").outcome(), Some(Outcome::Failed));
    let is_told = |event: &LoopEvent| matches!(event, LoopEvent::Warning { text } if text.contains("merged with the other tasks") && text.contains("once more"));
    assert!(ran.events.iter().any(is_told), "{:#?}", ran.events);
    assert!(place.has("one.txt") && !place.has("two.txt"));
}
