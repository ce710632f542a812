//! Unexpected streams.

use proptest::prelude::*;
use weir_transcript::{AgentVocabulary, EntryBody, Fold, FoldOptions, Notice, Oddities, UnknownReason, View};
use weir_wire::Decoder;

use crate::support::{TestSession, host_event, recorded_lines};

#[test]
fn unknown_items_become_entries_and_are_counted() {
    let mut talk = TestSession::new();
    talk.init()
        .line(r#"{"type":"hologram","x":1}"#)
        .line("[SandboxDebug] hello")
        .line(r#"{"type":"result","subtype":7}"#);
    talk.line(r#"{"type":"assistant","message":{"content":[{"type":"hologram"},{"type":"text"},{"type":"text","text":"fine"}]}}"#);
    let reasons: Vec<_> = talk
        .view()
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Unknown(unknown) => Some(unknown.reason),
            _ => None,
        })
        .collect();
    assert_eq!(
        reasons,
        [
            UnknownReason::UnknownType,
            UnknownReason::Mismatch,
            UnknownReason::UnknownBlock,
            UnknownReason::BlockMismatch,
        ]
    );
    let expected = Oddities { unknown_types: 1, mismatches: 1, not_json: 1, oversize: 0, blocks: 2 };
    assert_eq!(talk.view().oddities, expected);
    assert_eq!(talk.texts(None), ["fine"]);
}

#[test]
fn a_result_in_a_new_shape_still_ends_the_turn() {
    let mut talk = TestSession::new();
    talk.init()
        .says("m", "hi")
        .line(r#"{"type":"result","subtype":"success","duration_ms":"soon","result":"hi"}"#);
    assert_eq!(talk.view().turns[0].state, weir_transcript::TurnState::Succeeded);
    assert_eq!(talk.view().oddities.mismatches, 1);
}

#[test]
fn what_went_wrong_outside_of_a_turn_is_told() {
    let mut talk = TestSession::new();
    talk.init()
        .line(r#"{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":["transcript"]}"#)
        .line(r#"{"type":"system","subtype":"model_refusal_no_fallback","original_model":"opus","content":"It refused."}"#)
        .line(r#"{"type":"system","subtype":"worker_shutting_down","reason":"host_exit"}"#);
    let notices: Vec<String> = talk
        .view()
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Notice { notice: Notice::Info { level, text } } => {
                assert_eq!(level.as_deref(), Some("warning"));
                Some(text.to_string())
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        notices,
        [
            "The CLI could not store everything (the disk is full): a resumed session may miss messages.",
            "It refused."
        ]
    );
    assert_eq!(talk.view().oddities, Oddities::default());
}

#[test]
fn api_retries_that_follow_each_other_are_one_entry() {
    let mut talk = TestSession::new();
    talk.init();
    for attempt in 1..=5 {
        talk.line(&format!(r#"{{"type":"system","subtype":"api_retry","attempt":{attempt},"max_retries":10,"error":"overloaded"}}"#));
    }
    assert_eq!(talk.view().entries.len(), 1);
}

#[test]
fn rate_limits_are_reported_when_they_change() {
    let mut talk = TestSession::new();
    let line = |status: &str| {
        format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1794726184,"rateLimitType":"five_hour","utilization":0.9}}}}"#
        )
    };
    talk.init()
        .line(&line("allowed"))
        .line(&line("allowed_warning"))
        .line(&line("allowed_warning"))
        .line(&line("rejected"));
    assert_eq!(talk.view().entries.len(), 2);
    assert_eq!(talk.view().rate_limit.as_ref().unwrap().resets_at, Some(1_794_726_184));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Lines of different sessions, shuffled and cut, with host events between them.
    #[test]
    fn any_order_of_lines_folds_without_panic_and_changes_lead_to_the_view(
        picks in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..40, any::<u8>()), 1..120),
        keep in proptest::option::of(1usize..30),
    ) {
        let lines = recorded_lines();
        let mut decoder = Decoder::new();
        let mut fold = Fold::new(FoldOptions { keep_entries: keep, ..FoldOptions::default() });
        let mut words = AgentVocabulary::default();
        let mut built = View::default();
        for (pick, what, byte) in picks {
            let mut line = pick.get(lines).clone();
            let mut sink = |view: &View, change: &weir_transcript::Change<'_>| {
                built.apply(change);
                words.translate(view, change, &mut |event| { serde_json::to_string(&event).unwrap(); });
            };
            match what {
                0 => fold.host(&host_event(byte), &mut sink),
                1 => { line.truncate(line.len() / 2); fold.line(&decoder.decode(&line), &mut sink); }
                2 => { let at = usize::from(byte) % line.len(); line[at] = byte; fold.line(&decoder.decode(&line), &mut sink); }
                _ => fold.line(&decoder.decode(&line), &mut sink),
            }
        }
        prop_assert_eq!(&built, fold.view());
        if let Some(keep) = keep {
            prop_assert!(fold.view().entries.len() <= keep + keep / 2 + 20);
        }
    }
}
