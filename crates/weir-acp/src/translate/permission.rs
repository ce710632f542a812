//! Requests for permission, and plans: the options that an editor shows, and what its choice decides.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionResponse,
};
use serde_json::Value;
use weir_host::Decision;
use weir_transcript::{PermissionRequest, RequestKind};
use weir_wire::{PermissionUpdate, RuleDestination};

use super::shown;

/// Most suggestions that are offered: an editor shows all options at once.
const MAX_SUGGESTIONS: usize = 6;

/// The reason for the model where the person gave none.
const DENIED: &str = "The user denied this in the editor.";

/// The reason for the model where an editor closed a request without a choice.
const CLOSED: &str = "The editor closed the request without an answer.";

/// An option with what it decides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) option: PermissionOption,
    pub(crate) decision: Decision,
}

impl Choice {
    pub(crate) fn new(id: &str, name: String, kind: PermissionOptionKind, decision: Decision) -> Self {
        Self { option: PermissionOption::new(id.to_owned(), name, kind), decision }
    }
}

/// What the editor may choose besides allowing and denying.
pub(crate) struct Extent<'a> {
    /// Whether rules and other permission modes may be accepted.
    pub(crate) may_drive: bool,
    /// Whether this suggestion may be accepted.
    pub(crate) may_remember: &'a dyn Fn(&PermissionUpdate) -> bool,
    /// Permission modes that may be set.
    pub(crate) modes: &'a [String],
}

/// The options of a request; none for one that is not about permission.
pub(crate) fn choices(kind: &RequestKind, extent: &Extent<'_>) -> Option<Vec<Choice>> {
    match kind {
        RequestKind::Permission(request) => Some(of_call(request, extent)),
        RequestKind::Plan { .. } => Some(of_plan(extent)),
        _ => None,
    }
}

fn of_call(request: &PermissionRequest, extent: &Extent<'_>) -> Vec<Choice> {
    let allow = Choice::new("allow", "Allow".to_owned(), PermissionOptionKind::AllowOnce, Decision::allow());
    let mut allowing = vec![allow];
    if extent.may_drive && !request.context.suppress_always_allow_rule {
        let suggestions = request.suggestions.iter().enumerate();
        let offered = suggestions.filter(|(_, suggestion)| {
            let mode_is_offered =
                suggestion.mode().is_none_or(|mode| extent.modes.iter().any(|known| known == mode));
            suggestion.allows_calls() && mode_is_offered && (extent.may_remember)(suggestion)
        });
        allowing.extend(offered.take(MAX_SUGGESTIONS).map(|(at, suggestion)| {
            // For the session only: an editor has no way to say where a rule is to be stored.
            let kept = suggestion.for_session();
            let name = format!("Allow and {} in this session", shown(&kept.describe()));
            let decision = Decision::Allow { input: None, remember: vec![kept] };
            Choice::new(&format!("allow_{at}"), name, PermissionOptionKind::AllowAlways, decision)
        }));
    }
    let deny =
        Choice::new("reject", "Deny".to_owned(), PermissionOptionKind::RejectOnce, Decision::deny(DENIED));
    let stop = Choice::new(
        "reject_and_stop",
        "Deny and end the turn".to_owned(),
        PermissionOptionKind::RejectOnce,
        Decision::Deny { message: DENIED.to_owned(), interrupt: true },
    );
    // Editors preselect the first option.
    if request.context.default_to_no {
        [vec![deny, stop], allowing].concat()
    } else {
        [allowing, vec![deny, stop]].concat()
    }
}

fn of_plan(extent: &Extent<'_>) -> Vec<Choice> {
    // Without a mode the CLI returns to the one before the plan, which may not ask for anything.
    let with = |mode: &str| Decision::Allow {
        input: None,
        remember: vec![PermissionUpdate::set_mode(mode, RuleDestination::Session)],
    };
    let mut choices = vec![Choice::new(
        "allow",
        "Approve, and ask before each edit".to_owned(),
        PermissionOptionKind::AllowOnce,
        with("default"),
    )];
    if extent.may_drive && extent.modes.iter().any(|mode| mode == "acceptEdits") {
        choices.push(Choice::new(
            "allow_edits",
            "Approve, and accept edits in this session".to_owned(),
            PermissionOptionKind::AllowAlways,
            with("acceptEdits"),
        ));
    }
    choices.push(Choice::new(
        "reject",
        "Keep planning".to_owned(),
        PermissionOptionKind::RejectOnce,
        Decision::deny("The user wants to keep planning."),
    ));
    choices
}

/// What an editor's answer decides. Anything but an option that was offered denies.
pub(crate) fn decide(choices: &[Choice], response: &RequestPermissionResponse) -> Decision {
    let RequestPermissionOutcome::Selected(selected) = &response.outcome else {
        // An editor says so when the turn was cancelled.
        return Decision::Deny { message: CLOSED.to_owned(), interrupt: true };
    };
    let chosen = choices.iter().find(|choice| choice.option.option_id == selected.option_id);
    let decision = chosen.map_or_else(|| Decision::deny(CLOSED), |choice| choice.decision.clone());
    // The protocol has no reason for a denial; an editor may give one in the metadata.
    let given = [&selected.meta, &response.meta].into_iter().flatten().find_map(|meta| {
        let reason = meta.get("reason").and_then(Value::as_str)?.trim();
        (!reason.is_empty()).then(|| reason.to_owned())
    });
    match (decision, given) {
        (Decision::Deny { interrupt, .. }, Some(message)) => Decision::Deny { message, interrupt },
        (decision, _) => decision,
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::SelectedPermissionOutcome;

    use super::*;
    use crate::translate::meta;

    fn request(context: weir_wire::PermissionContext) -> RequestKind {
        RequestKind::Permission(PermissionRequest {
            tool_name: "Bash".into(),
            suggestions: vec![
                PermissionUpdate::allow_rule("Bash", Some("git push:*"), RuleDestination::LocalSettings),
                PermissionUpdate::set_mode("bypassPermissions", RuleDestination::Session),
            ],
            context: Box::new(context),
            ..PermissionRequest::default()
        })
    }

    fn ids(kind: &RequestKind, may_drive: bool) -> Vec<String> {
        let modes = ["default".to_owned(), "acceptEdits".to_owned()];
        let extent = Extent { may_drive, may_remember: &|_| true, modes: &modes };
        let found = choices(kind, &extent).unwrap();
        found.iter().map(|choice| choice.option.option_id.0.to_string()).collect()
    }

    fn answer(choices: &[Choice], id: &str) -> Decision {
        let outcome = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id.to_owned()));
        decide(choices, &RequestPermissionResponse::new(outcome))
    }

    #[test]
    fn suggestions_are_offered_to_drivers_and_only_known_modes() {
        let kind = request(weir_wire::PermissionContext::default());
        assert_eq!(ids(&kind, true), ["allow", "allow_0", "reject", "reject_and_stop"]);
        assert_eq!(ids(&kind, false), ["allow", "reject", "reject_and_stop"]);
        let only_once =
            weir_wire::PermissionContext { suppress_always_allow_rule: true, ..Default::default() };
        assert_eq!(ids(&request(only_once), true), ["allow", "reject", "reject_and_stop"]);
        let careful = weir_wire::PermissionContext { default_to_no: true, ..Default::default() };
        assert_eq!(ids(&request(careful), true)[0], "reject");
    }

    #[test]
    fn only_an_offered_option_allows() {
        let kind = request(weir_wire::PermissionContext::default());
        let extent = Extent { may_drive: false, may_remember: &|_| true, modes: &[] };
        let offered = choices(&kind, &extent).unwrap();
        assert_eq!(answer(&offered, "allow"), Decision::allow());
        for other in ["allow_0", "", "bypass", "Allow"] {
            assert!(matches!(answer(&offered, other), Decision::Deny { .. }), "{other}");
        }
        let cancelled = RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
        let ended = Decision::Deny { message: CLOSED.to_owned(), interrupt: true };
        assert_eq!(decide(&offered, &cancelled), ended);
        let selected = SelectedPermissionOutcome::new("reject").meta(meta("reason", "use rg"));
        let response = RequestPermissionResponse::new(RequestPermissionOutcome::Selected(selected));
        assert_eq!(decide(&offered, &response), Decision::deny("use rg"));
    }

    #[test]
    fn a_rule_is_kept_for_the_session_only() {
        let kind = request(weir_wire::PermissionContext::default());
        let extent = Extent { may_drive: true, may_remember: &|_| true, modes: &[] };
        let Decision::Allow { remember, .. } = answer(&choices(&kind, &extent).unwrap(), "allow_0") else {
            panic!("not allowed");
        };
        assert_eq!(remember[0].destination(), Some(RuleDestination::Session));
    }

    #[test]
    fn an_approved_plan_always_sets_a_mode() {
        let plan = RequestKind::Plan { plan: None, input: Value::Null };
        assert_eq!(ids(&plan, true), ["allow", "allow_edits", "reject"]);
        assert_eq!(ids(&plan, false), ["allow", "reject"]);
        let extent = Extent { may_drive: false, may_remember: &|_| true, modes: &[] };
        let Decision::Allow { remember, .. } = answer(&choices(&plan, &extent).unwrap(), "allow") else {
            panic!("not allowed");
        };
        assert_eq!(remember[0].mode(), Some("default"));
    }
}
