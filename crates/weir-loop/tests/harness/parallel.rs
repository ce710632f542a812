//! Parallel tasks, each in its own worktree.

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
async fn a_failed_merge_is_a_failed_task_that_keeps_its_branch() {
    let list = task("One", &does("echo mine > README")) + &task("Two", &does("echo yours > README"));
    let place = Place::new(&list, "[loop]\nparallel = 2").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Unfinished);
    assert_eq!(
        (ran.task("one").outcome(), ran.task("two").outcome()),
        (Some(Outcome::Done), Some(Outcome::Failed))
    );
    let failure = ran.task("two").failure.clone().unwrap();
    assert!(failure.reason.contains("conflicts") && failure.output.contains("README"), "{failure:?}");
    let kept = ran.task("two").kept.clone().unwrap();
    assert_eq!(place.git(&["show", &format!("{kept}:README")]).await, "yours\n");
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
    assert!(ran.task("two").failure.as_ref().unwrap().reason.contains("merged with the other tasks"));
    assert!(place.has("one.txt") && !place.has("two.txt"));
}
