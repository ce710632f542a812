//! Full-text search.

use weir_store::{Append, ListQuery, Log, SearchQuery, SessionUpdate, Store, check_file};

use crate::support::{create, id, on_each, open_unsynced, searchable, turn_into_format, until};

fn found(store: &dyn Store, text: &str) -> Vec<(String, u64)> {
    let hits = store.search(SearchQuery::new(text)).wait().unwrap();
    let mut places: Vec<_> = hits.into_iter().map(|hit| (hit.session.to_string(), hit.seq)).collect();
    places.sort();
    places
}

fn fill(store: &dyn Store) {
    for (name, texts) in [
        ("one", ["Fix the parser in foo_bar.rs", "The parser works now, isn't it?"]),
        ("two", ["Schöne Grüße from the parsing team", "DELETE FROM \"events\" WHERE x = 'y'"]),
    ] {
        let session = create(store, name);
        let title = SessionUpdate { title: Some(Some(name.to_uppercase())), ..Default::default() };
        store.update(session.clone(), title).wait().unwrap();
        let events = texts.map(searchable).to_vec();
        store.append(Append::new(session, events)).wait().unwrap();
    }
}

#[test]
fn finds_words_and_beginnings() {
    on_each(|store| {
        fill(store);
        let one = |seq| ("one".to_owned(), seq);
        let two = |seq| ("two".to_owned(), seq);
        assert_eq!(found(store, "parser"), [one(1), one(2)]);
        assert_eq!(found(store, "pars"), [one(1), one(2), two(1)]);
        assert_eq!(found(store, "pars "), []);
        assert_eq!(found(store, "the PARSER wor"), [one(2)]);
        assert_eq!(found(store, "\"the parser\""), [one(1), one(2)]);
        assert_eq!(found(store, "\"parser the\""), []);
        assert_eq!(found(store, "foo_bar"), [one(1)]);
        assert_eq!(found(store, "isn't"), [one(2)]);
        assert_eq!(found(store, "grüße"), [two(1)]);
    });
}

#[test]
fn any_text_is_a_valid_query() {
    on_each(|store| {
        fill(store);
        for text in [
            "",
            " ",
            "\"",
            "\"\"\"",
            "*",
            "^",
            "(",
            ")",
            "a AND",
            "NOT",
            "OR x",
            "NEAR(a b, 2)",
            "text:x",
            "-x",
            "{a}",
            "a*b",
            "'; DROP TABLE event; --",
            "\u{0}",
            "a\u{0}b",
            "\u{2}x",
            "+",
            "x:",
            "\\",
            "\"a\" \"",
        ] {
            store.search(SearchQuery::new(text)).wait().unwrap_or_else(|error| panic!("{text:?}: {error}"));
        }
        assert_eq!(found(store, "delete from \"events\""), [("two".to_owned(), 2)]);
    });
}

#[test]
fn hits_have_a_location_and_a_snippet() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    fill(&store);
    let hits = store.search(SearchQuery::new("gruss parsing")).wait().unwrap();
    assert!(hits.is_empty());
    let hits = store.search(SearchQuery::new("grusse parsing")).wait().unwrap();
    assert!(hits.is_empty(), "ß is a letter of its own");
    let hits = store.search(SearchQuery::new("schone parsing")).wait().unwrap();
    let [hit] = hits.as_slice() else { panic!("{hits:?}") };
    assert_eq!((hit.session.as_str(), hit.title.as_deref(), hit.seq), ("two", Some("TWO"), 1));
    let marked: Vec<_> = hit.snippet.marks.iter().map(|mark| &hit.snippet.text[mark.clone()]).collect();
    assert_eq!(marked, ["Schöne", "parsing"]);
}

#[test]
fn the_best_come_first_and_pages_do_not_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    let mut events: Vec<_> =
        (0..30).map(|number| searchable(&format!("needle in much other text, number {number}"))).collect();
    events.push(searchable("needle needle"));
    store.append(Append::new(one, events)).wait().unwrap();
    let page = |offset, limit| {
        store.search(SearchQuery { offset, limit, ..SearchQuery::new("needle") }).wait().unwrap()
    };
    let all = page(0, 100);
    assert_eq!((all.len(), all[0].seq), (31, 31));
    let pages: Vec<_> = [page(0, 10), page(10, 10), page(20, 10), page(30, 10)].concat();
    assert_eq!(pages, all);
}

#[test]
fn sessions_are_listed_by_the_text_of_their_events() {
    on_each(|store| {
        fill(store);
        let listed = |text: &str| {
            let query = ListQuery { text: Some(text.to_owned()), ..ListQuery::default() };
            let page = store.list(query).wait().unwrap();
            page.sessions.iter().map(|facts| facts.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(listed("grüße"), ["two"]);
        assert_eq!(listed("pars"), ["two", "one"]);
        assert_eq!(listed("ONE"), ["one"], "by their titles, too");
        assert_eq!(listed("nowhere"), Vec::<String>::new());
        assert_eq!(listed("%"), Vec::<String>::new());
    });
}

#[test]
fn one_session_can_be_searched() {
    on_each(|store| {
        fill(store);
        let query = |name| SearchQuery { session: Some(id(name)), ..SearchQuery::new("pars") };
        assert_eq!(store.search(query("one")).wait().unwrap().len(), 2);
        assert_eq!(store.search(query("two")).wait().unwrap().len(), 1);
        assert_eq!(store.search(query("none")).wait().unwrap().len(), 0);
    });
}

/// Version 5 kept a copy of each text in the index, and waiting texts in a table of their own.
#[test]
fn a_file_of_version_5_is_searched_without_losing_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    store.append(Append::new(one.clone(), vec![searchable("an indexed needle")])).wait().unwrap();
    assert_eq!(found(&store, "needle").len(), 1);
    store.append(Append::new(one.clone(), vec![searchable("a waiting needle")])).wait().unwrap();
    drop(store);
    turn_into_format(folder.path(), 5);
    let path = folder.path().join("weir.db");
    let store = open_unsynced(folder.path());
    let hits = store.search(SearchQuery::new("needle")).wait().unwrap();
    let mut found: Vec<_> = hits.iter().map(|hit| hit.snippet.text.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["a waiting needle", "an indexed needle"]);
    store.delete(one).wait().unwrap();
    drop(store);
    assert_eq!(check_file(&path).unwrap().problems, Vec::<String>::new());
}

#[test]
fn the_words_of_a_deleted_session_leave_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let (one, other) = (create(&store, "one"), create(&store, "other"));
    store
        .append(Append::new(one.clone(), vec![searchable("gone shared"), searchable("gone")]))
        .wait()
        .unwrap();
    store.append(Append::new(other, vec![searchable("stays shared")])).wait().unwrap();
    assert_eq!(store.search(SearchQuery::new("gone")).wait().unwrap().len(), 2);
    store.append(Append::new(one.clone(), vec![searchable("gone before it was indexed")])).wait().unwrap();
    store.delete(one).wait().unwrap();
    let file = rusqlite::Connection::open(folder.path().join("weir.db")).unwrap();
    let count = |table: &str| -> i64 {
        file.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    until("the log is removed", || count("trash") == 0);
    assert_eq!(store.search(SearchQuery::new("shared")).wait().unwrap().len(), 1);
    file.execute_batch("CREATE VIRTUAL TABLE temp.word USING fts5vocab (main, search, row)").unwrap();
    let mut statement = file.prepare("SELECT term FROM temp.word ORDER BY term").unwrap();
    let words: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
    assert_eq!(words, ["shared", "stays"]);
}
