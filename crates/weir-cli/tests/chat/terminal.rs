//! On a terminal.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;

use crate::common::{IS_SLOW, Place, SAYS_HELLO, TOUCHES, Terminal, script};

fn chat(place: &Place) -> Terminal {
    let terminal = Terminal::weir(place, &["chat"]);
    terminal.wait_for("/help lists the commands");
    terminal.wait_for("> ");
    terminal
}

/// Quits with Ctrl-D.
fn quit(mut terminal: Terminal) {
    terminal.wait_for("> ");
    terminal.keys("\u{4}");
    terminal.finish().expect(0);
}

#[test]
fn markdown_is_styled_and_tools_are_folded() {
    let place = Place::new();
    let mut terminal = chat(&place);
    terminal.line(&script(r##"{"tool":"Bash","input":{"command":"echo hi"}},{"text":"# Title\n\nSome **bold** and `code`.\n\n- item\n"}"##));
    terminal.wait_for("✓ Bash echo hi");
    terminal.wait_for("Title\n\nSome bold and code.\n\n• item\n");
    let raw = terminal.raw();
    for part in ["\u{1b}[1;36mTitle", "\u{1b}[1mbold\u{1b}[0m", "\u{1b}[36mcode\u{1b}[0m"] {
        assert!(raw.contains(part), "{part:?}: {raw:?}");
    }
    terminal.wait_for("1 tool call, $0.00");
    quit(terminal);
    place.assert_clean();
}

#[test]
fn differences_are_coloured() {
    let place = Place::new();
    let file = place.workspace().join("poem.txt");
    let steps = format!(
        r#"{{"tool":"Write","input":{{"file_path":"{0}","content":"roses\nviolets\n"}}}},{{"tool":"Edit","input":{{"file_path":"{0}","old_string":"roses","new_string":"tulips"}}}},{{"text":"Done"}}"#,
        file.display()
    );
    let mut terminal = chat(&place);
    terminal.line(&script(&steps));
    terminal.wait_for("2 Yes, and use the permission mode acceptEdits");
    terminal.wait_for("why.\n> ");
    terminal.line("2");
    terminal.wait_for("poem.txt +2 -0");
    terminal.wait_for("poem.txt +1 -1");
    terminal.wait_for("-roses");
    terminal.wait_for("+tulips");
    assert!(terminal.raw().contains("\u{1b}[31m-roses") && terminal.raw().contains("\u{1b}[32m+tulips"));
    terminal.wait_for("Done");
    quit(terminal);
}

#[test]
fn requests_are_answered_by_number_in_the_middle_of_a_turn() {
    let place = Place::new();
    let mut terminal = chat(&place);
    terminal.line(TOUCHES);
    terminal.wait_for("Allow Bash?");
    terminal.wait_for("why.\n> ");
    terminal.line("1");
    terminal.wait_for("Finished");
    terminal.wait_for("1 tool call");
    quit(terminal);
    assert!(place.workspace().join("made").exists());
}

#[test]
fn ctrl_c_interrupts_the_turn_and_a_second_one_quits() {
    let place = Place::new();
    let mut terminal = chat(&place);
    terminal.line(IS_SLOW);
    terminal.wait_for("\none");
    terminal.keys("\u{3}");
    terminal.wait_for("interrupting");
    // The CLI reports zero cost then, whatever was spent.
    terminal.wait_for("interrupted, 0 tool calls, cost unknown,");
    terminal.wait_for("> ");
    terminal.line(SAYS_HELLO);
    terminal.wait_for("\nHello there");
    terminal.wait_for("> ");
    terminal.keys("\u{3}");
    terminal.wait_for("Press Ctrl-C again or Ctrl-D to quit.");
    terminal.wait_for("> ");
    terminal.keys("\u{3}");
    terminal.finish().expect(0);
    place.assert_clean();

    // Two in a row quit, even if the turn has ended in between.
    let place = Place::new();
    let mut terminal = chat(&place);
    terminal.line(IS_SLOW);
    terminal.wait_for("\none");
    terminal.keys("\u{3}");
    terminal.wait_for("interrupted, 0 tool calls, cost unknown,");
    terminal.wait_for("> ");
    terminal.keys("\u{3}");
    terminal.finish().expect(0);
    place.assert_clean();

    let place = Place::new().set("SIMULATED_CLAUDE_MISBEHAVE", "ignore_interrupt");
    let mut terminal = chat(&place);
    terminal.line(IS_SLOW);
    terminal.wait_for("\none");
    terminal.keys("\u{3}");
    terminal.wait_for("press Ctrl-C again to quit");
    terminal.keys("\u{3}");
    terminal.finish().expect(130);
    place.assert_clean();
}

#[test]
fn the_terminal_is_restored_after_a_signal_at_the_prompt() {
    let place = Place::new();
    let terminal = Terminal::weir(&place, &["chat"]);
    assert!(terminal.reads_lines());
    terminal.wait_for("> ");
    terminal.signal(Signal::TERM);
    let modes = terminal.reads_lines_after_exit();
    assert!(modes, "the terminal is still raw");
    place.assert_clean();
}

#[test]
fn history_is_kept_and_private() {
    let place = Place::new();
    let mut terminal = chat(&place);
    terminal.line(SAYS_HELLO);
    terminal.wait_for("\nHello there");
    quit(terminal);
    let history = place.state().join("history");
    assert_eq!(std::fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&history).unwrap().contains("Hello there"));
    let mut terminal = chat(&place);
    // The previous line.
    terminal.keys("\u{1b}[A");
    terminal.wait_for("Hello there");
    terminal.keys("\r");
    terminal.wait_for("\nHello there");
    quit(terminal);
}

#[test]
fn a_backslash_and_pasted_lines_make_one_message() {
    let place = Place::new();
    let mut terminal = chat(&place);
    terminal.line("first\\");
    terminal.line(r#"@@[{"text":"joined"}]"#);
    terminal.wait_for("\njoined");
    terminal.wait_for("> ");
    terminal.keys("\u{1b}[200~some\nlines\n@@[{\"text\":\"pasted\"}]\u{1b}[201~\r");
    terminal.wait_for("\npasted");
    quit(terminal);
    let list = place.weir(&["sessions", "--json"]).json_lines();
    assert_eq!(list[0]["messages"], 4, "{list:?}");
}

#[test]
fn background_output_is_printed_above_the_prompt() {
    let place = Place::new();
    let mut terminal = chat(&place);
    let steps = r#"{"tool":"Bash","input":{"command":"sleep 0.5; echo x","run_in_background":true}},{"text":"Started"}"#;
    let terminal_args = script(steps);
    terminal.line(&terminal_args);
    terminal.wait_for("Started");
    terminal.wait_for("> ");
    terminal.keys("half");
    terminal.wait_for("half");
    // The CLI prints something unprompted, and the typed text is still there.
    terminal.wait_for("(script is over)");
    terminal.wait_for("> half");
    terminal.keys("\u{15}");
    terminal.keys("\u{4}");
    terminal.finish().expect(0);
    place.assert_clean();
}

#[test]
fn a_session_is_resumed_by_its_number() {
    let place = Place::new();
    place.weir_input(&["chat", "-q"], &format!("about weirs {SAYS_HELLO}\n")).expect(0);
    let mut terminal = chat(&place);
    terminal.line("/resume");
    terminal.wait_for("1  ");
    terminal.wait_for("about weirs");
    terminal.wait_for("number > ");
    terminal.line("1");
    // The last message and its answer.
    terminal.wait_for("> about weirs");
    terminal.wait_for("Hello there");
    terminal.wait_for("> ");
    terminal.line(&script(r#"{"text":"Again"}"#));
    terminal.wait_for("\nAgain");
    quit(terminal);
    assert_eq!(place.weir(&["sessions", "--json"]).json_lines().len(), 1);
}

#[test]
fn a_killed_chat_leaves_nothing_alive() {
    let place = Place::new();
    let mut terminal = chat(&place);
    terminal.line(IS_SLOW);
    terminal.wait_for("\none");
    terminal.signal(Signal::KILL);
    drop(terminal);
    place.wait_until_empty();
}

#[test]
fn a_request_from_the_background_waits_for_its_turn() {
    let place = Place::new();
    let mut terminal = chat(&place);
    let inner = r#"@@[{\"sleep\":0.7,\"tool\":\"Bash\",\"input\":{\"command\":\"touch made\"}},{\"text\":\"Inner\"}]"#;
    let steps = format!(
        r#"{{"tool":"Task","input":{{"description":"Touch","prompt":"{inner}","subagent_type":"general-purpose","run_in_background":true}}}},{{"text":"Started"}}"#
    );
    terminal.line(&script(&steps));
    terminal.wait_for("Started");
    terminal.wait_for("> ");
    terminal.keys("half");
    terminal.wait_for("needs an answer; press Enter");
    // Text typed so far is not an answer.
    terminal.keys("\u{15}\r");
    terminal.wait_for("Allow Bash?");
    terminal.wait_for("why.\n> ");
    terminal.line("1");
    place.wait_for_file("workspace/made");
    quit(terminal);
    place.assert_clean();
}

#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let place = Place::new().set("TERM", "dumb");
    let mut terminal = Terminal::weir(&place, &["chat"]);
    terminal.wait_for("> ");
    terminal.line(TOUCHES);
    terminal.wait_for("Allow Bash?");
    terminal.wait_for("why.\n> ");
    terminal.line("perhaps");
    terminal.wait_for("Please answer with a number");
    terminal.line("1");
    terminal.wait_for("Finished");
    terminal.wait_for("> ");
    terminal.keys("\u{4}");
    assert!(!terminal.raw().contains('\u{1b}'), "{:?}", terminal.raw());
    terminal.finish().expect(0);
    assert!(place.workspace().join("made").exists());
    place.assert_clean();
}
