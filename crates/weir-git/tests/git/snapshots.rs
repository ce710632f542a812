//! Keeping files as they are.

use crate::place::{Place, write};

#[tokio::test]
async fn a_snapshot_has_every_file_and_changes_nothing() {
    let place = Place::new();
    place.write(".gitignore", "*.log\n");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "Ignore"]);
    for (name, text) in [("a.txt", "two\n"), ("dir/new", "new\n"), ("x.log", "log\n"), ("staged", "staged\n")]
    {
        place.write(name, text);
    }
    place.git(&["add", "staged"]);
    // A repository inside, without a commit.
    write(&place.top(), "nested/file", "text\n");
    weir_testkit::git(&place.top().join("nested"), &["init", "-q"]);
    let before = place.git(&["status", "--porcelain"]);
    let repository = place.open().await;
    let name = repository.keep("test", "As it is\n").await.unwrap();
    assert_eq!(place.git(&["status", "--porcelain"]), before);
    let files = place.git(&["ls-tree", "-r", "--name-only", &name]);
    let files: Vec<&str> = files.lines().collect();
    assert!(["a.txt", "dir/new", "staged"].iter().all(|name| files.contains(name)), "{files:?}");
    assert!(!files.iter().any(|name| *name == "x.log" || name.starts_with("nested")), "{files:?}");
    assert_eq!(repository.nested_repositories().await.unwrap(), ["nested"]);
    // A second one in the same second has another name.
    let second = repository.keep("test", "As it is\n").await.unwrap();
    assert!(second != name && second.starts_with("refs/weir/kept/test-"), "{second}");
    let left = std::fs::read_dir(place.top().join(".git")).unwrap();
    let left =
        left.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("weir-index"));
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn a_repository_without_a_commit_or_identity_can_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    weir_testkit::git(folder.path(), &["init", "-q", "-b", "main"]);
    write(folder.path(), "a", "text\n");
    let repository = weir_git::Repository::open(folder.path(), None).await.unwrap();
    assert_eq!(repository.head().await.unwrap(), None);
    assert_eq!(repository.branch().await.unwrap().as_deref(), Some("main"));
    let name = repository.keep("test", "First\n").await.unwrap();
    assert_eq!(weir_testkit::git(folder.path(), &["cat-file", "blob", &format!("{name}:a")]), "text\n");
}

#[tokio::test]
async fn what_an_index_hides_is_seen() {
    let place = Place::new();
    for name in ["unwatched", "skipped", "sparse"] {
        place.write(name, "one\n");
    }
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "Files"]);
    place.git(&["update-index", "--assume-unchanged", "unwatched"]);
    place.git(&["update-index", "--skip-worktree", "skipped", "sparse"]);
    std::fs::remove_file(place.top().join("sparse")).unwrap();
    for name in ["unwatched", "skipped"] {
        place.write(name, "two\n");
    }
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    let repository = place.open().await;
    let changes = repository.changes(&weir_git::Base::Head).await.unwrap();
    let names: Vec<_> = changes.files.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(names, ["skipped", "unwatched"]);
    // The index of the person is as it was.
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}
