//! `weir run` on a terminal.

use std::fs::File;

use crate::common::{IS_SLOW, Place, SAYS_HELLO, TOUCHES, Terminal, script};

#[test]
fn a_permission_is_asked_for_and_given() {
    let place = Place::new();
    let mut terminal = Terminal::weir(&place, &["run", TOUCHES]);
    terminal.wait_for("Allow Bash?");
    terminal.wait_for("touch made");
    terminal.wait_for("1 Yes");
    terminal.wait_for("> ");
    terminal.line("what?");
    terminal.wait_for("Please answer with a number");
    terminal.wait_for("> ");
    terminal.line("1");
    terminal.wait_for("✓ Bash touch made");
    terminal.wait_for("Finished");
    terminal.finish().expect(0);
    assert!(place.workspace().join("made").exists());
    place.assert_clean();
}

#[test]
fn a_permission_is_refused_with_a_reason() {
    let place = Place::new();
    let mut terminal = Terminal::weir(&place, &["run", TOUCHES]);
    terminal.wait_for("> ");
    terminal.line("no, it is not needed");
    terminal.wait_for("(not allowed)");
    terminal.finish().expect(6);
    assert!(!place.workspace().join("made").exists());
}

#[test]
fn a_lasting_permission_is_not_asked_for_again() {
    let place = Place::new();
    let edit = |name: &str| {
        let file = place.workspace().join(name);
        format!(r#"{{"tool":"Write","input":{{"file_path":"{}","content":"x"}}}}"#, file.display())
    };
    let prompt = script(&format!(r#"{},{},{{"text":"Finished"}}"#, edit("one"), edit("two")));
    let mut terminal = Terminal::weir(&place, &["run", &prompt]);
    terminal.wait_for("2 Yes, and use the permission mode acceptEdits");
    terminal.wait_for("> ");
    terminal.line("2");
    let done = terminal.finish().expect(0);
    assert_eq!(done.text().matches("Allow Write?").count(), 1, "{done:?}");
    assert!(place.workspace().join("two").exists());
}

#[test]
fn the_end_of_input_means_no() {
    let place = Place::new();
    let mut terminal = Terminal::weir(&place, &["run", TOUCHES]);
    terminal.wait_for("> ");
    terminal.keys("\u{4}");
    terminal.finish().expect(6);
}

#[test]
fn a_question_is_answered_by_number() {
    let place = Place::new();
    let question = r#"{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}},{"text":"Thanks"}"#;
    let logs = place.path("logs");
    let args = ["run", "--log-dir", logs.to_str().unwrap(), &script(question)];
    let mut terminal = Terminal::weir(&place, &args);
    terminal.wait_for("Which colour?");
    terminal.wait_for("2 Blue  cold");
    terminal.wait_for("> ");
    terminal.line("7");
    terminal.wait_for("There is no choice 7.");
    terminal.wait_for("> ");
    terminal.line("2");
    terminal.finish().expect(0);
    let sent: String = std::fs::read_dir(logs)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".in.ndjson"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert!(sent.contains(r#""answers":{"Which colour?":"Blue"}"#), "{sent}");
}

#[test]
fn the_terminal_is_used_even_if_the_standard_streams_are_redirected() {
    let place = Place::new();
    let prompt = place.path("prompt");
    std::fs::write(&prompt, TOUCHES).unwrap();
    let answer = place.path("answer");
    let (input, output) = (File::open(&prompt).unwrap(), File::create(&answer).unwrap());
    let errors = File::create(place.path("errors")).unwrap();
    let mut terminal = Terminal::start(&place, &["run"], |command| {
        command.stdin(Terminal::file(input)).stdout(Terminal::file(output)).stderr(Terminal::file(errors))
    });
    terminal.wait_for("Allow Bash?");
    terminal.wait_for("> ");
    terminal.line("y");
    terminal.finish().expect(0);
    assert_eq!(std::fs::read_to_string(answer).unwrap(), "Finished\n");
    assert!(!std::fs::read_to_string(place.path("errors")).unwrap().contains('\u{1b}'));
}

#[test]
fn with_no_input_nothing_is_asked() {
    let place = Place::new();
    let terminal = Terminal::weir(&place, &["run", "--no-input", TOUCHES]);
    let done = terminal.finish().expect(6);
    assert!(!done.text().contains("Allow Bash?"), "{done:?}");
}

#[test]
fn input_before_the_question_is_not_an_answer() {
    let place = Place::new();
    let slow = script(
        r#"{"text":"wait","wdelay":0.2,"tool":"Bash","input":{"command":"touch made"}},{"text":"Finished"}"#,
    );
    let mut terminal = Terminal::weir(&place, &["run", &slow]);
    terminal.line("1");
    terminal.wait_for("Allow Bash?");
    terminal.wait_for("why.\n> ");
    terminal.line("no");
    let done = terminal.finish().expect(6);
    assert!(!place.workspace().join("made").exists(), "{done:?}");
}

#[test]
fn a_spinner_and_colours_are_for_terminals() {
    let place = Place::new();
    let prompt = script(r#"{"tool":"Bash","input":{"command":"sleep 0.4; echo hi"}},{"text":"Done"}"#);
    let terminal = Terminal::weir(&place, &["run", "--allowed-tools", "Bash", &prompt]);
    terminal.wait_for("0s Bash sleep 0.4; echo hi");
    terminal.wait_for("✓ Bash sleep 0.4; echo hi");
    terminal.wait_for("Done");
    terminal.wait_for("weir: 1 tool call");
    assert!(terminal.raw().contains("\u{1b}[32m✓"), "{}", terminal.raw());
    terminal.finish().expect(0);

    let place = place.set("NO_COLOR", "1").set("TERM", "dumb");
    let terminal = Terminal::weir(&place, &["run", SAYS_HELLO]);
    terminal.wait_for("weir: 0 tool calls");
    let raw = terminal.raw();
    assert!(!raw.contains('\u{1b}'), "{raw:?}");
    terminal.finish().expect(0);
}

#[test]
fn escape_codes_of_the_model_do_not_reach_the_terminal() {
    let place = Place::new().set("NO_COLOR", "1").set("TERM", "dumb");
    let prompt = script(r#"{"text":"a\u001b]0;owned\u0007b"}"#);
    let terminal = Terminal::weir(&place, &["run", "-q", &prompt]);
    terminal.wait_for("a␛]0;owned␇b");
    assert!(!terminal.raw().contains('\u{1b}'));
    terminal.finish().expect(0);
    // A file gets the text unchanged.
    assert_eq!(place.weir(&["run", "-q", &prompt]).expect(0).text(), "a\u{1b}]0;owned\u{7}b\n");
}

#[test]
fn ctrl_c_interrupts_and_a_second_one_quits() {
    let place = Place::new();
    let mut terminal = Terminal::weir(&place, &["run", IS_SLOW]);
    terminal.wait_for("one");
    terminal.keys("\u{3}");
    terminal.wait_for("press Ctrl-C again");
    terminal.wait_for("weir: interrupted");
    terminal.finish().expect(130);
    place.assert_clean();

    let place = Place::new().set("SIMULATED_CLAUDE_MISBEHAVE", "ignore_interrupt");
    let mut terminal = Terminal::weir(&place, &["run", IS_SLOW]);
    terminal.wait_for("one");
    terminal.keys("\u{3}");
    terminal.wait_for("press Ctrl-C again");
    terminal.keys("\u{3}");
    terminal.finish().expect(130);
    place.assert_clean();
}

#[test]
fn ctrl_c_at_a_question_ends_it() {
    let place = Place::new();
    let mut terminal = Terminal::weir(&place, &["run", TOUCHES]);
    terminal.wait_for("why.\n> ");
    terminal.keys("\u{3}");
    terminal.finish().expect(130);
    assert!(!place.workspace().join("made").exists());
    place.assert_clean();
}
