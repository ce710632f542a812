//! A file that an earlier version wrote: `tests/fixtures/databases/format-5.db` was written by the program of 16 November
//! 2026, with the recordings `partial-tool` and `todos` in one session and three short messages in another.

use std::time::Duration;

use weir_host::{ListSessions, NewMessage, SearchQuery};
use weir_transcript::{EntryBody, TurnState};

use crate::place::{Onlooker, Place, me, says, soon};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/databases/format-5.db");

#[tokio::test]
async fn sessions_of_an_earlier_version_are_shown_found_and_continued() {
    let place = Place::new();
    std::fs::copy(FILE, place.path("weir.db")).unwrap();
    let host = place.host().await;
    let listed = soon(host.list(ListSessions::default())).await.unwrap().sessions;
    assert_eq!(listed.len(), 2);
    let named = soon(host.with_key("release")).await.unwrap();
    assert_eq!((named.name.as_deref(), named.cwd.as_str()), (Some("Release notes"), "/srv/project"));
    assert!(named.cli_session_id.is_some());

    let id = named.id.parse().unwrap();
    let page = soon(host.transcript(&id, None, 200)).await.unwrap();
    let view = Onlooker::new(&host, &id, None).await.view;
    assert_eq!(page.entries.len(), view.entries.len());
    let turns: Vec<TurnState> = view.turns.iter().map(|turn| turn.state).collect();
    assert_eq!(turns, [TurnState::Succeeded; 2]);
    let said = |text: &str| {
        view.entries
            .iter()
            .any(|entry| matches!(&entry.body, EntryBody::Text(body) if body.text.contains(text)))
    };
    assert!(said("Running it."));
    assert!(
        view.entries
            .iter()
            .any(|entry| matches!(&entry.body, EntryBody::Tool(tool) if tool.output.is_some()))
    );

    // The texts are indexed again after the upgrade.
    let hits = soon(host.search(SearchQuery::new("Running"))).await.unwrap();
    assert!(hits.iter().any(|hit| hit.session.to_string() == named.id), "{hits:?}");

    // Its folder is not here, so a message fails with that reason and is in the log.
    let sent = soon(host.send(&id, NewMessage::text(says("more")), &me())).await.unwrap();
    let ended = soon(host.finished(&id, &sent.message_id)).await.unwrap();
    assert!(ended.error.is_some_and(|error| error.message.contains("/srv/project")));
    soon(host.shut_down(Duration::ZERO)).await;
}
