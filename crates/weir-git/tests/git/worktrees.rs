//! Making, listing and removing worktrees.

use std::os::unix::fs::symlink;

use weir_git::{BranchName, GitError, RevisionName};
use weir_testkit::{begin_repository, git};

use crate::place::{Place, write};

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

#[tokio::test]
async fn a_worktree_is_made_listed_and_removed() {
    let place = Place::new();
    let repository = place.open().await;
    let head = repository.head().await.unwrap().unwrap();
    let made = repository.add_worktree(&branch("try/one"), &head).await.unwrap();
    assert_eq!(made.path, place.top().join(".weir/worktrees/try-one"));
    assert_eq!(std::fs::read_to_string(made.path.join("a.txt")).unwrap(), "one\n");
    // Git ignores the folder in the main worktree.
    assert_eq!(place.git(&["status", "--porcelain"]), "");

    let all = repository.worktrees().await.unwrap();
    let brief: Vec<_> = all.iter().map(|one| (one.branch.as_deref(), one.is_main, one.is_ours)).collect();
    assert_eq!(brief, [(Some("main"), true, false), (Some("try/one"), false, true)]);
    // From the worktree it looks the same.
    let there = repository.at(&made.path).await.unwrap();
    assert_eq!(there.worktrees().await.unwrap(), all);
    assert!(there.is_linked() && !repository.is_linked());

    assert_eq!(repository.remove_worktree(&made.path, false).await.unwrap(), None);
    assert!(!made.path.exists());
    assert_eq!(repository.worktrees().await.unwrap().len(), 1);
    assert!(place.git(&["branch", "--list", "try/one"]).contains("try/one"));
    assert!(repository.delete_branch(&branch("try/one")).await.unwrap());
}

#[tokio::test]
async fn no_program_of_the_repository_runs() {
    let place = Place::new();
    for name in ["f.x", "f.y"] {
        place.write(name, "text\n");
    }
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "Files"]);
    let trace = place.booby_trap();
    // The traps are real ones: git itself falls into them.
    git(&place.top(), &["status"]);
    assert!(trace.exists());
    std::fs::remove_file(&trace).unwrap();

    let repository = place.open().await;
    let head = repository.head().await.unwrap().unwrap();
    let made = repository.add_worktree(&branch("x"), &head).await.unwrap();
    write(&made.path, "f.x", "more\n");
    write(&made.path, "new.y", "new\n");
    let there = repository.at(&made.path).await.unwrap();
    assert_eq!(there.status().await.unwrap().changed.len(), 2);
    let kept = repository.remove_worktree(&made.path, true).await.unwrap().unwrap();
    assert_eq!(place.git(&["cat-file", "blob", &format!("{kept}:new.y")]), "new\n");
    let traced = std::fs::read_to_string(&trace).unwrap_or_default();
    // What the test itself has run with git is not meant.
    assert!(traced.lines().all(str::is_empty), "{traced}");
}

#[tokio::test]
async fn uncommitted_work_is_removed_only_if_confirmed_and_can_be_had_back() {
    let place = Place::new();
    let repository = place.open().await;
    let head = repository.head().await.unwrap().unwrap();
    let made = repository.add_worktree(&branch("x"), &head).await.unwrap();
    write(&made.path, "a.txt", "two\n");
    write(&made.path, "-new\nname", "new\n");
    let error = repository.remove_worktree(&made.path, false).await.unwrap_err();
    let GitError::Uncommitted { paths, .. } = &error else { panic!("{error}") };
    assert_eq!(paths.len(), 2);
    assert!(error.to_string().contains("-new\\nname"), "{error}");
    assert!(made.path.join("a.txt").exists());

    let kept = repository.remove_worktree(&made.path, true).await.unwrap().unwrap();
    assert!(!made.path.exists());
    assert_eq!(place.git(&["cat-file", "blob", &format!("{kept}:a.txt")]), "two\n");
    assert_eq!(place.git(&["cat-file", "blob", &format!("{kept}:-new\nname")]), "new\n");
}

#[tokio::test]
async fn only_weirs_own_worktrees_are_removed() {
    let place = Place::new();
    let repository = place.open().await;
    let head = repository.head().await.unwrap().unwrap();
    let theirs = place.root().join("theirs");
    place.git(&["worktree", "add", "-q", "-b", "theirs", theirs.to_str().unwrap()]);
    let made = repository.add_worktree(&branch("x"), &head).await.unwrap();
    let inside = made.path.join("inside");
    std::fs::create_dir(&inside).unwrap();
    for path in [&place.top(), &theirs, &place.root(), &inside, &made.path.join("..").join("x")] {
        let error = repository.remove_worktree(path, true).await.unwrap_err();
        assert!(matches!(error, GitError::NotOurs(_)), "{error}");
    }
    // A session has made its worktree one of another repository, or of the main one.
    let other = place.root().join("other");
    write(&other, "precious", "text\n");
    begin_repository(&other);
    for lead in [other.join(".git"), place.top().join(".git")] {
        std::fs::write(made.path.join(".git"), format!("gitdir: {}\n", lead.display())).unwrap();
        let error = repository.remove_worktree(&made.path, true).await.unwrap_err();
        assert!(matches!(error, GitError::NotOurs(_) | GitError::OtherRepository(_)), "{error}");
    }
    assert!(other.join("precious").exists() && theirs.exists() && place.top().join("a.txt").exists());
}

#[tokio::test]
async fn a_link_in_the_repository_does_not_lead_elsewhere() {
    let place = Place::new();
    let outside = place.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, place.top().join(".weir")).unwrap();
    let repository = place.open().await;
    let head = repository.head().await.unwrap().unwrap();
    let error = repository.add_worktree(&branch("x"), &head).await.unwrap_err();
    assert!(matches!(error, GitError::File { .. }), "{error}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(repository.worktrees().await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_existing_branch_is_refused_and_a_free_folder_is_found() {
    let place = Place::new();
    let repository = place.open().await;
    let head = repository.head().await.unwrap().unwrap();
    let error = repository.add_worktree(&branch("main"), &head).await.unwrap_err();
    assert!(matches!(error, GitError::BranchExists(_)), "{error}");
    let first = repository.add_worktree(&branch("a/b"), &head).await.unwrap();
    let second = repository.add_worktree(&branch("a-b"), &head).await.unwrap();
    assert_eq!(
        (first.path.file_name().unwrap(), second.path.file_name().unwrap()),
        ("a-b".as_ref(), "a-b.2".as_ref())
    );
    // `a` cannot be a branch next to `a/b`. Nothing is left of the attempt.
    let error = repository.add_worktree(&branch("a"), &head).await.unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error}");
    assert_eq!(repository.worktrees().await.unwrap().len(), 3);
    assert!(!place.top().join(".weir/worktrees/a").exists());
}

#[tokio::test]
async fn revisions_are_resolved_to_commits() {
    let place = Place::new();
    place.git(&["tag", "v1"]);
    place.git(&["branch", "feature/x"]);
    let repository = place.open().await;
    let head = repository.head().await.unwrap().unwrap();
    for name in ["HEAD", "main", "v1", "feature/x", "refs/heads/main", head.short(), head.as_str()] {
        let found = repository.resolve(&RevisionName::new(name).unwrap()).await.unwrap();
        assert_eq!(found.as_ref(), Some(&head), "{name}");
    }
    assert_eq!(repository.resolve(&RevisionName::new("none").unwrap()).await.unwrap(), None);
    assert_eq!(repository.merge_base(&head, &head).await.unwrap(), Some(head));
}

#[tokio::test]
async fn a_folder_outside_of_a_repository_is_refused() {
    let place = Place::new();
    let error = weir_git::Repository::open(&place.root(), None).await.unwrap_err();
    assert!(matches!(error, GitError::NoRepository(_)), "{error}");
    // A repository whose files are said to be elsewhere.
    place.git(&["config", "core.worktree", "/etc"]);
    let error = weir_git::Repository::open(&place.top(), None).await.unwrap_err();
    assert!(matches!(error, GitError::NoRepository(_)), "{error}");
}

#[tokio::test]
async fn a_repository_inside_a_worktree_is_not_lost_with_it() {
    let place = Place::new();
    let repository = place.open().await;
    let head = repository.head().await.unwrap().unwrap();
    let made = repository.add_worktree(&branch("x"), &head).await.unwrap();
    let nested = made.path.join("vendor/clone");
    write(&nested, "file", "text\n");
    begin_repository(&nested);
    let error = repository.remove_worktree(&made.path, true).await.unwrap_err();
    assert!(matches!(&error, GitError::Nested(path) if *path == nested), "{error}");
    assert!(nested.join("file").exists());
}

#[tokio::test]
async fn what_an_index_hides_or_has_alone_is_not_lost() {
    let place = Place::new();
    let repository = place.open().await;
    let head = repository.head().await.unwrap().unwrap();
    let hidden = repository.add_worktree(&branch("hidden"), &head).await.unwrap();
    write(&hidden.path, "a.txt", "two\n");
    git(&hidden.path, &["update-index", "--assume-unchanged", "a.txt"]);
    let staged = repository.add_worktree(&branch("staged"), &head).await.unwrap();
    write(&staged.path, "a.txt", "staged\n");
    git(&staged.path, &["add", "a.txt"]);
    write(&staged.path, "a.txt", "one\n");
    for path in [&hidden.path, &staged.path] {
        let error = repository.remove_worktree(path, false).await.unwrap_err();
        assert!(matches!(&error, GitError::Uncommitted { paths, .. } if paths == &["a.txt"]), "{error}");
    }
    let kept = repository.remove_worktree(&hidden.path, true).await.unwrap().unwrap();
    assert_eq!(place.git(&["cat-file", "blob", &format!("{kept}:a.txt")]), "two\n");
}
