//! The contract of every store beyond that of a log, which `conformance` tests.

use serde_json::json;
use weir_store::{
    Append, Archived, ListOrder, ListQuery, Lookup, NewEvent, NewStoredSession, Parent, ReadQuery,
    SessionUpdate, Store, StoreError,
};

use crate::support::{append, block_on, create, event, id, on_each, payloads, whole_log};

#[test]
fn a_session_is_as_it_was_created() {
    on_each(|store| {
        let parent = create(store, "parent");
        let new = NewStoredSession {
            parent: Some(Parent { session: parent, seq: 7 }),
            facts: SessionUpdate {
                key: Some(Some("flow::node".to_owned())),
                title: Some(Some("Fix the parser".to_owned())),
                cwd: Some("/workspace/demo".to_owned()),
                model: Some("sonnet".to_owned()),
                status: Some("idle".to_owned()),
                cli_session: Some("session-1".to_owned()),
                cost_usd: Some(0.25),
                settings: Some(json!({"tools": ["Bash"]})),
                ..SessionUpdate::default()
            },
            ..NewStoredSession::new(id("one"), 1_000)
        };
        let created = store.create(new).wait().unwrap();
        assert_eq!(created.title.as_deref(), Some("Fix the parser"));
        assert_eq!(
            (created.created_at, created.updated_at, created.newest, created.bytes),
            (1_000, 1_000, 0, 0)
        );
        for lookup in [
            Lookup::Id(id("one")),
            Lookup::Key("flow::node".to_owned()),
            Lookup::CliSession("session-1".to_owned()),
        ] {
            assert_eq!(store.find(lookup).wait().unwrap().as_ref(), Some(&created));
        }
        for lookup in
            [Lookup::Id(id("two")), Lookup::Key("flow".to_owned()), Lookup::CliSession("session".to_owned())]
        {
            assert_eq!(store.find(lookup).wait().unwrap(), None);
        }
        let again = store.create(NewStoredSession::new(id("one"), 1)).wait();
        assert!(matches!(again, Err(StoreError::IdInUse(_))));
    });
}

#[test]
fn an_update_changes_what_it_names() {
    on_each(|store| {
        let one = create(store, "one");
        let update = |update| store.update(one.clone(), update).wait().unwrap();
        update(SessionUpdate { title: Some(Some("a".to_owned())), ..Default::default() });
        let changed = update(SessionUpdate {
            at: Some(50),
            status: Some("running".to_owned()),
            cli_session: Some("s1".to_owned()),
            ..Default::default()
        });
        assert_eq!(changed.title.as_deref(), Some("a"));
        assert_eq!((changed.status.as_str(), changed.updated_at), ("running", 50));
        let changed = update(SessionUpdate {
            at: Some(40),
            title: Some(None),
            cli_session: Some("s2".to_owned()),
            ..Default::default()
        });
        assert_eq!((changed.title, changed.updated_at), (None, 50));
        assert_eq!(changed.cli_sessions, ["s1", "s2"]);
        let missing = store.update(id("two"), SessionUpdate::default()).wait();
        assert!(matches!(missing, Err(StoreError::NotFound(_))));
    });
}

#[test]
fn a_key_has_one_live_owner() {
    on_each(|store| {
        let key = |key: &str| SessionUpdate { key: Some(Some(key.to_owned())), ..Default::default() };
        let archive = |archived| SessionUpdate { archived: Some(archived), ..Default::default() };
        let (one, two) = (create(store, "one"), create(store, "two"));
        store.update(one.clone(), key("k")).wait().unwrap();
        store.update(one.clone(), key("k")).wait().unwrap();

        let refused = store.update(two.clone(), key("k")).wait();
        assert!(matches!(refused, Err(StoreError::KeyInUse { owner, .. }) if owner == one));
        let with_events = Append { update: key("k"), ..Append::new(two.clone(), vec![event("x")]) };
        assert!(matches!(store.append(with_events).wait(), Err(StoreError::KeyInUse { .. })));
        assert!(whole_log(store, &two).is_empty());
        let created = NewStoredSession { facts: key("k"), ..NewStoredSession::new(id("three"), 1) };
        assert!(matches!(store.create(created).wait(), Err(StoreError::KeyInUse { .. })));
        assert_eq!(store.find(Lookup::Id(id("three"))).wait().unwrap(), None);

        store.update(one.clone(), archive(true)).wait().unwrap();
        store.update(two.clone(), key("k")).wait().unwrap();
        assert_eq!(store.find(Lookup::Key("k".to_owned())).wait().unwrap().unwrap().id, two);
        assert!(matches!(store.update(one, archive(false)).wait(), Err(StoreError::KeyInUse { .. })));
    });
}

#[test]
fn facts_count_the_events() {
    on_each(|store| {
        let (one, two) = (create(store, "one"), create(store, "two"));
        assert_eq!(append(store, &one, &["a", "b"]), 2);
        assert_eq!(append(store, &two, &["x"]), 1);
        assert_eq!(append(store, &one, &["c"]), 3);
        assert_eq!(append(store, &one, &[]), 3);
        assert_eq!(whole_log(store, &one), [b"a", b"b", b"c"]);
        assert_eq!(whole_log(store, &two), [b"x"]);
        let facts = store.find(Lookup::Id(one)).wait().unwrap().unwrap();
        assert_eq!((facts.newest, facts.bytes, facts.updated_at), (3, 3, 2));
        let missing = store.append(Append::new(id("none"), vec![event("x")])).wait();
        assert!(matches!(missing, Err(StoreError::NotFound(_))));
    });
}

#[test]
fn facts_change_together_with_events() {
    on_each(|store| {
        let one = create(store, "one");
        let update =
            SessionUpdate { status: Some("idle".to_owned()), cost_usd: Some(0.5), ..Default::default() };
        store.append(Append { update, ..Append::new(one.clone(), vec![event("result")]) }).wait().unwrap();
        let facts = store.find(Lookup::Id(one)).wait().unwrap().unwrap();
        assert_eq!((facts.status.as_str(), facts.cost_usd, facts.newest), ("idle", Some(0.5), 1));
    });
}

#[test]
fn a_repeated_message_changes_nothing() {
    on_each(|store| {
        let one = create(store, "one");
        let message = || NewEvent { client_id: Some("m".to_owned()), ..event("x") };
        store.append(Append::new(one.clone(), vec![message()])).wait().unwrap();
        let before = store.find(Lookup::Id(one.clone())).wait().unwrap();
        store.append(Append::new(one.clone(), vec![message()])).wait().unwrap();
        assert_eq!(store.find(Lookup::Id(one)).wait().unwrap(), before);
    });
}

#[test]
fn a_huge_event_is_kept_whole() {
    on_each(|store| {
        let one = create(store, "one");
        let huge = vec![b'x'; 64 << 20];
        let events = vec![event("small"), NewEvent::new(2, "line", huge.clone()), event("after")];
        store.append(Append::new(one.clone(), events)).wait().unwrap();
        let page = store.read(ReadQuery::after(one.clone(), 0)).wait().unwrap();
        assert_eq!((payloads(&page), page.more), (vec!["small".into()], true));
        let page = store.read(ReadQuery::after(one, 1)).wait().unwrap();
        assert_eq!(page.events.len(), 1);
        assert!(page.events[0].payload == huge && page.more);
    });
}

fn names(store: &dyn Store, query: ListQuery) -> (Vec<String>, bool) {
    let page = store.list(query).wait().unwrap();
    (page.sessions.iter().map(|facts| facts.id.to_string()).collect(), page.more)
}

#[test]
fn lists_by_last_change() {
    on_each(|store| {
        for name in ["a", "b", "c", "d"] {
            create(store, name);
        }
        append(store, &id("b"), &["x"]);
        let archived = SessionUpdate { archived: Some(true), ..Default::default() };
        store.update(id("d"), archived).wait().unwrap();
        assert_eq!(names(store, ListQuery::default()), (vec!["b".into(), "c".into(), "a".into()], false));

        let first = store.list(ListQuery { limit: 2, ..Default::default() }).wait().unwrap();
        assert!(first.more);
        let next = ListOrder::NewestBefore(first.sessions[1].revision);
        assert_eq!(names(store, ListQuery { order: next, ..Default::default() }), (vec!["a".into()], false));

        let seen = first.sessions[0].revision;
        let since = ListQuery {
            order: ListOrder::ChangedAfter(seen),
            archived: Archived::With,
            ..Default::default()
        };
        assert_eq!(names(store, since.clone()).0, ["d"]);
        append(store, &id("c"), &["x"]);
        append(store, &id("a"), &["x"]);
        assert_eq!(names(store, since).0, ["d", "c", "a"]);
        let only = ListQuery { archived: Archived::Only, ..Default::default() };
        assert_eq!(names(store, only).0, ["d"]);
    });
}

#[test]
fn lists_what_matches() {
    on_each(|store| {
        for (name, title, status) in [("a", "Fix 50% of_it", "idle"), ("b", "fix it all", "running")] {
            let facts = SessionUpdate {
                title: Some(Some(title.to_owned())),
                status: Some(status.to_owned()),
                cwd: Some(format!("/workspace/{name}")),
                ..Default::default()
            };
            store.create(NewStoredSession { facts, ..NewStoredSession::new(id(name), 1) }).wait().unwrap();
        }
        let text =
            |text: &str| names(store, ListQuery { text: Some(text.to_owned()), ..Default::default() }).0;
        assert_eq!(text("FIX"), ["b", "a"]);
        assert_eq!(text("50%"), ["a"]);
        assert_eq!(text("of_it"), ["a"]);
        assert_eq!(text("x_i"), Vec::<String>::new());
        assert_eq!(text("workspace/b"), ["b"]);
        assert_eq!(text("'; DROP TABLE event; --"), Vec::<String>::new());
        let status = ListQuery { status: Some("running".to_owned()), ..Default::default() };
        assert_eq!(names(store, status).0, ["b"]);
        let cwd = ListQuery { cwd: Some("/workspace/a".to_owned()), ..Default::default() };
        assert_eq!(names(store, cwd).0, ["a"]);
    });
}

#[test]
fn replies_can_be_awaited() {
    on_each(|store| {
        block_on(async {
            store.create(NewStoredSession::new(id("one"), 1)).await.unwrap();
            let first = store.append(Append::new(id("one"), vec![event("a")]));
            let second = store.append(Append::new(id("one"), vec![event("b")]));
            assert_eq!(second.await.unwrap().newest, 2);
            assert_eq!(first.await.unwrap().newest, 1);
            assert_eq!(store.read(ReadQuery::newest(id("one"))).await.unwrap().events.len(), 2);
        });
    });
}
