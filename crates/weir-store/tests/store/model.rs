//! The file against the model: any sequence of calls gets the same replies from both stores.

use std::fmt::Debug;

use proptest::prelude::*;
use weir_store::{
    Append, Archived, EventRange, ListOrder, ListQuery, Lookup, MemoryStore, NewEvent, NewStoredSession,
    ReadQuery, SearchQuery, SessionId, SessionPage, SessionUpdate, Store, StoreError, StoredSession,
};

use crate::support::open_unsynced;

#[derive(Debug, Clone)]
enum Call {
    Create(SessionId, SessionUpdate),
    Update(SessionId, SessionUpdate),
    Append(Append),
    Delete(SessionId),
    Find(Lookup),
    List(ListQuery, Order),
    Read(ReadQuery),
    Search(SearchQuery),
}

/// The order of a list, relative to a session: revisions differ between stores.
#[derive(Debug, Clone, Copy)]
enum Order {
    Newest,
    NewestBefore(usize),
    ChangedAfter(usize),
}

fn ids() -> impl Strategy<Value = SessionId> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(|text| text.parse().unwrap())
}

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec!["fix", "parser", "par", "it's", "foo_bar", "x", "%", "\""]),
        0..4,
    )
    .prop_map(|words| words.join(" "))
}

fn updates() -> impl Strategy<Value = SessionUpdate> {
    let keys =
        prop::option::of(prop::option::of(prop::sample::select(vec!["k1".to_owned(), "k2".to_owned()])));
    let sessions = prop::option::of(prop::sample::select(vec!["s1".to_owned(), "s2".to_owned()]));
    let facts = (prop::option::of(0..100_i64), keys, prop::option::of(prop::option::of(words())), sessions);
    (facts, prop::option::of(any::<bool>()), prop::option::of(0.0..9.0_f64)).prop_map(
        |((at, key, title, cli_session), archived, cost_usd)| SessionUpdate {
            at,
            key,
            title,
            cli_session,
            archived,
            cost_usd,
            ..SessionUpdate::default()
        },
    )
}

fn labels() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(vec!["one".to_owned(), "other".to_owned()]), 0..3)
}

fn events() -> impl Strategy<Value = NewEvent> {
    let client_ids =
        prop::option::weighted(0.3, prop::sample::select(vec!["m1".to_owned(), "m2".to_owned()]));
    let payloads = prop::collection::vec(any::<u8>(), 0..40);
    (0..100_i64, client_ids, payloads, prop::option::of(words()), labels()).prop_map(
        |(at, client_id, payload, search_text, labels)| NewEvent {
            at,
            kind: "line".to_owned(),
            client_id,
            payload,
            search_text,
            labels,
        },
    )
}

fn appends() -> impl Strategy<Value = Append> {
    let no_update = Just(SessionUpdate::default());
    let update = prop_oneof![3 => no_update, 1 => updates()];
    let generations = prop_oneof![4 => Just(0), 1 => 0..3_u64];
    let expected = prop::option::weighted(0.2, 0..6_u64);
    (ids(), prop::collection::vec(events(), 0..5), expected, generations, update).prop_map(
        |(session, events, expected_newest, generation, update)| Append {
            session,
            events,
            expected_newest,
            generation,
            update,
            essential: false,
        },
    )
}

fn reads() -> impl Strategy<Value = ReadQuery> {
    let seq = prop_oneof![0..20_u64, Just(u64::MAX)];
    let range = prop_oneof![seq.clone().prop_map(EventRange::After), seq.prop_map(EventRange::Before)];
    let label = labels().prop_map(|labels| labels.into_iter().next());
    (ids(), range, 0..6_usize, 0..80_usize, label).prop_map(
        |(session, range, max_events, max_bytes, label)| ReadQuery {
            session,
            range,
            max_events,
            max_bytes,
            label,
        },
    )
}

fn lists() -> impl Strategy<Value = (ListQuery, Order)> {
    let order = prop_oneof![
        Just(Order::Newest),
        (0..5_usize).prop_map(Order::NewestBefore),
        (0..5_usize).prop_map(Order::ChangedAfter),
    ];
    let archived = prop::sample::select(vec![Archived::Without, Archived::With, Archived::Only]);
    (archived, prop::option::of(words()), order, 0..4_usize).prop_map(|(archived, text, order, limit)| {
        (ListQuery { archived, text, limit, ..ListQuery::default() }, order)
    })
}

fn calls() -> impl Strategy<Value = Call> {
    let lookups = prop_oneof![
        ids().prop_map(Lookup::Id),
        Just(Lookup::Key("k1".to_owned())),
        Just(Lookup::CliSession("s1".to_owned())),
    ];
    let searches = (words(), prop::option::of(ids())).prop_map(|(text, session)| SearchQuery {
        session,
        limit: 1_000,
        ..SearchQuery::new(text)
    });
    prop_oneof![
        2 => (ids(), updates()).prop_map(|(id, facts)| Call::Create(id, facts)),
        2 => (ids(), updates()).prop_map(|(id, update)| Call::Update(id, update)),
        6 => appends().prop_map(Call::Append),
        1 => ids().prop_map(Call::Delete),
        2 => lookups.prop_map(Call::Find),
        2 => lists().prop_map(|(query, order)| Call::List(query, order)),
        4 => reads().prop_map(Call::Read),
        2 => searches.prop_map(Call::Search),
    ]
}

fn describe<T: Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("error: {error}"),
    }
}

/// The facts without the revision. The order of sessions is compared where they are listed.
fn without_revision(facts: StoredSession) -> StoredSession {
    StoredSession { revision: 0, ..facts }
}

fn list(store: &dyn Store, query: ListQuery, order: Order) -> Result<SessionPage, StoreError> {
    let all = ListQuery { archived: Archived::With, limit: 100, ..ListQuery::default() };
    let all = store.list(all).wait()?.sessions;
    let revision = |place: usize| all.get(place).map_or(0, |facts| facts.revision);
    let order = match order {
        Order::Newest => ListOrder::Newest,
        Order::NewestBefore(place) => ListOrder::NewestBefore(revision(place)),
        Order::ChangedAfter(place) => ListOrder::ChangedAfter(revision(place)),
    };
    let mut page = store.list(ListQuery { order, ..query }).wait()?;
    page.sessions = page.sessions.into_iter().map(without_revision).collect();
    Ok(page)
}

fn answer(store: &dyn Store, call: Call) -> String {
    match call {
        Call::Create(id, facts) => describe(
            store
                .create(NewStoredSession { facts, ..NewStoredSession::new(id, 5) })
                .wait()
                .map(without_revision),
        ),
        Call::Update(id, update) => describe(store.update(id, update).wait().map(without_revision)),
        // The writer of an event differs between stores.
        Call::Append(append) => {
            describe(store.append(append).wait().map(|appended| (appended.placed, appended.newest)))
        }
        Call::Delete(id) => describe(store.delete(id).wait()),
        Call::Find(lookup) => describe(store.find(lookup).wait().map(|found| found.map(without_revision))),
        Call::List(query, order) => describe(list(store, query, order)),
        Call::Read(query) => describe(store.read(query).wait().map(|mut page| {
            page.events.iter_mut().for_each(|event| event.check = None);
            page
        })),
        // The order and the snippets differ between stores.
        Call::Search(query) => describe(store.search(query).wait().map(|hits| {
            let mut places: Vec<_> = hits.into_iter().map(|hit| (hit.session, hit.title, hit.seq)).collect();
            places.sort();
            places
        })),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn file_and_model_agree(calls in prop::collection::vec(calls(), 1..40), reopen in any::<prop::sample::Index>()) {
        let folder = tempfile::tempdir().unwrap();
        let model = MemoryStore::new();
        let mut file = open_unsynced(folder.path());
        let reopen = reopen.index(calls.len());
        for (place, call) in calls.into_iter().enumerate() {
            if place == reopen {
                drop(file);
                file = open_unsynced(folder.path());
            }
            prop_assert_eq!(answer(&file, call.clone()), answer(&model, call.clone()), "{:?}", call);
        }
        file.check().wait().unwrap();
    }
}
