//! The durable inbox and outbox: the bridge's own SQLite file.
//!
//! It is separate from the session log because the log is append-only and belongs to the engine, while these records
//! change in place and several must change together: a message gets its outcome in the same transaction that removes
//! its reply from the outbox. One file, one transaction for each step of the machine.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use weir_base::file::private;

use crate::channel::{ChannelName, UserId};
use crate::error::BridgeError;
use crate::machine::{Change, Kept, Kind, Role, person_key};

/// The newest file format that this version supports. In format 1 a reply was one record with its text and its
/// messages; such records are still read.
const FORMAT: i64 = 2;

const SCHEMA: &str = "
    CREATE TABLE records (
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (kind, key)
    ) WITHOUT ROWID;
    CREATE TABLE blobs (key TEXT PRIMARY KEY, data BLOB NOT NULL, at INTEGER NOT NULL);
    CREATE TABLE codes (hash TEXT PRIMARY KEY, role TEXT NOT NULL, expires_at INTEGER NOT NULL);
    CREATE TABLE cursors (channel TEXT PRIMARY KEY, value TEXT NOT NULL);
";

/// The bridge's database.
#[derive(Debug)]
pub struct BridgeStore {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl BridgeStore {
    /// Opens the file, or creates it, readable by its owner only.
    pub fn open(path: &Path) -> Result<Self, BridgeError> {
        make_private(path)?;
        let connection = Connection::open(path).map_err(|source| failed(path, source))?;
        Self::prepare(path, connection)
    }

    /// A temporary store that is lost when dropped.
    pub fn in_memory() -> Result<Self, BridgeError> {
        let path = Path::new(":memory:");
        let connection = Connection::open_in_memory().map_err(|source| failed(path, source))?;
        Self::prepare(path, connection)
    }

    fn prepare(path: &Path, connection: Connection) -> Result<Self, BridgeError> {
        let prepare = || -> rusqlite::Result<i64> {
            connection.busy_timeout(std::time::Duration::from_secs(10))?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            // In KiB. Small, because each record is read once and then held in memory.
            connection.pragma_update(None, "cache_size", -512)?;
            let found = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if found == 0 {
                connection.execute_batch(&format!("BEGIN;{SCHEMA}PRAGMA user_version = {FORMAT};COMMIT;"))?;
            }
            if (1..FORMAT).contains(&found) {
                connection.pragma_update(None, "user_version", FORMAT)?;
            }
            Ok(found)
        };
        let found = prepare().map_err(|source| failed(path, source))?;
        if found > FORMAT {
            return Err(BridgeError::Newer { path: path.to_owned(), found, known: FORMAT });
        }
        Ok(Self { path: path.to_owned(), connection: Mutex::new(connection) })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic cannot leave a transaction half done: it is rolled back when dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, BridgeError> {
        work(&mut self.connection()).map_err(|source| failed(&self.path, source))
    }

    /// Stores the changes of a step. All of them are on disk when it returns.
    pub fn keep(&self, changes: &[Change]) -> Result<(), BridgeError> {
        self.run(|connection| {
            let transaction = connection.transaction()?;
            for change in changes {
                match &change.value {
                    Some(value) => transaction
                        .prepare_cached(
                            "INSERT OR REPLACE INTO records (kind, key, value) VALUES (?1, ?2, ?3)",
                        )?
                        .execute(params![change.kind.as_str(), change.key, value.to_string()])?,
                    None => transaction
                        .prepare_cached("DELETE FROM records WHERE kind = ?1 AND key = ?2")?
                        .execute(params![change.kind.as_str(), change.key])?,
                };
            }
            transaction.commit()
        })
    }

    /// Loads all records.
    pub fn load(&self) -> Result<Vec<Kept>, BridgeError> {
        self.run(|connection| {
            let mut kept = Vec::new();
            for kind in Kind::ALL {
                let mut statement = connection
                    .prepare_cached("SELECT key, value FROM records WHERE kind = ?1 ORDER BY key")?;
                let rows = statement.query_map([kind.as_str()], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
                })?;
                for row in rows {
                    let (key, value) = row?;
                    if let Ok(value) = serde_json::from_str(&value) {
                        kept.push(Kept { kind, key, value });
                    }
                }
            }
            Ok(kept)
        })
    }

    /// Stores the bytes of a file under this key.
    pub fn put_blob(&self, key: &str, data: &[u8], at: i64) -> Result<(), BridgeError> {
        self.run(|connection| {
            connection
                .prepare_cached("INSERT OR REPLACE INTO blobs (key, data, at) VALUES (?1, ?2, ?3)")?
                .execute(params![key, data, at])
                .map(|_| ())
        })
    }

    /// The bytes of a file.
    pub fn blob(&self, key: &str) -> Result<Option<Vec<u8>>, BridgeError> {
        self.run(|connection| {
            connection.query_row("SELECT data FROM blobs WHERE key = ?1", [key], |row| row.get(0)).optional()
        })
    }

    /// The number of stored files.
    pub fn blobs(&self) -> Result<u64, BridgeError> {
        self.run(|connection| connection.query_row("SELECT count(*) FROM blobs", [], |row| row.get(0)))
    }

    /// Deletes files that were stored before this time.
    pub fn forget_blobs(&self, before: i64) -> Result<usize, BridgeError> {
        self.run(|connection| connection.execute("DELETE FROM blobs WHERE at < ?1", [before]))
    }

    /// Where a channel resumes after a restart.
    pub fn cursor(&self, channel: &str) -> Result<Option<String>, BridgeError> {
        self.run(|connection| {
            connection
                .query_row("SELECT value FROM cursors WHERE channel = ?1", [channel], |row| row.get(0))
                .optional()
        })
    }

    /// Stores where a channel resumes after a restart.
    pub fn set_cursor(&self, channel: &str, value: &str) -> Result<(), BridgeError> {
        self.run(|connection| {
            connection
                .execute("INSERT OR REPLACE INTO cursors (channel, value) VALUES (?1, ?2)", [channel, value])
                .map(|_| ())
        })
    }

    /// Adds a pairing code that works once, until this time. Only its hash is stored.
    pub fn add_code(&self, code: &str, role: Role, expires_at: i64) -> Result<(), BridgeError> {
        let role = if role == Role::Admin { "admin" } else { "user" };
        self.run(|connection| {
            connection
                .execute(
                    "INSERT OR REPLACE INTO codes (hash, role, expires_at) VALUES (?1, ?2, ?3)",
                    params![hash(code), role, expires_at],
                )
                .map(|_| ())
        })
    }

    /// Whether a pairing code is valid at this time.
    pub fn has_open_code(&self, now: i64) -> Result<bool, BridgeError> {
        self.run(|connection| {
            connection.query_row("SELECT EXISTS (SELECT 1 FROM codes WHERE expires_at > ?1)", [now], |row| {
                row.get(0)
            })
        })
    }

    /// Whether a person has been paired.
    pub fn is_paired(&self, channel: &ChannelName, person: &UserId) -> Result<bool, BridgeError> {
        self.run(|connection| {
            let key = person_key(channel, person);
            let value: Option<String> = connection
                .query_row(
                    "SELECT value FROM records WHERE kind = ?1 AND key = ?2",
                    [Kind::Person.as_str(), key.as_str()],
                    |row| row.get(0),
                )
                .optional()?;
            let value: Option<serde_json::Value> = value.and_then(|value| serde_json::from_str(&value).ok());
            Ok(value.is_some_and(|person| person.get("role").is_some_and(|role| !role.is_null())))
        })
    }

    /// Consumes a pairing code and returns its role, or `None` if it is wrong, used or expired.
    pub fn take_code(&self, code: &str, now: i64) -> Result<Option<Role>, BridgeError> {
        self.run(|connection| {
            let transaction = connection.transaction()?;
            transaction.execute("DELETE FROM codes WHERE expires_at <= ?1", [now])?;
            let role: Option<String> = transaction
                .query_row("DELETE FROM codes WHERE hash = ?1 RETURNING role", [hash(code)], |row| row.get(0))
                .optional()?;
            transaction.commit()?;
            Ok(role.map(|role| if role == "admin" { Role::Admin } else { Role::User }))
        })
    }
}

fn hash(code: &str) -> String {
    let digest = Sha256::digest(code.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failed(path: &Path, source: rusqlite::Error) -> BridgeError {
    BridgeError::Store { path: path.to_owned(), source }
}

/// Creates the file before SQLite does, so that it is never readable by others, not even briefly.
fn make_private(path: &Path) -> Result<(), BridgeError> {
    let opened = private(std::fs::OpenOptions::new().create(true).append(true)).open(path);
    opened.map(|_| ()).map_err(|source| BridgeError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::BridgeStore;
    use crate::machine::{Change, Kind, Role};

    #[test]
    fn later_changes_replace_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge.db");
        let store = BridgeStore::open(&path).unwrap();
        let put = |key: &str, value| Change { kind: Kind::Inbox, key: key.into(), value };
        store.keep(&[put("1", Some(1.into())), put("2", Some(2.into()))]).unwrap();
        store.keep(&[put("1", None), put("2", Some(3.into()))]).unwrap();
        drop(store);
        let kept = BridgeStore::open(&path).unwrap().load().unwrap();
        assert_eq!(kept.len(), 1);
        assert_eq!((kept[0].key.as_str(), &kept[0].value), ("2", &3.into()));
    }

    /// In format 1 a reply was one record; the tests of the machine read such records.
    #[test]
    fn a_file_of_the_version_before_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge.db");
        let store = BridgeStore::open(&path).unwrap();
        store.keep(&[Change { kind: Kind::Inbox, key: "1".into(), value: Some(1.into()) }]).unwrap();
        drop(store);
        let format = |format: i64| {
            let file = rusqlite::Connection::open(&path).unwrap();
            file.pragma_update(None, "user_version", format).unwrap();
        };
        format(1);
        assert_eq!(BridgeStore::open(&path).unwrap().load().unwrap().len(), 1);
        let found = rusqlite::Connection::open(&path).unwrap();
        let found: i64 = found.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(found, super::FORMAT, "an older program must not write it any more");
        format(99);
        let error = BridgeStore::open(&path).unwrap_err();
        assert!(error.to_string().contains("99"), "{error}");
    }

    #[test]
    fn a_code_works_once_and_until_it_expires() {
        let store = BridgeStore::in_memory().unwrap();
        store.add_code("AAAA", Role::User, 100).unwrap();
        store.add_code("BBBB", Role::Admin, 100).unwrap();
        assert!(store.has_open_code(50).unwrap() && !store.has_open_code(100).unwrap());
        assert_eq!(store.take_code("CCCC", 50).unwrap(), None);
        assert_eq!(store.take_code("AAAA", 50).unwrap(), Some(Role::User));
        assert_eq!(store.take_code("AAAA", 50).unwrap(), None);
        assert_eq!(store.take_code("BBBB", 100).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge.db");
        let _store = BridgeStore::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
