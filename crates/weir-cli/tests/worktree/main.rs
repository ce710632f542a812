//! `weir worktree` from outside.

#[path = "../common/mod.rs"]
mod common;

use std::path::Path;

use common::Place;
use weir_testkit::{begin_repository, git};

/// A place whose workspace is a repository with one file.
#[expect(clippy::unwrap_used, reason = "a test without its folder should stop")]
fn project() -> Place {
    let place = Place::new();
    std::fs::write(place.workspace().join("a.txt"), "one\n").unwrap();
    begin_repository(&place.workspace());
    place
}

#[test]
fn worktrees_are_made_listed_and_removed() {
    let place = project();
    let made = place.weir(&["worktree", "add", "try/one"]).expect(0);
    let folder = made.text().trim_end().to_owned();
    assert!(folder.ends_with("/.weir/worktrees/try-one"), "{made:?}");
    std::fs::write(Path::new(&folder).join("new"), "new\n").unwrap();

    let listed = place.weir(&["worktree", "list", "--json"]).expect(0).json_lines();
    assert_eq!(listed.len(), 2);
    assert_eq!((&listed[1]["branch"], &listed[1]["changed"]), (&"try/one".into(), &1.into()));
    let shown = place.weir(&["worktree", "list", "-C", &folder]).expect(0);
    assert!(shown.text().lines().count() == 3 && shown.text().contains("1 file"), "{shown:?}");

    let refused = place.weir(&["worktree", "remove", "try/one"]).expect(1);
    assert!(refused.stderr.contains("new;") && refused.stderr.contains("--discard"), "{refused:?}");
    assert!(Path::new(&folder).join("new").exists());
    let removed = place.weir(&["worktree", "remove", &folder, "--discard", "--with-branch"]).expect(0);
    assert!(!Path::new(&folder).exists());
    assert!(removed.stderr.contains("the branch try/one was deleted"), "{removed:?}");
    let kept = removed.stderr.split(['`', ' ']).find(|word| word.starts_with("refs/weir/")).unwrap();
    assert_eq!(git(&place.workspace(), &["cat-file", "blob", &format!("{kept}:new")]), "new\n");
}

#[test]
fn nothing_else_is_removed_and_no_name_is_an_option() {
    let place = project();
    let theirs = place.path("theirs");
    git(&place.workspace(), &["worktree", "add", "-q", "-b", "theirs", theirs.to_str().unwrap()]);
    for named in ["theirs", theirs.to_str().unwrap(), "main", ".", "/", "none"] {
        let refused = place.weir(&["worktree", "remove", "--discard", "--", named]).expect(1);
        assert!(refused.stderr.contains("is not a worktree that Weir has made"), "{refused:?}");
    }
    assert!(theirs.join("a.txt").exists());
    for name in ["--detach", "a..b", "x y", "@{-1}"] {
        place.weir(&["worktree", "add", "--", name]).expect(2);
        place.weir(&["worktree", "add", &format!("--from={name}"), "--", "new"]).expect(2);
    }
    let unknown = place.weir(&["worktree", "add", "new", "--from", "none"]).expect(1);
    assert!(unknown.stderr.contains("no branch, tag or commit `none` found"), "{unknown:?}");
    let outside = place.home();
    let refused = place.weir(&["worktree", "list", "-C", outside.to_str().unwrap()]).expect(1);
    assert!(refused.stderr.contains("is not in a git repository"), "{refused:?}");
}

#[test]
fn new_worktrees_get_files_and_a_command_of_the_project() {
    let place = project();
    std::fs::write(place.workspace().join(".gitignore"), ".env\nmade\n").unwrap();
    git(&place.workspace(), &["add", "-A"]);
    git(&place.workspace(), &["commit", "-qm", "Ignore"]);
    std::fs::write(place.workspace().join(".env"), "SECRET=1\n").unwrap();
    place.weir(&["worktree", "setup", "--copy", ".env", "--run", "cp .env made"]).expect(0);
    let shown = place.weir(&["worktree", "setup"]).expect(0).json();
    assert_eq!((&shown["copy"][0], &shown["run"]), (&".env".into(), &"cp .env made".into()));
    let made = place.weir(&["worktree", "add", "one"]).expect(0);
    let folder = Path::new(made.text().trim_end()).to_owned();
    assert_eq!(std::fs::read_to_string(folder.join("made")).unwrap(), "SECRET=1\n");
    // Its own worktrees get the same, and one that cannot be set up is not left behind.
    place
        .weir(&["worktree", "setup", "--run", "echo broken >&2; exit 3", "-C", folder.to_str().unwrap()])
        .expect(0);
    let failed = place.weir(&["worktree", "add", "two"]).expect(1);
    assert!(failed.stderr.contains("broken"), "{failed:?}");
    assert_eq!(place.weir(&["worktree", "list", "--json"]).expect(0).json_lines().len(), 2);
    assert_eq!(git(&place.workspace(), &["branch", "--list", "two"]), "");
    place.weir(&["worktree", "setup", "--copy", "../x"]).expect(1);
    place.weir(&["worktree", "setup", "--clear"]).expect(0);
    place.weir(&["worktree", "add", "two"]).expect(0);
}
