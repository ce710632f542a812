//! A store that keeps everything in memory, for tests and for data that should not be kept. It is unbounded.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::checkpoint::{Checkpoint, CheckpointQuery};
use crate::cursor::Check;
use crate::error::StoreError;
use crate::event::{Append, Appended, Event, NewEvent, Placed};
use crate::query::{
    Archived, EventPage, EventRange, Hit, ListOrder, ListQuery, Lookup, ReadQuery, SearchQuery, SessionPage,
    Snippet,
};
use crate::reply::Reply;
use crate::session::{NewStoredSession, SessionId, SessionUpdate, StoredSession};
use crate::space::{Space, Usage};
use crate::store::Store;
use crate::tail::{Tail, TailState, Tails};
use crate::terms::{Terms, words};

/// A store in memory. It answers immediately.
#[derive(Debug)]
pub struct MemoryStore {
    epoch: String,
    check: Check,
    state: Mutex<State>,
    tails: Tails,
}

#[derive(Debug, Default)]
struct State {
    conversations: BTreeMap<SessionId, Log>,
    revision: u64,
}

/// An event and the text and labels it is found by.
#[derive(Debug)]
struct Kept {
    event: Event,
    text: Option<String>,
    labels: Vec<String>,
}

#[derive(Debug)]
struct Log {
    facts: StoredSession,
    events: Vec<Kept>,
    checkpoints: Vec<Checkpoint>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            epoch: uuid::Uuid::new_v4().simple().to_string(),
            check: Check::random(),
            state: Mutex::default(),
            tails: Tails::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn log(&self, id: &SessionId) -> Result<&Log, StoreError> {
        self.conversations.get(id).ok_or_else(|| StoreError::NotFound(id.clone()))
    }

    fn check_key(&self, changed: &StoredSession) -> Result<(), StoreError> {
        let Some(key) = changed.key.as_ref().filter(|_| !changed.archived) else { return Ok(()) };
        let mut others = self.conversations.values().map(|log| &log.facts);
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
        let mut facts = new.into_conversation()?;
        if self.conversations.contains_key(&facts.id) {
            return Err(StoreError::IdInUse(facts.id));
        }
        self.check_key(&facts)?;
        facts.revision = self.next_revision();
        self.conversations.insert(
            facts.id.clone(),
            Log { facts: facts.clone(), events: Vec::new(), checkpoints: Vec::new() },
        );
        Ok(facts)
    }

    fn append(&mut self, append: Append, check: Check) -> Result<Appended, StoreError> {
        append.check()?;
        let log = self.log(&append.conversation)?;
        let mut facts = log.facts.clone();
        let no_update = append.update.is_empty();
        append.update.apply(&mut facts)?;
        self.check_key(&facts)?;

        let mut fresh: Vec<Kept> = Vec::new();
        let mut placed = Vec::new();
        for event in append.events {
            let known = event.client_id.as_ref().and_then(|client_id| {
                let mut all = log.events.iter().chain(&fresh);
                all.find(|kept| kept.event.client_id.as_ref() == Some(client_id)).map(|kept| kept.event.seq)
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
        if no_update && fresh.is_empty() {
            return Ok(Appended { placed, newest, check });
        }
        facts.revision = self.next_revision();
        if let Some(log) = self.conversations.get_mut(&append.conversation) {
            log.facts = facts;
            log.events.extend(fresh);
        }
        Ok(Appended { placed, newest, check })
    }

    fn list(&self, query: &ListQuery) -> SessionPage {
        let text = query.text.as_ref().map(|text| text.to_ascii_lowercase());
        let has = |place: &Option<String>, text: &str| {
            place.as_ref().is_some_and(|place| place.to_ascii_lowercase().contains(text))
        };
        let terms = query.text.as_deref().map(Terms::parse);
        let says = |log: &Log| {
            let texts = log.events.iter().filter_map(|kept| kept.text.as_deref());
            terms.as_ref().is_some_and(|terms| texts.into_iter().any(|text| matches(terms, text)))
        };
        let mut found: Vec<_> = self
            .conversations
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
        SessionPage { conversations: found, more }
    }

    fn read(&self, query: &ReadQuery) -> Result<EventPage, StoreError> {
        let log = self.log(&query.conversation)?;
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
        let logs = self
            .conversations
            .values()
            .filter(|log| query.conversation.as_ref().is_none_or(|id| *id == log.facts.id));
        let mut hits: Vec<_> = logs
            .flat_map(|log| log.events.iter().map(move |event| (&log.facts, event)))
            .filter_map(|(facts, kept)| Some((facts, &kept.event, kept.text.as_ref()?)))
            .filter(|(_, _, text)| matches(&terms, text))
            .map(|(facts, event, text)| Hit {
                conversation: facts.id.clone(),
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

impl Store for MemoryStore {
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

    fn find(&self, lookup: Lookup) -> Reply<Option<StoredSession>> {
        let state = self.lock();
        let all = state.conversations.values().map(|log| &log.facts);
        let found = match &lookup {
            Lookup::Id(id) => state.conversations.get(id).map(|log| &log.facts),
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
        let reply = self.append(Append { update, ..Append::new(id.clone(), Vec::new()) });
        Reply::ready(reply.wait().and_then(|_| Ok(self.lock().log(&id)?.facts.clone())))
    }

    fn delete(&self, id: SessionId) -> Reply<bool> {
        let mut state = self.lock();
        let existed = state.conversations.remove(&id).is_some();
        if existed {
            let revision = state.next_revision();
            drop(state);
            self.tails.set(&id, TailState::Deleted);
            self.tails.set_revision(revision);
        }
        Reply::ready(Ok(existed))
    }

    fn list(&self, query: ListQuery) -> Reply<SessionPage> {
        Reply::ready(Ok(self.lock().list(&query)))
    }

    fn append(&self, append: Append) -> Reply<Appended> {
        let id = append.conversation.clone();
        let mut state = self.lock();
        let appended = state.append(append, self.check);
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

    fn event(&self, conversation: SessionId, seq: u64) -> Reply<Option<Event>> {
        let state = self.lock();
        let found = state
            .log(&conversation)
            .map(|log| log.events.iter().find(|kept| kept.event.seq == seq).map(|kept| kept.event.clone()));
        Reply::ready(found)
    }

    fn by_client(&self, conversation: SessionId, client_id: String) -> Reply<Option<u64>> {
        let state = self.lock();
        let is_it = |kept: &&Kept| kept.event.client_id.as_ref() == Some(&client_id);
        let found =
            state.log(&conversation).map(|log| log.events.iter().find(is_it).map(|kept| kept.event.seq));
        Reply::ready(found)
    }

    fn check_at(&self, conversation: SessionId, seq: u64) -> Reply<Option<Check>> {
        let state = self.lock();
        let found = state.log(&conversation).map(|log| (1..=log.facts.newest).contains(&seq));
        Reply::ready(found.map(|is_there| is_there.then_some(self.check)))
    }

    fn save_checkpoint(&self, conversation: SessionId, checkpoint: Checkpoint) -> Reply<()> {
        let mut state = self.lock();
        let Some(log) = state.conversations.get_mut(&conversation) else {
            return Reply::ready(Err(StoreError::NotFound(conversation)));
        };
        log.checkpoints.retain(|kept| kept.version == checkpoint.version && kept.seq != checkpoint.seq);
        log.checkpoints.push(checkpoint);
        Reply::ready(Ok(()))
    }

    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>> {
        let state = self.lock();
        let kept = state.conversations.get(&query.conversation).map(|log| log.checkpoints.as_slice());
        let fitting = kept.unwrap_or_default().iter().filter(|kept| query.matches(kept));
        Reply::ready(Ok(fitting.max_by_key(|kept| kept.seq).cloned()))
    }

    fn search(&self, query: SearchQuery) -> Reply<Vec<Hit>> {
        Reply::ready(Ok(self.lock().search(&query)))
    }

    fn subscribe(&self, conversation: SessionId) -> Reply<Tail> {
        let tail = self.tails.subscribe(&conversation);
        let newest = self.lock().log(&conversation).map(|log| log.facts.newest);
        Reply::ready(newest.map(|newest| {
            self.tails.set(&conversation, TailState::Newest(newest));
            tail
        }))
    }

    fn space(&self) -> Space {
        Space::Enough
    }

    fn usage(&self) -> Reply<Usage> {
        let used = self.lock().conversations.values().map(|log| log.facts.bytes).sum();
        Reply::ready(Ok(Usage { used, ..Usage::default() }))
    }

    fn subscribe_all(&self) -> Reply<Tail> {
        let tail = self.tails.subscribe_all();
        self.tails.set_revision(self.lock().revision);
        Reply::ready(Ok(tail))
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.tails.close();
    }
}
