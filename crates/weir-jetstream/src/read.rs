//! Reading pages: the records that have them, from the leader of the stream, one after another.

use weir_store::{EventPage, EventRange, ReadQuery, SessionId, StoreError};

use crate::core::{Core, Read};
use crate::record::{self, Kind};

/// How often a log that is deleted and created again meanwhile is read from the beginning.
const TRIES: usize = 5;
/// More sessions than this are not read at the same time.
const MAX_PLACES: usize = 1024;

/// A page that is being filled.
struct Page {
    page: EventPage,
    bytes: usize,
}

impl Page {
    /// Adds an event. Returns whether the page is full, and then it was not added.
    fn add(&mut self, query: &ReadQuery, event: weir_store::Event, labels: &[String]) -> bool {
        if query.label.as_ref().is_some_and(|label| !labels.contains(label)) {
            return false;
        }
        let page = &mut self.page;
        self.bytes = self.bytes.saturating_add(event.payload.len());
        page.more = page.events.len() >= query.max_events
            || (self.bytes > query.max_bytes && !page.events.is_empty());
        if !page.more {
            page.events.push(event);
        }
        page.more
    }
}

impl Core {
    pub(crate) async fn read(&self, query: ReadQuery) -> Result<EventPage, StoreError> {
        for _ in 0..TRIES {
            let last = self.alive(&query.session).await?;
            let newest = last.placed.head.newest;
            let mut page = Page { page: EventPage { events: Vec::new(), newest, more: false }, bytes: 0 };
            let is_whole = match query.range {
                EventRange::After(seq) => self.read_after(&query, seq, &last, &mut page).await?,
                EventRange::Before(seq) => self.read_before(&query, seq, last, &mut page).await?,
            };
            // Otherwise the session was deleted meanwhile.
            if is_whole {
                return Ok(page.page);
            }
        }
        let detail = format!("records of session {} are missing", query.session);
        Err(StoreError::Unavailable { detail })
    }

    /// Returns whether nothing was missing.
    async fn read_after(
        &self,
        query: &ReadQuery,
        seq: u64,
        last: &Read,
        page: &mut Page,
    ) -> Result<bool, StoreError> {
        let newest = last.placed.head.newest;
        let wanted = seq.saturating_add(1);
        if wanted > newest {
            return Ok(true);
        }
        let Some(mut read) = self.record_with(&query.session, wanted, last).await? else { return Ok(false) };
        let born = last.placed.head.born;
        loop {
            if read.placed.head.born != born {
                return Ok(false);
            }
            for (event, labels) in self.events(&read).await? {
                if event.seq > seq && page.add(query, event, &labels) {
                    self.remember(&query.session, page, read.placed.position);
                    return Ok(true);
                }
            }
            if read.placed.head.newest >= newest {
                return Ok(true);
            }
            let Some(next) = self.next(&query.session, read.placed.position + 1).await? else {
                return Ok(false);
            };
            read = next;
        }
    }

    /// Remembers where the next page begins: in the record that the last event did not come from any more.
    fn remember(&self, session: &SessionId, page: &Page, position: u64) {
        let Some(last) = page.page.events.last() else { return };
        let mut places = self.places();
        if places.len() >= MAX_PLACES {
            places.clear();
        }
        places.insert(session.clone(), (last.seq, position));
    }

    async fn read_before(
        &self,
        query: &ReadQuery,
        seq: u64,
        last: Read,
        page: &mut Page,
    ) -> Result<bool, StoreError> {
        let wanted = seq.saturating_sub(1).min(last.placed.head.newest);
        if wanted == 0 {
            return Ok(true);
        }
        let mut read = if wanted > last.placed.head.newest.saturating_sub(last.placed.head.count) {
            last
        } else {
            let Some(read) = self.record_with(&query.session, wanted, &last).await? else { return Ok(false) };
            read
        };
        loop {
            let mut events = self.events(&read).await?;
            events.retain(|(event, _)| event.seq <= wanted);
            for (event, labels) in events.into_iter().rev() {
                if page.add(query, event, &labels) {
                    return Ok(true);
                }
            }
            let previous = read.placed.head.previous;
            if previous == 0 || read.placed.first() <= 1 {
                return Ok(true);
            }
            let Some(before) = self.at(previous).await? else { return Ok(false) };
            read = before;
        }
    }

    /// The record that has this event, which is not newer than the last one.
    pub(crate) async fn record_with(
        &self,
        session: &SessionId,
        seq: u64,
        last: &Read,
    ) -> Result<Option<Read>, StoreError> {
        let hint = self.places().get(session).copied();
        if let Some((_, position)) = hint.filter(|(end, _)| end + 1 == seq)
            && let Some(read) = self.at(position).await?
            && read.placed.head.born == last.placed.head.born
            && (read.placed.first()..=read.placed.head.newest).contains(&seq)
        {
            return Ok(Some(read));
        }
        // The first record whose newest event is this one or a later one: numbers grow with positions.
        let (mut low, mut high) = (1, last.placed.position);
        let mut found = None;
        while low <= high {
            let middle = low + (high - low) / 2;
            match self.next(session, middle).await? {
                Some(read) if read.placed.position <= high => {
                    let position = read.placed.position;
                    if read.placed.head.newest >= seq {
                        found = Some(read);
                        high = middle - 1;
                    } else {
                        low = position + 1;
                    }
                }
                // Nothing between the middle and the end.
                Some(_) | None => high = middle - 1,
            }
        }
        Ok(found)
    }

    /// The events of a record, with their labels.
    pub(crate) async fn events(
        &self,
        read: &Read,
    ) -> Result<Vec<(weir_store::Event, Vec<String>)>, StoreError> {
        let head = read.placed.head;
        if head.kind != Kind::Events || head.count == 0 {
            return Ok(Vec::new());
        }
        let contents = record::decode(&self.body(read).await?)?;
        let numbered = (read.placed.first()..).zip(contents.events);
        Ok(numbered.map(|(seq, event)| record::stored(event, seq, head.check)).collect())
    }

    /// One event.
    pub(crate) async fn event(
        &self,
        session: &SessionId,
        seq: u64,
    ) -> Result<Option<weir_store::Event>, StoreError> {
        let Some(read) = self.record_of(session, seq).await? else { return Ok(None) };
        let events = self.events(&read).await?;
        Ok(events.into_iter().map(|(event, _)| event).find(|event| event.seq == seq))
    }

    /// The record that has this event, if it exists.
    pub(crate) async fn record_of(&self, session: &SessionId, seq: u64) -> Result<Option<Read>, StoreError> {
        let last = self.alive(session).await?;
        if seq == 0 || seq > last.placed.head.newest {
            return Ok(None);
        }
        self.record_with(session, seq, &last).await
    }

    /// The number of the event with this client id.
    pub(crate) async fn by_client(
        &self,
        session: &SessionId,
        client_id: &str,
    ) -> Result<Option<u64>, StoreError> {
        let mut position = self.alive(session).await?.placed.last_named();
        while position > 0 {
            let Some(read) = self.at(position).await? else { break };
            let mut events = self.events(&read).await?.into_iter();
            if let Some((event, _)) = events.find(|(event, _)| event.client_id.as_deref() == Some(client_id))
            {
                return Ok(Some(event.seq));
            }
            position = read.placed.head.named_before;
        }
        Ok(None)
    }
}
