//! A disk that fills and empties under a store, and a program that is killed while the disk is full.
//!
//! Each round runs a separate program in a namespace with a small disk: it opens the store, writes and deletes as
//! determined by a seed, takes space away and frees it, and prints what was acknowledged. It is killed after a while,
//! and what it left is checked: everything acknowledged must be there and complete, and the file must be sound. Then
//! space is freed, and the store must notice.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use weir_store::{
    Append, Durability, Log, Lookup, NewEvent, NewStoredSession, ReadQuery, SessionId, Space, SqliteOptions,
    SqliteStore, Store, StoreError,
};
use weir_testkit::{Random, small_disk};

use crate::tally::Tally;

/// First argument of the program that plays a disk, and of the one that is killed.
pub const DISK: &str = "small-disk";
const WRITER: &str = "writer";
/// Size of the disk in MiB.
const SIZE: u64 = 24;
const RESERVE: u64 = 1 << 20;
/// How often the writer is killed.
const KILLS: u64 = 3;
/// Number of sessions the writer works on.
const CONVERSATIONS: u64 = 3;
/// Longer than anything takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// Plays the disk scenario of a seed, in a separate program (`program` is `weir-soak`) with a disk mounted on the
/// folder. Blocks.
///
/// # Errors
/// The first violation found.
pub fn play(program: &Path, folder: &Path, seed: u64) -> Result<Tally, String> {
    let failed = |error: std::io::Error| format!("the disk cannot be played: {error}");
    let mut command = small_disk::again_as(program, folder, SIZE, &[DISK, &seed.to_string()]);
    let output = command.output().map_err(failed)?;
    if output.status.success() {
        return Ok(Tally { disks: 1, ..Tally::default() });
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("a disk that fills and empties: {}{}", text(&output.stdout), text(&output.stderr)))
}

/// What [`play`] starts: `small-disk SEED`, or `small-disk writer SEED`.
///
/// # Errors
/// The first violation found.
pub fn run(words: &[String]) -> Result<(), String> {
    let disk = small_disk::mounted().ok_or("no disk is mounted")?;
    match words {
        [word, seed] if word == WRITER => write(&disk, number(seed)?),
        [seed] => rounds(&disk, number(seed)?),
        _ => Err("a seed is needed".to_owned()),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}

fn open(disk: &Path) -> Result<SqliteStore, String> {
    let options =
        SqliteOptions { durability: Durability::Process, reserve: RESERVE, ..SqliteOptions::default() };
    SqliteStore::open(database(disk), &options).map_err(|error| error.to_string())
}

fn database(disk: &Path) -> PathBuf {
    disk.join("data").join("weir.db")
}

fn id(number: u64) -> Result<SessionId, String> {
    format!("conversation-{number}").parse().map_err(|error: StoreError| error.to_string())
}

/// The payload of an event, which shows whether the event is complete.
fn payload(seq: u64) -> Vec<u8> {
    let length = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 30_000;
    format!("{seq} {}", "x".repeat(usize::try_from(length).unwrap_or(0))).into_bytes()
}

/// The rounds of one seed.
fn rounds(disk: &Path, seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut acknowledged: BTreeMap<String, u64> = BTreeMap::new();
    for round in 0..KILLS {
        let lines = 5 + random.number() % 120;
        kill_after(lines, seed.wrapping_mul(KILLS).wrapping_add(round), &mut acknowledged)?;
        look(disk, &acknowledged)?;
    }
    // With space available everything works again, without reopening.
    let store = open(disk)?;
    let _nothing_was_taken = small_disk::empty(disk);
    if let Some((name, _)) = acknowledged.first_key_value() {
        let id: SessionId = name.parse().map_err(|error: StoreError| error.to_string())?;
        store.delete(id).wait().map_err(|error| format!("a deletion: {error}"))?;
    }
    let started = Instant::now();
    while store.space() != Space::Enough {
        if started.elapsed() > DEADLINE {
            return Err("the disk has space again, but the store does not notice".to_owned());
        }
        std::thread::yield_now();
    }
    let new = NewStoredSession::new(SessionId::random(), 1);
    store.create(new).wait().map(drop).map_err(|error| format!("the disk has space, but: {error}"))
}

/// Starts a writer and kills it after this many lines of its output.
fn kill_after(lines: u64, seed: u64, acknowledged: &mut BTreeMap<String, u64>) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let program = std::env::current_exe().map_err(failed)?;
    #[expect(clippy::disallowed_methods, reason = "it kills a program of its own and reaps it")]
    let mut child = std::process::Command::new(program)
        .args([DISK, WRITER, &seed.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut output_lines = BufReader::new(child.stdout.take().ok_or("it has no output")?).lines();
    let mut note = |line: &str| {
        if let Some((name, seq)) = line.split_once(' ')
            && let Ok(seq) = seq.parse()
        {
            acknowledged.insert(name.to_owned(), seq);
        }
    };
    let mut count = 0;
    while count < lines
        && let Some(line) = output_lines.next()
    {
        note(&line.map_err(failed)?);
        count += 1;
    }
    child.kill().map_err(failed)?;
    // Acknowledgements sent before it died count, too.
    output_lines.map_while(Result::ok).for_each(|line| note(&line));
    let mut errors = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _unreadable = stderr.read_to_string(&mut errors);
    }
    child.wait().map_err(failed)?;
    if count < lines { Err(format!("the writer ended by itself: {errors}")) } else { Ok(()) }
}

/// Checks that everything acknowledged is there, and the file is sound.
fn look(disk: &Path, acknowledged: &BTreeMap<String, u64>) -> Result<(), String> {
    let store = open(disk).map_err(|error| format!("the store cannot be opened after a kill: {error}"))?;
    for (name, newest) in acknowledged {
        let id: SessionId = name.parse().map_err(|error: StoreError| error.to_string())?;
        let mut seen = 0;
        loop {
            let page = store.read(ReadQuery::after(id.clone(), seen)).wait();
            let page = page.map_err(|error| format!("{name} cannot be read: {error}"))?;
            for event in &page.events {
                seen += 1;
                if event.seq != seen || event.payload != payload(seen) {
                    return Err(format!("event {seen} of {name} is not what was written"));
                }
            }
            if !page.more {
                break;
            }
        }
        if seen < *newest {
            return Err(format!("{newest} events of {name} were acknowledged, but only {seen} are there"));
        }
    }
    drop(store);
    let report = weir_store::check_file(&database(disk)).map_err(|error| error.to_string())?;
    if report.problems.is_empty() { Ok(()) } else { Err(format!("{:?}", report.problems)) }
}

/// Writes until it is killed, and prints what was acknowledged.
fn write(disk: &Path, seed: u64) -> Result<(), String> {
    let store = open(disk)?;
    let mut random = Random::new(seed);
    loop {
        let id = id(random.number() % CONVERSATIONS)?;
        match step(&store, &id, &mut random) {
            Ok(newest) => {
                let line = format!("{id} {newest}\n");
                std::io::stdout().lock().write_all(line.as_bytes()).map_err(|error| error.to_string())?;
            }
            Err(StoreError::Full(_)) => {
                let changed = if random.number().is_multiple_of(3) {
                    small_disk::drain(disk, random.number() % (6 << 20))
                } else {
                    small_disk::fill(disk, 0)
                };
                // There may be nothing to free.
                let _as_it_was = changed;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn step(store: &SqliteStore, id: &SessionId, random: &mut Random) -> Result<u64, StoreError> {
    let newest = match store.find(Lookup::Id(id.clone())).wait()? {
        Some(facts) => facts.newest,
        None => store.create(NewStoredSession::new(id.clone(), 1)).wait()?.newest,
    };
    let event = NewEvent::new(1, "line", payload(newest + 1));
    let essential = random.number().is_multiple_of(4);
    let append = Append { essential, ..Append::new(id.clone(), vec![event]) };
    Ok(store.append(append).wait()?.newest)
}
