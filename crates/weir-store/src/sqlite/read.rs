//! The queries, as SQL.

use rusqlite::{Connection, OptionalExtension, params};

use super::heads;
use super::rows::{self, COLUMNS, find_session, place, seq_of, signed, unsigned};
use super::runs;
use super::write::Failure;
use crate::checkpoint::{Checkpoint, CheckpointQuery};
use crate::cursor::Check;
use crate::error::StoreError;
use crate::event::Event;
use crate::query::{
    Archived, EventPage, EventRange, Hit, ListOrder, ListQuery, Lookup, ReadQuery, SearchQuery, SessionPage,
};
use crate::session::{SessionId, StoredSession};
use crate::terms::{MARK_END, MARK_START, Terms, unmark};

/// Words in a snippet.
const SNIPPET_WORDS: i64 = 24;

pub(super) fn find(connection: &Connection, lookup: &Lookup) -> rusqlite::Result<Option<StoredSession>> {
    let found = match lookup {
        Lookup::Id(id) => find_session(connection, "id = ?1", [id.as_str()]),
        Lookup::Key(key) => find_session(connection, "key = ?1 AND archived = 0", [key]),
        Lookup::CliSession(session) => find_session(
            connection,
            "number IN (SELECT conversation FROM cli_session WHERE session = ?1) ORDER BY revision DESC LIMIT 1",
            [session],
        ),
    };
    Ok(found?.map(|(_, facts)| facts))
}

pub(super) fn list(connection: &Connection, query: &ListQuery) -> rusqlite::Result<SessionPage> {
    let archived = match query.archived {
        Archived::Without => Some(false),
        Archived::With => None,
        Archived::Only => Some(true),
    };
    let (place, order) = match query.order {
        ListOrder::Newest => (i64::MAX, "revision < ?5 ORDER BY revision DESC"),
        ListOrder::NewestBefore(revision) => (signed(revision), "revision < ?5 ORDER BY revision DESC"),
        ListOrder::ChangedAfter(revision) => (signed(revision), "revision > ?5 ORDER BY revision"),
    };
    let text = query.text.as_deref().map(contains_pattern);
    let words = query.text.as_deref().and_then(|text| Terms::parse(text).expression());
    // The index rejects an expression without words. The alternative is never true, and uses the same parameters.
    let in_events = match &words {
        Some(_) => "OR number IN (SELECT rowid >> ?8 FROM search WHERE search MATCH ?7)",
        None => "OR (?7 IS NOT NULL AND ?8 IS NULL)",
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM conversation WHERE (?1 IS NULL OR archived = ?1) \
         AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR cwd = ?3) \
         AND (?4 IS NULL OR title LIKE ?4 ESCAPE '\\' OR key LIKE ?4 ESCAPE '\\' OR cwd LIKE ?4 ESCAPE '\\' \
           {in_events}) \
         AND {order} LIMIT ?6"
    );
    let max_rows = signed(query.limit as u64).saturating_add(1);
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map(
        params![archived, query.status, query.cwd, text, place, max_rows, words, super::schema::SEQ_BITS],
        rows::session,
    )?;
    let mut sessions = found.map(|row| Ok(row?.1)).collect::<rusqlite::Result<Vec<_>>>()?;
    let more = sessions.len() > query.limit;
    sessions.truncate(query.limit);
    Ok(SessionPage { sessions, more })
}

pub(super) fn checkpoint(
    connection: &Connection,
    query: &CheckpointQuery,
) -> rusqlite::Result<Option<Checkpoint>> {
    let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "SELECT seq, version, mark, data FROM checkpoint \
             WHERE conversation = (SELECT number FROM conversation WHERE id = ?1) AND version = ?2 \
             AND seq <= ?3 AND mark <= ?4 ORDER BY seq DESC LIMIT 1",
        )?
        .query_row(
            params![
                query.session.as_str(),
                query.version,
                bound(query.seq_at_most),
                bound(query.mark_at_most)
            ],
            |row| {
                Ok(Checkpoint {
                    seq: unsigned(row.get(0)?),
                    version: row.get(1)?,
                    mark: unsigned(row.get(2)?),
                    data: row.get(3)?,
                })
            },
        )
        .optional()
}

fn contains_pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "%"
}

/// The number of a session, and that of its newest event.
fn head(connection: &Connection, id: &SessionId) -> rusqlite::Result<Option<(i64, u64)>> {
    Ok(heads::head(connection, id.as_str())?.map(|head| (head.number, head.newest)))
}

pub(super) fn newest(connection: &Connection, id: &SessionId) -> rusqlite::Result<Option<u64>> {
    Ok(head(connection, id)?.map(|(_, newest)| newest))
}

/// The newest revision once all facts are counted.
pub(super) fn revision(connection: &Connection) -> rusqlite::Result<u64> {
    let behind: i64 =
        connection.prepare_cached("SELECT count(*) FROM behind")?.query_row([], |row| row.get(0))?;
    Ok(written_revision(connection)? + unsigned(behind))
}

/// The newest revision stored: that of a session, or of the last one deleted.
pub(super) fn written_revision(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(
            "SELECT max(value, coalesce((SELECT max(revision) FROM conversation), 0)) FROM meta \
             WHERE name = 'revision'",
        )?
        .query_row([], |row| row.get(0).map(unsigned))
}

pub(super) fn epoch(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT value FROM meta WHERE name = 'epoch'", [], |row| row.get(0))
}

pub(super) fn events(connection: &Connection, query: &ReadQuery) -> Result<EventPage, Failure> {
    // One snapshot for the three statements: nothing is deleted or added between them.
    let connection = connection.unchecked_transaction()?;
    let Some((number, newest)) = head(&connection, &query.session)? else {
        return Err(StoreError::NotFound(query.session.clone()).into());
    };
    let (first, last, order) = match query.range {
        EventRange::After(seq) => (seq.saturating_add(1), u64::MAX, ""),
        EventRange::Before(seq) => (1, seq.saturating_sub(1), "DESC"),
    };
    let wanted = Wanted {
        bounds: (place(number, first), place(number, last)),
        order,
        label: query.label.as_deref().map(|label| (number, label)),
    };
    let (count, more) = fitting(&connection, query, &wanted)?;
    let columns = "event.place, at, kind, client_id, payload";
    let mut events = Vec::new();
    wanted.each(&connection, columns, count, |row| {
        events.push(rows::event(row)?);
        Ok(true)
    })?;
    runs::attribute(&connection, number, &mut events)?;
    Ok(EventPage { events, newest, more })
}

/// Which events a page contains.
struct Wanted<'a> {
    bounds: (i64, i64),
    order: &'static str,
    /// Only those of this session with this label.
    label: Option<(i64, &'a str)>,
}

impl Wanted<'_> {
    /// Passes them on in order, until there are enough.
    fn each(
        &self,
        connection: &Connection,
        columns: &str,
        max_rows: i64,
        mut take: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<()> {
        let ((first, last), order) = (self.bounds, self.order);
        let Some((number, label)) = self.label else {
            let sql = format!(
                "SELECT {columns} FROM event WHERE place BETWEEN ?1 AND ?2 ORDER BY place {order} LIMIT ?3"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let mut found = statement.query(params![first, last, max_rows])?;
            while let Some(row) = found.next()?
                && take(row)?
            {}
            return Ok(());
        };
        let unlabelled: i64 = connection
            .prepare_cached("SELECT unlabelled FROM conversation WHERE number = ?1")?
            .query_row([number], |row| row.get(0))?;
        // CROSS JOIN: go from the labels to their events, not through the log.
        let sql = format!(
            "WITH wanted AS (SELECT place FROM event WHERE place BETWEEN ?1 AND min(?2, ?4) \
               UNION ALL SELECT place FROM label WHERE conversation = ?5 AND label = ?6 \
               AND place BETWEEN max(?1, ?4 + 1) AND ?2 ORDER BY place {order} LIMIT ?3) \
             SELECT {columns} FROM wanted CROSS JOIN event ON event.place = wanted.place \
             ORDER BY event.place {order}"
        );
        let before_labels = place(number, unsigned(unlabelled));
        let mut statement = connection.prepare_cached(&sql)?;
        let mut found = statement.query(params![first, last, max_rows, before_labels, number, label])?;
        while let Some(row) = found.next()?
            && take(row)?
        {}
        Ok(())
    }
}

/// How many events fit on the page, and whether more follow. Looks only at lengths, so that a page of small events
/// before a huge one does not load the huge one.
fn fitting(connection: &Connection, query: &ReadQuery, wanted: &Wanted<'_>) -> rusqlite::Result<(i64, bool)> {
    let max_events = signed(query.max_events as u64);
    let (mut count, mut bytes, mut more) = (0, 0_u64, false);
    wanted.each(connection, "length(payload)", max_events.saturating_add(1), |row| {
        bytes = bytes.saturating_add(unsigned(row.get(0)?));
        more = count >= max_events || (bytes > query.max_bytes as u64 && count > 0);
        count += i64::from(!more);
        Ok(!more)
    })?;
    Ok((count, more))
}

pub(super) fn event(connection: &Connection, id: &SessionId, seq: u64) -> Result<Option<Event>, Failure> {
    let Some((number, newest)) = head(connection, id)? else {
        return Err(StoreError::NotFound(id.clone()).into());
    };
    if seq == 0 || seq > newest {
        return Ok(None);
    }
    let mut statement = connection
        .prepare_cached("SELECT place, at, kind, client_id, payload FROM event WHERE place = ?1")?;
    let mut found: Vec<Event> =
        statement.query_row([place(number, seq)], rows::event).optional()?.into_iter().collect();
    runs::attribute(connection, number, &mut found)?;
    Ok(found.pop())
}

pub(super) fn by_client(
    connection: &Connection,
    id: &SessionId,
    client_id: &str,
) -> Result<Option<u64>, Failure> {
    let Some((number, _)) = head(connection, id)? else {
        return Err(StoreError::NotFound(id.clone()).into());
    };
    Ok(rows::seq_of_client(connection, number, client_id)?)
}

pub(super) fn check_at(connection: &Connection, id: &SessionId, seq: u64) -> Result<Option<Check>, Failure> {
    let Some((number, newest)) = head(connection, id)? else {
        return Err(StoreError::NotFound(id.clone()).into());
    };
    if (1..=newest).contains(&seq) { Ok(runs::writer_of(connection, number, seq)?) } else { Ok(None) }
}

pub(super) fn generation(connection: &Connection, id: &SessionId) -> Result<u64, Failure> {
    let head = heads::head(connection, id.as_str())?;
    head.map(|head| head.generation).ok_or_else(|| StoreError::NotFound(id.clone()).into())
}

pub(super) fn blob(connection: &Connection, id: &SessionId, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let Some((number, _)) = head(connection, id)? else {
        return Err(StoreError::NotFound(id.clone()).into());
    };
    let mut statement =
        connection.prepare_cached("SELECT data FROM blob WHERE conversation = ?1 AND name = ?2")?;
    Ok(statement.query_row(params![number, name], |row| row.get(0)).optional()?)
}

pub(super) fn search(connection: &Connection, query: &SearchQuery) -> Result<Vec<Hit>, Failure> {
    let Some(expression) = Terms::parse(&query.text).expression() else { return Ok(Vec::new()) };
    let bounds = match &query.session {
        None => (0, i64::MAX),
        Some(id) => match head(connection, id)? {
            Some((number, _)) => (place(number, 0), place(number, u64::MAX)),
            None => return Ok(Vec::new()),
        },
    };
    // The inner query ranks; only the hits to be shown are read again for their snippets.
    let sql = "WITH best AS MATERIALIZED (SELECT rowid AS place, rank AS score FROM search \
                 WHERE search MATCH ?1 AND rowid BETWEEN ?2 AND ?3 \
                 AND EXISTS (SELECT 1 FROM conversation WHERE number = search.rowid >> ?9) \
                 ORDER BY rank, rowid DESC LIMIT ?4 OFFSET ?5) \
               SELECT c.id, c.title, e.place, e.at, e.kind, snippet(search, 0, ?6, ?7, '…', ?8) \
               FROM best CROSS JOIN search ON search.rowid = best.place \
               JOIN event AS e ON e.place = best.place JOIN conversation AS c ON c.number = best.place >> ?9 \
               WHERE search MATCH ?1 ORDER BY best.score, best.place DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map(
        params![
            expression,
            bounds.0,
            bounds.1,
            signed(query.limit as u64),
            signed(query.offset as u64),
            MARK_START.to_string(),
            MARK_END.to_string(),
            SNIPPET_WORDS,
            super::schema::SEQ_BITS,
        ],
        |row| {
            Ok(Hit {
                session: rows::id(row.get(0)?)?,
                title: row.get(1)?,
                seq: seq_of(row.get(2)?),
                at: row.get(3)?,
                kind: row.get(4)?,
                snippet: unmark(&row.get::<_, String>(5)?),
            })
        },
    )?;
    Ok(found.collect::<rusqlite::Result<Vec<_>>>()?)
}
