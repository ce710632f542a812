//! Sessions that the CLI keeps by itself, as a terminal leaves them.

use std::sync::Arc;
use std::time::Duration;

use weir_host::{Adoption, Host, HostError, HostOptions};
use weir_store::{MemoryStore, SessionId};
use weir_transcript::EntryBody;

use crate::place::{Place, ask, id_of, me, says, soon};

/// A host that knows nothing of earlier sessions, and where the CLI keeps its own.
fn newcomer(place: &Place) -> HostOptions {
    let mut options = place.options();
    options.store = Arc::new(MemoryStore::new());
    options.cli_config = Some(place.home().join(".claude"));
    options
}

/// Leaves a session of the CLI behind. Returns the CLI's id of it.
async fn terminal(place: &Place) -> String {
    let host = place.host().await;
    let id: SessionId = place.session(&host).await;
    ask(&host, &id, format!("Count the mills {}", says("Four mills."))).await;
    let cli = host.info(&id).await.unwrap().cli_session_id.unwrap();
    soon(host.shut_down(Duration::ZERO)).await;
    cli
}

fn texts(page: &weir_host::TranscriptPage) -> Vec<String> {
    let said = page.entries.iter().rev().filter_map(|entry| match &entry.body {
        EntryBody::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    said.collect()
}

#[tokio::test]
async fn a_session_of_a_terminal_is_listed_and_continued_as_a_copy() {
    let place = Place::new();
    let cli = terminal(&place).await;
    std::fs::create_dir_all(place.directory().join("mill/.git")).unwrap();
    let host = Host::open(newcomer(&place)).await.unwrap();
    let work = soon(host.past_work(10)).await.unwrap();
    let mill = place.directory().join("mill").to_string_lossy().into_owned();
    assert_eq!(work.projects, [place.work(), mill], "used ones come first, then repositories");
    let [past] = work.sessions.as_slice() else { panic!("{:?}", work.sessions) };
    assert_eq!((past.id.as_str(), past.cwd.as_str()), (cli.as_str(), place.work().as_str()));
    assert!(past.title.starts_with("Count the mills"), "{}", past.title);

    let info = soon(host.adopt(&cli, Adoption::Copy, &me())).await.unwrap();
    let id = id_of(&info);
    assert!(info.title.unwrap().starts_with("Count the mills"));
    assert_eq!(texts(&host.transcript(&id, None, 100).await.unwrap()), ["Four mills."]);
    assert_eq!(ask(&host, &id, says("And a weir.")).await, "And a weir.");
    let own = host.info(&id).await.unwrap().cli_session_id.unwrap();
    assert_ne!(own, cli, "the other one stays as it is");
    assert_eq!(texts(&host.transcript(&id, None, 100).await.unwrap()), ["Four mills.", "And a weir."]);
    // Its copy is one of the host's own now.
    let work = soon(host.past_work(10)).await.unwrap();
    assert_eq!(work.sessions.iter().map(|past| past.id.as_str()).collect::<Vec<_>>(), [cli.as_str()]);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_session_that_is_taken_over_has_its_id_and_exists_once() {
    let place = Place::new();
    let cli = terminal(&place).await;
    let host = Host::open(newcomer(&place)).await.unwrap();
    let id: SessionId = cli.parse().unwrap();
    let me = me();
    let (one, two) = tokio::join!(host.take_over(&id, "acp", &me), host.take_over(&id, "acp", &me));
    assert_eq!((one.unwrap().id, two.unwrap().id), (cli.clone(), cli.clone()));
    assert_eq!(texts(&host.transcript(&id, None, 100).await.unwrap()), ["Four mills."]);
    assert_eq!(host.list(weir_host::ListSessions::default()).await.unwrap().sessions.len(), 1);
    assert!(host.past_work(10).await.unwrap().sessions.is_empty(), "it is one of the host's own");
    assert_eq!(ask(&host, &id, says("And a weir.")).await, "And a weir.");
    let own: SessionId = host.info(&id).await.unwrap().cli_session_id.unwrap().parse().unwrap();
    assert_ne!(own, id, "the other one stays as it is");
    // The CLI's name of one of the host's own is none of another session.
    let refused = host.take_over(&own, "acp", &me).await;
    assert!(matches!(refused, Err(HostError::NoSuchPast(_))), "{refused:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn nothing_outside_the_roots_and_nothing_unknown_is_continued() {
    let place = Place::new();
    let cli = terminal(&place).await;
    let mut options = newcomer(&place);
    let elsewhere = place.path("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    options.roots = vec![elsewhere.canonicalize().unwrap()];
    let host = Host::open(options).await.unwrap();
    let work = soon(host.past_work(10)).await.unwrap();
    assert!(work.sessions.is_empty() && work.projects.is_empty(), "{work:?}");
    for id in [cli.as_str(), "", "../../etc/passwd", "6492f1a6-8f20-4999-a476-fc84fb36debb"] {
        let refused = soon(host.adopt(id, Adoption::Copy, &me())).await;
        assert!(matches!(refused, Err(HostError::NoSuchPast(_))), "{id}: {refused:?}");
    }
    assert!(host.list(weir_host::ListSessions::default()).await.unwrap().sessions.is_empty());
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);

    // Where the CLI has a home of its own, none of its sessions can be found.
    let mut options = newcomer(&place);
    options.cli_config = None;
    let host = Host::open(options).await.unwrap();
    assert!(soon(host.past_work(10)).await.unwrap().sessions.is_empty());
    soon(host.shut_down(Duration::ZERO)).await;
}

/// Anyone who can write to the CLI's folder can put anything there, such as a model that was allowed one command.
#[cfg(unix)]
#[tokio::test]
async fn what_only_looks_like_a_transcript_is_neither_listed_nor_read() {
    let place = Place::new();
    let cli = terminal(&place).await;
    let projects = place.home().join(".claude/projects");
    let folder = std::fs::read_dir(&projects).unwrap().next().unwrap().unwrap().path();
    let line = |text: &str| {
        let message = serde_json::json!({"role": "user", "content": text});
        let line = serde_json::json!({"type": "user", "uuid": uuid(9), "sessionId": uuid(9), "cwd": place.work(),
            "timestamp": "2099-01-01T00:00:00Z", "message": message});
        format!("{line}\n")
    };
    // A link to a file elsewhere, a pipe, and files that never end, also in place of sub-agents.
    let outside = place.path("outside.jsonl");
    std::fs::write(&outside, line("none of the CLI's")).unwrap();
    std::os::unix::fs::symlink(&outside, folder.join(format!("{}.jsonl", uuid(1)))).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join(format!("{}.jsonl", uuid(2)))).unwrap();
    let pipe = |path: &std::path::Path| {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
    };
    pipe(&folder.join(format!("{}.jsonl", uuid(3))));
    let agents = folder.join(&cli).join("subagents");
    std::fs::create_dir_all(&agents).unwrap();
    pipe(&agents.join("agent-a.jsonl"));
    std::os::unix::fs::symlink("/dev/zero", agents.join("agent-b.jsonl")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("agent-c.jsonl")).unwrap();
    // One that is too large, and one with a hostile title.
    let large = folder.join(format!("{}.jsonl", uuid(4)));
    std::fs::write(&large, line("too large")).unwrap();
    std::fs::File::options().append(true).open(&large).unwrap().set_len(1 << 30).unwrap();
    let title = format!("\n\n \u{1b}[2J\u{202e}evil{}\nmore", "x".repeat(50_000));
    std::fs::write(folder.join(format!("{}.jsonl", uuid(9))), line(&title)).unwrap();

    let host = Host::open(newcomer(&place)).await.unwrap();
    let work = soon(host.past_work(50)).await.unwrap();
    let mut listed: Vec<&str> = work.sessions.iter().map(|past| past.id.as_str()).collect();
    listed.sort_unstable();
    let (large, hostile) = (uuid(4), uuid(9));
    let mut expected = vec![cli.as_str(), large.as_str(), hostile.as_str()];
    expected.sort_unstable();
    assert_eq!(listed, expected);
    let shown = &work.sessions.iter().find(|past| past.id == hostile).unwrap().title;
    assert!(shown.starts_with("⟨U+001B⟩[2J⟨U+202E⟩evil") || shown.starts_with("␛[2J⟨U+202E⟩evil"), "{shown}");
    assert!(shown.chars().count() <= 81, "{shown}");
    for number in 1..=3 {
        let refused = soon(host.adopt(&uuid(number), Adoption::Copy, &me())).await;
        assert!(matches!(refused, Err(HostError::NoSuchPast(_))), "{refused:?}");
    }
    let refused = soon(host.adopt(&large, Adoption::Copy, &me())).await;
    assert!(matches!(&refused, Err(HostError::Invalid(why)) if why.contains("256 MiB")), "{refused:?}");
    assert!(host.list(weir_host::ListSessions::default()).await.unwrap().sessions.is_empty());
    let info = soon(host.adopt(&cli, Adoption::Copy, &me())).await.unwrap();
    assert_eq!(texts(&host.transcript(&id_of(&info), None, 100).await.unwrap()), ["Four mills."]);
    assert!(
        soon(host.adopt(&hostile, Adoption::Copy, &me()))
            .await
            .unwrap()
            .title
            .unwrap()
            .contains("⟨U+202E⟩evil")
    );
    soon(host.shut_down(Duration::ZERO)).await;
}

fn uuid(number: u32) -> String {
    format!("11111111-1111-4111-8111-{number:012}")
}

#[tokio::test]
async fn a_session_of_a_terminal_goes_on_under_its_own_id_unless_it_still_runs_there() {
    let place = Place::new();
    let cli = terminal(&place).await;
    let host = Host::open(newcomer(&place)).await.unwrap();
    // As the CLI notes a session that runs, here in the process of this test.
    let sessions = place.home().join(".claude/sessions");
    std::fs::create_dir_all(&sessions).unwrap();
    let note = sessions.join("1.json");
    let pid = std::process::id();
    let write = || std::fs::write(&note, format!(r#"{{"pid":{pid},"sessionId":"{cli}"}}"#)).unwrap();
    write();
    assert!(soon(host.past_work(10)).await.unwrap().sessions[0].live);
    let refused = soon(host.adopt(&cli, Adoption::Same, &me())).await;
    assert!(matches!(refused, Err(HostError::LiveElsewhere { pid: found }) if found == pid), "{refused:?}");

    std::fs::remove_file(&note).unwrap();
    let past = soon(host.past_work(10)).await.unwrap().sessions.remove(0);
    assert!(!past.live && past.size > 0, "{past:?}");
    let info = soon(host.adopt(&cli, Adoption::Same, &me())).await.unwrap();
    let id = id_of(&info);
    assert_eq!(info.cli_session_id.as_deref(), Some(cli.as_str()));
    // Once more gives the same session, and it is the host's own now.
    assert_eq!(soon(host.adopt(&cli, Adoption::Same, &me())).await.unwrap().id, info.id);
    assert!(soon(host.past_work(10)).await.unwrap().sessions.is_empty());
    assert_eq!(ask(&host, &id, says("And a weir.")).await, "And a weir.");
    assert_eq!(host.info(&id).await.unwrap().cli_session_id.as_deref(), Some(cli.as_str()));
    assert_eq!(texts(&host.transcript(&id, None, 100).await.unwrap()), ["Four mills.", "And a weir."]);

    // While a terminal has it again, no second driver is started.
    soon(host.stop(&id, &me())).await.unwrap();
    write();
    let sent = host.send(&id, weir_host::NewMessage::text("More"), &me()).await.unwrap();
    let failed = soon(host.finished(&id, &sent.message_id)).await.unwrap();
    assert!(
        failed.error.as_ref().is_some_and(|error| error.message.contains("open in another program")),
        "{failed:?}"
    );
    soon(host.shut_down(Duration::ZERO)).await;
}

/// The aim is three seconds for ten times as many in a release build; how long it took is printed.
#[tokio::test]
async fn a_session_of_ten_thousand_lines_is_adopted() {
    const LINES: usize = 10_000;
    let place = Place::new();
    let id = "6492f1a6-8f20-4999-a476-fc84fb36debb";
    let name: String = place
        .work()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    let folder = place.home().join(".claude/projects").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let (mut text, mut before) = (String::new(), "null".to_owned());
    for number in 0..LINES {
        let uuid = format!("\"00000000-0000-4000-8000-{number:012}\"");
        let (kind, message) = if number % 2 == 0 {
            ("user", format!(r#"{{"role":"user","content":"Question {number}"}}"#))
        } else {
            (
                "assistant",
                format!(
                    r#"{{"id":"msg_{number}","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"Answer {number}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
                ),
            )
        };
        text.push_str(&format!(
            r#"{{"type":"{kind}","sessionId":"{id}","uuid":{uuid},"parentUuid":{before},"cwd":"{}","timestamp":"2026-01-01T00:00:00Z","message":{message}}}"#,
            place.work()
        ));
        text.push('\n');
        before = uuid;
    }
    std::fs::write(folder.join(format!("{id}.jsonl")), text).unwrap();
    let mut options = place.options();
    options.cli_config = Some(place.home().join(".claude"));
    let host = Host::open(options).await.unwrap();
    let begun = std::time::Instant::now();
    let info = host.adopt(id, Adoption::Same, &me()).await.unwrap();
    println!("adopting {LINES} lines took {:?}", begun.elapsed());
    let newest = host.transcript(&id_of(&info), None, 10).await.unwrap();
    assert!(texts(&newest).iter().any(|text| text == "Answer 9999"), "{:?}", texts(&newest));
    soon(host.shut_down(Duration::ZERO)).await;
}
