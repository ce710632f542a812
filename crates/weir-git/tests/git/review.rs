//! What differs from a base, and taking it back, on a repository with everything that is odd.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_git::{Base, Changes, FileChange, FileStatus, GitError, LineKind, RevisionName};

use crate::place::{Place, write};

fn find<'a>(changes: &'a Changes, path: &str) -> &'a FileChange {
    changes.files.iter().find(|file| file.path == Path::new(path)).unwrap()
}

/// `count` numbered lines.
fn lines(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[tokio::test]
async fn everything_that_was_done_is_found() {
    let place = Place::new();
    place.write("gone", "gone\n");
    place.write("old name", &lines(40));
    place.write("binary", "a\0b");
    place.write("typed", "text\n");
    place.write("run.sh", "#!/bin/sh\n");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "Files"]);

    place.write("a.txt", "two\n");
    std::fs::remove_file(place.top().join("gone")).unwrap();
    std::fs::rename(place.top().join("old name"), place.top().join("new\nname")).unwrap();
    place.write("binary", "a\0c");
    std::fs::remove_file(place.top().join("typed")).unwrap();
    symlink("/etc/passwd", place.top().join("typed")).unwrap();
    place.write("--output=x", "new\n");
    place.write(":(top)magic", "new\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.top().join("run.sh"), mode).unwrap();

    let repository = place.open().await;
    let changes = repository.changes(&Base::Head).await.unwrap();
    let brief: Vec<_> =
        changes.files.iter().map(|file| (file.path.to_str().unwrap(), file.status, file.lines)).collect();
    assert_eq!(
        brief,
        [
            ("--output=x", FileStatus::Added, Some((1, 0))),
            (":(top)magic", FileStatus::Added, Some((1, 0))),
            ("a.txt", FileStatus::Modified, Some((1, 1))),
            ("binary", FileStatus::Modified, None),
            ("gone", FileStatus::Deleted, Some((0, 1))),
            ("new\nname", FileStatus::Renamed, Some((0, 0))),
            ("run.sh", FileStatus::Modified, Some((0, 0))),
            ("typed", FileStatus::Retyped, Some((1, 1))),
        ]
    );
    let patches = repository.patches(&changes).await.unwrap();
    assert_eq!(patches.len(), changes.files.len());
    let a = &patches[2].hunks[0].lines;
    assert_eq!((a[0].kind, a[0].text.as_str()), (LineKind::Removed, "one"));
    assert_eq!((a[1].kind, a[1].text.as_str()), (LineKind::Added, "two"));
    assert_eq!(patches[7].hunks.len(), 2);
    assert_eq!(patches[7].hunks[1].lines[0].text, "/etc/passwd");
    // One by one it is the same.
    for (file, patch) in changes.files.iter().zip(&patches) {
        assert_eq!(&repository.patch(&changes, file).await.unwrap().hunks, &patch.hunks, "{file:?}");
    }
    // Looking changes nothing.
    assert_eq!(place.git(&["stash", "list"]), "");
    assert_eq!(place.git(&["diff", "--cached", "--name-only"]), "");
}

#[tokio::test]
async fn a_base_is_the_head_a_revision_or_where_two_branches_part() {
    let place = Place::new();
    let repository = place.open().await;
    place.git(&["checkout", "-qb", "work"]);
    place.write("mine", "mine\n");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "Mine"]);
    place.git(&["checkout", "-q", "main"]);
    place.write("theirs", "theirs\n");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "Theirs"]);
    place.git(&["checkout", "-q", "work"]);
    place.write("now", "now\n");
    let main = RevisionName::new("main").unwrap();
    let names = |changes: &Changes| -> Vec<String> {
        changes.files.iter().map(|file| file.path.display().to_string()).collect()
    };
    let changes = repository.changes(&Base::Head).await.unwrap();
    assert_eq!(names(&changes), ["now"]);
    let changes = repository.changes(&Base::MergeBase(main.clone())).await.unwrap();
    assert_eq!(names(&changes), ["mine", "now"]);
    let changes = repository.changes(&Base::Revision(main)).await.unwrap();
    assert_eq!(names(&changes), ["mine", "now", "theirs"]);
    let none = repository.changes(&Base::Revision(RevisionName::new("none").unwrap())).await.unwrap_err();
    assert!(matches!(none, GitError::NoRevision(_)), "{none}");
}

#[tokio::test]
async fn before_the_first_commit_everything_is_new() {
    let folder = tempfile::tempdir().unwrap();
    weir_testkit::git(folder.path(), &["init", "-q"]);
    write(folder.path(), "a", "text\n");
    let repository = weir_git::Repository::open(folder.path(), None).await.unwrap();
    let changes = repository.changes(&Base::Head).await.unwrap();
    assert_eq!((changes.base.as_ref(), changes.files.len()), (None, 1));
    let kept = repository.revert_file(&changes, &changes.files[0]).await.unwrap().kept;
    assert!(!folder.path().join("a").exists());
    assert_eq!(weir_testkit::git(folder.path(), &["cat-file", "blob", &format!("{kept}:a")]), "text\n");
}

#[tokio::test]
async fn a_file_is_reverted_and_can_be_had_back() {
    let place = Place::new();
    place.write("gone", "gone\n");
    place.write("old", &lines(40));
    place.write("typed", "text\n");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "Files"]);
    place.write("a.txt", "two\n");
    place.git(&["add", "a.txt"]);
    place.write("new", "new\n");
    place.write("-n", "new\n");
    std::fs::remove_file(place.top().join("gone")).unwrap();
    std::fs::rename(place.top().join("old"), place.top().join("renamed")).unwrap();
    std::fs::remove_file(place.top().join("typed")).unwrap();
    symlink("a.txt", place.top().join("typed")).unwrap();
    place.write("untouched", "mine\n");

    let repository = place.open().await;
    let changes = repository.changes(&Base::Head).await.unwrap();
    for path in ["a.txt", "new", "-n", "gone", "renamed", "typed"] {
        let kept = repository.revert_file(&changes, find(&changes, path)).await.unwrap().kept;
        assert!(kept.starts_with("refs/weir/kept/revert-"), "{kept}");
    }
    assert_eq!(place.git(&["status", "--porcelain"]), "?? untouched\n");
    let kept = place.git(&["for-each-ref", "--format=%(refname)", "refs/weir/kept"]);
    let first = kept.lines().next().unwrap();
    assert_eq!(place.git(&["cat-file", "blob", &format!("{first}:a.txt")]), "two\n");
}

#[tokio::test]
async fn one_place_of_a_file_is_reverted_unless_it_has_moved_on() {
    let place = Place::new();
    place.write("f", &lines(40));
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "Lines"]);
    let changed = lines(40).replace("line 3\n", "third\n").replace("line 30\n", "thirtieth\nand more\n");
    place.write("f", &changed);
    let repository = place.open().await;
    let changes = repository.changes(&Base::Head).await.unwrap();
    let file = find(&changes, "f");
    assert_eq!(repository.patch(&changes, file).await.unwrap().hunks.len(), 2);
    repository.revert_hunk(&changes, file, 1).await.unwrap();
    assert_eq!(
        std::fs::read_to_string(place.top().join("f")).unwrap(),
        lines(40).replace("line 3\n", "third\n")
    );
    let error = repository.revert_hunk(&changes, file, 1).await.unwrap_err();
    assert!(matches!(error, GitError::Moved(_)), "{error}");
    let error = repository.revert_hunk(&changes, file, 2).await.unwrap_err();
    assert!(matches!(error, GitError::NoHunk { .. }), "{error}");
    repository.revert_hunk(&changes, file, 0).await.unwrap();
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn files_are_staged_and_committed_without_hooks() {
    let place = Place::new();
    let trace = place.booby_trap();
    place.write("a.txt", "two\n");
    place.write("-n", "new\n");
    place.write("other", "other\n");
    let _ = std::fs::remove_file(&trace);
    let repository = place.open().await;
    let nothing = repository.commit_staged("Nothing").await.unwrap_err();
    assert!(matches!(nothing, GitError::NothingStaged), "{nothing}");
    let paths = [PathBuf::from("a.txt"), PathBuf::from("-n"), PathBuf::from("other")];
    repository.stage(&paths).await.unwrap();
    repository.unstage(&paths[2..]).await.unwrap();
    assert_eq!(repository.staged().await.unwrap(), [PathBuf::from("-n"), PathBuf::from("a.txt")]);
    assert!(matches!(repository.commit_staged(" \n").await.unwrap_err(), GitError::NoMessage));
    let commit = repository.commit_staged("--amend\n\n# not a comment\n").await.unwrap();
    assert!(!trace.exists(), "{:?}", std::fs::read_to_string(&trace));
    for name in ["core.fsmonitor", "core.pager"] {
        place.git(&["config", "--unset", name]);
    }
    assert_eq!(
        place.git(&["log", "-1", "--format=%B", commit.as_str()]).trim_end(),
        "--amend\n\n# not a comment"
    );
    assert_eq!(place.git(&["show", "--name-only", "--format=", "HEAD"]), "-n\na.txt\n");
}

#[tokio::test]
async fn a_submodule_is_shown_and_left_alone() {
    let place = Place::new();
    let inner = place.root().join("inner");
    write(&inner, "file", "text\n");
    weir_testkit::begin_repository(&inner);
    let url = inner.to_str().unwrap();
    place.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    place.git(&["commit", "-qm", "Submodule"]);
    write(&place.top().join("sub"), "file", "other\n");
    let repository = place.open().await;
    assert_eq!(repository.changes(&Base::Head).await.unwrap().files, []);
    weir_testkit::git(
        &place.top().join("sub"),
        &["-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qam", "Move"],
    );
    let changes = repository.changes(&Base::Head).await.unwrap();
    assert!(find(&changes, "sub").is_submodule());
    let error = repository.revert_file(&changes, find(&changes, "sub")).await.unwrap_err();
    assert!(matches!(error, GitError::Submodule(_)), "{error}");
}

#[tokio::test]
async fn a_link_instead_of_a_folder_does_not_lead_out() {
    let place = Place::new();
    place.write("dir/file", "text\n");
    let outside = place.root().join("outside");
    write(&outside, "file", "precious\n");
    let repository = place.open().await;
    let changes = repository.changes(&Base::Head).await.unwrap();
    // While a person looks, the folder becomes a link.
    std::fs::remove_dir_all(place.top().join("dir")).unwrap();
    symlink(&outside, place.top().join("dir")).unwrap();
    let error = repository.revert_file(&changes, find(&changes, "dir/file")).await.unwrap_err();
    assert!(matches!(error, GitError::File { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "precious\n");
}

/// A second is the aim on a machine that does nothing else. The bound is wider, because other tests run at the same time;
/// what must not happen is that the number of files counts for much. Making 10,000 files takes most of the time of this
/// test.
#[tokio::test]
async fn ten_thousand_files_and_five_thousand_lines_are_found_quickly() {
    let place = Place::new();
    for number in 0..10_000 {
        place.write(&format!("d{}/f{number}", number % 100), "text\n");
    }
    place.write("long", &lines(5000));
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "Many"]);
    place.write("long", &lines(5000).replace("line", "row"));
    for number in 0..50 {
        place.write(&format!("d0/f{}", number * 100), "other\n");
    }
    let repository = place.open().await;
    let begun = Instant::now();
    let changes = repository.changes(&Base::Head).await.unwrap();
    let patches = repository.patches(&changes).await.unwrap();
    let took = begun.elapsed();
    assert_eq!((changes.files.len(), patches.iter().map(weir_git::Patch::len).sum::<usize>()), (51, 10_100));
    println!("10,000 files, 51 changed, 10,100 lines: {took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}
