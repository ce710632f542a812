//! Judges what an agent did, from facts and in a fixed order. Pure.
//!
//! What the model says about its work does not count: only the result's own fields, the changes, and the results of the
//! gates.

use crate::agent::{AgentEnd, AgentRun};
use crate::config::AlreadyBroken;
use crate::outcome::{Failure, GateResult, Inspection, Outcome};

/// How the reason of a failure begins if protected files were changed.
pub const PUT_BACK: &str = "protected files were changed and have been restored";

/// Judges the session alone. `None` if the work has to be inspected.
pub fn judge_run(run: &AgentRun) -> Option<Failure> {
    let fail = |outcome, reason: String| Some(Failure::new(outcome, reason, run.errors.join("\n")));
    match &run.end {
        AgentEnd::Interrupted => return fail(Outcome::Interrupted, "the loop was stopped".into()),
        AgentEnd::Stopped => {
            return Some(Failure::new(Outcome::Stopped, "a person stopped the session", ""));
        }
        AgentEnd::NotStarted { why } => return fail(Outcome::Crashed, why.clone()),
        _ => {}
    }
    if is_rate_limited(run) {
        let limit =
            run.rate_limit.as_ref().and_then(|limit| limit.limit.as_deref()).unwrap_or("the API's limit");
        return fail(Outcome::RateLimited, format!("the account's limit is reached ({limit})"));
    }
    if !run.denials.is_empty() {
        return Some(denied(run));
    }
    match &run.end {
        AgentEnd::Crashed { why } => return fail(Outcome::Crashed, why.clone()),
        AgentEnd::TimedOut { why } => return fail(Outcome::TimedOut, why.clone()),
        AgentEnd::Budget { why } => return fail(Outcome::Budget, why.clone()),
        AgentEnd::NoResult => {
            let text = if run.degraded { "; its text is in the log" } else { "" };
            return fail(Outcome::Crashed, format!("the session ended without a result{text}"));
        }
        AgentEnd::Answered | AgentEnd::Interrupted | AgentEnd::Stopped | AgentEnd::NotStarted { .. } => {}
    }
    if let Some(question) = run.unanswered.first() {
        return fail(Outcome::Question, format!("no answer to: {question}"));
    }
    if run.subtype.as_deref() == Some("error_max_budget_usd") {
        return fail(Outcome::Budget, "the session reached its cost limit".into());
    }
    if run.is_empty {
        return fail(Outcome::Crashed, "the result was empty: no turns and no text".into());
    }
    if run.is_error {
        let subtype = run.subtype.as_deref().unwrap_or("an error");
        let status = run.api_error_status.map(|status| format!(", API status {status}")).unwrap_or_default();
        let mut failure =
            Failure::new(Outcome::Failed, format!("the result is an error ({subtype}{status})"), "");
        failure.output = if run.errors.is_empty() { run.text.clone() } else { run.errors.join("\n") };
        return Some(failure);
    }
    None
}

/// Whether a limit of the account ended the session. Only the CLI's structured fields count, never its prose.
fn is_rate_limited(run: &AgentRun) -> bool {
    let failed = run.is_error || !matches!(run.end, AgentEnd::Answered);
    let rejected = run.rate_limit.as_ref().is_some_and(|limit| limit.rejected);
    failed && (rejected || run.api_error_status == Some(429))
}

fn denied(run: &AgentRun) -> Failure {
    let names: Vec<String> = run.denials.iter().map(crate::agent::DeniedTool::headline).collect();
    let rules: Vec<&str> = run.denials.iter().map(|denial| denial.rule.as_str()).collect();
    let reason =
        format!("not allowed: {}; rules that would allow it: {}", names.join(", "), rules.join(", "));
    Failure { denials: run.denials.clone(), ..Failure::new(Outcome::Denied, reason, "") }
}

/// Judges the changes. `None` if the gates decide.
pub fn judge_work(run: &AgentRun, work: &Inspection) -> Option<Failure> {
    if !work.protected.is_empty() {
        let reason = format!("{PUT_BACK}: {}", work.protected.join(", "));
        return Some(Failure::new(Outcome::Failed, reason, ""));
    }
    if !work.leading_outside.is_empty() {
        let reason = format!(
            "links lead out of the repository, so what the checks would read is not in the commit: {}",
            work.leading_outside.join(", ")
        );
        return Some(Failure::new(Outcome::Failed, reason, ""));
    }
    if work.files > 0 {
        return None;
    }
    if !work.nested.is_empty() {
        let reason = format!(
            "it changed nothing that can be committed; its work may be in a separate repository or worktree: {}",
            work.nested.join(", ")
        );
        return Some(Failure::new(Outcome::NoChange, reason, run.text.clone()));
    }
    // A session that changes nothing and ends with a question most likely asked instead of working.
    let last = run.text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    if last.ends_with('?') {
        return Some(Failure::new(
            Outcome::Question,
            format!("it asked instead of working: {last}"),
            run.text.clone(),
        ));
    }
    Some(Failure::new(Outcome::NoChange, "it ended successfully but changed nothing", run.text.clone()))
}

/// Reads the verdict of a review: its last line with one. Without a verdict it does not approve.
pub fn judge_review(text: &str) -> Result<(), Failure> {
    let verdict = text.lines().rev().find_map(|line| {
        let line = line.trim().trim_matches(['*', '`', '#', ' ']).to_lowercase();
        Some(line.strip_prefix("verdict:")?.trim_matches(['*', '`', ' ', '.']).to_owned())
    });
    match verdict.as_deref() {
        Some("approve") => Ok(()),
        Some("reject") => Err(Failure::new(Outcome::Failed, "it rejects the work", text.trim())),
        _ => Err(Failure::new(Outcome::Failed, "it ended without a verdict", text.trim())),
    }
}

/// Judges the results of the gates.
pub fn judge_gates(before: &[GateResult], after: &[GateResult], policy: AlreadyBroken) -> Option<Failure> {
    let was_broken = |name: &str| before.iter().any(|gate| gate.name == name && !gate.passed);
    let excused = |gate: &GateResult| policy == AlreadyBroken::Accept && was_broken(&gate.name);
    let failed: Vec<&GateResult> = after.iter().filter(|gate| !gate.passed && !excused(gate)).collect();
    if failed.is_empty() {
        return None;
    }
    let names: Vec<String> = failed.iter().map(|gate| format!("{} ({})", gate.name, gate.ending)).collect();
    let output: Vec<String> =
        failed.iter().map(|gate| format!("{}:\n{}", gate.name, gate.output.trim_end())).collect();
    Some(Failure::new(Outcome::Failed, format!("gates failed: {}", names.join(", ")), output.join("\n\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{DeniedTool, LimitInfo};
    use serde_json::json;

    fn answered() -> AgentRun {
        AgentRun {
            end: AgentEnd::Answered,
            text: "All done, tests pass.".into(),
            turns: Some(3),
            ..AgentRun::default()
        }
    }

    fn outcome(run: &AgentRun) -> Option<Outcome> {
        judge_run(run).map(|failure| failure.outcome)
    }

    fn work(files: u64) -> Inspection {
        Inspection { files, ..Inspection::default() }
    }

    fn gate(name: &str, passed: bool) -> GateResult {
        GateResult {
            name: name.into(),
            passed,
            ending: "exit code 1".into(),
            output: "boom".into(),
            took_ms: 1,
        }
    }

    #[test]
    fn a_success_with_an_error_flag_is_an_error() {
        let run = AgentRun { subtype: Some("success".into()), is_error: true, ..answered() };
        assert_eq!(outcome(&run), Some(Outcome::Failed));
        assert_eq!(outcome(&answered()), None);
    }

    #[test]
    fn the_word_limit_in_a_text_is_no_limit() {
        let run = AgentRun {
            text: "usage limit reached, resets at 5pm; 429 too many requests".into(),
            ..answered()
        };
        assert_eq!(outcome(&run), None);
        let run = AgentRun { is_error: true, errors: vec!["rate limit".into()], ..run };
        assert_eq!(outcome(&run), Some(Outcome::Failed));
    }

    #[test]
    fn a_structured_rejection_is_one_if_it_ended_the_turn() {
        let limit = LimitInfo {
            rejected: true,
            resets_at: Some(5),
            limit: Some("five_hour".into()),
            utilization: None,
        };
        let run = AgentRun { rate_limit: Some(limit), ..answered() };
        assert_eq!(outcome(&run), None);
        assert_eq!(outcome(&AgentRun { is_error: true, ..run }), Some(Outcome::RateLimited));
    }

    #[test]
    fn a_denial_fails_fast_and_says_what_would_allow_it() {
        let denial = DeniedTool::new("Bash", json!({"command": "git push"}));
        let failure = judge_run(&AgentRun { denials: vec![denial], ..answered() }).unwrap();
        assert_eq!(failure.outcome, Outcome::Denied);
        assert!(
            failure.reason.contains("Bash git push") && failure.reason.contains("Bash(git push:*)"),
            "{}",
            failure.reason
        );
    }

    #[test]
    fn each_other_end_has_its_outcome() {
        let with = |end| AgentRun { end, ..AgentRun::default() };
        assert_eq!(outcome(&with(AgentEnd::NoResult)), Some(Outcome::Crashed));
        assert_eq!(outcome(&with(AgentEnd::Crashed { why: "x".into() })), Some(Outcome::Crashed));
        assert_eq!(outcome(&with(AgentEnd::TimedOut { why: "x".into() })), Some(Outcome::TimedOut));
        assert_eq!(outcome(&with(AgentEnd::Budget { why: "x".into() })), Some(Outcome::Budget));
        assert_eq!(outcome(&with(AgentEnd::Interrupted)), Some(Outcome::Interrupted));
        assert_eq!(outcome(&with(AgentEnd::Stopped)), Some(Outcome::Stopped));
        assert_eq!(
            outcome(&AgentRun { is_empty: true, text: String::new(), ..answered() }),
            Some(Outcome::Crashed)
        );
        assert_eq!(
            outcome(&AgentRun { unanswered: vec!["Which?".into()], ..answered() }),
            Some(Outcome::Question)
        );
    }

    #[test]
    fn a_question_and_no_change_are_not_done() {
        let asked = AgentRun { text: "I looked around.\n\nShall I continue?\n".into(), ..answered() };
        assert_eq!(judge_work(&asked, &work(0)).map(|f| f.outcome), Some(Outcome::Question));
        assert_eq!(judge_work(&answered(), &work(0)).map(|f| f.outcome), Some(Outcome::NoChange));
        assert_eq!(judge_work(&asked, &work(1)), None);
        let elsewhere = Inspection { nested: vec!["side".into()], ..work(0) };
        let failure = judge_work(&answered(), &elsewhere).unwrap();
        assert!(failure.outcome == Outcome::NoChange && failure.reason.ends_with("side"), "{failure:?}");
        let protected = Inspection { protected: vec!["Makefile".into()], ..work(3) };
        assert_eq!(judge_work(&answered(), &protected).map(|f| f.outcome), Some(Outcome::Failed));
    }

    #[test]
    fn only_a_clear_verdict_approves() {
        assert!(
            judge_review("Fine.\n\nVERDICT: approve\n").is_ok()
                && judge_review("**Verdict: approve.**").is_ok()
        );
        for text in [
            "VERDICT: reject",
            "",
            "I approve",
            "VERDICT: approve\nOn reflection:\nVERDICT: reject",
            "verdict: approve if",
        ] {
            assert!(judge_review(text).is_err(), "{text}");
        }
    }

    #[test]
    fn all_gates_must_pass_unless_what_was_broken_is_accepted() {
        let (before, after) = ([gate("a", false), gate("b", true)], [gate("a", false), gate("b", true)]);
        assert!(judge_gates(&before, &after, AlreadyBroken::Fail).is_some());
        assert_eq!(judge_gates(&before, &after, AlreadyBroken::Accept), None);
        let worse = [gate("a", false), gate("b", false)];
        let failure = judge_gates(&before, &worse, AlreadyBroken::Accept).unwrap();
        assert!(failure.reason.contains('b') && !failure.reason.contains("a ("), "{}", failure.reason);
    }
}
