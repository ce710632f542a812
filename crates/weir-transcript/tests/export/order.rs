//! The order of entries in exports.

use std::sync::Arc;

use weir_transcript::export;

use crate::captures::view_of;

#[test]
fn a_queued_message_stands_with_its_reply() {
    let lines = [
        r#"{"type":"user","isReplay":true,"uuid":"u1","message":{"role":"user","content":"first message"}}"#,
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"first reply"}]}}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"first reply"}"#,
        r#"{"type":"user","isReplay":true,"uuid":"u2","message":{"role":"user","content":"second message"}}"#,
        r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"second reply"}]}}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"second reply"}"#,
    ];
    let mut view = view_of(lines.join("\n").as_bytes());
    assert_eq!(view.entries.len(), 4);
    // As if it had been sent while the first turn was running.
    let ids: Vec<_> = view.entries.iter().map(|entry| entry.id).collect();
    view.entries.swap(1, 2);
    for (entry, id) in view.entries.iter_mut().zip(ids) {
        Arc::make_mut(entry).id = id;
    }
    let (mut html, mut markdown) = (String::new(), String::new());
    export::html(&view, &mut html).unwrap();
    export::markdown(&view, &mut markdown).unwrap();
    for text in [html, markdown] {
        let places =
            ["first message", "first reply", "second message", "second reply"].map(|part| text.find(part));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {text}");
    }
}
