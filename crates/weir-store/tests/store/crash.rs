//! A process that is killed loses nothing that was acknowledged.
//!
//! The test starts itself again as a child that appends and prints what was acknowledged, and kills it after a number
//! of lines that depends on the seed.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use weir_store::{Append, Lookup, NewEvent, NewStoredSession, SearchQuery, SessionId, Store};
use weir_testkit::Random;

use crate::support::{id, open, open_unsynced, whole_log};

const FOLDER: &str = "WEIR_STORE_CRASH_FOLDER";
const SEED: &str = "WEIR_STORE_CRASH_SEED";
const WRITERS: u64 = 4;
const ROUNDS: u64 = 12;

/// The payload of event `seq` of a session: shows whether the event is complete.
fn payload(session: &str, seq: u64) -> Vec<u8> {
    let mut random = Random::new(seq);
    let length = if random.below(50) == 0 { 200_000 } else { random.below(2_000) };
    let mut text = format!("{session} {seq} ");
    while (text.len() as u64) < length {
        text.push(char::from(b'a' + u8::try_from(random.below(26)).unwrap()));
    }
    text.into_bytes()
}

fn writer_id(writer: u64) -> SessionId {
    id(&format!("writer-{writer}"))
}

/// Not a test by itself: without a folder it does nothing.
#[test]
fn child() {
    let (Some(folder), Ok(seed)) = (std::env::var_os(FOLDER), std::env::var(SEED)) else { return };
    let seed: u64 = seed.parse().unwrap();
    // A kill loses nothing with either durability; only a power loss would.
    let store =
        if seed.is_multiple_of(2) { open(Path::new(&folder)) } else { open_unsynced(Path::new(&folder)) };
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = &store;
            scope.spawn(move || write_forever(store, writer, seed));
        }
    });
}

fn write_forever(store: &dyn Store, writer: u64, seed: u64) {
    let session = writer_id(writer);
    let newest = match store.find(Lookup::Id(session.clone())).wait().unwrap() {
        Some(facts) => facts.newest,
        None => store.create(NewStoredSession::new(session.clone(), 1)).wait().unwrap().newest,
    };
    let mut random = Random::new(seed * WRITERS + writer);
    let mut next = newest + 1;
    loop {
        let count = 1 + random.below(8);
        let events = (next..next + count).map(|seq| NewEvent {
            client_id: Some(format!("m{seq}")),
            search_text: Some(format!("word{seq}")),
            ..NewEvent::new(1, "line", payload(session.as_str(), seq))
        });
        let stored = store.append(Append::new(session.clone(), events.collect())).wait().unwrap();
        next += count;
        assert_eq!(stored.newest, next - 1);
        // One call, so that the line is complete or missing.
        let line = format!("ack {session} {}\n", stored.newest);
        if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}

fn start_child(folder: &Path, seed: u64) -> Child {
    #[expect(clippy::disallowed_methods, reason = "the test kills a child of its own and reaps it")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "crash::child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged: HashMap<String, u64> = HashMap::new();
    for seed in 0..ROUNDS {
        let mut child = start_child(folder.path(), seed);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut random = Random::new(seed);
        let mut note = |line: String| {
            let Some((_, ack)) = line.split_once("ack ") else { return false };
            let (session, seq) = ack.split_once(' ').unwrap();
            acknowledged.insert(session.to_owned(), seq.parse().unwrap());
            true
        };
        let mut left = random.below(120);
        while left > 0 {
            if note(lines.next().expect("the child writes until it is killed")) {
                left -= 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Acknowledgements sent before it died count, too.
        lines.for_each(|line| {
            note(line);
        });
        check(folder.path(), &acknowledged);
    }
    assert_eq!(acknowledged.len() as u64, WRITERS);
}

fn check(folder: &Path, acknowledged: &HashMap<String, u64>) {
    let store = open(folder);
    store.check().wait().unwrap();
    for (session, seq) in acknowledged {
        let log = whole_log(&store, &id(session));
        assert!(log.len() as u64 >= *seq, "{session}: {seq} acknowledged, {} there", log.len());
        for (place, stored) in log.iter().enumerate() {
            assert!(*stored == payload(session, place as u64 + 1), "{session} {place} is incomplete");
        }
        let last =
            SearchQuery { session: Some(id(session)), ..SearchQuery::new(format!("\"word{}\"", log.len())) };
        assert_eq!(store.search(last).wait().unwrap().len(), usize::from(!log.is_empty()));
    }
}
