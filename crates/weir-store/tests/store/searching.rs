//! Full-text search.

use weir_store::{Append, ListQuery, SearchQuery, SessionUpdate, Store};

use crate::support::{create, id, on_each, open_unsynced, searchable};

fn found(store: &dyn Store, text: &str) -> Vec<(String, u64)> {
    let hits = store.search(SearchQuery::new(text)).wait().unwrap();
    let mut places: Vec<_> = hits.into_iter().map(|hit| (hit.conversation.to_string(), hit.seq)).collect();
    places.sort();
    places
}

fn fill(store: &dyn Store) {
    for (name, texts) in [
        ("one", ["Fix the parser in foo_bar.rs", "The parser works now, isn't it?"]),
        ("two", ["Schöne Grüße from the parsing team", "DELETE FROM \"events\" WHERE x = 'y'"]),
    ] {
        let conversation = create(store, name);
        let title = SessionUpdate { title: Some(Some(name.to_uppercase())), ..Default::default() };
        store.update(conversation.clone(), title).wait().unwrap();
        let events = texts.map(searchable).to_vec();
        store.append(Append::new(conversation, events)).wait().unwrap();
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
    assert_eq!((hit.conversation.as_str(), hit.title.as_deref(), hit.seq), ("two", Some("TWO"), 1));
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
            page.conversations.iter().map(|facts| facts.id.to_string()).collect::<Vec<_>>()
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
        let query = |name| SearchQuery { conversation: Some(id(name)), ..SearchQuery::new("pars") };
        assert_eq!(store.search(query("one")).wait().unwrap().len(), 2);
        assert_eq!(store.search(query("two")).wait().unwrap().len(), 1);
        assert_eq!(store.search(query("none")).wait().unwrap().len(), 0);
    });
}
