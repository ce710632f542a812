//! Sessions, events and pages.

use weir_store::{Append, Log, NewEvent, NewStoredSession, Placed, ReadQuery, SessionId, StoreError};

use crate::Outcome;
use crate::support::{append, create, event, named, texts, whole_log};

pub(crate) fn a_session_is_created_once(log: &dyn Log) -> Outcome {
    let id = SessionId::random();
    let created = log.create(NewStoredSession::new(id.clone(), 1_000)).wait()?;
    assert_eq!((created.created_at, created.newest, created.bytes), (1_000, 0, 0));
    let again = log.create(NewStoredSession::new(id.clone(), 1)).wait();
    assert!(matches!(again, Err(StoreError::IdInUse(used)) if used == id));
    append(log, &id, &["a"])?;
    let again = log.create(NewStoredSession::new(id.clone(), 1)).wait();
    assert!(matches!(again, Err(StoreError::IdInUse(_))));

    let none = SessionId::random();
    let is_missing =
        |error: Option<StoreError>| matches!(error, Some(StoreError::NotFound(id)) if id == none);
    assert!(is_missing(append(log, &none, &["x"]).err()));
    assert!(is_missing(log.read(ReadQuery::newest(none.clone())).wait().err()));
    assert!(is_missing(log.event(none.clone(), 1).wait().err()));
    assert!(is_missing(log.by_client(none.clone(), "m".to_owned()).wait().err()));
    assert!(is_missing(log.check_at(none.clone(), 1).wait().err()));
    assert!(is_missing(log.generation(none.clone()).wait().err()));
    assert!(is_missing(log.subscribe(none.clone()).wait().err()));
    assert!(!log.delete(none.clone()).wait()?);
    Ok(())
}

pub(crate) fn events_are_numbered_without_gaps(log: &dyn Log) -> Outcome {
    let (one, two) = (create(log)?, create(log)?);
    assert_eq!(append(log, &one, &["a", "b"])?.newest, 2);
    assert_eq!(append(log, &two, &["x"])?.newest, 1);
    assert_eq!(append(log, &one, &["c"])?.newest, 3);
    assert_eq!(append(log, &one, &[])?.newest, 3);
    assert_eq!(whole_log(log, &one)?, ["a", "b", "c"]);
    assert_eq!(whole_log(log, &two)?, ["x"]);
    Ok(())
}

pub(crate) fn an_event_is_as_it_was_given(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    let bytes: Vec<u8> = (0..=255).collect();
    let given = NewEvent {
        at: -7,
        kind: "kind with \"quotes\"\nand é".to_owned(),
        client_id: Some("id: é\r\n".to_owned()),
        payload: bytes.clone(),
        search_text: Some("words".to_owned()),
        labels: vec!["label".to_owned()],
    };
    let appended = log.append(Append::new(one.clone(), vec![given, NewEvent::default()])).wait()?;
    let stored = log.event(one.clone(), 1).wait()?;
    assert_eq!(stored.as_ref().map(|event| &event.payload), Some(&bytes));
    let facts = stored.map(|event| (event.seq, event.at, event.kind, event.client_id, event.check));
    let expected =
        (1, -7, "kind with \"quotes\"\nand é".to_owned(), Some("id: é\r\n".to_owned()), Some(appended.check));
    assert_eq!(facts, Some(expected));
    let empty = log.event(one.clone(), 2).wait()?;
    assert!(empty.is_some_and(|event| event.payload.is_empty() && event.client_id.is_none()));
    assert_eq!(log.event(one.clone(), 0).wait()?, None);
    assert_eq!(log.event(one.clone(), 3).wait()?, None);
    assert_eq!(log.check_at(one.clone(), 2).wait()?, Some(appended.check));
    assert_eq!(log.check_at(one.clone(), 0).wait()?, None);
    assert_eq!(log.check_at(one, 3).wait()?, None);
    Ok(())
}

pub(crate) fn a_client_id_is_stored_once(log: &dyn Log) -> Outcome {
    let (one, two) = (create(log)?, create(log)?);
    let send = |to: &SessionId, events| log.append(Append::new(to.clone(), events)).wait();
    send(&one, vec![event("first"), named("m1", "hello")])?;
    let again = send(&one, vec![named("m1", "changed"), named("m2", "more"), named("m2", "twice")])?;
    let placed = |seq, new| Placed { seq, new };
    assert_eq!(again.placed, [placed(2, false), placed(3, true), placed(3, false)]);
    assert_eq!(again.newest, 3);
    assert_eq!(send(&one, vec![named("m2", "once more")])?.placed, [placed(3, false)]);
    assert_eq!(whole_log(log, &one)?, ["first", "hello", "more"]);
    assert_eq!(send(&two, vec![named("m1", "hello")])?.placed, [placed(1, true)]);
    let by_client = |id: &str| log.by_client(one.clone(), id.to_owned()).wait();
    assert_eq!((by_client("m1")?, by_client("m2")?, by_client("m3")?), (Some(2), Some(3), None));
    // Known however far back it is.
    for number in 0..20 {
        send(&one, vec![event("x"), named(&format!("n{number}"), "y")])?;
    }
    assert_eq!(send(&one, vec![named("m1", "late")])?.placed, [placed(2, false)]);
    Ok(())
}

pub(crate) fn an_append_is_stored_whole_or_not_at_all(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    append(log, &one, &["a"])?;
    // The first event is known, the second is not, and the log has moved.
    log.append(Append::new(one.clone(), vec![named("m", "b")])).wait()?;
    let events = vec![named("m", "b"), event("c"), event("d")];
    let refused = log.append(Append { expected_newest: Some(1), ..Append::new(one.clone(), events) }).wait();
    assert!(matches!(refused, Err(StoreError::Moved { expected: 1, newest: 2 })), "{refused:?}");
    let too_long = NewEvent::new(1, "line", vec![0; (256 << 20) + 1]);
    let refused = log.append(Append::new(one.clone(), vec![event("e"), too_long])).wait();
    assert!(matches!(refused, Err(StoreError::Invalid(_))));
    assert_eq!(whole_log(log, &one)?, ["a", "b"]);
    Ok(())
}

pub(crate) fn pages_are_bounded_and_work_in_both_directions(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    append(log, &one, &["a", "bb"])?;
    append(log, &one, &["ccc"])?;
    append(log, &one, &["dddd", "e"])?;
    let read = |query: ReadQuery| log.read(query).wait();
    let page = read(ReadQuery { max_events: 2, ..ReadQuery::after(one.clone(), 1) })?;
    assert_eq!((texts(&page), page.more, page.newest), (vec!["bb".into(), "ccc".into()], true, 5));
    let page = read(ReadQuery { max_bytes: 5, ..ReadQuery::newest(one.clone()) })?;
    assert_eq!((texts(&page), page.more), (vec!["e".into(), "dddd".into()], true));
    let page = read(ReadQuery { max_bytes: 1, ..ReadQuery::before(one.clone(), 5) })?;
    assert_eq!((texts(&page), page.more), (vec!["dddd".into()], true));
    let page = read(ReadQuery::before(one.clone(), 2))?;
    assert_eq!((texts(&page), page.more), (vec!["a".into()], false));
    for nothing in [
        ReadQuery::after(one.clone(), 5),
        ReadQuery::after(one.clone(), u64::MAX),
        ReadQuery::before(one.clone(), 1),
        ReadQuery::before(one.clone(), 0),
    ] {
        let page = read(nothing)?;
        assert_eq!((texts(&page), page.more, page.newest), (vec![], false, 5));
    }
    // In appends of their own, and more than one page of them.
    let two = create(log)?;
    for number in 0..40 {
        append(log, &two, &[&format!("{number}")])?;
    }
    let mut seen = 0;
    while seen < 40 {
        let page = read(ReadQuery { max_events: 7, ..ReadQuery::after(two.clone(), seen) })?;
        assert_eq!(page.more, seen + 7 < 40);
        for event in page.events {
            assert_eq!((event.seq, event.payload), (seen + 1, seen.to_string().into_bytes()));
            seen += 1;
        }
    }
    let page = read(ReadQuery { max_events: 3, ..ReadQuery::before(two, 21) })?;
    assert_eq!((texts(&page), page.more), (vec!["19".into(), "18".into(), "17".into()], true));
    Ok(())
}

pub(crate) fn events_are_found_by_label(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    for number in 0..12 {
        let labels =
            if number % 3 == 0 { vec!["third".to_owned(), "any".to_owned()] } else { vec!["any".to_owned()] };
        let labelled = NewEvent { labels, ..event(&number.to_string()) };
        log.append(Append::new(one.clone(), vec![labelled])).wait()?;
    }
    let read =
        |label: &str, query: ReadQuery| log.read(ReadQuery { label: Some(label.to_owned()), ..query }).wait();
    let page = read("third", ReadQuery::after(one.clone(), 1))?;
    assert_eq!((texts(&page), page.more, page.newest), (vec!["3".into(), "6".into(), "9".into()], false, 12));
    let page = read("third", ReadQuery { max_events: 2, ..ReadQuery::newest(one.clone()) })?;
    assert_eq!((texts(&page), page.more), (vec!["9".into(), "6".into()], true));
    assert!(read("none", ReadQuery::newest(one))?.events.is_empty());
    Ok(())
}

pub(crate) fn large_events_are_kept_whole(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    let sizes = [1, 400 << 10, (512 << 10) - 1, 512 << 10, (512 << 10) + 1, 1 << 20, 5 << 20];
    let payload = |size: usize| -> Vec<u8> { (0..size).map(|place| (place * 31 % 251) as u8).collect() };
    for size in sizes {
        let events = vec![event("before"), NewEvent::new(2, "line", payload(size)), event("after")];
        log.append(Append::new(one.clone(), events)).wait()?;
    }
    for (place, size) in sizes.into_iter().enumerate() {
        let stored = log.event(one.clone(), place as u64 * 3 + 2).wait()?;
        assert!(stored.is_some_and(|event| event.payload == payload(size)), "{size} bytes");
    }
    assert_eq!(whole_log(log, &one)?.len(), sizes.len() * 3);
    let page = log.read(ReadQuery { max_bytes: 1, ..ReadQuery::after(one, 0) }).wait()?;
    assert_eq!((texts(&page), page.more), (vec!["before".into()], true));
    Ok(())
}

pub(crate) fn appends_are_done_in_order(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    let replies: Vec<_> = (0..500)
        .map(|number| log.append(Append::new(one.clone(), vec![event(&number.to_string())])))
        .collect();
    for (place, reply) in replies.into_iter().enumerate() {
        assert_eq!(reply.wait()?.newest, place as u64 + 1);
    }
    assert!(whole_log(log, &one)?.into_iter().eq((0..500).map(|number: u32| number.to_string())));
    Ok(())
}

pub(crate) fn a_dropped_reply_cancels_nothing(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    drop(log.append(Append::new(one.clone(), vec![event("a")])));
    append(log, &one, &["b"])?;
    assert_eq!(whole_log(log, &one)?, ["a", "b"]);
    Ok(())
}

pub(crate) fn nothing_is_left_of_a_deleted_session(log: &dyn Log) -> Outcome {
    let (one, other) = (create(log)?, create(log)?);
    append(log, &other, &["stays"])?;
    let large = NewEvent::new(2, "line", vec![b'x'; 1 << 20]);
    let append_as =
        |generation, events| log.append(Append { generation, ..Append::new(one.clone(), events) }).wait();
    append_as(3, vec![named("m", "a"), large])?;
    assert!(log.delete(one.clone()).wait()?);
    assert!(!log.delete(one.clone()).wait()?);
    assert!(matches!(append_as(3, vec![event("b")]), Err(StoreError::NotFound(_))));
    assert!(matches!(log.read(ReadQuery::newest(one.clone())).wait(), Err(StoreError::NotFound(_))));
    // The same id again is a new session.
    log.create(NewStoredSession::new(one.clone(), 9)).wait()?;
    assert!(whole_log(log, &one)?.is_empty());
    let placed = append_as(0, vec![named("m", "new")])?.placed;
    assert_eq!(placed, [Placed { seq: 1, new: true }]);
    assert_eq!(whole_log(log, &other)?, ["stays"]);
    Ok(())
}
