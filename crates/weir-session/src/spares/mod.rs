//! Started CLIs that belong to no folder yet, so that the first content of a new session comes sooner.
//!
//! A spare is started with what all sessions of its kind have in common, and is told folder, permission mode, model and
//! prompts when a session takes it. Only [`crate::driver`] takes one; if there is none, or the CLI refuses, a process is
//! started as usual.

mod kind;
mod parked;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weir_process::ProbeCache;

pub(crate) use kind::{Kind, Wanted};
pub(crate) use parked::{Claimed, Greeted, Parked};

use crate::driver::Launcher;
use crate::options::SessionOptions;

/// Maximum number of kinds that spares are kept of: those of the newest sessions.
const MAX_KINDS: usize = 2;

/// How long a spare waits. Later its settings may be outdated, and it does not seem to be needed.
const MAX_WAIT: Duration = Duration::from_secs(30 * 60);

/// Keeps CLIs ready for new sessions in any folder. Clones are handles to the same spares; nothing is global.
///
/// Sessions take one if their options name the spares ([`SessionOptions::spares`]), if they are new, and if nothing in
/// their options has to be known when the process is started. It needs version 2.1.325 of the CLI and Linux; on others
/// every process is started as usual.
///
/// ```
/// use weir_session::{SessionOptions, Spares};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let spares = Spares::new(1);
/// let options = SessionOptions::new().spares(spares.clone());
/// # let _ = options;
/// spares.close();
/// # });
/// ```
#[derive(Clone)]
pub struct Spares {
    inner: Arc<Inner>,
}

struct Inner {
    max: usize,
    /// What is known of CLIs, for sessions without a cache of their own.
    probe_cache: Arc<ProbeCache>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    parked: Vec<Parked>,
    /// What was wanted, the newest first.
    kinds: VecDeque<Kind>,
    /// The folder that spares are started in. Belongs to no session.
    folder: Option<PathBuf>,
    /// Deletes the folder with the spares, unless it is in a state directory.
    temporary: Option<tempfile::TempDir>,
    /// Kinds of which none has ever become ready, such as those of a program that is not the CLI itself.
    hopeless: Vec<u64>,
    is_closed: bool,
    started: u64,
    taken: u64,
}

impl Spares {
    /// Keeps up to this many spares. Each is a process of about 160 MB; zero switches them off.
    pub fn new(max: usize) -> Self {
        let probe_cache = Arc::new(ProbeCache::in_memory());
        Self { inner: Arc::new(Inner { max, probe_cache, state: Mutex::default() }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts spares for sessions like this one, before there is any. `options.cwd` is a folder like those of the
    /// sessions; nothing is started in it. Must be called in a tokio runtime.
    pub fn prepare(&self, options: SessionOptions) {
        if self.inner.max == 0 {
            return;
        }
        let spares = self.clone();
        tokio::spawn(async move {
            // Without a CLI there are no spares either, and the first session says why.
            if let Some(kind) = Launcher::new(options).kind().await {
                spares.want(kind);
                spares.refill();
            }
        });
    }

    pub(crate) fn probe_cache(&self) -> Arc<ProbeCache> {
        Arc::clone(&self.inner.probe_cache)
    }

    /// How many spares are ready.
    pub fn ready(&self) -> usize {
        self.lock().parked.iter().filter(|parked| parked.is_ready()).count()
    }

    /// How many were started so far.
    pub fn started(&self) -> u64 {
        self.lock().started
    }

    /// How many sessions have got one so far.
    pub fn taken(&self) -> u64 {
        self.lock().taken
    }

    /// Ends all spares and starts no more.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.kinds.clear();
        state.parked.clear();
    }

    /// Takes a spare of this kind if one is ready, and remembers that the kind is wanted.
    pub(crate) fn take(&self, kind: &Kind) -> Option<Parked> {
        self.want(kind.clone());
        let mut state = self.lock();
        let place = state.parked.iter().position(|parked| parked.is_ready() && parked.is_of(kind))?;
        Some(state.parked.swap_remove(place))
    }

    /// A session has got a spare, and it works.
    pub(crate) fn count_taken(&self) {
        self.lock().taken += 1;
    }

    /// Keeps a spare that a session could not use.
    pub(crate) fn put_back(&self, parked: Parked) {
        let mut state = self.lock();
        if !state.is_closed && state.parked.len() < self.inner.max {
            state.parked.push(parked);
        }
    }

    fn want(&self, kind: Kind) {
        let mut state = self.lock();
        if state.is_closed || self.inner.max == 0 || state.hopeless.contains(&kind.key()) {
            return;
        }
        state.kinds.retain(|known| !known.is(&kind));
        state.kinds.push_front(kind);
        state.kinds.truncate(MAX_KINDS);
    }

    /// Starts missing spares. Called when a session has nothing to do, so that they do not compete with its turn.
    pub(crate) fn refill(&self) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        let state = &mut *state;
        let failed = state.parked.iter().filter(|parked| parked.is_over() && !parked.was_ready());
        state.hopeless.extend(failed.map(Parked::key));
        state.kinds.retain(|kind| !state.hopeless.contains(&kind.key()));
        state.parked.retain(|parked| !parked.is_over());
        let kinds: Vec<Kind> = state.kinds.iter().cloned().collect();
        let wanted = shares(self.inner.max, kinds.len());
        // Spares of a kind that is no longer wanted, or of which there are too many, make room.
        let mut counts = vec![0; kinds.len()];
        state.parked.retain(|parked| {
            let place = kinds.iter().position(|kind| parked.is_of(kind));
            let count = place.and_then(|place| counts.get_mut(place).zip(wanted.get(place)));
            count.is_some_and(|(count, wanted)| {
                *count += 1;
                *count <= *wanted
            })
        });
        for ((kind, wanted), count) in kinds.iter().zip(wanted).zip(counts) {
            for _ in count..wanted {
                let Some(folder) = state.folder(kind) else { return };
                state.parked.push(Parked::start(kind, folder, MAX_WAIT));
                state.started += 1;
            }
        }
    }
}

/// How many spares each kind gets, the newest kind first: one each as far as they go, and the newest what is left.
fn shares(max: usize, kinds: usize) -> Vec<usize> {
    let others = kinds.saturating_sub(1).min(max.saturating_sub(1));
    (0..kinds).map(|place| if place == 0 { max - others } else { usize::from(place <= others) }).collect()
}

impl State {
    /// The folder that spares are started in.
    fn folder(&mut self, kind: &Kind) -> Option<PathBuf> {
        if self.folder.is_none() {
            self.folder = match kind.state_directory() {
                // Only below a folder that is there: one that has gone away, such as a disk that is no longer mounted, is
                // not made anew.
                Some(state) => {
                    existing_or_new(state).ok()?;
                    let folder = state.join("spare");
                    existing_or_new(&folder).ok()?;
                    Some(folder)
                }
                None => {
                    let temporary = tempfile::Builder::new().prefix("weir-spare-").tempdir().ok()?;
                    Some(self.temporary.insert(temporary).path().to_owned())
                }
            };
        }
        self.folder.clone()
    }
}

/// Creates a private folder unless it exists, but not the ones above it.
fn existing_or_new(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).or_else(|error| if folder.is_dir() { Ok(()) } else { Err(error) })
}

impl std::fmt::Debug for Spares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spares").field("max", &self.inner.max).field("ready", &self.ready()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_created_only_in_one_that_exists() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("data/state");
        assert!(existing_or_new(&state).is_err());
        assert!(!place.path().join("data").exists());
        std::fs::create_dir(place.path().join("data")).unwrap();
        for _ in 0..2 {
            existing_or_new(&state).unwrap();
        }
        assert!(state.is_dir());
    }

    #[test]
    fn the_newest_kind_gets_what_the_others_leave() {
        assert_eq!(shares(1, 1), [1]);
        assert_eq!(shares(1, 2), [1, 0]);
        assert_eq!(shares(2, 2), [1, 1]);
        assert_eq!(shares(4, 2), [3, 1]);
        assert_eq!(shares(0, 2), [0, 0]);
        assert_eq!(shares(3, 0), Vec::<usize>::new());
    }
}
