//! Every recorded transcript is imported and exported as Markdown for a person to review.

use std::fs;
use std::path::{Path, PathBuf};

use weir_transcript::import::{
    AgentTranscript, Glance, ImportReport, MessageCount, Transcript, glance, import_view,
};
use weir_transcript::{EntryBody, FoldOptions, View, export};

struct Files {
    main: Vec<u8>,
    agents: Vec<(String, Vec<u8>, Option<Vec<u8>>)>,
}

impl Files {
    fn read(main: &Path) -> Self {
        let mut agents = Vec::new();
        if let Ok(folder) = fs::read_dir(main.with_extension("").join("subagents")) {
            for file in folder.map(|file| file.unwrap().path()) {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                let Some(id) = name.strip_prefix("agent-").and_then(|name| name.strip_suffix(".jsonl"))
                else {
                    continue;
                };
                let meta = fs::read(file.with_extension("meta.json")).ok();
                agents.push((id.to_owned(), fs::read(&file).unwrap(), meta));
            }
        }
        agents.sort();
        Self { main: fs::read(main).unwrap(), agents }
    }

    fn view(&self) -> (View, ImportReport) {
        let agents =
            self.agents.iter().map(|(id, lines, meta)| AgentTranscript { id, lines, meta: meta.as_deref() });
        let transcript = Transcript { main: &self.main, agents: agents.collect() };
        import_view(&transcript, FoldOptions::default())
    }
}

/// Every recorded transcript: version, name and path, in order.
fn transcripts() -> Vec<(String, String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/transcripts");
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let inside = |path: &Path| {
        let mut paths: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let mut found = Vec::new();
    for version in inside(&root).into_iter().filter(|path| path.is_dir()) {
        for scenario in inside(&version) {
            let files =
                inside(&scenario).into_iter().filter(|file| file.extension().is_some_and(|e| e == "jsonl"));
            for (place, file) in files.enumerate() {
                let number = if place == 0 { String::new() } else { format!("-{}", place + 1) };
                found.push((name(&version), name(&scenario) + &number, file));
            }
        }
    }
    found
}

#[test]
fn every_transcript_gives_its_reviewed_markdown() {
    let transcripts = transcripts();
    assert!(transcripts.len() >= 14, "the recorded transcripts are missing");
    for (version, name, path) in transcripts {
        let (view, report) = Files::read(&path).view();
        let mut text = format!("{report:#?}\n\n");
        export::markdown(&view, &mut text).unwrap();
        insta::with_settings!({ snapshot_path => format!("snapshots/{version}"), prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name.clone(), text);
        });
        assert_eq!(report.unknown, 0, "{version} {name}");
        assert_eq!(report.unplaced_agents, 0, "{version} {name}");
    }
}

fn find(version: &str, name: &str) -> PathBuf {
    transcripts().into_iter().find(|(v, n, _)| v == version && n == name).unwrap().2
}

#[test]
fn parallel_agents_keep_their_own_entries() {
    for version in ["2.1.9", "2.1.325"] {
        let (view, _) = Files::read(&find(version, "agents")).view();
        assert_eq!(view.agents.len(), 2, "{version}");
        for agent in &view.agents {
            let word = agent.description.strip_prefix("say ").unwrap();
            let said: Vec<_> = view
                .entries_of(Some(&agent.id))
                .filter_map(|entry| match &entry.body {
                    EntryBody::Text(text) => Some(text.text.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(said, [format!("agent says {word}")], "{version}");
        }
    }
}

#[test]
fn an_abandoned_branch_is_skipped_and_counted() {
    for version in ["2.1.9", "2.1.325"] {
        let reports: Vec<_> =
            ["branches", "branches-2"].map(|name| Files::read(&find(version, name)).view()).into();
        let (view, report) = reports.iter().find(|(_, report)| report.skipped > 0).unwrap();
        assert_eq!((report.skipped, report.skipped_branches), (2, 1), "{version}");
        let text = serde_json::to_string(view).unwrap();
        assert!(text.contains("another two") && !text.contains(r#""text":"two""#), "{version}");
    }
}

#[test]
fn the_cost_is_known_only_if_the_file_has_it() {
    let (view, _) = Files::read(&find("2.1.9", "tools")).view();
    assert_eq!(view.cost.usd, None);
    let (view, _) = Files::read(&find("2.1.325", "tools")).view();
    assert_eq!(view.cost.usd, Some(0.0084));
}

fn glance_at(path: &Path, head: usize, tail: usize) -> Glance {
    let file = fs::read(path).unwrap();
    let (head, tail) = (head.min(file.len()), tail.min(file.len()));
    glance(&file[..head], &file[file.len() - tail..], file.len() as u64)
}

#[test]
fn a_glance_at_both_ends_is_enough_for_a_list() {
    for version in ["2.1.9", "2.1.325"] {
        let path = find(version, "tools");
        let whole = glance_at(&path, usize::MAX, usize::MAX);
        assert_eq!(whole.session.as_deref(), path.file_stem().and_then(|stem| stem.to_str()));
        assert_eq!(whole.cwd.as_deref(), Some("/workspace/demo"));
        assert_eq!(whole.version.as_deref(), Some(version));
        assert!(whole.first_prompt.as_ref().unwrap().starts_with("Write a file."));
        assert_eq!(whole.messages, MessageCount::Exactly(10), "{version}");
        assert!(!whole.is_agent);

        let ends = glance_at(&path, 3_000, 3_000);
        assert!(matches!(ends.messages, MessageCount::AtLeast(count) if count < 10));
        assert_eq!(Glance { messages: whole.messages, ..ends }, whole, "{version}");
        // However the file is divided, nothing is counted twice.
        let length = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
        for head in [1_000, 5_000, length - 100] {
            assert_eq!(glance_at(&path, head, length - head), whole);
            assert_eq!(glance_at(&path, head, length - head + 50), whole);
        }
    }
    let agent = find("2.1.9", "agents").with_extension("").join("subagents");
    let file = fs::read_dir(agent).unwrap().next().unwrap().unwrap().path();
    assert!(glance_at(&file, usize::MAX, 0).is_agent);
}
