//! Sessions on disk.

use crate::support::{Finished, Start};
use weir_testkit::real::Place;

const FIRST: &str = r#"[{"text":"first","usage":{"input_tokens":1000,"output_tokens":200}}]"#;
const SECOND: &str = r#"[{"text":"second","usage":{"input_tokens":5000,"output_tokens":600}}]"#;

fn run(flags: &[&str], script: &str, old: bool, place: Place) -> Finished {
    let start = Start::new(flags);
    let cli = if old { start.old() } else { start }.start_in(place);
    if !script.is_empty() {
        cli.script(script).result(1);
    }
    cli.end()
}

fn session(done: &Finished) -> String {
    done.of("system", Some("init"))[0].str_of("session_id").unwrap().to_owned()
}

#[test]
fn a_resumed_session_has_the_same_id_and_continues_its_cost() {
    let first = run(&[], FIRST, false, Place::new().unwrap());
    let id = session(&first);
    let second = run(&["--resume", &id], SECOND, false, first.place);
    assert_eq!(session(&second), id);
    assert_eq!(second.results()[0].number_of("total_cost_usd"), Some(0.04));
    let fork = run(&["--resume", &id, "--fork-session"], SECOND, false, second.place);
    assert_ne!(session(&fork), id);
    let total = fork.results()[0].number_of("total_cost_usd").unwrap();
    assert!((total - 0.072).abs() < 1e-9, "{total}");
}

#[test]
fn the_older_version_starts_at_zero() {
    let first = run(&[], FIRST, true, Place::new().unwrap());
    let second = run(&["--resume", &session(&first)], SECOND, true, first.place);
    assert_eq!(second.results()[0].number_of("total_cost_usd"), Some(0.024));
}

#[test]
fn a_resumed_session_remembers_what_was_said() {
    // The script is in the first message; the second process plays its next step.
    let first = run(&[], r#"[{"text":"one"},{"text":"two"}]"#, false, Place::new().unwrap());
    let cli = Start::new(&["--resume", &session(&first)]).start_in(first.place);
    cli.say("continue").result(1);
    assert_eq!(cli.end().answers(), ["two"]);
}

#[test]
fn the_newest_session_is_continued_or_a_new_one_begun() {
    let place = Place::new().unwrap();
    let first = run(&["--continue"], FIRST, false, place);
    assert_eq!(first.exit.code, Some(0));
    let id = session(&first);
    let second = run(&["--continue"], SECOND, false, first.place);
    assert_eq!(session(&second), id);
}

#[test]
fn a_given_id_is_used_once() {
    let id = "11111111-1111-4111-8111-111111111111";
    let first = run(&["--session-id", id], FIRST, false, Place::new().unwrap());
    assert_eq!(session(&first), id);
    let again = run(&["--session-id", id], "", false, first.place);
    assert_eq!(again.exit.code, Some(1));
    assert!(again.lines.is_empty());
}

#[test]
fn a_missing_session_is_an_error_result() {
    let place = Place::new().unwrap();
    let done = run(&["--resume", "00000000-0000-4000-8000-000000000000"], "", false, place);
    assert_eq!(done.exit.code, Some(1));
    let result = done.results()[0];
    assert_eq!(
        (result.str_of("subtype"), result.integer_of("num_turns")),
        (Some("error_during_execution"), Some(0))
    );
    let done = run(&["--resume", "nonsense"], "", false, done.place);
    assert_eq!(done.exit.code, Some(1));
}

#[test]
fn nothing_is_saved_without_persistence() {
    let done = run(&["--no-session-persistence"], FIRST, false, Place::new().unwrap());
    assert!(!done.place.home().join(".claude/projects").exists());
    let done = run(&[], FIRST, false, done.place);
    let folder = done.place.home().join(".claude/projects");
    let project = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    let expected =
        done.place.directory().to_str().unwrap().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    assert_eq!(project.file_name().to_str().unwrap(), expected);
    let file = project.path().join(format!("{}.jsonl", session(&done)));
    let text = std::fs::read_to_string(file).unwrap();
    for part in [
        r#""type":"user""#,
        r#""type":"assistant""#,
        r#""parentUuid":null"#,
        r#""type":"cost-state""#,
        r#""isSidechain":false"#,
    ] {
        assert!(text.contains(part), "{part}");
    }
}
