//! Costs are counted once.

use serde_json::{Value, json};
use weir_transcript::HostEvent;

use crate::support::TestSession;

/// A result with a total and tokens of one model, as older versions write it.
fn old_result(total: f64, input: u64, turn_input: u64) -> Value {
    json!({
        "type": "result", "subtype": "success", "result": "x", "num_turns": 1, "total_cost_usd": total,
        "usage": {"input_tokens": turn_input, "output_tokens": 0},
        "modelUsage": {"m": {"inputTokens": input, "outputTokens": 0, "costUSD": total}},
    })
}

fn costs(talk: &TestSession) -> Vec<Option<f64>> {
    talk.view().turns.iter().map(|turn| turn.cost_usd).collect()
}

#[test]
fn a_turn_costs_the_difference_of_the_totals() {
    let mut talk = TestSession::new();
    talk.init()
        .json(&old_result(0.25, 100, 100))
        .init()
        .json(&old_result(1.0, 400, 300))
        .init()
        .json(&old_result(1.0, 400, 0));
    assert_eq!(costs(&talk), [Some(0.25), Some(0.75), Some(0.0)]);
    let cost = &talk.view().cost;
    assert_eq!((cost.usd, cost.reported_usd, cost.resets), (Some(1.0), Some(1.0), 0));
    assert_eq!((cost.models[0].input_tokens, cost.models[0].usd), (400, 1.0));
    assert_eq!(talk.view().turns[1].models[0].input_tokens, 300);
}

#[test]
fn a_lower_total_has_started_over() {
    let mut talk = TestSession::new();
    talk.init().json(&old_result(1.0, 400, 400)).init().json(&old_result(0.5, 200, 200));
    assert_eq!(costs(&talk), [Some(1.0), Some(0.5)]);
    assert_eq!((talk.view().cost.usd, talk.view().cost.resets), (Some(1.5), 1));
}

#[test]
fn sub_agents_are_included_in_the_cost() {
    let mut talk = TestSession::new();
    // The main loop read 100 tokens, all models together 500.
    talk.init().json(&old_result(0.7, 500, 100));
    assert_eq!(talk.view().turns[0].models[0].input_tokens, 500);
}

#[test]
fn an_unknown_cost_is_unknown_and_not_zero() {
    let mut talk = TestSession::new();
    talk.init().result("x");
    assert_eq!((costs(&talk), talk.view().cost.usd), (vec![None], None));
    talk.init().json(&old_result(0.5, 100, 100));
    assert_eq!(talk.view().cost.usd, Some(0.5));
}

#[test]
fn a_resumed_process_that_continues_the_total_is_charged_the_difference() {
    let mut talk = TestSession::new();
    talk.init()
        .json(&old_result(1.0, 400, 400))
        .exits(Some(0), None, "")
        .host(&HostEvent::ProcessStarted { resumes: None });
    talk.init().json(&old_result(1.5, 600, 200));
    assert_eq!(costs(&talk), [Some(1.0), Some(0.5)]);
}

#[test]
fn a_resumed_process_that_starts_at_zero_is_charged_all() {
    let mut talk = TestSession::new();
    talk.init()
        .json(&old_result(1.0, 400, 400))
        .exits(Some(0), None, "")
        .host(&HostEvent::ProcessStarted { resumes: None });
    talk.init().json(&old_result(1.5, 600, 600));
    assert_eq!(costs(&talk), [Some(1.0), Some(1.5)]);
}

#[test]
fn calls_to_a_small_model_do_not_make_a_fresh_total_look_continued() {
    let mut talk = TestSession::new();
    talk.init()
        .json(&old_result(1.0, 100, 100))
        .exits(Some(0), None, "")
        .host(&HostEvent::ProcessStarted { resumes: None });
    // As many tokens as if the 100 of the previous process were included, but they belong to another model.
    let mut fresh = old_result(2.5, 200, 200);
    fresh["modelUsage"] = json!({
        "m": {"inputTokens": 200, "outputTokens": 0, "costUSD": 2.0},
        "small": {"inputTokens": 100, "outputTokens": 0, "costUSD": 0.5},
    });
    talk.init().json(&fresh);
    assert_eq!(costs(&talk), [Some(1.0), Some(2.5)]);
}

#[test]
fn versions_that_say_what_is_new_are_believed_for_the_first_result() {
    let mut talk = TestSession::new();
    let mut resumed = old_result(5.0, 2000, 200);
    resumed["model_usage_since_last_result"] =
        json!({"m": {"inputTokens": 200, "outputTokens": 0, "costUSD": 0.5}});
    talk.init().json(&resumed);
    assert_eq!((costs(&talk), talk.view().cost.usd), (vec![Some(0.5)], Some(0.5)));
    assert_eq!(talk.view().cost.reported_usd, Some(5.0));
}

/// A result that says which message it answers, and what it adds to the total.
fn new_result(total: f64, new: f64, message: &str) -> Value {
    let mut result = old_result(total, 100, 100);
    result["model_usage_since_last_result"] =
        json!({"m": {"inputTokens": 100, "outputTokens": 0, "costUSD": new}});
    result["user_message_uuids"] = json!([message]);
    result
}

#[test]
fn a_turn_that_was_cut_off_is_charged_with_the_first_of_the_next_process() {
    let mut talk = TestSession::new();
    talk.sends("a", "one").init().json(&new_result(1.0, 1.0, "a"));
    talk.sends("b", "two").init().exits(None, Some(9), "");
    talk.host(&HostEvent::ProcessStarted { resumes: None });
    // The total has grown by more than this turn cost: the rest was spent on the second.
    talk.sends("c", "three").init().json(&new_result(1.75, 0.25, "c"));
    assert_eq!((costs(&talk), talk.view().cost.usd), (vec![Some(1.0), None, Some(0.75)], Some(1.75)));
}

#[test]
fn a_late_second_result_with_old_totals_is_not_charged_again() {
    let mut talk = TestSession::new();
    talk.sends("a", "one").init().json(&new_result(1.0, 1.0, "a"));
    talk.sends("b", "two").init().json(&new_result(1.25, 0.25, "b"));
    talk.json(&new_result(1.0, 1.0, "a"));
    assert_eq!(talk.view().cost.usd, Some(1.25));
    talk.sends("c", "three").init().json(&new_result(1.5, 0.25, "c"));
    assert_eq!((talk.view().cost.usd, talk.view().cost.resets), (Some(1.5), 0));
}

#[test]
fn an_interrupted_turn_that_reports_the_old_total_costs_nothing() {
    let mut talk = TestSession::new();
    talk.init().json(&old_result(1.0, 400, 400)).init();
    let mut interrupted = old_result(1.0, 400, 0);
    interrupted["subtype"] = json!("error_during_execution");
    talk.json(&interrupted).init().json(&old_result(1.25, 500, 100));
    assert_eq!(costs(&talk), [Some(1.0), Some(0.0), Some(0.25)]);
}

#[test]
fn absurd_numbers_do_no_harm() {
    let mut talk = TestSession::new();
    let absurd = |total: f64| {
        json!({
            "type": "result", "subtype": "success", "result": "x", "total_cost_usd": total,
            "usage": {"input_tokens": u64::MAX, "output_tokens": u64::MAX},
            "modelUsage": {"m": {"inputTokens": u64::MAX, "outputTokens": 5, "costUSD": total}, "n": {"inputTokens": u64::MAX}},
        })
    };
    talk.init().json(&old_result(0.0, 0, 0)).init().json(&absurd(1e300)).exits(Some(0), None, "");
    talk.host(&HostEvent::ProcessStarted { resumes: None })
        .init()
        .json(&absurd(1e300))
        .init()
        .json(&absurd(1e308));
    let through_json: weir_transcript::View =
        serde_json::from_str(&serde_json::to_string(talk.view()).unwrap()).unwrap();
    assert_eq!(&through_json, talk.view());
}
