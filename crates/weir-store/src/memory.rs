//! A store in memory, for tests and for data that should not be kept. It keeps everything, or as much of each session
//! as its budget allows.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::checkpoint::{Checkpoint, CheckpointQuery};
use crate::cursor::Check;
use crate::error::StoreError;
use crate::event::{Append, Appended, Event, NewEvent, Placed};
use crate::lease::{Acquired, Lease, LeaseRequest, LocalLeases, check_name};
use crate::log::Log;
use crate::query::{
    Archived, EventPage, EventRange, Hit, ListOrder, ListQuery, Lookup, ReadQuery, SearchQuery, SessionPage,
    Snippet,
};
use crate::reply::Reply;
use crate::session::{NewStoredSession, SessionId, SessionUpdate, StoredSession};
use crate::space::{Space, Usage};
use crate::store::Store;
use crate::tail::{Tail, TailState, Tails, Wakes};
use crate::terms::{Terms, words};

/// A store in memory. It answers immediately.
#[derive(Debug)]
pub struct MemoryStore {
    /// Maximum number of bytes of a session; none for no limit.
    budget: Option<usize>,
    epoch: String,
    check: Check,
    state: Mutex<State>,
    tails: Tails,
    leases: LocalLeases,
    wakes: Wakes,
}

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<SessionId, SessionLog>,
    revision: u64,
    /// The generation of the newest lease.
    leased: u64,
}

/// An event and the text and labels it is found by.
#[derive(Debug)]
struct Kept {
    event: Event,
    text: Option<String>,
    labels: Vec<String>,
}

impl Kept {
    /// Approximate memory it takes.
    fn size(&self) -> usize {
        let event = &self.event;
        let texts = [&event.client_id, &self.text].into_iter().flatten().map(String::len).sum::<usize>();
        let labels: usize = self.labels.iter().map(String::len).sum();
        size_of::<Self>() + event.payload.len() + texts + labels
    }
}

#[derive(Debug)]
struct SessionLog {
    facts: StoredSession,
    /// The newest events; all of them without a budget.
    events: VecDeque<Kept>,
    /// The client ids of dropped events. They stay known, so that a repeated event is still recognised.
    dropped_ids: HashMap<String, u64>,
    /// The highest generation that has written.
    generation: u64,
    blobs: HashMap<String, Vec<u8>>,
    /// Oldest first. None is older than the newest dropped event.
    checkpoints: Vec<Checkpoint>,
    /// Approximate memory that the events and checkpoints take.
    size: usize,
}

impl SessionLog {
    fn new(facts: StoredSession) -> Self {
        Self {
            facts,
            events: VecDeque::new(),
            dropped_ids: HashMap::new(),
            generation: 0,
            blobs: HashMap::new(),
            checkpoints: Vec::new(),
            size: 0,
        }
    }

    /// The newest event that was dropped; zero if none was.
    fn dropped(&self) -> u64 {
        self.events.front().map_or(self.facts.newest, |first| first.event.seq.saturating_sub(1))
    }

    fn by_client(&self, client_id: &str) -> Option<u64> {
        let is_it = |kept: &&Kept| kept.event.client_id.as_deref() == Some(client_id);
        let kept = self.events.iter().find(is_it).map(|kept| kept.event.seq);
        kept.or_else(|| self.dropped_ids.get(client_id).copied())
    }

    fn push(&mut self, events: Vec<Kept>) {
        self.size += events.iter().map(Kept::size).sum::<usize>();
        self.events.extend(events);
    }

    fn keep_checkpoint(&mut self, checkpoint: Checkpoint) {
        // It could not be continued from: events after it are gone.
        if checkpoint.seq < self.dropped() {
            return;
        }
        let (version, seq) = (checkpoint.version.clone(), checkpoint.seq);
        self.retain_checkpoints(|kept| kept.version == version && kept.seq != seq);
        self.size += checkpoint.data.len();
        self.checkpoints.push(checkpoint);
        self.checkpoints.sort_by_key(|kept| kept.seq);
    }

    fn retain_checkpoints(&mut self, keep: impl Fn(&Checkpoint) -> bool) {
        let size = &mut self.size;
        self.checkpoints.retain(|kept| {
            let stays = keep(kept);
            if !stays {
                *size -= kept.data.len();
            }
            stays
        });
    }

    /// Drops the oldest events until the rest fits, but none that is newer than the newest checkpoint: what follows
    /// from a dropped event must be known to a reader that continues from there.
    fn shrink(&mut self, budget: usize) {
        let Some(covered) = self.checkpoints.last().map(|newest| newest.seq) else { return };
        while self.size > budget
            && let Some(oldest) = self.events.pop_front_if(|oldest| oldest.event.seq <= covered)
        {
            self.size -= oldest.size();
            if let Some(client_id) = oldest.event.client_id {
                self.dropped_ids.insert(client_id, oldest.event.seq);
            }
            let dropped = self.dropped();
            if self.checkpoints.first().is_some_and(|kept| kept.seq < dropped) {
                self.retain_checkpoints(|kept| kept.seq >= dropped);
            }
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store that keeps everything.
    pub fn new() -> Self {
        Self {
            budget: None,
            epoch: uuid::Uuid::new_v4().simple().to_string(),
            check: Check::random(),
            state: Mutex::default(),
            tails: Tails::new(),
            leases: LocalLeases::default(),
            wakes: Wakes::default(),
        }
    }

    /// An empty store that keeps about this many bytes of each session: the newest events, and a checkpoint for those
    /// before them. Only events that a checkpoint covers are dropped, so a session whose reader saves no checkpoints
    /// is kept whole.
    ///
    /// Event numbers and client ids stay the same. A read of dropped events continues with the oldest one that is
    /// left, and a cursor before that one is not valid.
    pub fn with_budget(bytes: usize) -> Self {
        let mut store = Self::new();
        store.budget = Some(bytes);
        store
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn log(&self, id: &SessionId) -> Result<&SessionLog, StoreError> {
        self.sessions.get(id).ok_or_else(|| StoreError::NotFound(id.clone()))
    }

    fn check_key(&self, changed: &StoredSession) -> Result<(), StoreError> {
        let Some(key) = changed.key.as_ref().filter(|_| !changed.archived) else { return Ok(()) };
        let mut others = self.sessions.values().map(|log| &log.facts);
        match others
            .find(|other| other.id != changed.id && !other.archived && other.key.as_ref() == Some(key))
        {
            Some(owner) => Err(StoreError::KeyInUse { key: key.clone(), owner: owner.id.clone() }),
            None => Ok(()),
        }
    }

    fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }

    fn create(&mut self, new: NewStoredSession) -> Result<StoredSession, StoreError> {
        let mut facts = new.into_stored()?;
        if self.sessions.contains_key(&facts.id) {
            return Err(StoreError::IdInUse(facts.id));
        }
        self.check_key(&facts)?;
        facts.revision = self.next_revision();
        self.sessions.insert(facts.id.clone(), SessionLog::new(facts.clone()));
        Ok(facts)
    }

    fn append(
        &mut self,
        append: Append,
        check: Check,
        budget: Option<usize>,
    ) -> Result<Appended, StoreError> {
        append.check()?;
        let log = self.log(&append.session)?;
        let (generation, current) = (append.generation, log.generation);
        if generation < current {
            return Err(StoreError::Fenced { session: append.session, generation, current });
        }
        let mut facts = log.facts.clone();
        let no_update = append.update.is_empty();
        append.update.apply(&mut facts)?;
        self.check_key(&facts)?;

        let mut fresh: Vec<Kept> = Vec::new();
        let mut placed = Vec::new();
        for event in append.events {
            let known = event.client_id.as_ref().and_then(|client_id| {
                let mut fresh = fresh.iter().map(|kept: &Kept| &kept.event);
                let fresh = fresh.find(|event| event.client_id.as_ref() == Some(client_id));
                log.by_client(client_id).or_else(|| fresh.map(|event| event.seq))
            });
            if let Some(seq) = known {
                placed.push(Placed { seq, new: false });
                continue;
            }
            if let Some(expected) = append.expected_newest.filter(|seq| *seq != log.facts.newest) {
                return Err(StoreError::Moved { expected, newest: log.facts.newest });
            }
            facts.newest += 1;
            facts.bytes += event.payload.len() as u64;
            facts.updated_at = facts.updated_at.max(event.at);
            placed.push(Placed { seq: facts.newest, new: true });
            let text = event.indexed_text().map(std::borrow::Cow::into_owned);
            let NewEvent { at, kind, client_id, payload, search_text: _, labels } = event;
            let event = Event { seq: facts.newest, at, kind, client_id, payload, check: Some(check) };
            fresh.push(Kept { event, text, labels });
        }
        let newest = facts.newest;
        let is_unchanged = no_update && fresh.is_empty();
        if !is_unchanged {
            facts.revision = self.next_revision();
        }
        if let Some(log) = self.sessions.get_mut(&append.session) {
            log.generation = generation;
            log.facts = facts;
            log.push(fresh);
            budget.into_iter().for_each(|budget| log.shrink(budget));
        }
        Ok(Appended { placed, newest, check })
    }

    fn list(&self, query: &ListQuery) -> SessionPage {
        let text = query.text.as_ref().map(|text| text.to_ascii_lowercase());
        let has = |place: &Option<String>, text: &str| {
            place.as_ref().is_some_and(|place| place.to_ascii_lowercase().contains(text))
        };
        let terms = query.text.as_deref().map(Terms::parse);
        let says = |log: &SessionLog| {
            let texts = log.events.iter().filter_map(|kept| kept.text.as_deref());
            terms.as_ref().is_some_and(|terms| texts.into_iter().any(|text| matches(terms, text)))
        };
        let mut found: Vec<_> = self
            .sessions
            .values()
            .filter(|log| {
                let facts = &log.facts;
                let fits = |t: &String| has(&facts.title, t) || has(&facts.key, t) || has(&facts.cwd, t);
                text.as_ref().is_none_or(fits) || says(log)
            })
            .map(|log| &log.facts)
            .filter(|facts| match query.archived {
                Archived::Without => !facts.archived,
                Archived::With => true,
                Archived::Only => facts.archived,
            })
            .filter(|facts| query.status.as_ref().is_none_or(|status| facts.status == *status))
            .filter(|facts| query.cwd.as_ref().is_none_or(|cwd| facts.cwd.as_ref() == Some(cwd)))
            .filter(|facts| match query.order {
                ListOrder::Newest => true,
                ListOrder::NewestBefore(revision) => facts.revision < revision,
                ListOrder::ChangedAfter(revision) => facts.revision > revision,
            })
            .cloned()
            .collect();
        found.sort_by_key(|facts| facts.revision);
        if !matches!(query.order, ListOrder::ChangedAfter(_)) {
            found.reverse();
        }
        let more = found.len() > query.limit;
        found.truncate(query.limit);
        SessionPage { sessions: found, more }
    }

    fn read(&self, query: &ReadQuery) -> Result<EventPage, StoreError> {
        let log = self.log(&query.session)?;
        let fits = |kept: &&Kept| query.label.as_ref().is_none_or(|label| kept.labels.contains(label));
        let all = log.events.iter().filter(fits).map(|kept| &kept.event);
        let mut wanted: Box<dyn Iterator<Item = &Event>> = match query.range {
            EventRange::After(seq) => Box::new(all.filter(move |event| event.seq > seq)),
            EventRange::Before(seq) => Box::new(all.rev().filter(move |event| event.seq < seq)),
        };
        let mut events = Vec::new();
        let mut bytes = 0;
        let more = wanted.any(|event| {
            bytes += event.payload.len();
            let full = events.len() >= query.max_events || (bytes > query.max_bytes && !events.is_empty());
            if !full {
                events.push(event.clone());
            }
            full
        });
        Ok(EventPage { events, newest: log.facts.newest, more })
    }

    fn search(&self, query: &SearchQuery) -> Vec<Hit> {
        let terms = Terms::parse(&query.text);
        let logs =
            self.sessions.values().filter(|log| query.session.as_ref().is_none_or(|id| *id == log.facts.id));
        let mut hits: Vec<_> = logs
            .flat_map(|log| log.events.iter().map(move |event| (&log.facts, event)))
            .filter_map(|(facts, kept)| Some((facts, &kept.event, kept.text.as_ref()?)))
            .filter(|(_, _, text)| matches(&terms, text))
            .map(|(facts, event, text)| Hit {
                session: facts.id.clone(),
                title: facts.title.clone(),
                seq: event.seq,
                at: event.at,
                kind: event.kind.clone(),
                snippet: Snippet { text: text.chars().take(200).collect(), marks: Vec::new() },
            })
            .collect();
        hits.sort_by_key(|hit| std::cmp::Reverse(hit.at));
        hits.into_iter().skip(query.offset).take(query.limit).collect()
    }
}

fn matches(terms: &Terms, text: &str) -> bool {
    let text = words(text);
    let last = terms.phrases.len().saturating_sub(1);
    !terms.phrases.is_empty()
        && terms.phrases.iter().enumerate().all(|(place, phrase)| {
            let phrase = words(phrase);
            let open_end = terms.open_end && place == last;
            text.windows(phrase.len().max(1)).any(|window| {
                let ends = phrase.len().saturating_sub(1);
                window.iter().zip(&phrase).enumerate().all(|(word, (there, wanted))| {
                    there == wanted || (open_end && word == ends && there.starts_with(wanted.as_str()))
                })
            })
        })
}

impl Log for MemoryStore {
    fn epoch(&self) -> &str {
        &self.epoch
    }

    fn create(&self, new: NewStoredSession) -> Reply<StoredSession> {
        let created = self.lock().create(new);
        if let Ok(facts) = &created {
            self.tails.set_revision(facts.revision);
        }
        Reply::ready(created)
    }

    fn delete(&self, id: SessionId) -> Reply<bool> {
        let mut state = self.lock();
        let existed = state.sessions.remove(&id).is_some();
        if existed {
            let revision = state.next_revision();
            drop(state);
            self.tails.set(&id, TailState::Deleted);
            self.tails.set_revision(revision);
        }
        Reply::ready(Ok(existed))
    }

    fn append(&self, append: Append) -> Reply<Appended> {
        let id = append.session.clone();
        let mut state = self.lock();
        let appended = state.append(append, self.check, self.budget);
        let revision = state.revision;
        drop(state);
        if let Ok(appended) = &appended {
            self.tails.set(&id, TailState::Newest(appended.newest));
            self.tails.set_revision(revision);
        }
        Reply::ready(appended)
    }

    fn read(&self, query: ReadQuery) -> Reply<EventPage> {
        Reply::ready(self.lock().read(&query))
    }

    fn event(&self, session: SessionId, seq: u64) -> Reply<Option<Event>> {
        let state = self.lock();
        let found = state
            .log(&session)
            .map(|log| log.events.iter().find(|kept| kept.event.seq == seq).map(|kept| kept.event.clone()));
        Reply::ready(found)
    }

    fn by_client(&self, session: SessionId, client_id: String) -> Reply<Option<u64>> {
        let state = self.lock();
        Reply::ready(state.log(&session).map(|log| log.by_client(&client_id)))
    }

    fn check_at(&self, session: SessionId, seq: u64) -> Reply<Option<Check>> {
        let state = self.lock();
        // A reader can continue after the newest event that was dropped, but not before it.
        let found = state.log(&session).map(|log| (log.dropped().max(1)..=log.facts.newest).contains(&seq));
        Reply::ready(found.map(|is_there| is_there.then_some(self.check)))
    }

    fn save_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> Reply<()> {
        let mut state = self.lock();
        let Some(log) = state.sessions.get_mut(&session) else {
            return Reply::ready(Err(StoreError::NotFound(session)));
        };
        log.keep_checkpoint(checkpoint);
        self.budget.into_iter().for_each(|budget| log.shrink(budget));
        Reply::ready(Ok(()))
    }

    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>> {
        let state = self.lock();
        let Some(log) = state.sessions.get(&query.session) else { return Reply::ready(Ok(None)) };
        let newest = log.checkpoints.iter().rfind(|kept| query.matches(kept));
        // Nothing older is left to begin with.
        let oldest = || {
            let mut all = log.checkpoints.iter().filter(|_| log.dropped() > 0);
            all.find(|kept| kept.version == query.version)
        };
        Reply::ready(Ok(newest.or_else(oldest).cloned()))
    }

    fn subscribe(&self, session: SessionId) -> Reply<Tail> {
        let tail = self.tails.subscribe(&session);
        let newest = self.lock().log(&session).map(|log| log.facts.newest);
        Reply::ready(newest.map(|newest| {
            self.tails.set(&session, TailState::Newest(newest));
            tail
        }))
    }

    fn subscribe_all(&self) -> Reply<Tail> {
        let tail = self.tails.subscribe_all();
        self.tails.set_revision(self.lock().revision);
        Reply::ready(Ok(tail))
    }

    fn generation(&self, session: SessionId) -> Reply<u64> {
        Reply::ready(self.lock().log(&session).map(|log| log.generation))
    }

    fn acquire(&self, request: LeaseRequest) -> Reply<Acquired> {
        if let Err(invalid) = request.check() {
            return Reply::ready(Err(invalid));
        }
        let mut state = self.lock();
        state.leased += 1;
        Reply::ready(Ok(self.leases.acquire(request, state.leased, Instant::now())))
    }

    fn renew(&self, lease: Lease) -> Reply<Lease> {
        Reply::ready(self.leases.renew(lease, Instant::now()))
    }

    fn release(&self, lease: Lease) -> Reply<()> {
        self.leases.release(&lease);
        Reply::ready(Ok(()))
    }

    fn wake(&self, topic: String) -> Reply<()> {
        Reply::ready(check_name("topic", &topic).map(|()| self.wakes.wake(&topic)))
    }

    fn listen(&self, topic: String) -> Reply<Tail> {
        Reply::ready(check_name("topic", &topic).map(|()| self.wakes.listen(&topic)))
    }

    fn put_blob(&self, session: SessionId, name: String, data: Vec<u8>) -> Reply<()> {
        if let Err(invalid) = check_name("blob", &name) {
            return Reply::ready(Err(invalid));
        }
        let mut state = self.lock();
        let Some(log) = state.sessions.get_mut(&session) else {
            return Reply::ready(Err(StoreError::NotFound(session)));
        };
        log.blobs.insert(name, data);
        Reply::ready(Ok(()))
    }

    fn blob(&self, session: SessionId, name: String) -> Reply<Option<Vec<u8>>> {
        Reply::ready(self.lock().log(&session).map(|log| log.blobs.get(&name).cloned()))
    }
}

impl Store for MemoryStore {
    fn find(&self, lookup: Lookup) -> Reply<Option<StoredSession>> {
        let state = self.lock();
        let all = state.sessions.values().map(|log| &log.facts);
        let found = match &lookup {
            Lookup::Id(id) => state.sessions.get(id).map(|log| &log.facts),
            Lookup::Key(key) => {
                all.into_iter().find(|facts| !facts.archived && facts.key.as_ref() == Some(key))
            }
            Lookup::CliSession(session) => {
                all.filter(|facts| facts.cli_sessions.contains(session)).max_by_key(|facts| facts.revision)
            }
        };
        Reply::ready(Ok(found.cloned()))
    }

    fn update(&self, id: SessionId, update: SessionUpdate) -> Reply<StoredSession> {
        // Facts are not fenced.
        let generation = self.lock().log(&id).map_or(0, |log| log.generation);
        let reply = self.append(Append { update, generation, ..Append::new(id.clone(), Vec::new()) });
        Reply::ready(reply.wait().and_then(|_| Ok(self.lock().log(&id)?.facts.clone())))
    }

    fn list(&self, query: ListQuery) -> Reply<SessionPage> {
        Reply::ready(Ok(self.lock().list(&query)))
    }

    fn search(&self, query: SearchQuery) -> Reply<Vec<Hit>> {
        Reply::ready(Ok(self.lock().search(&query)))
    }

    fn space(&self) -> Space {
        Space::Enough
    }

    fn usage(&self) -> Reply<Usage> {
        let used = self.lock().sessions.values().map(|log| log.size as u64).sum();
        Reply::ready(Ok(Usage { used, ..Usage::default() }))
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.tails.close();
        self.wakes.close();
    }
}
