//! `weir sessions` from outside, on transcripts of a simulated CLI.

#[path = "../common/mod.rs"]
mod common;

use std::path::PathBuf;

use common::{IS_SLOW, Place, Running, SAYS_HELLO, Terminal, script};
use rustix::process::Signal;
use serde_json::Value;

/// Runs a session and returns its id.
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test without a session should stop")]
fn run_session(place: &Place, prompt: &str) -> String {
    let done = place.weir(&["run", "-q", "-o", "json", "--allowed-tools", "Bash", prompt]).expect(0);
    done.json()["session_id"].as_str().unwrap().to_owned()
}

fn export(place: &Place, id: &str, format: &str) -> String {
    place.weir(&["sessions", "export", id, "--format", format]).expect(0).text().to_owned()
}

#[test]
fn past_sessions_are_listed_newest_first() {
    let place = Place::new();
    assert!(place.weir(&["sessions"]).expect(0).stderr.contains("no sessions"));
    let first = run_session(&place, &format!("about weirs {SAYS_HELLO}"));
    let second = run_session(&place, &format!("about sluices {SAYS_HELLO}"));
    let done = place.weir(&["sessions"]).expect(0);
    let lines: Vec<&str> = done.text().lines().collect();
    assert_eq!(lines.len(), 3, "{done:?}");
    assert!(lines[0].starts_with("ID") && !done.text().contains('\u{1b}'), "{done:?}");
    assert!(lines[1].contains(&second) && lines[1].contains("about sluices"), "{done:?}");
    assert!(lines[2].contains(&first) && lines[2].contains("about weirs"), "{done:?}");
    assert_eq!(place.weir(&["sessions", "-n", "1"]).expect(0).text().lines().count(), 2);
}

#[test]
fn json_has_a_line_for_each_session() {
    let place = Place::new();
    let id = run_session(&place, SAYS_HELLO);
    let rows = place.weir(&["sessions", "--json"]).expect(0).json_lines();
    assert_eq!((rows.len(), &rows[0]["id"], &rows[0]["live"]), (1, &Value::from(id), &Value::Null));
    assert_eq!(rows[0]["cwd"], place.workspace().canonicalize().unwrap().to_str().unwrap());
    assert!(PathBuf::from(rows[0]["file"].as_str().unwrap()).is_file());
    assert!(rows[0]["updated_at"].as_i64().unwrap() > 1_600_000_000_000);
}

#[test]
fn a_session_is_renamed_tagged_and_deleted() {
    let place = Place::new();
    let id = run_session(&place, SAYS_HELLO);
    let short = &id[..8];
    place.weir(&["sessions", "rename", short, "The dam"]).expect(0);
    place.weir(&["sessions", "tag", short, "water"]).expect(0);
    let row = &place.weir(&["sessions", "--json"]).expect(0).json_lines()[0];
    assert_eq!((&row["title"], &row["tag"]), (&Value::from("The dam"), &Value::from("water")));
    let file = PathBuf::from(row["file"].as_str().unwrap());
    // The CLI can still continue it.
    place.weir(&["run", "-q", "--resume", &id, SAYS_HELLO]).expect(0);
    place.weir(&["sessions", "rename", short, ""]).expect(1);
    let deleted = place.weir(&["sessions", "delete", short]).expect(0);
    assert_eq!(deleted.text().trim(), format!("deleted {id}"));
    assert!(!file.exists());
    place.weir(&["sessions", "delete", short]).expect(1);
}

#[test]
fn a_live_session_is_not_deleted() {
    let place = Place::new();
    let running = Running::start(place.command(&["run", IS_SLOW]));
    running.wait_for("one");
    let id = place.weir(&["sessions", "--json"]).expect(0).json_lines()[0]["id"].as_str().unwrap().to_owned();
    let refused = place.weir(&["sessions", "delete", &id]).expect(1);
    assert!(refused.stderr.contains("this session"), "{refused:?}");
    assert_eq!(place.weir(&["sessions", "--json"]).expect(0).json_lines().len(), 1);
}

#[test]
fn sessions_are_listed_by_folder() {
    let place = Place::new();
    run_session(&place, SAYS_HELLO);
    let other = place.path("home");
    let rows =
        |folder: &str| place.weir(&["sessions", "--json", "--cwd", folder]).expect(0).json_lines().len();
    assert_eq!(rows("."), 1);
    assert_eq!(rows(other.to_str().unwrap()), 0);
    place.weir(&["sessions", "--cwd", "/nowhere"]).expect(2);
}

#[test]
fn live_sessions_show_their_process() {
    let place = Place::new();
    let past = run_session(&place, SAYS_HELLO);
    let running = Running::start(place.command(&["run", IS_SLOW]));
    running.wait_for("one");
    let rows = place.weir(&["sessions", "--json"]).expect(0).json_lines();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(rows[0]["live"]["pid"], running.pid());
    assert_eq!(rows[1]["id"], past.as_str());
    let live = place.weir(&["sessions", "--live"]).expect(0);
    assert_eq!(live.text().lines().count(), 2, "{live:?}");
    assert!(live.text().contains("live"), "{live:?}");
    // The lock of a killed process does not count.
    running.signal(Signal::KILL);
    running.finish();
    place.wait_until_empty();
    assert!(place.weir(&["sessions", "--live"]).expect(0).stderr.contains("no live sessions"));
}

#[test]
fn a_session_is_shown_by_the_beginning_of_its_id() {
    let place = Place::new();
    let prompt = script(r#"{"tool":"Bash","input":{"command":"echo hi"}},{"text":"It says **hi**."}"#);
    let id = run_session(&place, &prompt);
    let done = place.weir(&["sessions", "show", &id[..8]]).expect(0);
    for part in [id.as_str(), "folder", "✓ Bash echo hi", "It says **hi**.", "> @@["] {
        assert!(done.text().contains(part), "{part}: {done:?}");
    }
    let view = place.weir(&["sessions", "show", "--json", &id]).expect(0).json();
    assert_eq!(view["session"]["id"], id.as_str());
    let done = place.weir(&["sessions", "show", "ffffffff"]).expect(1);
    assert!(done.stderr.contains("`weir sessions` lists them"), "{done:?}");
    place.weir(&["sessions", "show", "../../etc/passwd"]).expect(2);
}

#[test]
fn exports_in_three_formats() {
    let place = Place::new();
    let prompt = script(r#"{"tool":"Bash","input":{"command":"echo <b>hi</b>"}},{"text":"Done & dusted"}"#);
    let id = run_session(&place, &prompt);
    let markdown = export(&place, &id, "md");
    assert!(markdown.starts_with("# ") && markdown.contains("echo <b>hi</b>"), "{markdown}");
    let html = export(&place, &id, "html");
    assert!(html.starts_with("<!doctype html>") || html.starts_with("<!DOCTYPE html>"), "{html}");
    assert!(html.contains("&lt;b&gt;hi") && !html.contains("<script"), "{html}");
    // The lines can be replayed, and the prompt is among them.
    let lines = export(&place, &id, "ndjson");
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");
    let file = place.path("export.ndjson");
    std::fs::write(&file, &lines).unwrap();
    let view = place.weir(&["replay", "-q", "-o", "view", file.to_str().unwrap()]);
    let entries = view.json()["entries"].as_array().unwrap().clone();
    let kinds: Vec<&str> = entries.iter().filter_map(|entry| entry["body"]["kind"].as_str()).collect();
    assert_eq!(kinds, ["user", "tool", "text"], "{entries:#?}");
}

#[test]
fn an_export_never_overwrites_a_file() {
    let place = Place::new();
    let id = run_session(&place, SAYS_HELLO);
    let file = place.path("export.md");
    let args = ["sessions", "export", &id, "-o", file.to_str().unwrap()];
    assert_eq!(place.weir(&args).expect(0).text(), "");
    let first = std::fs::read_to_string(&file).unwrap();
    assert!(first.contains("Hello there"));
    let done = place.weir(&args).expect(1);
    assert!(done.stderr.contains("cannot write"), "{done:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
}

#[test]
fn a_hostile_title_cannot_reach_the_terminal() {
    let place = Place::new().set("NO_COLOR", "1");
    run_session(&place, "\u{1b}]0;owned\u{7} @@[{\"text\":\"x\"}]");
    let terminal = Terminal::weir(&place, &["sessions"]);
    terminal.wait_for("owned");
    assert!(!terminal.raw().contains('\u{1b}'), "{:?}", terminal.raw());
    let done = terminal.finish().expect(0);
    assert!(done.text().lines().all(|line| line.chars().count() <= 80), "{done:?}");
}

#[test]
fn another_config_folder_is_another_history() {
    let place = Place::new();
    run_session(&place, SAYS_HELLO);
    let other = place.path("elsewhere");
    let done = place.weir(&["sessions", "--json", "--config-dir", other.to_str().unwrap()]).expect(0);
    assert_eq!(done.text(), "");
}

#[test]
fn a_session_is_adopted_into_the_log_of_a_server() {
    let place = Place::new();
    let id = run_session(&place, &format!("about weirs {SAYS_HELLO}"));
    let adopted = place.weir(&["sessions", "adopt", &id[..8]]).expect(0);
    assert!(adopted.stderr.contains("about weirs"), "{adopted:?}");
    // Once more gives the same session; a copy is another one.
    assert_eq!(place.weir(&["sessions", "adopt", &id]).expect(0).text(), adopted.text());
    assert_ne!(place.weir(&["sessions", "adopt", "--copy", &id]).expect(0).text(), adopted.text());
    let none = place.weir(&["sessions", "adopt", "00000000"]).expect(1);
    assert!(none.stderr.contains("no session 00000000 found"), "{none:?}");
    // While another program has it, it is refused.
    let sessions = place.home().join(".claude/sessions");
    std::fs::create_dir_all(&sessions).unwrap();
    let second = run_session(&place, &format!("about sluices {SAYS_HELLO}"));
    let note = format!(r#"{{"pid":{},"sessionId":"{second}"}}"#, std::process::id());
    std::fs::write(sessions.join("1.json"), note).unwrap();
    let refused = place.weir(&["sessions", "adopt", &second]).expect(1);
    assert!(refused.stderr.contains("is open in another program"), "{refused:?}");
}
