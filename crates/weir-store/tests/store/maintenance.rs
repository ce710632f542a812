//! Maintenance by a person: check the file, back it up, restore a backup, make it smaller.

use std::fs;
use std::path::Path;

use weir_store::{
    Append, Checkpoint, Cursor, Log, Lookup, Resume, Store, StoreError, back_up, check_file, compact, restore,
};

use crate::small_disk::{self, fill};
use crate::support::{append, create, event, id, open, open_unsynced, searchable, whole_log};

fn filled(folder: &Path) -> u64 {
    let store = open_unsynced(folder);
    let (one, two) = (create(&store, "one"), create(&store, "two"));
    for number in 0..50 {
        let named = weir_store::NewEvent {
            client_id: Some(format!("client {number}")),
            labels: vec!["label".to_owned()],
            ..searchable(&format!("text {number} {}", "x".repeat(5_000)))
        };
        store.append(Append::new(one.clone(), vec![named])).wait().unwrap();
    }
    let checkpoint = Checkpoint { seq: 20, version: "1".to_owned(), mark: 1, data: vec![1; 100] };
    store.save_checkpoint(one, checkpoint).wait().unwrap();
    append(&store, &two, &["a", "b"])
}

fn problems(path: &Path) -> Vec<String> {
    check_file(path).unwrap().problems
}

#[test]
fn a_sound_file_passes_the_check_during_writes() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let path = folder.path().join("weir.db");
    let store = open_unsynced(folder.path());
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for _ in 0..200 {
                append(&store, &id("one"), &["more"]);
            }
        });
        while !writing.is_finished() {
            assert_eq!(problems(&path), Vec::<String>::new());
        }
    });
    let report = check_file(&path).unwrap();
    assert_eq!((report.sessions, report.events, report.format), (2, 252, report.newest_format));
}

#[test]
fn each_broken_rule_is_reported() {
    for (harm, expected) in [
        ("DELETE FROM event WHERE place & 0xff = 7", "has 49 events"),
        ("UPDATE conversation SET bytes = bytes + 1 WHERE id = 'one'", "the facts about one"),
        ("INSERT INTO event VALUES ((77 << 36) + 1, 1, 'line', NULL, x'00')", "belongs to no session"),
        ("UPDATE client SET seq = 3 WHERE client_id = 'client 30'", "leads to event 3"),
        ("UPDATE label SET place = place + 1000 WHERE place & 0xff = 5", "the label"),
        ("INSERT INTO search (rowid, text) VALUES ((1 << 36) + 999, 'x')", "a text in the index"),
        ("INSERT INTO text VALUES ((1 << 36) + 999, 'x')", "a text belongs to a missing event"),
        (
            "DELETE FROM unindexed; INSERT INTO search (search) VALUES ('delete-all')",
            "neither in the index nor waiting",
        ),
        (
            "INSERT INTO search (rowid, text) VALUES ((1 << 36) + 999, 'x')",
            "an entry of the index has no text",
        ),
        ("INSERT INTO search (rowid, text) SELECT place, text FROM text LIMIT 1", "and waits for it"),
        ("UPDATE checkpoint SET seq = 999", "a checkpoint of one is at event 999"),
        ("INSERT INTO run VALUES (1, 999, 5)", "a writer of one began at event 999"),
        ("DELETE FROM meta WHERE name = 'epoch'", "no epoch"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        let path = folder.path().join("weir.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(harm).unwrap();
        let found = problems(&path);
        assert!(found.iter().any(|problem| problem.contains(expected)), "{harm}: {found:?}");
    }
}

#[test]
fn damage_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let path = folder.path().join("weir.db");
    let mut bytes = fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[half..half + 9_000].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    match check_file(&path) {
        Ok(report) => assert!(!report.problems.is_empty()),
        Err(error) => assert!(matches!(error, StoreError::Damaged { .. }), "{error}"),
    }
}

#[test]
fn a_backup_during_writes_is_of_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let store = open_unsynced(folder.path());
    let path = folder.path().join("weir.db");
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for _ in 0..300 {
                append(&store, &id("one"), &["more"]);
            }
        });
        let mut number = 0;
        while !writing.is_finished() || number == 0 {
            number += 1;
            let target = folder.path().join(format!("backup-{number}"));
            let done = back_up(&path, &target).unwrap();
            assert_eq!(problems(&target), Vec::<String>::new());
            assert!(done.events >= 52 && done.sessions == 2);
        }
    });
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(folder.path().join("backup-1")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let part = back_up(&path, &folder.path().join("weir.db-journal"));
    assert!(matches!(part, Err(StoreError::Invalid(_))), "{part:?}");
    let again = back_up(&path, &folder.path().join("backup-1"));
    assert!(matches!(again, Err(StoreError::Invalid(_))), "{again:?}");
    assert!(
        !fs::read_dir(folder.path())
            .unwrap()
            .any(|file| { file.unwrap().file_name().to_string_lossy().contains("partial") })
    );
}

#[test]
fn a_backup_is_restored_and_the_previous_file_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let (path, backup) = (folder.path().join("weir.db"), folder.path().join("backup"));
    back_up(&path, &backup).unwrap();
    let bytes = fs::read(&backup).unwrap();
    let store = open_unsynced(folder.path());
    let (one, newest) = (id("one"), append(&store, &id("one"), &["after the backup"]));
    let check = store.check_at(one.clone(), newest).wait().unwrap();
    let seen = Cursor::new(store.epoch(), newest, check);
    // Not while another process has it open.
    let refused = restore(&backup, &path);
    assert!(matches!(refused, Err(StoreError::Locked { .. })), "{refused:?}");
    drop(store);

    let done = restore(&backup, &path).unwrap();
    let kept = done.kept.unwrap();
    assert_eq!(fs::read(&backup).unwrap(), bytes, "the backup stays unchanged");
    assert_eq!(check_file(&kept).unwrap().events, 53);
    let store = open(folder.path());
    assert_eq!(whole_log(&store, &one).len(), 50);
    // A viewer that has seen events that no longer exist is told, whatever is written now.
    append(&store, &one, &["something else", "and more"]);
    let check = store.check_at(one.clone(), newest).wait().unwrap();
    assert_eq!(Cursor::resume(Some(&seen), store.epoch(), 52, check), Resume::Gap);
    store.check().wait().unwrap();
}

#[test]
fn a_log_exists_at_every_moment_of_a_restore() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let (path, backup) = (folder.path().join("weir.db"), folder.path().join("backup"));
    back_up(&path, &backup).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                assert!(path.exists(), "a server that starts now would begin an empty log");
            }
        });
        for _ in 0..20 {
            let kept = restore(&backup, &path).unwrap().kept.unwrap();
            assert_eq!(check_file(&kept).unwrap().events, 52);
            fs::remove_file(kept).unwrap();
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        watching.join().unwrap();
    });
    assert_eq!(check_file(&path).unwrap().events, 52);
}

#[test]
fn an_unsound_backup_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let path = folder.path().join("weir.db");
    let before = fs::read(&path).unwrap();
    let bad = folder.path().join("bad");
    fs::write(&bad, "a diary\n".repeat(1_000)).unwrap();
    let refused = restore(&bad, &path).unwrap_err();
    assert!(refused.to_string().contains("bad is not a backup of a log"), "{refused}");
    fs::write(&bad, "").unwrap();
    assert!(matches!(restore(&bad, &path), Err(StoreError::Invalid(_))));
    let mut damaged = before.clone();
    let half = damaged.len() / 2;
    damaged[half..].fill(0xa5);
    fs::write(&bad, damaged).unwrap();
    assert!(restore(&bad, &path).is_err());
    fs::write(&bad, &before).unwrap();
    rusqlite::Connection::open(&bad).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let newer = restore(&bad, &path).unwrap_err();
    assert!(matches!(newer, StoreError::Newer { found: 99, .. }), "{newer}");
    assert!(matches!(restore(&path, &path), Err(StoreError::Invalid(_))));
    assert!(matches!(restore(&folder.path().join("nothing"), &path), Err(StoreError::Io { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["bad", "weir.db"]);
}

#[test]
fn a_damaged_file_that_cannot_be_copied_is_named() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let (path, backup) = (folder.path().join("weir.db"), folder.path().join("backup"));
    let mut damaged = fs::read(&path).unwrap();
    let half = damaged.len() / 2;
    damaged[half..].fill(0xa5);
    fs::write(&path, damaged).unwrap();
    for error in [back_up(&path, &backup).unwrap_err(), compact(&path).unwrap_err()] {
        let StoreError::Damaged { path: named, .. } = &error else { panic!("{error}") };
        assert_eq!(*named, path, "{error}");
        assert!(error.to_string().contains("weir store restore"), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no incomplete copy is left");
}

#[test]
fn a_damaged_file_is_kept_when_a_backup_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let (path, backup) = (folder.path().join("weir.db"), folder.path().join("backup"));
    back_up(&path, &backup).unwrap();
    fs::write(&path, "broken").unwrap();
    fs::write(folder.path().join("weir.db-wal"), "what was to come").unwrap();
    let kept = restore(&backup, &path).unwrap().kept.unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "broken");
    let mut log = kept.into_os_string();
    log.push("-wal");
    assert_eq!(fs::read_to_string(log).unwrap(), "what was to come");
    assert_eq!(whole_log(&open(folder.path()), &id("one")).len(), 50);
}

#[test]
fn compacting_keeps_the_contents() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let path = folder.path().join("weir.db");
    // As older versions created it: deletions leave holes.
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM;").unwrap();
    drop(old);
    let store = open_unsynced(folder.path());
    let epoch = store.epoch().to_owned();
    let large = create(&store, "large");
    for _ in 0..200 {
        store.append(Append::new(large.clone(), vec![event(&"x".repeat(20_000))])).wait().unwrap();
    }
    let refused = compact(&path);
    assert!(matches!(refused, Err(StoreError::Locked { .. })), "{refused:?}");
    store.delete(large.clone()).wait().unwrap();
    drop(store);
    let done = compact(&path).unwrap();
    assert!(done.before > 4_000_000 && done.after < 1_000_000 && done.short_of.is_none(), "{done:?}");
    assert_eq!(problems(&path), Vec::<String>::new());
    let store = open(folder.path());
    assert_eq!(store.epoch(), epoch);
    assert_eq!(whole_log(&store, &id("one")).len(), 50);
    assert_eq!(store.find(Lookup::Id(large)).wait().unwrap(), None);
    let mode: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "auto_vacuum", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, 2, "from now on space is freed automatically");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[cfg(unix)]
#[test]
fn a_file_behind_a_link_stays_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (real, linked) = (folder.path().join("real"), folder.path().join("linked"));
    filled(&real);
    fs::create_dir(&linked).unwrap();
    let (file, link) = (real.join("weir.db"), linked.join("weir.db"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let backup = folder.path().join("backup");
    back_up(&link, &backup).unwrap();
    compact(&link).unwrap();
    let kept = restore(&backup, &link).unwrap().kept.unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && file.is_file());
    assert_eq!(kept.parent(), file.canonicalize().unwrap().parent());
    assert_eq!(check_file(&link).unwrap().events, 52);
}

#[test]
fn on_a_full_disk_compacting_does_what_it_can_and_reports_the_space_it_needs() {
    let Some(disk) = small_disk::mounted() else {
        return small_disk::run(
            "maintenance::on_a_full_disk_compacting_does_what_it_can_and_reports_the_space_it_needs",
            24,
        );
    };
    let data = disk.join("data");
    filled(&data);
    let path = data.join("weir.db");
    fill(&disk, 200 << 10);
    let done = compact(&path).unwrap();
    assert!(done.short_of.is_some(), "{done:?}");
    let backup = back_up(&path, &data.join("backup"));
    assert!(matches!(backup, Err(StoreError::Full(_))), "{backup:?}");
    let mut names: Vec<_> = fs::read_dir(&data).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["weir.db"], "incomplete copies are removed");
    small_disk::empty(&disk);
    assert_eq!(problems(&path), Vec::<String>::new());
    back_up(&path, &data.join("backup")).unwrap();
    fill(&disk, 100 << 10);
    assert!(matches!(restore(&data.join("backup"), &path), Err(StoreError::Full(_))));
    assert_eq!(problems(&path), Vec::<String>::new());
}
