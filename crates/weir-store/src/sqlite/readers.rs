//! A few reader threads, each with its own connection, started on demand.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::open::Database;
use super::read_gate::ReadGate;
use super::write::Failure;
use crate::error::StoreError;
use crate::reply::{Promise, Reply};

/// Queries that may wait. Each is small; its result is produced when its turn comes.
const MAX_WAITING: usize = 4096;

type Question = Box<dyn FnOnce(Result<&Connection, &StoreError>) + Send>;

/// The threads and the queries waiting for them.
pub(super) struct Readers {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    max_threads: usize,
}

struct Shared {
    database: Database,
    gate: Arc<ReadGate>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Question>,
    idle: usize,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Readers {
    pub(super) fn new(database: Database, gate: Arc<ReadGate>, max_threads: usize) -> Self {
        let shared = Shared { database, gate, state: Mutex::default(), changed: Condvar::new() };
        Self { shared: Arc::new(shared), threads: Mutex::default(), max_threads: max_threads.max(1) }
    }

    /// Queues a query. Never blocks.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Reply<T> {
        let (promise, reply) = Reply::promise();
        let database = self.shared.database.clone();
        let question: Question = Box::new(move |connection| answer(promise, connection, question, &database));
        let mut state = self.shared.lock();
        if state.closed {
            return Reply::ready(Err(StoreError::Closed));
        }
        if state.waiting.len() >= MAX_WAITING {
            let message = format!(
                "{MAX_WAITING} queries are waiting for the log: wait for earlier replies before sending more"
            );
            return Reply::ready(Err(StoreError::Invalid(message)));
        }
        state.waiting.push_back(question);
        let enough = state.idle >= state.waiting.len();
        drop(state);
        if !enough {
            self.start_thread();
        }
        self.shared.changed.notify_one();
        reply
    }

    fn start_thread(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.len() >= self.max_threads {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let started =
            std::thread::Builder::new().name("weir-store-read".to_owned()).spawn(move || run(&shared));
        match started {
            Ok(thread) => threads.push(thread),
            // Other threads can take the query. If there are none, it is answered now with the error.
            Err(source) if threads.is_empty() => {
                let path = self.shared.database.path.clone();
                let error = StoreError::Io { action: "start a thread for", path, source: Arc::new(source) };
                let waiting = std::mem::take(&mut self.shared.lock().waiting);
                waiting.into_iter().for_each(|question| question(Err(&error)));
            }
            Err(_) => {}
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A thread that panicked has broken its promise, so its caller got an answer.
            let _panicked = thread.join();
        }
    }
}

fn answer<T>(
    promise: Promise<T>,
    connection: Result<&Connection, &StoreError>,
    question: impl FnOnce(&Connection) -> Result<T, Failure>,
    database: &Database,
) {
    if promise.is_abandoned() {
        return;
    }
    let connection = match connection {
        Ok(connection) => connection,
        Err(error) => return promise.answer(Err(error.clone())),
    };
    promise.answer(question(connection).map_err(|failure| match failure {
        Failure::Refused(error) => error,
        Failure::Database(error) => database.error(error),
    }));
}

fn run(shared: &Shared) {
    let mut connection = None;
    loop {
        let mut state = shared.lock();
        while state.waiting.is_empty() && !state.closed {
            state.idle += 1;
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        let Some(question) = state.waiting.pop_front() else { return };
        drop(state);
        if connection.is_none() {
            match shared.database.open_reader() {
                Ok(opened) => connection = Some(opened),
                Err(error) => {
                    question(Err(&error));
                    continue;
                }
            }
        }
        if let Some(open) = &connection {
            let _reading = shared.gate.enter();
            // A panic breaks the promise, which answers the caller; the thread continues with other queries.
            let answered = catch_unwind(AssertUnwindSafe(|| question(Ok(open))));
            if answered.is_err() {
                connection = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Database, Readers};
    use crate::error::StoreError;
    use crate::sqlite::SqliteOptions;

    #[test]
    fn a_panic_does_not_end_the_thread() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database { path: folder.path().join("weir.db") };
        drop(database.open_writer(&SqliteOptions::default()).unwrap());
        let readers = Readers::new(database, Arc::default(), 1);
        for _ in 0..3 {
            let broken = readers.ask::<()>(|_| panic!("on purpose"));
            assert!(matches!(broken.wait(), Err(StoreError::Closed)));
            assert_eq!(readers.ask(|_| Ok(7)).wait().unwrap(), 7);
        }
    }
}
