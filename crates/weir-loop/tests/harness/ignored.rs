//! Repositories that ignore the loop's folder, and work in nested repositories.

use weir_loop::event::LoopEvent;
use weir_loop::outcome::Outcome;
use weir_loop::state::RunEnd;

use crate::place::{Place, does, task};

/// Where the ignore rule is.
#[derive(Debug, Clone, Copy)]
enum Rules {
    InTheTree,
    InTheRepository,
    OfTheUser,
}

async fn ignores(place: &Place, rules: Rules, pattern: &str) {
    let text = format!("{pattern}\n");
    match rules {
        Rules::InTheTree => {
            place.write(".gitignore", &text);
            place.git(&["add", "-A"]).await;
            place.git(&["commit", "-qm", "Ignore it"]).await;
        }
        Rules::InTheRepository => std::fs::write(place.workspace().join(".git/info/exclude"), text).unwrap(),
        Rules::OfTheUser => {
            let file = place.workspace().join(".git/excludes-of-the-user");
            std::fs::write(&file, text).unwrap();
            place.git(&["config", "core.excludesFile", &file.to_string_lossy()]).await;
        }
    }
}

async fn runs_where_it_is_ignored(config: &str) {
    for rules in [Rules::InTheTree, Rules::InTheRepository, Rules::OfTheUser] {
        for pattern in [".ralph", ".ralph/"] {
            let list =
                task("One", &does("echo 1 > one.txt; rm README")) + &task("Two", &does("echo 2 > two.txt"));
            let place = Place::new(&list, config).await;
            ignores(&place, rules, pattern).await;
            let ran = place.run().await;
            assert_eq!(ran.end, RunEnd::Completed, "{rules:?} {pattern}: {:#?}", ran.state);
            let files = place.git(&["ls-tree", "-r", "--name-only", "HEAD"]).await;
            let files: Vec<&str> = files.lines().filter(|name| *name != ".gitignore").collect();
            assert_eq!(files, ["TASKS.md", "one.txt", "two.txt", "weir.toml"], "{rules:?} {pattern}");
            assert_eq!(place.git(&["status", "--porcelain"]).await, "");
        }
    }
}

#[tokio::test]
async fn the_loop_runs_where_its_folder_is_ignored() {
    runs_where_it_is_ignored("").await;
}

#[tokio::test]
async fn tasks_side_by_side_run_where_the_folder_is_ignored() {
    runs_where_it_is_ignored("[loop]\nparallel = 2").await;
}

#[tokio::test]
async fn the_loops_own_files_are_never_committed() {
    let place = Place::new(&task("One", &does("echo 1 > one.txt")), "").await;
    std::fs::create_dir(place.workspace().join(".ralph")).unwrap();
    // A person has configured git to ignore nothing there.
    place.write(".ralph/.gitignore", "!*\n");
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed);
    let files = place.git(&["ls-tree", "-r", "--name-only", "HEAD"]).await;
    assert!(!files.contains(".ralph"), "{files}");
}

#[tokio::test]
async fn files_that_become_folders_and_odd_names_are_committed() {
    let command = "rm README; mkdir README; echo a > README/a; printf x > 'sp ace'; printf y > \"$(printf 'n\\377')\"; ln -s README link";
    let back = "rm -r README link; echo again > README; mkdir link; echo b > link/b";
    let list = task("One", &does(command)) + &task("Two", &does(back));
    let place = Place::new(&list, "").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed, "{:#?}", ran.state);
    let names = place.git(&["-c", "core.quotePath=true", "ls-tree", "-r", "--name-only", "HEAD~1"]).await;
    assert_eq!(names, "README/a\nTASKS.md\nlink\n\"n\\377\"\nsp ace\nweir.toml\n");
    assert_eq!(place.git(&["show", "HEAD:README", "HEAD:link/b"]).await, "again\nb\n");
    assert_eq!(place.git(&["status", "--porcelain"]).await, "");
}

#[tokio::test]
async fn work_in_a_nested_worktree_does_not_count() {
    for config in ["", "[loop]\nparallel = 2"] {
        for also in ["", " && cd .. && git add .", " && cd .. && git add . && git commit -qm mine"] {
            let command = format!("git worktree add -q side && cd side && echo 1 > one.txt{also}");
            let list = task("One", &does(&command)) + &task("Two", &does("echo 2 > two.txt"));
            let place = Place::new(&list, config).await;
            let ran = place.run().await;
            assert_eq!(ran.end, RunEnd::Unfinished, "{:#?}", ran.state);
            let failure = ran.task("one").failure.clone().unwrap();
            assert_eq!(failure.outcome, Outcome::NoChange, "{also}: {failure:?}");
            assert!(failure.reason.contains("separate repository or worktree: side"), "{}", failure.reason);
            assert_eq!(
                ran.task("two").outcome(),
                Some(Outcome::Done),
                "it does not get in the way of the next task"
            );
            let tree = place.git(&["ls-tree", "-r", "HEAD"]).await;
            // A commit that the session made itself stays.
            assert!(!tree.contains("160000") || also.contains("commit"), "{also}: {tree}");
        }
    }
}

#[tokio::test]
async fn a_nested_repository_is_reported_and_not_committed() {
    let command = "echo 1 > one.txt; mkdir side; cd side; git init -q";
    let place = Place::new(&task("One", &does(command)), "").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed, "{:#?}", ran.state);
    assert_eq!(ran.task("one").receipt.as_ref().unwrap().diff.0, 1);
    let is_reported =
        |event: &LoopEvent| matches!(event, LoopEvent::Warning { text } if text.starts_with("side: "));
    assert!(ran.events.iter().any(is_reported), "{:#?}", ran.events);
}

#[tokio::test]
async fn a_declared_submodule_is_committed() {
    let command = "git init -q sub && cd sub && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x \
        && cd .. && printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ./sub\\n' > .gitmodules";
    let place = Place::new(&task("One", &does(command)), "").await;
    let ran = place.run().await;
    assert_eq!(ran.end, RunEnd::Completed, "{:#?}", ran.state);
    assert!(place.git(&["ls-tree", "HEAD", "sub"]).await.starts_with("160000"));
}
