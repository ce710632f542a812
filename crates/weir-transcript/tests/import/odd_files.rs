//! Files that are damaged, old, or from future versions.

use proptest::prelude::*;
use weir_transcript::import::{AgentTranscript, ImportReport, Transcript, import_view};
use weir_transcript::{EntryBody, FoldOptions, Notice, TurnState, View};

fn import(main: &str) -> (View, ImportReport) {
    import_view(&Transcript { main: main.as_bytes(), agents: Vec::new() }, FoldOptions::default())
}

#[test]
fn unknown_lines_are_kept_and_counted() {
    let (view, report) = import(
        r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"hi"}}
{"type":"hologram","uuid":"2","parentUuid":"1","shape":"cube"}
not JSON at all
{"type":"assistant","uuid":"3","parentUuid":"2","message":{"id":"m","content":[{"type":"text","text":"hello"}]}}
{"type":"file-history-snapshot","messageId":"1"}"#,
    );
    assert_eq!((report.unknown, report.lines, report.messages), (2, 5, 2));
    assert_eq!(report.left_out.get("file-history-snapshot"), Some(&1));
    let unknown = view.entries.iter().filter(|entry| matches!(entry.body, EntryBody::Unknown(_))).count();
    assert_eq!(unknown, 1);
    let shown = view.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Notice { notice: Notice::PlainText { text } } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(shown.collect::<Vec<_>>(), ["not JSON at all"]);
    assert_eq!((view.oddities.unknown_types, view.oddities.not_json), (1, 1));
}

#[test]
fn a_cut_last_line_is_not_a_success() {
    let (view, report) = import(
        r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"hi"}}
{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","uuid":"3","parentUuid":"2","message":{"role":"user","cont"#,
    );
    assert_eq!(report.unknown, 1);
    assert_eq!(view.turns[0].state, TurnState::Lost);
}

#[test]
fn agents_in_the_file_of_the_session_are_found_by_their_task() {
    let (view, report) = import(
        r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Task","input":{"description":"d","prompt":"do it","subagent_type":"x"}}]}}
{"type":"user","uuid":"a","parentUuid":null,"isSidechain":true,"message":{"role":"user","content":"do it"}}
{"type":"assistant","uuid":"b","parentUuid":"a","isSidechain":true,"message":{"id":"n","content":[{"type":"text","text":"did it"}]}}
{"type":"user","uuid":"z","parentUuid":null,"isSidechain":true,"message":{"role":"user","content":"started by no call"}}
{"type":"user","uuid":"3","parentUuid":"2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"did it"}]}}
{"type":"assistant","uuid":"4","parentUuid":"3","message":{"id":"o","content":[{"type":"text","text":"done"}]}}"#,
    );
    assert_eq!(view.agents.len(), 1);
    assert_eq!(view.entries_of(Some(&view.agents[0].id)).count(), 2);
    assert_eq!(report.unplaced_agents, 1);
    assert_eq!(view.turns[0].state, TurnState::Succeeded);
}

#[test]
fn an_agent_that_an_agent_started_is_found() {
    let task = |id: &str, prompt: &str| {
        format!(
            r#"{{"type":"assistant","uuid":"u{id}","parentUuid":null,"message":{{"id":"m{id}","content":[{{"type":"tool_use","id":"{id}","name":"Task","input":{{"description":"d","prompt":"{prompt}","subagent_type":"x"}}}}]}}}}"#
        )
    };
    let asked = |prompt: &str| {
        format!(
            r#"{{"type":"user","uuid":"p{prompt}","parentUuid":null,"isSidechain":true,"message":{{"role":"user","content":"{prompt}"}}}}"#
        )
    };
    let main = task("outer", "first");
    let outer = format!("{}\n{}", asked("first"), task("inner", "second"));
    let inner = asked("second");
    let agents = vec![
        AgentTranscript { id: "2", lines: inner.as_bytes(), meta: None },
        AgentTranscript { id: "1", lines: outer.as_bytes(), meta: None },
    ];
    let (view, report) = import_view(&Transcript { main: main.as_bytes(), agents }, FoldOptions::default());
    assert_eq!(report.unplaced_agents, 0);
    let inner = view.agents.iter().find(|agent| agent.id.as_str() == "inner").unwrap();
    assert_eq!(inner.parent.as_ref().map(weir_wire::ToolUseId::as_str), Some("outer"));
}

#[test]
fn titles_retries_and_commands_have_their_places() {
    let (view, report) = import(
        r#"{"type":"summary","summary":"Old title","leafUuid":"x"}
{"type":"custom-title","customTitle":"My \ud83d title","sessionId":"s"}
{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"<command-name>/model</command-name><command-args>opus</command-args>"}}
{"type":"user","uuid":"2","parentUuid":"1","message":{"role":"user","content":"<local-command-stdout>Set model</local-command-stdout>"}}
{"type":"system","subtype":"api_error","uuid":"3","parentUuid":"2","retryAttempt":2,"maxRetries":10,"retryInMs":500,"error":{"status":529}}
{"type":"user","uuid":"4","parentUuid":"3","message":{"role":"user","content":"go"}}"#,
    );
    assert_eq!(report.unknown, 0);
    assert_eq!(view.session.title.as_deref(), Some("My \u{fffd} title"));
    let said = view.entries.iter().map(|entry| match &entry.body {
        EntryBody::User(user) => user.text.clone(),
        EntryBody::Notice { notice: Notice::CommandOutput { text } } => format!("printed {text}"),
        EntryBody::Notice { notice: Notice::ApiRetry { attempt, .. } } => format!("try {attempt}"),
        other => format!("{other:?}"),
    });
    assert_eq!(said.collect::<Vec<_>>(), ["/model opus", "printed Set model", "try 2", "go"]);
}

#[test]
fn an_empty_file_is_an_empty_session() {
    for file in ["", "\n\n \n"] {
        let (view, report) = import(file);
        assert_eq!((view.entries.len(), report.lines), (0, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Lines that name each other in any way, and damaged bytes: no message is lost without being counted.
    #[test]
    fn any_tree_is_read(
        lines in prop::collection::vec((0..3_u8, 0..8_u8, prop::option::of(0..8_u8), any::<bool>()), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = String::new();
        for (kind, uuid, parent, sidechain) in &lines {
            let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
            let rest = format!(r#""uuid":"{uuid}","parentUuid":{parent},"isSidechain":{sidechain}"#);
            file.push_str(&match kind {
                0 => format!(r#"{{"type":"user",{rest},"message":{{"role":"user","content":"said {uuid}"}}}}"#),
                1 => format!(r#"{{"type":"assistant",{rest},"message":{{"id":"m{uuid}","content":[{{"type":"text","text":"x"}}]}}}}"#),
                _ => format!(r#"{{"type":"system","subtype":"informational",{rest},"content":"note"}}"#),
            });
            file.push('\n');
        }
        let (_, report) = import(&file);
        let own = lines.iter().filter(|(kind, _, _, sidechain)| *kind < 2 && !sidechain).count() as u64;
        prop_assert_eq!(report.messages + report.skipped, own);
        if !file.is_empty() {
            import(&file[..cut.index(file.len())]);
        }
    }
}
