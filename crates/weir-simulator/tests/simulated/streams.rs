//! Messages in pieces, and the order of their lines.

use crate::support::Start;
use weir_simulator::json::Json;

#[test]
fn pieces_come_before_the_whole_and_the_whole_before_the_end_of_its_block() {
    let cli = Start::new(&["--include-partial-messages"]).start();
    cli.script(r#"[{"thinking":"Let me see.","text":"A streamed answer. Ünïcödé 🙂"}]"#).result(1);
    let done = cli.end();
    let kinds: Vec<String> = done
        .lines
        .iter()
        .filter_map(|line| match line.str_of("type")? {
            "stream_event" => Some(line.get("event")?.str_of("type")?.to_owned()),
            "assistant" => Some("assistant".to_owned()),
            _ => None,
        })
        .collect();
    let expected = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "assistant",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "assistant",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(kinds, expected);
    let pieces: String =
        done.lines.iter().filter_map(|line| line.at(&["event", "delta", "text"])?.as_str()).collect();
    assert_eq!(pieces, "A streamed answer. Ünïcödé 🙂");
    let ids: std::collections::HashSet<_> = done
        .of("assistant", None)
        .iter()
        .map(|line| line.at(&["message", "id"]).unwrap().to_string())
        .collect();
    assert_eq!(ids.len(), 1, "one message, several lines");
    assert_eq!(done.of("system", Some("thinking_tokens")).len(), 2);
}

#[test]
fn without_the_flag_only_whole_blocks_come() {
    let cli = Start::new(&[]).start();
    cli.script(r#"[{"text":"one two three"}]"#).result(1);
    let done = cli.end();
    assert!(done.of("stream_event", None).is_empty());
    assert_eq!(done.texts(), ["one two three"]);
}

#[test]
fn a_lone_surrogate_is_written_as_an_escape() {
    let cli = Start::new(&[]).start();
    cli.script(r#"[{"text":"one \ud83d two"}]"#).result(1);
    let done = cli.end();
    let line = done.raw.iter().find(|line| line.starts_with(b"{\"type\":\"assistant\"")).unwrap();
    assert!(String::from_utf8_lossy(line).contains(r"one \ud83d two"));
}

#[test]
fn a_failed_connection_is_retried() {
    for kind in ["stream", "connection"] {
        let cli = Start::new(&["--include-partial-messages"]).start();
        cli.script(&format!(r#"[{{"text":"one two three four","break":"{kind}","times":2}}]"#)).result(1);
        let done = cli.end();
        let tries = done.of("system", Some("api_retry"));
        assert_eq!((tries.len(), tries[1].integer_of("attempt")), (2, Some(2)));
        assert_eq!(tries[1].get("error_status"), Some(&Json::Null));
        assert_eq!(done.answers(), ["one two three four"]);
    }
    let cli = Start::new(&[]).env("CLAUDE_CODE_MAX_RETRIES", "2").start();
    let result = cli.script(r#"[{"text":"never","break":"stream"}]"#).result(1);
    assert_eq!(
        (result.is_true("is_error"), result.str_of("result")),
        (true, Some("API Error: Connection error."))
    );
}

#[test]
fn the_older_version_retries_without_a_stream_and_does_not_count_it() {
    let cli = Start::new(&["--include-partial-messages"]).old().start();
    cli.script(r#"[{"text":"one two three four","break":"stream","times":1}]"#).result(1);
    let done = cli.end();
    let pieces: String =
        done.lines.iter().filter_map(|line| line.at(&["event", "delta", "text"])?.as_str()).collect();
    assert_eq!(pieces, "one two t", "half of it came in pieces");
    assert_eq!(done.texts(), ["one two three four"]);
    assert_eq!(done.results()[0].number_of("total_cost_usd"), Some(0.0));
}

#[test]
fn a_truncated_reply_is_continued() {
    let cli = Start::new(&[]).start();
    cli.script(r#"[{"text":"this ends in the","stop_reason":"max_tokens"},{"text":"middle"}]"#).result(1);
    let done = cli.end();
    assert_eq!(done.answers(), ["middle"]);
    assert!(done.of("user", None)[0].is_true("isSynthetic"));
}
