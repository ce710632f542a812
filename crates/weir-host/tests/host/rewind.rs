//! Taking a conversation back, and branches, on the simulated CLI.

use std::time::Duration;

use serde_json::json;
use weir_host::{Actor, Host, HostError, NewMessage, NewSession, Rewind, RewindOutcome, SessionId};
use weir_testkit::{begin_repository, git};
use weir_transcript::{EntryBody, Notice, View};
use weir_wire::MessageId;

use crate::place::{Place, ask, id_of, me, says, script, send, soon};

/// Takes the conversation back to before a message.
fn before(message: &MessageId) -> Rewind {
    Rewind {
        message_id: message.clone(),
        files: false,
        dry_run: false,
        lose_files: false,
        resend: false,
        text: None,
    }
}

async fn rewind(host: &Host, id: &SessionId, rewind: Rewind) -> Result<RewindOutcome, HostError> {
    soon(host.rewind(id, rewind, &me())).await
}

/// A prompt with a word, by which the transcript tells that the model knows it.
fn told(word: &str) -> String {
    format!("word:{word} {}", says(&format!("I know {word}.")))
}

/// Sends messages one after the other. Returns their ids.
async fn talk(host: &Host, id: &SessionId, words: &[&str]) -> Vec<MessageId> {
    let mut ids = Vec::new();
    for word in words {
        let sent = send(host, id, told(word)).await;
        let finished = soon(host.finished(id, &sent.message_id)).await.unwrap();
        assert_eq!(finished.error, None);
        ids.push(sent.message_id);
    }
    ids
}

/// The words that the model knows: those in the transcript of the CLI's session that continues.
async fn known(place: &Place, host: &Host, id: &SessionId) -> Vec<String> {
    let cli = host.info(id).await.unwrap().cli_session_id.expect("a turn has ended since");
    let projects = std::fs::read_dir(place.home().join(".claude/projects")).unwrap();
    let file = projects.map(|folder| folder.unwrap().path().join(format!("{cli}.jsonl")));
    chain(&std::fs::read_to_string(file.into_iter().find(|file| file.exists()).unwrap()).unwrap())
}

/// The words of the user messages from the newest line back to the first.
fn chain(transcript: &str) -> Vec<String> {
    let lines: Vec<serde_json::Value> =
        transcript.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut next = lines.iter().rev().find(|line| line["uuid"].is_string());
    let mut words = Vec::new();
    while let Some(line) = next {
        if line["type"] == "user" {
            let text = line["message"]["content"].to_string();
            words.extend(
                text.split("word:").nth(1).and_then(|rest| rest.split(' ').next()).map(str::to_owned),
            );
        }
        next =
            lines.iter().find(|other| line["parentUuid"].is_string() && other["uuid"] == line["parentUuid"]);
    }
    words.reverse();
    words
}

fn rewound(view: &View) -> Vec<&Notice> {
    let notices = view.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Notice { notice: notice @ Notice::Rewound { .. } } => Some(notice),
        _ => None,
    });
    notices.collect()
}

#[tokio::test]
async fn the_newest_message_is_taken_back() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let ids = talk(&host, &id, &["one", "two"]).await;
    let cli = host.info(&id).await.unwrap().cli_session_id;

    let preview = Rewind { dry_run: true, ..before(&ids[1]) };
    let preview = rewind(&host, &id, preview).await.unwrap();
    assert!(!preview.done && preview.text.starts_with("word:two"), "{preview:?}");
    assert_eq!((preview.forgotten, &preview.newest_message_id), (1, &ids[1]));
    assert!(rewound(&host.view(&id).await.unwrap()).is_empty(), "a preview changes nothing");

    let done = rewind(&host, &id, before(&ids[1])).await.unwrap();
    assert!(done.done && done.text == preview.text);
    let view = host.view(&id).await.unwrap();
    let [Notice::Rewound { message, entry: Some(entry) }] = rewound(&view)[..] else { panic!("{view:?}") };
    assert_eq!(message, &ids[1]);
    assert!(
        matches!(&view.entry(*entry).unwrap().body, EntryBody::User(user) if user.message.as_ref() == Some(message))
    );

    talk(&host, &id, &["three"]).await;
    assert_eq!(known(&place, &host, &id).await, ["one", "three"]);
    assert_ne!(host.info(&id).await.unwrap().cli_session_id, cli, "what was forgotten stays where it is");
    // It was taken back already, and a branch has the conversation as it was.
    let again = rewind(&host, &id, before(&ids[1])).await;
    assert!(matches!(&again, Err(HostError::CannotRewind(why)) if why.contains("branch")), "{again:?}");
    let branch = soon(host.branch_at(&id, ids[1].clone(), None, &me())).await.unwrap();
    let branch = id_of(&branch);
    talk(&host, &branch, &["four"]).await;
    assert_eq!(known(&place, &host, &branch).await, ["one", "two", "four"]);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn an_older_point_needs_another_process_and_the_first_message_a_new_conversation() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let ids = talk(&host, &id, &["one", "two", "three"]).await;
    let cli = host.info(&id).await.unwrap().cli_session_id;

    let done = rewind(&host, &id, before(&ids[1])).await.unwrap();
    assert_eq!((done.forgotten, &done.newest_message_id), (2, &ids[2]));
    assert_eq!(host.info(&id).await.unwrap().cli_session_id, None, "not continued yet");
    talk(&host, &id, &["four"]).await;
    assert_eq!(known(&place, &host, &id).await, ["one", "four"]);
    let info = host.info(&id).await.unwrap();
    assert_ne!(info.cli_session_id, cli);
    assert!(!host.view(&id).await.unwrap().session.forked, "it was asked for");

    // What was forgotten is reached from where it was.
    let branch = id_of(&soon(host.branch_at(&id, ids[2].clone(), None, &me())).await.unwrap());
    talk(&host, &branch, &["five"]).await;
    assert_eq!(known(&place, &host, &branch).await, ["one", "two", "three", "five"]);

    rewind(&host, &id, before(&ids[0])).await.unwrap();
    talk(&host, &id, &["six"]).await;
    assert_eq!(known(&place, &host, &id).await, ["six"]);
    soon(host.shut_down(Duration::ZERO)).await;
}

/// Whatever the CLI had written down: the log says where the next process begins.
#[tokio::test]
async fn a_conversation_that_was_taken_back_stays_so_without_its_process() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let ids = talk(&host, &id, &["one", "two"]).await;
    rewind(&host, &id, before(&ids[1])).await.unwrap();
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);

    let host = place.host().await;
    // A copy of it begins where it would.
    let copy = id_of(&soon(host.fork(&id, None, &me())).await.unwrap());
    for session in [&id, &copy] {
        talk(&host, session, &["three"]).await;
        assert_eq!(known(&place, &host, session).await, ["one", "three"]);
    }
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_message_is_sent_again_as_it_was_or_with_another_text() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    talk(&host, &id, &["one"]).await;
    let image = weir_host::Image { media_type: "image/png".into(), data: vec![1, 2, 3] };
    let message = NewMessage { text: told("two"), images: vec![image.clone()], ..NewMessage::default() };
    let sent = soon(host.send(&id, message, &me())).await.unwrap().message_id;
    soon(host.finished(&id, &sent)).await.unwrap();

    let retry = Rewind { resend: true, ..before(&sent) };
    let again = rewind(&host, &id, retry).await.unwrap().resent_message_id.unwrap();
    soon(host.finished(&id, &again)).await.unwrap();
    assert_eq!(known(&place, &host, &id).await, ["one", "two"]);
    assert_eq!(host.message_pictures(&id, &again).await.unwrap(), [image]);

    let edit = Rewind { resend: true, text: Some(told("three")), ..before(&again) };
    let edited = rewind(&host, &id, edit).await.unwrap().resent_message_id.unwrap();
    soon(host.finished(&id, &edited)).await.unwrap();
    assert_eq!(known(&place, &host, &id).await, ["one", "three"]);
    assert_eq!(host.message_pictures(&id, &edited).await.unwrap().len(), 1);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_refused_and_changes_nothing() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let ids = talk(&host, &id, &["one", "two"]).await;
    let unknown = MessageId::from("8d0e2a4c-0000-4000-8000-000000000000");
    for message in
        [unknown, MessageId::from(""), MessageId::from("../../etc/passwd"), MessageId::from("--help")]
    {
        let refused = rewind(&host, &id, before(&message)).await;
        assert!(matches!(refused, Err(HostError::NoSuchMessage)), "{refused:?}");
    }
    let text = Rewind { text: Some("x".into()), ..before(&ids[1]) };
    assert!(matches!(rewind(&host, &id, text).await, Err(HostError::Invalid(_))));

    let busy = send(&host, &id, script(&json!([{"text": "one two three", "wdelay": 3600}]))).await;
    crate::place::status(&host, &id, weir_host::SessionStatus::Running).await;
    let refused = rewind(&host, &id, before(&ids[1])).await;
    assert!(matches!(refused, Err(HostError::AtWork)), "{refused:?}");
    soon(host.stop(&id, &me())).await.unwrap();
    soon(host.finished(&id, &busy.message_id)).await.unwrap();
    // After a stop it can be.
    rewind(&host, &id, before(&ids[1])).await.unwrap();

    let mut new = NewSession::new(place.work());
    new.spec.no_session_persistence = true;
    let unkept = id_of(&host.create(new, &me()).await.unwrap().session);
    let sent = talk(&host, &unkept, &["one"]).await;
    let refused = rewind(&host, &unkept, before(&sent[0])).await;
    assert!(matches!(refused, Err(HostError::NotKept)), "{refused:?}");
    // A message of another session is none of this one.
    let refused = rewind(&host, &id, before(&sent[0])).await;
    assert!(matches!(refused, Err(HostError::NoSuchMessage)), "{refused:?}");
    soon(host.archive(&id, true)).await.unwrap();
    let refused = soon(host.rewind(&id, before(&ids[0]), &Actor::new("x"))).await;
    assert!(matches!(refused, Err(HostError::Archived)), "{refused:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}

/// A session whose CLI keeps copies of files, and that may change them.
async fn editing(place: &Place, host: &Host) -> SessionId {
    let mut new = NewSession::new(place.work());
    new.spec.allowed_tools = vec!["Write".to_owned(), "Read".to_owned()];
    new.spec.file_checkpointing = true;
    id_of(&host.create(new, &me()).await.unwrap().session)
}

fn writes(place: &Place, name: &str, content: &str) -> String {
    let path = place.directory().join(name);
    script(&json!([
        {"tool": "Read", "input": {"file_path": path}},
        {"tool": "Write", "input": {"file_path": path, "content": content}},
        {"text": "done"},
    ]))
}

#[tokio::test]
async fn files_are_restored_with_the_conversation_and_what_they_held_is_kept() {
    let place = Place::new();
    std::fs::write(place.directory().join("a.txt"), "first\n").unwrap();
    std::fs::write(place.directory().join(".gitignore"), "ignored.txt\n").unwrap();
    begin_repository(&place.directory());
    let host = place.host().await;
    let id = editing(&place, &host).await;
    ask(&host, &id, writes(&place, "a.txt", "second\n")).await;
    let sent = send(&host, &id, writes(&place, "a.txt", "third\n")).await.message_id;
    soon(host.finished(&id, &sent)).await.unwrap();
    let newest = send(&host, &id, writes(&place, "new.txt", "new\n")).await.message_id;
    soon(host.finished(&id, &newest)).await.unwrap();
    let read = |name: &str| std::fs::read_to_string(place.directory().join(name)).ok();

    let preview = Rewind { files: true, dry_run: true, ..before(&sent) };
    let files = rewind(&host, &id, preview).await.unwrap().files.unwrap();
    assert_eq!((files.problem, files.kept), (None, None));
    let mut paths = files.paths;
    paths.sort();
    let path = |name: &str| place.directory().join(name).to_string_lossy().into_owned();
    assert_eq!(paths, [path("a.txt"), path("new.txt")]);
    assert_eq!(read("a.txt").as_deref(), Some("third\n"), "a preview changes nothing");

    let files = rewind(&host, &id, Rewind { files: true, ..before(&sent) }).await.unwrap().files.unwrap();
    assert_eq!((read("a.txt").as_deref(), read("new.txt")), (Some("second\n"), None));
    let kept = files.kept.unwrap();
    let blob = |name: &str| git(&place.directory(), &["cat-file", "blob", &format!("{kept}:{name}")]);
    assert_eq!((blob("a.txt").as_str(), blob("new.txt").as_str()), ("third\n", "new\n"));

    // What git does not keep is only overwritten if that is said.
    let sent = send(&host, &id, writes(&place, "ignored.txt", "mine\n")).await.message_id;
    soon(host.finished(&id, &sent)).await.unwrap();
    let refused = rewind(&host, &id, Rewind { files: true, ..before(&sent) }).await;
    assert!(
        matches!(&refused, Err(HostError::CannotRewind(why)) if why.contains("ignored.txt")),
        "{refused:?}"
    );
    assert_eq!(read("ignored.txt").as_deref(), Some("mine\n"));
    let lose = Rewind { files: true, lose_files: true, ..before(&sent) };
    let files = rewind(&host, &id, lose).await.unwrap().files.unwrap();
    assert_eq!((files.unkept, read("ignored.txt")), (vec![path("ignored.txt")], None));
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_session_without_copies_says_so_before_anything_changes() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let ids = talk(&host, &id, &["one", "two"]).await;
    let preview = Rewind { files: true, dry_run: true, ..before(&ids[1]) };
    let files = rewind(&host, &id, preview).await.unwrap().files.unwrap();
    assert!(files.problem.is_some_and(|problem| problem.contains("not enabled")));
    let refused = rewind(&host, &id, Rewind { files: true, ..before(&ids[1]) }).await;
    assert!(matches!(refused, Err(HostError::CannotRewind(_))), "{refused:?}");
    talk(&host, &id, &["three"]).await;
    assert_eq!(known(&place, &host, &id).await, ["one", "two", "three"]);
    soon(host.shut_down(Duration::ZERO)).await;
}

/// The same on the real CLI: the newest message, an older one with files, and the first one.
#[tokio::test]
async fn a_real_cli_takes_a_conversation_and_files_back() {
    let mut clis = weir_testkit::real::RealCli::required();
    clis.sort_by_key(|cli| cli.version);
    let Some(newest) = clis.pop() else { return };
    let (host, place, _api) = crate::real::host_on(newest, |_| {}).await;
    let file = place.directory().join("a.txt");
    std::fs::write(&file, "first\n").unwrap();
    begin_repository(&place.directory());
    let mut new = NewSession::new(place.directory().to_string_lossy());
    new.spec.allowed_tools = vec!["Write".to_owned(), "Read".to_owned()];
    new.spec.file_checkpointing = true;
    let id = id_of(&host.create(new, &me()).await.unwrap().session);
    let mut ids = talk(&host, &id, &["one"]).await;
    let write = script(&json!([
        {"tool": "Read", "input": {"file_path": &file}},
        {"tool": "Write", "input": {"file_path": &file, "content": "second\n"}},
        {"text": "done"},
    ]));
    let sent = send(&host, &id, format!("word:two {write}")).await.message_id;
    soon(host.finished(&id, &sent)).await.unwrap();
    ids.push(sent);
    ids.extend(talk(&host, &id, &["three"]).await);
    let real_chain = async |id: &SessionId| {
        let cli = host.info(id).await.unwrap().cli_session_id.unwrap();
        let projects = std::fs::read_dir(place.home().join(".claude/projects")).unwrap();
        let mut files = projects.map(|folder| folder.unwrap().path().join(format!("{cli}.jsonl")));
        chain(&std::fs::read_to_string(files.find(|file| file.exists()).unwrap()).unwrap())
    };

    let cli = host.info(&id).await.unwrap().cli_session_id;
    rewind(&host, &id, before(&ids[2])).await.unwrap();
    talk(&host, &id, &["four"]).await;
    assert_eq!(real_chain(&id).await, ["one", "two", "four"]);
    assert_ne!(host.info(&id).await.unwrap().cli_session_id, cli, "what was forgotten stays where it is");

    let files = Rewind { files: true, ..before(&ids[1]) };
    let done = rewind(&host, &id, files).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first\n", "{done:?}");
    let kept = done.files.unwrap().kept.unwrap();
    assert_eq!(git(&place.directory(), &["cat-file", "blob", &format!("{kept}:a.txt")]), "second\n");
    talk(&host, &id, &["five"]).await;
    assert_eq!(real_chain(&id).await, ["one", "five"]);

    let branch = id_of(&soon(host.branch_at(&id, ids[2].clone(), None, &me())).await.unwrap());
    talk(&host, &branch, &["six"]).await;
    assert_eq!(real_chain(&branch).await, ["one", "two", "three", "six"]);

    rewind(&host, &id, before(&ids[0])).await.unwrap();
    talk(&host, &id, &["seven"]).await;
    assert_eq!(real_chain(&id).await, ["seven"]);
    soon(host.shut_down(Duration::ZERO)).await;
}
