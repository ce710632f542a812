//! Permissions: who is asked, and what follows from the decisions.

use crate::support::Start;
use weir_simulator::json::Json;
use weir_simulator::{array, object};

const WRITE: &str = r#"[{"tool":"Write","input":{"file_path":"x.txt","content":"x"}},{"text":"end"}]"#;

#[test]
fn the_host_is_asked_and_may_change_the_arguments() {
    let cli = Start::asking(&[]).answer(|request| {
        assert_eq!(request.str_of("subtype"), Some("can_use_tool"));
        let input = request.get("input").unwrap().clone().with("content", "changed by the host");
        Some(object! { "behavior" => "allow", "updatedInput" => input })
    });
    let cli = cli.start();
    cli.script(WRITE).result(1);
    assert_eq!(cli.file("x.txt"), "changed by the host");
    let done = cli.end();
    let request = done.of("control_request", None)[0].get("request").unwrap();
    assert_eq!(request.str_of("display_name"), Some("Write"));
    assert_eq!(request.items_of("permission_suggestions").len(), 1);
}

#[test]
fn a_refusal_is_reported_to_the_model_and_listed_in_the_result() {
    let cli = Start::asking(&[])
        .answer(|_| Some(object! { "behavior" => "deny", "message" => "not here" }))
        .start();
    cli.script(WRITE).result(1);
    let done = cli.end();
    assert_eq!(done.outputs(), ["not here"]);
    assert_eq!(done.results()[0].items_of("permission_denials").len(), 1);
    assert_eq!(done.answers(), ["end"]);
}

#[test]
fn a_refusal_may_end_the_turn() {
    let cli = Start::asking(&[])
        .answer(|_| Some(object! { "behavior" => "deny", "message" => "stop", "interrupt" => true }))
        .start();
    cli.script(WRITE);
    let result = cli.result(1);
    assert_eq!(
        (result.str_of("subtype"), result.str_of("terminal_reason")),
        (Some("error_during_execution"), Some("aborted_tools"))
    );
}

#[test]
fn without_a_host_nothing_is_granted() {
    let cli = Start::new(&[]).start();
    cli.script(WRITE).result(1);
    let folder = cli.place.directory();
    assert!(!folder.join("x.txt").exists());
    let done = cli.end();
    assert_eq!(done.of("system", Some("permission_denied")).len(), 1);
    assert!(done.outputs()[0].contains("but you haven't granted it yet"));
    assert_eq!(done.results()[0].items_of("permission_denials").len(), 1);
}

#[test]
fn a_mode_returned_by_the_host_applies_from_then_on() {
    let cli = Start::asking(&[]).answer(|request| {
        let updates = request.get("permission_suggestions").cloned().unwrap_or_else(|| array![]);
        Some(object! { "behavior" => "allow", "updatedInput" => request.get("input").unwrap(), "updatedPermissions" => updates })
    });
    let cli = cli.start();
    cli.script(r#"[{"tool":"Write","input":{"file_path":"x.txt","content":"x"}},{"tool":"Write","input":{"file_path":"y.txt","content":"y"}},{"text":"end"}]"#).result(1);
    assert_eq!(cli.file("y.txt"), "y");
    assert_eq!(cli.end().of("control_request", None).len(), 1, "asked once");
}

#[test]
fn rules_of_the_command_line_allow_and_refuse() {
    let cli = Start::new(&["--allowedTools", "Bash(touch:*)", "--disallowedTools", "Bash(echo:*)"]).start();
    cli.script(r#"[{"tool":"Bash","input":{"command":"touch made"}},{"tool":"Bash","input":{"command":"echo hi"}},{"tool":"Bash","input":{"command":"make no"}},{"text":"end"}]"#).result(1);
    let folder = cli.place.directory();
    assert!(folder.join("made").exists());
    let done = cli.end();
    assert_eq!(done.outputs()[1], "Permission to use Bash with command echo hi has been denied.");
    assert_eq!(done.outputs()[2], "This command requires approval");
}

#[test]
fn a_question_is_answered_by_the_arguments() {
    let cli = Start::asking(&[]).answer(|request| {
        assert!(request.is_true("requires_user_interaction"));
        let answers = object! { "Which?" => "Blue" };
        Some(object! { "behavior" => "allow", "updatedInput" => request.get("input").unwrap().clone().with("answers", answers) })
    });
    let cli = cli.start();
    cli.script(r#"[{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"Colour","options":[{"label":"Blue","description":""}],"multiSelect":false}]}},{"text":"end"}]"#).result(1);
    let done = cli.end();
    assert_eq!(
        done.outputs(),
        [
            r#"Your questions have been answered: "Which?"="Blue". You can now continue with these answers in mind."#
        ]
    );
}

#[test]
fn a_plan_is_approved_by_the_host() {
    let cli = Start::asking(&["--permission-mode", "plan"]).start();
    cli.script(r##"[{"tool":"Write","input":{"file_path":"{{PLAN}}","content":"# Plan\n"}},{"tool":"ExitPlanMode","input":{}},{"text":"end"}]"##).result(1);
    let done = cli.end();
    let request = done.of("control_request", None)[0].get("request").unwrap();
    assert_eq!(request.at(&["input", "plan"]).and_then(Json::as_str), Some("# Plan\n"));
    let modes: Vec<_> =
        done.of("system", Some("status")).iter().filter_map(|line| line.str_of("permissionMode")).collect();
    assert_eq!(modes, ["default"]);
}

#[test]
fn skipping_permissions_is_refused_only_for_root() {
    let done = Start::new(&["--dangerously-skip-permissions"]).start().end();
    if rustix::process::getuid().is_root() {
        assert_eq!(done.exit.code, Some(1));
        assert!(done.lines.is_empty());
    } else {
        assert_eq!(done.exit.code, Some(0));
    }
}
