//! Started CLIs that belong to no folder until a session takes one.

use serde_json::json;
use weir_session::{Session, SessionOptions, Spares, Update};
use weir_transcript::Change;

use crate::place::{Place, script, soon, until};

/// Options of a session that can take a spare: a raw log has the name of the session.
fn options(place: &Place, spares: &Spares) -> SessionOptions {
    let mut options = place.options().spares(spares.clone());
    (options.log, options.observer) = (None, None);
    options
}

/// A session that has had one turn, and a spare that was started since.
async fn after_one(place: &Place, spares: &Spares) -> Session {
    let first = Session::new(options(place, spares));
    assert_eq!(soon(first.ask(r#"@@[{"text":"one"}]"#)).await.unwrap().text, "one");
    assert_eq!(spares.taken(), 0);
    until("a spare", || spares.ready() == 1).await;
    first
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_new_session_in_another_folder_takes_a_spare() {
    let (place, spares) = (Place::new(), Spares::new(1));
    let first = after_one(&place, &spares).await;
    let other = place.path("other");
    std::fs::create_dir_all(&other).unwrap();
    let own = options(&place, &spares).cwd(&other).model("sonnet").permission_mode("acceptEdits").title("t");
    let second = Session::new(own);
    let steps =
        json!([{"tool": "Bash", "input": {"command": "pwd > where", "description": "x"}}, {"text": "two"}]);
    assert_eq!(soon(second.ask(script(&steps))).await.unwrap().text, "two");
    assert_eq!(spares.taken(), 1);
    let place_of_tool = std::fs::read_to_string(other.join("where")).unwrap();
    assert_eq!(place_of_tool.trim(), other.canonicalize().unwrap().display().to_string());
    let view = second.view().await.unwrap();
    assert_eq!(view.session.permission_mode.as_deref(), Some("acceptEdits"));
    assert_eq!(view.session.title.as_deref(), Some("t"));
    assert!(
        view.session.model.as_deref().is_some_and(|model| model.contains("sonnet")),
        "{:?}",
        view.session
    );
    // It is a session like any other: another process resumes it.
    let id = view.session.id.clone().unwrap();
    soon(second.stop()).await;
    let resumed = Session::new(options(&place, &spares).cwd(&other).resume(id.clone()));
    assert_eq!(soon(resumed.ask(r#"@@[{"text":"three"}]"#)).await.unwrap().session_id, Some(id));
    spares.close();
    soon(resumed.stop()).await;
    soon(first.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_session_that_is_stopped_in_its_turn_leaves_a_spare_to_the_next() {
    let (place, spares) = (Place::new(), Spares::new(1));
    let session = Session::new(options(&place, &spares));
    let mut updates = soon(session.follow()).await.unwrap();
    let _sent = soon(session.send(r#"@@[{"text":"one two three four","wdelay":60000}]"#)).await.unwrap();
    loop {
        let Some(update) = soon(updates.next()).await else { panic!("nothing was said") };
        let said = |change: &Change<'_>| matches!(change, Change::TextAppended { .. });
        if matches!(&update, Update::Changes(changes) if changes.iter().any(said)) {
            break;
        }
    }
    assert_eq!((spares.ready(), spares.started()), (0, 0), "it is not at rest");
    soon(session.stop()).await;
    until("a spare", || spares.ready() == 1).await;
    spares.close();
    until("the end of the spare", || place.living().is_empty()).await;
    place.assert_clean().await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_spare_that_refuses_or_is_gone_costs_nothing_but_time() {
    let (place, spares) = (Place::new(), Spares::new(1));
    let first = after_one(&place, &spares).await;
    let mut own = options(&place, &spares);
    // The simulated CLI refuses this mode, as the real one does.
    own = own.permission_mode("bypassPermissions");
    let refused = Session::new(own);
    // So does a cold start, which says why.
    let _ = soon(refused.ask(r#"@@[{"text":"x"}]"#)).await;
    assert_eq!((spares.taken(), spares.ready()), (0, 1));
    soon(refused.stop()).await;
    let second = Session::new(options(&place, &spares));
    assert_eq!(soon(second.ask(r#"@@[{"text":"two"}]"#)).await.unwrap().text, "two");
    assert_eq!(spares.taken(), 1);
    spares.close();
    soon(second.stop()).await;
    soon(first.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_spare_of_the_kind_that_was_wanted_last_takes_the_place_of_another_one() {
    let (place, spares) = (Place::new(), Spares::new(1));
    let first = after_one(&place, &spares).await;
    let other = || options(&place, &spares).max_turns(9u32);
    let second = Session::new(other());
    assert_eq!(soon(second.ask(r#"@@[{"text":"two"}]"#)).await.unwrap().text, "two");
    assert_eq!(spares.taken(), 0);
    until("a spare of the other kind", || spares.started() == 2 && spares.ready() == 1).await;
    let third = Session::new(other());
    assert_eq!(soon(third.ask(r#"@@[{"text":"three"}]"#)).await.unwrap().text, "three");
    assert_eq!(spares.taken(), 1);
    spares.close();
    for session in [first, second, third] {
        soon(session.stop()).await;
    }
    place.assert_clean().await;
}

#[tokio::test]
async fn a_version_without_spares_starts_its_processes_as_usual() {
    let (place, spares) = (Place::new(), Spares::new(1));
    let mut own = options(&place, &spares);
    own.environment = own.environment.set("SIMULATED_CLAUDE_VERSION", "2.1.9");
    let session = Session::new(own);
    assert_eq!(soon(session.ask(r#"@@[{"text":"one"}]"#)).await.unwrap().text, "one");
    soon(session.settled()).await.unwrap();
    assert_eq!((spares.taken(), spares.ready()), (0, 0));
    soon(session.stop()).await;
    place.assert_clean().await;
}
