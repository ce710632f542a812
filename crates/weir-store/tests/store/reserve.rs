//! A disk that is really full: what is refused and reported, what still works, and how it recovers.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_store::{
    Append, Durability, ListQuery, Log, Lookup, NewStoredSession, SearchQuery, SessionId, SessionUpdate,
    Space, SqliteOptions, SqliteStore, Store, StoreError,
};

use crate::small_disk::{self, available, empty, fill};
use crate::support::{create, event, id, searchable, until, whole_log};

const RESERVE: u64 = 2 << 20;

fn open(disk: &Path) -> Result<SqliteStore, StoreError> {
    let options =
        SqliteOptions { durability: Durability::Process, reserve: RESERVE, ..SqliteOptions::default() };
    SqliteStore::open(disk.join("data/weir.db"), &options)
}

/// Appends until it is refused; returns the number of events.
fn append_until_full(store: &dyn Store, session: &SessionId) -> u64 {
    let text = "words ".repeat(3_000);
    loop {
        match store.append(Append::new(session.clone(), vec![searchable(&text)])).wait() {
            Ok(_) => {}
            Err(StoreError::Full(_)) => return whole_log(store, session).len() as u64,
            Err(error) => panic!("{error}"),
        }
    }
}

fn essential(session: &SessionId) -> Append {
    Append { essential: true, ..Append::new(session.clone(), vec![event("the end")]) }
}

fn is_full(store: &dyn Store) -> bool {
    matches!(store.space(), Space::Full { .. })
}

#[test]
fn essential_writes_succeed_and_everything_else_is_refused() {
    let Some(disk) = small_disk::mounted() else {
        return small_disk::run("reserve::essential_writes_succeed_and_everything_else_is_refused", 32);
    };
    let store = open(&disk).unwrap();
    let (one, two) = (create(&store, "one"), create(&store, "two"));
    assert!(!is_full(&store));
    fill(&disk, 12 << 20);
    append_until_full(&store, &one);
    fill(&disk, 0);
    let stored = append_until_full(&store, &one);
    assert!(stored > 100);
    let Space::Full { advice } = store.space() else { panic!("the full disk is not reported") };
    assert!(advice.contains("delete sessions") && advice.contains("MiB"), "{advice}");
    // Refused without an attempt, and nothing is stored.
    assert!(matches!(store.create(NewStoredSession::new(id("new"), 1)).wait(), Err(StoreError::Full(_))));
    assert!(matches!(
        store.append(Append::new(two.clone(), vec![event("x")])).wait(),
        Err(StoreError::Full(_))
    ));
    // Essential writes succeed, even if another program takes the rest.
    for _ in 0..20 {
        fill(&disk, 0);
        store.append(essential(&one)).wait().unwrap();
    }
    let archived = SessionUpdate { archived: Some(true), ..SessionUpdate::default() };
    assert!(store.update(two.clone(), archived).wait().unwrap().archived);
    // Everything can be read, and indexed texts are found.
    assert_eq!(whole_log(&store, &one).len() as u64, stored + 20);
    assert_eq!(store.list(ListQuery::default()).wait().unwrap().sessions.len(), 1);
    store.search(SearchQuery::new("words")).wait().unwrap();
    assert!(is_full(&store));
    empty(&disk);
    until("space is noticed", || !is_full(&store));
    assert_eq!(store.usage().wait().unwrap().reserve, RESERVE, "the reserve is allocated again");
    store.append(Append::new(two, vec![event("x")])).wait().unwrap();
    store.check().wait().unwrap();
}

#[test]
fn a_full_disk_is_reported_before_a_write_fails() {
    let Some(disk) = small_disk::mounted() else {
        return small_disk::run("reserve::a_full_disk_is_reported_before_a_write_fails", 16);
    };
    let store = open(&disk).unwrap();
    let one = create(&store, "one");
    assert!(!is_full(&store));
    fill(&disk, 0);
    assert!(is_full(&store));
    store.append(essential(&one)).wait().unwrap();
    empty(&disk);
    until("space is noticed", || !is_full(&store));
    store.append(Append::new(one, vec![event("x")])).wait().unwrap();
}

#[test]
fn a_deletion_makes_room_on_the_disk() {
    let Some(disk) = small_disk::mounted() else {
        return small_disk::run("reserve::a_deletion_makes_room_on_the_disk", 32);
    };
    let store = open(&disk).unwrap();
    let (one, two) = (create(&store, "one"), create(&store, "two"));
    store.append(Append::new(two.clone(), vec![searchable("stays")])).wait().unwrap();
    append_until_full(&store, &one);
    fill(&disk, 0);
    assert!(store.delete(one.clone()).wait().unwrap());
    until("there is space again", || !is_full(&store));
    until("it is returned to the disk", || available(&disk) > 16 << 20);
    assert_eq!(store.find(Lookup::Id(one)).wait().unwrap(), None);
    assert_eq!(whole_log(&store, &two), [b"stays"]);
    assert_eq!(store.search(SearchQuery::new("stays")).wait().unwrap().len(), 1);
    assert!(store.search(SearchQuery::new("words")).wait().unwrap().is_empty());
    store.create(NewStoredSession::new(id("new"), 1)).wait().unwrap();
    store.check().wait().unwrap();
}

/// What the store gives up of its reserve to tidy up, another program may take first.
#[test]
fn a_program_that_keeps_filling_the_disk_does_not_prevent_a_deletion() {
    let Some(disk) = small_disk::mounted() else {
        return small_disk::run(
            "reserve::a_program_that_keeps_filling_the_disk_does_not_prevent_a_deletion",
            32,
        );
    };
    let store = open(&disk).unwrap();
    let text = "words ".repeat(3_000);
    for round in 0..4 {
        let one = create(&store, &format!("one-{round}"));
        let append = || store.append(Append::new(one.clone(), vec![searchable(&text)])).wait();
        for _ in 0..300 + 13 * round {
            append().unwrap();
        }
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    fill(&disk, 0);
                }
            });
            while append().is_ok() {}
            // For longer than it takes until the store tidies up again.
            let end = Instant::now() + Duration::from_millis(1_500);
            until("a while has passed", || Instant::now() > end);
            is_over.store(true, Ordering::Relaxed);
        });
        let reserve = store.usage().wait().unwrap().reserve;
        assert!(reserve >= RESERVE / 2, "round {round}: {reserve} bytes are left of the reserve");
        assert!(store.delete(one).wait().unwrap(), "round {round}");
        until("there is space again", || !is_full(&store));
        empty(&disk);
    }
    store.check().wait().unwrap();
}

#[test]
fn in_a_file_from_an_older_version_a_deletion_makes_room_inside() {
    let Some(disk) = small_disk::mounted() else {
        return small_disk::run("reserve::in_a_file_from_an_older_version_a_deletion_makes_room_inside", 32);
    };
    drop(open(&disk).unwrap());
    let old = rusqlite::Connection::open(disk.join("data/weir.db")).unwrap();
    old.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM;").unwrap();
    drop(old);
    let store = open(&disk).unwrap();
    let (one, two) = (create(&store, "one"), create(&store, "two"));
    append_until_full(&store, &one);
    fill(&disk, 0);
    append_until_full(&store, &one);
    store.delete(one).wait().unwrap();
    let text = "y".repeat(20_000);
    for _ in 0..100 {
        until("there is space inside", || {
            store.append(Append::new(two.clone(), vec![event(&text)])).wait().is_ok()
        });
    }
    assert_eq!(whole_log(&store, &two).len(), 100);
    store.check().wait().unwrap();
}

#[test]
fn it_opens_on_a_full_disk_and_reports_it() {
    let Some(disk) = small_disk::mounted() else {
        return small_disk::run("reserve::it_opens_on_a_full_disk_and_reports_it", 32);
    };
    let store = open(&disk).unwrap();
    let one = create(&store, "one");
    let stored = append_until_full(&store, &one);
    drop(store);
    for _ in 0..4 {
        fill(&disk, 0);
        assert_eq!(available(&disk), 0);
        let store = open(&disk).unwrap();
        assert!(is_full(&store));
        assert_eq!(whole_log(&store, &one).len() as u64, stored);
    }
    fill(&disk, 0);
    let store = open(&disk).unwrap();
    store.delete(one).wait().unwrap();
    empty(&disk);
    until("there is space again", || !is_full(&store));
    store.create(NewStoredSession::new(id("new"), 1)).wait().unwrap();
}

#[test]
fn without_a_reserve_a_full_disk_is_reported_and_space_is_noticed() {
    let Some(disk) = small_disk::mounted() else {
        return small_disk::run(
            "reserve::without_a_reserve_a_full_disk_is_reported_and_space_is_noticed",
            16,
        );
    };
    let store = SqliteStore::open(disk.join("weir.db"), &SqliteOptions::default()).unwrap();
    let one = create(&store, "one");
    fill(&disk, 0);
    append_until_full(&store, &one);
    assert!(is_full(&store));
    let closed = SqliteStore::open(disk.join("other.db"), &SqliteOptions::default());
    assert!(matches!(closed, Err(StoreError::Full(_) | StoreError::Io { .. })), "{closed:?}");
    empty(&disk);
    until("space is noticed", || !is_full(&store));
    store.append(Append::new(one, vec![event("x")])).wait().unwrap();
}

/// Writes until it is killed, while the disk is full most of the time. Prints what was acknowledged.
#[test]
fn child() {
    let (Some(disk), Ok(round)) = (small_disk::mounted(), std::env::var("WEIR_STORE_ROUND")) else { return };
    let round: u64 = round.parse().unwrap();
    let store = open(&disk).unwrap();
    let one = id("one");
    if store.find(Lookup::Id(one.clone())).wait().unwrap().is_none() {
        create(&store, "one");
    }
    let mut random = weir_testkit::Random::new(round);
    loop {
        let append = if random.below(3) == 0 {
            essential(&one)
        } else {
            Append::new(one.clone(), vec![event(&"x".repeat(random.below(40_000) as usize))])
        };
        match store.append(append).wait() {
            Ok(appended) => {
                use std::io::Write as _;
                let line = format!("ack {}\n", appended.newest);
                if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
                    return;
                }
            }
            Err(StoreError::Full(_)) => {
                if random.below(2) == 0 && disk.join("filler").exists() {
                    // Some of it becomes free for a while.
                    weir_testkit::small_disk::drain(&disk, random.below(4 << 20)).unwrap();
                } else {
                    fill(&disk, 0);
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn killed_while_full_it_reopens_with_everything_acknowledged() {
    use std::io::{BufRead as _, BufReader};

    let Some(disk) = small_disk::mounted() else {
        return small_disk::run("reserve::killed_while_full_it_reopens_with_everything_acknowledged", 24);
    };
    let mut acknowledged = 0;
    for round in 0..8_u64 {
        if round % 2 == 1 {
            fill(&disk, 0);
        }
        #[expect(clippy::disallowed_methods, reason = "the test kills a child of its own and reaps it")]
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "reserve::child", "--nocapture", "--test-threads=1"])
            .env("WEIR_STORE_ROUND", round.to_string())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut lines =
            lines.filter_map(|line| line.split_once("ack ").map(|(_, seq)| seq.parse::<u64>().unwrap()));
        for _ in 0..(round * 37) % 90 + 10 {
            acknowledged = lines.next().expect("the child writes until it is killed");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged = lines.last().unwrap_or(acknowledged);
        let store = open(&disk).unwrap();
        store.check().wait().unwrap();
        assert!(whole_log(&store, &id("one")).len() as u64 >= acknowledged);
    }
}
