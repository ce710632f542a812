//! Odd input.

use crate::support::Start;

#[test]
fn the_rows_of_the_table_have_their_outcomes() {
    let rows: [(&str, bool, i32, &str); 8] = [
        (r#"{"type":"user","content":"x"}"#, false, 1, "Expected message role 'user', got 'undefined'"),
        (r#"{"type":"user_message","content":"x"}"#, false, 0, ""),
        (r#"{"type":"user_message","content":"x"}"#, true, 1, "got 'user_message'"),
        ("{not json", false, 1, "Error parsing streaming input line"),
        ("{not json", true, 1, "Expected property name or '}' in JSON at position 1"),
        ("", false, 0, ""),
        ("", true, 1, "Unexpected end of JSON input"),
        (r#"{"type":"keep_alive"}"#, false, 0, ""),
    ];
    for (line, old, status, stderr) in rows {
        let start = Start::new(&[]);
        let cli = if old { start.old() } else { start }.start();
        cli.send(line);
        let done = cli.end();
        assert_eq!(done.exit.code, Some(status), "{line}");
        assert!(done.lines.is_empty(), "{line}");
        assert!(
            done.exit.stderr.contains(stderr) || done.exit.stderr.is_empty(),
            "{line}: {}",
            done.exit.stderr
        );
    }
}

#[test]
fn without_a_message_there_is_no_output() {
    let done = Start::new(&[]).start().end();
    assert_eq!((done.exit.code, done.lines.len()), (Some(0), 0));
}

#[test]
fn a_message_may_be_short_or_made_of_blocks() {
    let cli = Start::new(&[]).start();
    cli.send(r#"{"type":"user","message":{"role":"user","content":"@@[{\"text\":\"short\"}]"}}"#).result(1);
    cli.send(r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"@@[{\"text\":\"blocks\"}]"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]}}"#).result(2);
    assert_eq!(cli.end().answers(), ["short", "blocks"]);
}

#[test]
fn text_and_json_are_output_formats_too() {
    let done = Start::plain(&["-p", r#"@@[{"text":"plain text"}]"#]).start().exited();
    assert_eq!(done.raw, [b"plain text"]);
    let done =
        Start::plain(&["-p", "--output-format", "json", r#"@@[{"text":"plain text"}]"#]).start().exited();
    assert_eq!(done.lines[0].str_of("result"), Some("plain text"));
    let cli = Start::plain(&["-p"]).start();
    cli.send(r#"@@[{"text":"from stdin"}]"#);
    assert_eq!(cli.end().raw, [b"from stdin"]);
    let done = Start::plain(&["-p"]).start().end();
    assert_eq!(done.exit.code, Some(1));
}
