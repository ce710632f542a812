//! `weir trust` from outside: what it shows, what it asks, and what counts as yes.

#[path = "../common/mod.rs"]
mod common;

use common::{Place, SAYS_HELLO, Terminal};

/// A place whose workspace has a hook.
fn trap() -> Place {
    let place = Place::new();
    set_hook(&place, "touch ran");
    place
}

#[expect(clippy::unwrap_used, reason = "a test without its folder should stop")]
fn set_hook(place: &Place, command: &str) {
    let settings = serde_json::json!({
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}
    });
    std::fs::create_dir_all(place.workspace().join(".claude")).unwrap();
    std::fs::write(place.workspace().join(".claude/settings.json"), settings.to_string()).unwrap();
}

/// What `weir trust --show --json` says about the workspace.
fn standing(place: &Place) -> String {
    let shown = place.weir(&["trust", "--show", "--json"]).expect(0).json();
    shown.get("standing").and_then(serde_json::Value::as_str).map(str::to_owned).unwrap_or_default()
}

/// What `weir run` says about the settings of the workspace.
fn warning(place: &Place) -> String {
    let done = place.weir(&["run", SAYS_HELLO]).expect(0);
    done.stderr.lines().find(|line| line.contains("settings")).unwrap_or_default().to_owned()
}

/// Answers the question of `weir trust` with these keys.
fn answer(place: &Place, keys: &str) -> common::Done {
    let mut terminal = Terminal::weir(place, &["trust"]);
    terminal.wait_for("would run or use this without asking");
    terminal.wait_for("SessionStart: touch ran");
    terminal.wait_for("and let this run? [y/N] ");
    terminal.keys(keys);
    terminal.finish()
}

#[test]
fn only_yes_means_yes() {
    let place = trap();
    for keys in ["\r", "n\r", "no\r", "x\r", "yess\r", "1\r"] {
        let done = answer(&place, keys).expect(1);
        assert!(done.text().contains("nothing was changed"), "{keys:?}: {done:?}");
        assert_eq!(standing(&place), "new", "{keys:?}");
    }
    assert!(warning(&place).contains("this folder's own settings are off (hook): it is not trusted"));
    for keys in ["y\r", "YES\r", " yes \r"] {
        let done = answer(&place, keys).expect(0);
        assert!(
            done.text().contains("is now trusted; you will be asked again when these files change"),
            "{done:?}"
        );
        assert_eq!(standing(&place), "trusted", "{keys:?}");
        place.weir(&["trust", "--forget"]).expect(0);
    }
    answer(&place, "y\r").expect(0);
    assert_eq!(warning(&place), "");
}

#[test]
fn ctrl_c_and_ctrl_d_mean_no() {
    let place = trap();
    let done = answer(&place, "\u{4}").expect(1);
    // The next line does not follow the question on the same line.
    assert!(done.text().contains("[y/N] \nweir: nothing was changed"), "{done:?}");
    assert_ne!(answer(&place, "\u{3}").code, Some(0));
    assert_eq!(standing(&place), "new");
}

#[test]
fn a_changed_folder_asks_again_and_a_trusted_one_does_not() {
    let place = trap();
    answer(&place, "y\r").expect(0);
    // A trusted folder is not asked about.
    let done = Terminal::weir(&place, &["trust"]).finish().expect(0);
    assert!(done.text().contains("The CLI runs or uses this") && !done.text().contains("[y/N]"), "{done:?}");
    set_hook(&place, "touch ran; touch more");
    assert_eq!(standing(&place), "changed");
    assert!(warning(&place).contains("settings are off (hook): they have changed since it was trusted"));
    answer(&place, "n\r").expect(1);
    assert_eq!(standing(&place), "changed");
}

#[test]
fn a_folder_without_settings_needs_no_trust() {
    let place = Place::new();
    let done = Terminal::weir(&place, &["trust"]).finish().expect(0);
    assert!(done.text().contains("nothing to trust") && !done.text().contains("[y/N]"), "{done:?}");
    place.weir(&["trust"]).expect(0);
    assert_eq!(standing(&place), "new");
}

#[test]
fn without_a_terminal_nothing_is_trusted() {
    let place = trap();
    // A yes on a pipe does not come from a person.
    let done = place.weir_input(&["trust"], "y\n").expect(1);
    assert!(done.stderr.contains("`weir trust --yes` trusts the folder without asking"), "{done:?}");
    assert_eq!(standing(&place), "new");
    place.weir(&["trust", "--yes"]).expect(0);
    assert_eq!(standing(&place), "trusted");
}
