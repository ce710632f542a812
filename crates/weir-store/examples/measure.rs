//! Measures the store on the disk of a folder: `cargo run --release -p weir-store --example measure [FOLDER]`.

#![expect(clippy::print_stdout, reason = "this is a program that prints what it measured")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_base::time::now_ms;
use weir_store::{
    Append, Durability, ListQuery, Log, NewEvent, NewStoredSession, ReadQuery, SearchQuery, SessionId,
    SqliteOptions, SqliteStore, Store, StoreError,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

const WORDS: [&str; 12] = [
    "parser", "session", "stream", "token", "commit", "buffer", "window", "thread", "socket", "folder",
    "result", "queue",
];

fn main() -> Outcome<()> {
    let folder = match std::env::args_os().nth(1) {
        Some(folder) => tempfile::tempdir_in(PathBuf::from(folder))?,
        None => tempfile::tempdir()?,
    };
    for durability in [Durability::Synced, Durability::Process] {
        println!("{durability:?}");
        let file = folder.path().join(format!("{durability:?}.db"));
        appends(&open(&file, durability)?)?;
    }
    println!("100,000 events with text");
    large(&open(&folder.path().join("large.db"), Durability::Synced)?)
}

fn open(file: &Path, durability: Durability) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(file, &SqliteOptions { durability, ..SqliteOptions::default() })
}

fn create(store: &dyn Store) -> Result<SessionId, StoreError> {
    let id = SessionId::random();
    store.create(NewStoredSession::new(id.clone(), now_ms())).wait()?;
    Ok(id)
}

/// About 600 bytes, the size of a typical CLI line.
fn event(number: u64) -> NewEvent {
    let word = |shift: u32| {
        let place = usize::try_from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift).unwrap_or(0);
        WORDS.get(place % WORDS.len()).copied().unwrap_or_default()
    };
    let words: Vec<_> = (3..53).map(word).collect();
    let text = format!("number{number} {}", words.join(" "));
    let payload = format!("{{\"type\":\"assistant\",\"number\":{number},\"padding\":\"{text:0<560}\"}}");
    NewEvent { search_text: Some(text), ..NewEvent::new(now_ms(), "line", payload.into_bytes()) }
}

fn silent(number: u64) -> NewEvent {
    NewEvent { search_text: None, ..event(number) }
}

fn report(what: &str, count: u64, time: Duration) {
    let each = time.as_secs_f64() * 1e6 / count as f64;
    println!("  {what:<58} {:>9.0} /s {each:>9.1} µs each", 1e6 / each);
}

fn appends(store: &SqliteStore) -> Outcome<()> {
    let one = create(store)?;
    let append = |events| store.append(Append::new(one.clone(), events));
    let start = Instant::now();
    for number in 0..500 {
        append(vec![silent(number)]).wait()?;
    }
    report("events, one at a time, each waited for", 500, start.elapsed());

    paced(store, &one)?;

    let start = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..32)
            .map(|thread| {
                scope.spawn(move || -> Result<(), StoreError> {
                    let one = create(store)?;
                    for number in 0..100 {
                        store.append(Append::new(one.clone(), vec![silent(thread * 100 + number)])).wait()?;
                    }
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err(StoreError::Closed)))
    })?;
    report("events, one at a time, in 32 sessions at once", 3_200, start.elapsed());

    let start = Instant::now();
    let replies: Vec<_> = (0..50_000).map(|number| append(vec![silent(number)])).collect();
    replies.into_iter().try_for_each(|reply| reply.wait().map(drop))?;
    report("events, one at a time, not waited for until the end", 50_000, start.elapsed());

    let start = Instant::now();
    for batch in 0..500 {
        append((0..100).map(|number| silent(batch * 100 + number)).collect()).wait()?;
    }
    report("events, 100 at a time, each hundred waited for", 50_000, start.elapsed());

    let start = Instant::now();
    for batch in 0..100 {
        append((0..100).map(|number| event(batch * 100 + number)).collect()).wait()?;
    }
    report("the same with text to search", 10_000, start.elapsed());
    Ok(())
}

/// Paced like a live session, so the CPU caches are cold again by the next write.
#[expect(clippy::disallowed_methods, reason = "a steady pace is what is wanted here")]
fn paced(store: &SqliteStore, one: &SessionId) -> Outcome<()> {
    let mut times = Vec::new();
    for number in 0..600 {
        std::thread::sleep(Duration::from_millis(5));
        let event = event(number);
        let start = Instant::now();
        store.append(Append::new(one.clone(), vec![event])).wait()?;
        times.push(start.elapsed());
    }
    times.sort();
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default().as_micros();
    println!("  {:<58} {:>9} µs p50 {:>9} µs p99", "events with text, 200 a second", at(50), at(99));
    Ok(())
}

fn timed<T>(what: &str, call: impl Fn() -> Result<T, StoreError>) -> Outcome<T> {
    let mut times = Vec::new();
    let mut value = call()?;
    for _ in 0..21 {
        let start = Instant::now();
        value = call()?;
        times.push(start.elapsed());
    }
    times.sort();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!("  {what:<58} {:>9.2} ms", median.as_secs_f64() * 1e3);
    Ok(value)
}

fn large(store: &SqliteStore) -> Outcome<()> {
    let sessions = (0..100).map(|_| create(store)).collect::<Result<Vec<_>, _>>()?;
    let one = create(store)?;
    for (place, id) in sessions.iter().enumerate() {
        let events = (0..500).map(|number| event(place as u64 * 500 + number)).collect();
        store.append(Append::new(id.clone(), events)).wait()?;
    }
    for batch in 0..100 {
        let events = (0..500).map(|number| event(50_000 + batch * 500 + number)).collect();
        store.append(Append::new(one.clone(), events)).wait()?;
    }
    println!("  the file has {:.1} MB", std::fs::metadata(store.path())?.len() as f64 / 1e6);
    for (what, text) in [
        ("search: a word in one event", "number77777 "),
        ("search: the beginning of a word, in 1,111 events", "number55"),
        ("search: a word in nearly all events", "parser "),
        ("search: two such words as a phrase", "\"parser session\""),
        ("search: the beginning of a word, in nearly all events", "se"),
    ] {
        timed(what, || store.search(SearchQuery::new(text)).wait())?;
    }
    timed("search: a word in one session of 50,000 events", || {
        store.search(SearchQuery { session: Some(one.clone()), ..SearchQuery::new("parser ") }).wait()
    })?;
    timed("the newest 500 events", || store.read(ReadQuery::newest(one.clone())).wait())?;
    timed("500 events from the middle", || store.read(ReadQuery::after(one.clone(), 25_000)).wait())?;
    timed("one event", || store.event(one.clone(), 25_000).wait())?;
    timed("the list of sessions", || store.list(ListQuery::default()).wait())?;

    let start = Instant::now();
    store.delete(one).wait()?;
    println!("  {:<58} {:>9.2} ms", "deleting 50,000 events", start.elapsed().as_secs_f64() * 1e3);
    let mut slowest = Duration::ZERO;
    for number in 0..100 {
        let id = sessions.first().ok_or(StoreError::Closed)?.clone();
        let start = Instant::now();
        store.append(Append::new(id, vec![silent(number)])).wait()?;
        slowest = slowest.max(start.elapsed());
    }
    println!("  {:<58} {:>9.2} ms", "slowest of 100 appends after it", slowest.as_secs_f64() * 1e3);
    Ok(())
}
