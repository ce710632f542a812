//! Hostile content in a session stays in its place and does nothing.

use proptest::prelude::*;
use pulldown_cmark::{Event, Parser};
use serde_json::json;
use weir_transcript::{View, export};

use crate::captures::view_of;

/// Tags that an export writes itself, and that Markdown can produce.
const TAGS: &str = "a b blockquote body br code dd del details div dl doctype dt em footer h1 h2 h3 h4 h5 h6 head header hr \
    html i input ins li main meta ol p pre section span strong style summary table tbody td th thead time title tr ul";
/// Attributes that they may have.
const ATTRIBUTES: &str =
    "charset checked class content disabled href http-equiv lang name rel start style type";

/// Every tag is one that we write, with attributes that we write, and is closed correctly.
pub(crate) fn check_html(html: &str) {
    let mut open: Vec<&str> = vec!["html", "head"];
    let body = html.split_once("</style>").unwrap().1;
    for piece in body.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').unwrap_or_else(|| panic!("an unclosed tag: {piece:.80}"));
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        assert!(TAGS.split_whitespace().any(|known| known == name), "<{tag}>");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "wrong end: <{tag}>");
            continue;
        }
        for attribute in tag.split('"').step_by(2).flat_map(str::split_whitespace).filter(|a| a.contains('='))
        {
            let (attribute, _) = attribute.split_once('=').unwrap();
            assert!(ATTRIBUTES.split_whitespace().any(|known| known == attribute), "<{tag}>");
        }
        if let Some((_, href)) = tag.split_once("href=\"") {
            let good = ["http://", "https://", "mailto:", "http:", "https:"];
            assert!(good.iter().any(|good| href.to_ascii_lowercase().starts_with(good)), "<{tag}>");
        }
        if !matches!(name, "br" | "hr" | "input" | "meta") {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "not ended: {open:?}");
}

/// All HTML in the Markdown is ours, and every `<details>` is closed.
pub(crate) fn check_markdown(markdown: &str) {
    let mut depth = 0_i64;
    for event in Parser::new(markdown) {
        let (Event::Html(html) | Event::InlineHtml(html)) = event else { continue };
        for piece in html.split('<').skip(1) {
            let name = piece.split(['>', ' ']).next().unwrap();
            match name {
                "details" => depth += 1,
                "/details" => depth -= 1,
                "summary" | "/summary" | "b" | "/b" | "code" | "/code" => {}
                other => panic!("<{other}> in {html}"),
            }
        }
        assert!(depth >= 0, "more <details> are closed than opened");
    }
    assert_eq!(depth, 0, "a <details> was not closed, or is in an unclosed code block");
}

/// A session that contains this text everywhere.
fn full_of(text: &str) -> View {
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": text, "cwd": text, "model": text, "tools": []}),
        json!({"type": "user", "isReplay": true, "uuid": "u", "message": {"role": "user", "content": text}}),
        json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "thinking", "thinking": text}]}}),
        json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": text}]}}),
        json!({"type": "assistant", "message": {"id": "m", "content": [
            {"type": "tool_use", "id": "t1", "name": text, "input": {"anything": text}},
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": text, "description": text}},
            {"type": "tool_use", "id": "t3", "name": "Write", "input": {"file_path": text, "content": text}},
            {"type": "tool_use", "id": "t4", "name": "Task", "input": {"description": text, "prompt": text, "subagent_type": text}},
            {"type": "tool_use", "id": "t5", "name": "ExitPlanMode", "input": {"plan": text}},
            {"type": "tool_use", "id": "t6", "name": "AskUserQuestion", "input": {"questions": [{"question": text, "header": text, "options": [{"label": text, "description": text}], "multiSelect": false}]}},
            {"type": "tool_use", "id": "t7", "name": "TodoWrite", "input": {"todos": [{"content": text, "status": "pending", "activeForm": text}]}},
            {"type": text, "x": text}]}}),
        json!({"type": "user", "parent_tool_use_id": "t4", "message": {"role": "user", "content": text}}),
        json!({"type": "assistant", "parent_tool_use_id": "t4", "message": {"id": "n", "content": [{"type": "text", "text": text}]}}),
        json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": text, "is_error": true}]}}),
        json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": text}]},
               "tool_use_result": {"stdout": text, "stderr": text, "interrupted": false}}),
        json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t3", "content": text}]},
               "tool_use_result": {"type": "create", "filePath": text, "content": text, "structuredPatch": []}}),
        json!({"type": "user", "message": {"role": "user", "content": text}}),
        json!({"type": "system", "subtype": "informational", "content": text, "level": text}),
        json!({"type": "system", "subtype": "session_title_changed", "title": text}),
        json!({"type": text, "subtype": text}),
        json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "errors": [text], "total_cost_usd": 0.5,
               "modelUsage": {text: {"inputTokens": 1, "outputTokens": 2, "costUSD": 0.5}}}),
    ];
    let bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    view_of(&bytes)
}

fn check(text: &str) {
    let view = full_of(text);
    let (mut markdown, mut html) = (String::new(), String::new());
    export::html(&view, &mut html).unwrap();
    check_html(&html);
    export::markdown(&view, &mut markdown).unwrap();
    check_markdown(&markdown);
}

#[test]
fn known_attacks_do_nothing() {
    for text in [
        "<script>alert(1)</script>",
        "</style><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "<svg/onload=alert(1)>",
        "<!-- <b> -->",
        "<!--",
        "--><script>alert(1)</script>",
        "</title><script>alert(1)</script>",
        "</pre></details></main></body></html><script>alert(1)</script>",
        "[click](javascript:alert(1))",
        "[click](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](https://a.example/track.png)",
        "<javascript:alert(1)>",
        "[a]: javascript:alert(1)\n\n[a]",
        "<iframe src=\"https://a.example\"></iframe>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        "<a href=\"jav&#x09;ascript:alert(1)\">x</a>",
        "```\n</details>\n",
        "~~~\n````\n```\n",
        "`````` ``` ` ``",
        "> ```\n</details>",
        "- ```\n  </details>",
        "    ```\n\n</details>\n",
        "<details>\n<summary>x",
        "</summary></details>",
        "a\n\n---\n\n# b\n\n| c |\n|---|\n| </details> |",
        "<?php ?>",
        "<![CDATA[ x ]]>",
        "&lt;script&gt;",
        "\u{202e}<b>",
        "\u{0}<b\u{0}>",
        "\u{1b}]8;;javascript:alert(1)\u{7}x",
        "x\r</details>",
        "\\</details>",
        "`</details>",
        "<div\n\nx='</details>'",
    ] {
        check(text);
    }
}

#[test]
fn agents_that_name_each_other_are_written_once() {
    let lines = [
        r#"{"type":"assistant","parent_tool_use_id":"b","message":{"id":"1","content":[{"type":"tool_use","id":"a","name":"Task","input":{}}]}}"#,
        r#"{"type":"assistant","parent_tool_use_id":"a","message":{"id":"2","content":[{"type":"tool_use","id":"b","name":"Task","input":{}}]}}"#,
        r#"{"type":"assistant","parent_tool_use_id":"c","message":{"id":"3","content":[{"type":"tool_use","id":"c","name":"Task","input":{}}]}}"#,
        r#"{"type":"assistant","parent_tool_use_id":"c","message":{"id":"4","content":[{"type":"text","text":"needle"}]}}"#,
    ];
    let view = view_of(lines.join("\n").as_bytes());
    let mut html = String::new();
    export::html(&view, &mut html).unwrap();
    check_html(&html);
    assert_eq!(html.matches("needle").count(), 1);
    assert_eq!(html.matches("<b>Task</b>").count(), 3);
}

#[test]
fn deep_agents_are_all_there() {
    let mut lines = Vec::new();
    let mut parent = "null".to_owned();
    for depth in 0..2_000 {
        lines.push(format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"m{depth}","content":[{{"type":"tool_use","id":"t{depth}","name":"Task","input":{{"description":"depth-{depth}.","prompt":"p"}}}}]}}}}"#
        ));
        parent = format!("\"t{depth}\"");
    }
    let view = view_of(lines.join("\n").as_bytes());
    let (mut html, mut markdown) = (String::new(), String::new());
    export::html(&view, &mut html).unwrap();
    export::markdown(&view, &mut markdown).unwrap();
    for depth in 0..2_000 {
        assert!(html.contains(&format!("<code>depth-{depth}.</code>")), "{depth}");
    }
    check_html(&html);
    check_markdown(&markdown);
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<",
        ">",
        "</",
        "details",
        "script",
        "<b>",
        "</details>",
        "`",
        "```",
        "~~~",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "    ",
        "[",
        "](",
        ")",
        "javascript:",
        "https://a.example",
        "!",
        "&",
        "&#60;",
        "\"",
        "'",
        "<!--",
        "-->",
        "|",
        "---",
        "#",
        "\\",
        "\u{1b}[",
        "x",
        "é",
        "1. ",
        "*",
        "_",
        "\t",
        "<?",
        "<![CDATA[",
        "]]>",
        "\r",
        "<a href=",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_breaks_out_of_its_place(text in pieces()) {
        check(&text);
    }
}
