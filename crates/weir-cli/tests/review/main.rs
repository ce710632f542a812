//! `weir review` from outside.

#[path = "../common/mod.rs"]
mod common;

use common::Place;
use weir_testkit::{begin_repository, git};

/// A place whose workspace is a repository with a changed file and a new one.
#[expect(clippy::unwrap_used, reason = "a test without its folder should stop")]
fn project() -> Place {
    let place = Place::new();
    let lines = |word: &str| (1..=30).map(|number| format!("{word} {number}\n")).collect::<String>();
    std::fs::write(place.workspace().join("a.txt"), lines("line")).unwrap();
    begin_repository(&place.workspace());
    let changed = lines("line").replace("line 3\n", "third\n").replace("line 25\n", "twenty-fifth\n");
    std::fs::write(place.workspace().join("a.txt"), changed).unwrap();
    std::fs::write(place.workspace().join("new\n-x"), "new\n").unwrap();
    place
}

#[test]
fn changes_are_shown_and_taken_back() {
    let place = project();
    let shown = place.weir(&["review"]).expect(0);
    assert!(shown.text().contains("changed a.txt +2 −2\n"), "{shown:?}");
    assert!(
        shown.text().contains("-line 3\n+third\n") && shown.text().contains("new new␊-x +1 −0\n"),
        "{shown:?}"
    );
    assert!(shown.text().ends_with("2 files, +3 −2\n"), "{shown:?}");
    let short = place.weir(&["review", "--stat"]).expect(0);
    assert_eq!(short.text().lines().count(), 3, "{short:?}");
    let json = place.weir(&["review", "a.txt", "--json"]).expect(0).json();
    assert_eq!(json["files"][0]["hunks"].as_array().unwrap().len(), 2);

    let reverted = place.weir(&["review", "revert", "a.txt", "--hunk", "2"]).expect(0);
    let text = std::fs::read_to_string(place.workspace().join("a.txt")).unwrap();
    assert!(text.contains("third\n") && text.contains("line 25\n"), "{text}");
    let kept = reverted.stderr.split_whitespace().find(|word| word.starts_with("refs/weir/")).unwrap();
    assert!(
        git(&place.workspace(), &["cat-file", "blob", &format!("{kept}:a.txt")]).contains("twenty-fifth")
    );
    place.weir(&["review", "revert", "new\n-x"]).expect(0);
    place.weir(&["review", "revert", "a.txt"]).expect(0);
    assert_eq!(git(&place.workspace(), &["status", "--porcelain"]), "");
    assert_eq!(place.weir(&["review"]).expect(0).text(), "0 files, +0 −0\n");
}

#[test]
fn a_branch_is_compared_with_where_it_began() {
    let place = project();
    git(&place.workspace(), &["checkout", "-qb", "work"]);
    git(&place.workspace(), &["commit", "-qam", "Work"]);
    let shown = place.weir(&["review", "--against", "main", "--stat"]).expect(0);
    assert!(shown.text().contains("changed a.txt"), "{shown:?}");
    assert!(!place.weir(&["review", "--stat"]).expect(0).text().contains("a.txt"));
    for name in ["--output=x", "a..b", "a b"] {
        place.weir(&["review", &format!("--against={name}")]).expect(2);
    }
    let unknown = place.weir(&["review", "--against", "none"]).expect(1);
    assert!(unknown.stderr.contains("no branch, tag or commit `none` found"), "{unknown:?}");
    for path in ["../a.txt", "/etc/passwd", ".git/config", "none"] {
        let refused = place.weir(&["review", "revert", "--", path]).expect(1);
        assert!(refused.stderr.contains("does not differ from the base"), "{refused:?}");
    }
}
