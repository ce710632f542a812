//! Other kinds of lists, repeated attempts, and what is kept.

use serde_json::json;
use weir_loop::outcome::Outcome;
use weir_loop::shell::{PersonCommand, tell};
use weir_loop::state::{RunEnd, TaskState};
use weir_loop::tasks::TaskId;

use crate::place::{Place, does, task, until};

#[tokio::test]
async fn a_failed_gate_is_in_the_next_prompt_and_what_was_learned_too() {
    let list = task(
        "First",
        &json!([{"tool": "Bash", "input": {"command": "echo 1 > one"}}, {"text": "Done.\n\n## Learned\n- the tests need a tie"}]),
    ) + &task(
        "Second",
        &does("if [ -e broken ]; then rm broken; echo 2 > two; else touch broken; fi"),
    );
    let place = Place::new(&list, "[[loop.gates]]\nname = \"check\"\ncommand = [\"sh\", \"-c\", \"test ! -e broken || { echo k-$((6*7)); exit 1; }\"]").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    assert_eq!(ran.task("second").receipt.as_ref().unwrap().attempts, 2);
    let prompts: Vec<String> = place
        .logs()
        .iter()
        .map(|log| std::fs::read_to_string(log.with_extension("in.ndjson")).unwrap())
        .collect();
    assert!(!prompts[1].contains("k-42") && prompts[1].contains("the tests need a tie"));
    assert!(prompts[2].contains("k-42") && prompts[2].contains("did not succeed"), "{}", prompts[2]);
}

#[tokio::test]
async fn a_prd_and_a_folder_are_lists_too() {
    let place = Place::new("", "[loop]\ntasks = \"prd.json\"").await;
    let script = does("echo 1 > a.txt").to_string();
    let prd = json!({"userStories": [{"id": "US-1", "title": "Story", "description": format!("@@{script}"), "passes": false}]});
    place.write("prd.json", &serde_json::to_string_pretty(&prd).unwrap());
    place.git(&["add", "-A"]).await;
    place.git(&["commit", "-qm", "Stories"]).await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    assert!(place.read("prd.json").contains("\"passes\": true"));

    let mut place = Place::new("", "").await;
    place.config.tasks = "todo".into();
    std::fs::create_dir(place.workspace().join("todo")).unwrap();
    place.write("todo/01-a.md", &format!("# Do it\n@@{script}\n"));
    place.git(&["add", "-A"]).await;
    place.git(&["commit", "-qm", "Files"]).await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    assert!(place.read("todo/01-a.md").starts_with("---\nstatus: done\n---\n# Do it"));
}

#[tokio::test]
async fn work_of_a_failed_task_goes_to_the_stash_if_wanted() {
    let place = Place::new(
        &task("A", &does("echo exit > a.txt")),
        "[loop.git]\nkeep_failed = \"stash\"\n[[loop.gates]]\nname = \"no\"\ncommand = [\"false\"]",
    )
    .await;
    let ran = place.run().await;
    assert_eq!(ran.task("a").outcome(), Some(Outcome::Failed));
    assert!(place.git(&["stash", "list"]).await.contains("weir/failed/"));
    assert_eq!(place.git(&["status", "--porcelain"]).await, "");
}

#[tokio::test]
async fn what_gates_leave_behind_is_not_committed() {
    let config = "[[loop.gates]]\nname = \"litter\"\ncommand = [\"sh\", \"-c\", \"echo x > litter.txt; echo y >> README\"]";
    let place = Place::new(&task("A", &does("echo 1 > a.txt")), config).await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    assert_eq!(ran.task("a").receipt.as_ref().unwrap().diff.0, 1);
    assert!(!place.has("litter.txt") && place.read("README") == "a repository\n");
}

#[tokio::test]
async fn a_running_task_can_be_skipped() {
    let list = task("A", &does("touch begun; sleep 300")) + &task("B", &does("echo 2 > b.txt"));
    let place = Place::new(&list, "").await;
    let (folders, begun) = (place.folders(), place.folders().place(1).join("begun"));
    let skipping = tokio::spawn(async move {
        until("the tool", || begun.exists()).await;
        let skip = PersonCommand::Skip { task: TaskId::new("a") };
        tokio::task::spawn_blocking(move || tell(&folders, &skip).unwrap()).await.unwrap()
    });
    let ran = place.run().await;
    skipping.await.unwrap();
    assert_eq!((ran.task("a").state, ran.task("b").state), (TaskState::Skipped, TaskState::Done));
    let kept = ran.task("a").kept.clone().expect("its work is kept");
    assert!(place.git(&["ls-tree", "--name-only", &kept]).await.contains("begun"));
    assert!(!place.has("begun"), "the tree is clean for the next task");
    assert_eq!(ran.task("a").counted(), 0);
}

#[tokio::test]
async fn a_crash_before_any_tool_is_tried_once_more() {
    let place = Place::new(&task("A", &does("echo 1 > a.txt")), "")
        .await
        .misbehaving(r#"{"crash": {"at": "turn", "exit": 3}}"#);
    let ran = place.run().await;
    let record = ran.task("a");
    assert_eq!((record.outcome(), record.attempts.len(), record.counted()), (Some(Outcome::Crashed), 2, 1));
}
