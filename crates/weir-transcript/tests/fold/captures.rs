//! Every recorded stream of the real CLI folds to a snapshot that a person has reviewed.

use crate::support::{captures, fold_bytes, outline};
use weir_transcript::View;

#[test]
fn every_capture_folds_to_its_reviewed_snapshot() {
    let captures = captures();
    assert!(captures.len() > 100, "the recorded streams are missing");
    for (version, name, path) in captures {
        let (view, _) = fold_bytes(&std::fs::read(path).unwrap(), usize::MAX);
        insta::with_settings!({ snapshot_path => format!("snapshots/{version}"), prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, outline(&view));
        });
    }
}

#[test]
fn snapshot_plus_changes_is_the_same_view_even_through_json() {
    for (_, name, path) in captures() {
        let (view, changes) = fold_bytes(&std::fs::read(path).unwrap(), usize::MAX);
        let mut built = View::default();
        for change in &changes {
            let json = serde_json::to_string(change).unwrap();
            built.apply(&serde_json::from_str(&json).unwrap());
        }
        assert_eq!(built, view, "{name}");
        let through_json: View = serde_json::from_str(&serde_json::to_string(&view).unwrap()).unwrap();
        assert_eq!(through_json, view, "{name}");
    }
}

#[test]
fn live_in_small_pieces_is_the_same_as_a_replay() {
    for (_, name, path) in captures() {
        let bytes = std::fs::read(path).unwrap();
        if bytes.len() > 100_000 {
            continue;
        }
        let (whole, _) = fold_bytes(&bytes, usize::MAX);
        for chunk in [1, 7, 4096] {
            assert_eq!(fold_bytes(&bytes, chunk).0, whole, "{name} in chunks of {chunk}");
        }
    }
}
