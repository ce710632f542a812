//! Messages that are queued, sent into a turn, or cancelled.

use serde_json::json;
use weir_session::{SessionError, SessionOptions};
use weir_transcript::MessageState;

use crate::played::{asking, quiet, session, soon};
use crate::turns::deliveries;

#[tokio::test(start_paused = true)]
async fn messages_are_sent_one_after_the_other_in_order() {
    let (session, stage) = session(SessionOptions::new());
    let mut sent = Vec::new();
    for number in 0..20 {
        sent.push(session.send(number.to_string()).await.unwrap());
    }
    let mut cli = stage.ready().await;
    for number in 0..20 {
        let id = cli.begins(&number.to_string()).await;
        cli.hears_nothing_yet().await;
        cli.result(&number.to_string(), &[&id]).await;
    }
    for (number, sent) in sent.iter_mut().enumerate() {
        assert_eq!(soon(sent.answer()).await.unwrap().text, number.to_string());
    }
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn steering_writes_into_the_running_turn_ahead_of_queued_messages() {
    let (session, stage) = session(SessionOptions::new());
    let mut first = session.send("one").await.unwrap();
    let mut cli = stage.ready().await;
    let one = cli.hears_message("one").await;
    cli.lifecycle(&one, "started").await;
    cli.init().await;
    quiet().await;
    let mut waits = session.send("two").await.unwrap();
    let mut steers = session.steer("now").await.unwrap();
    let now = cli.hears_message("now").await;
    cli.hears_nothing_yet().await;
    cli.result("1, and now", &[&one, &now]).await;
    assert_eq!(soon(first.answer()).await.unwrap().text, "1, and now");
    assert_eq!(soon(steers.answer()).await.unwrap().text, "1, and now");
    cli.turn("two", "2").await;
    assert_eq!(soon(waits.answer()).await.unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn steering_waits_if_the_cli_does_not_report_what_it_answers() {
    let (session, stage) = session(SessionOptions::new());
    let mut first = session.send("one").await.unwrap();
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    let mut steers = session.steer("now").await.unwrap();
    cli.hears_nothing_yet().await;
    cli.result("1", &[]).await;
    cli.hears_message("now").await;
    cli.init().await;
    cli.result("2", &[]).await;
    assert_eq!(soon(first.answer()).await.unwrap().text, "1");
    assert_eq!(soon(steers.answer()).await.unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn steering_with_nothing_running_is_a_message_like_any_other() {
    let (session, stage) = session(SessionOptions::new());
    let mut steers = session.steer("one").await.unwrap();
    stage.ready().await.turn("one", "1").await;
    assert_eq!(soon(steers.answer()).await.unwrap().text, "1");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_queued_message_can_be_cancelled() {
    let (session, stage) = session(SessionOptions::new());
    let mut first = session.send("one").await.unwrap();
    let mut second = session.send("two").await.unwrap();
    let mut third = session.send("three").await.unwrap();
    let mut cli = stage.ready().await;
    let one = cli.begins("one").await;
    session.cancel(&second.id).await.unwrap();
    assert!(matches!(soon(second.answer()).await, Err(SessionError::Cancelled)));
    assert!(matches!(session.cancel(&second.id).await, Err(SessionError::NotCancellable)));
    cli.result("1", &[&one]).await;
    cli.turn("three", "3").await;
    soon(first.answer()).await.unwrap();
    soon(third.answer()).await.unwrap();
    let view = session.view().await.unwrap();
    let expected = [
        ("one", MessageState::Answered),
        ("two", MessageState::Cancelled),
        ("three", MessageState::Answered),
    ];
    assert_eq!(deliveries(&view), expected);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_sent_message_is_cancelled_if_the_cli_confirms_it() {
    for says_so_in_its_stream in [true, false] {
        let (session, stage) = session(SessionOptions::new());
        let mut first = session.send("one").await.unwrap();
        let mut cli = stage.ready().await;
        let one = cli.hears_message("one").await;
        cli.lifecycle(&one, "started").await;
        cli.init().await;
        let mut second = session.steer("two").await.unwrap();
        let two = cli.hears_message("two").await;
        let (cancelled, ()) = tokio::join!(session.cancel(&second.id), async {
            let request = cli.hears().await;
            assert_eq!(request["type"], "control_request", "{request}");
            assert!(request.to_string().contains(&two), "{request}");
            if says_so_in_its_stream {
                cli.lifecycle(&two, "cancelled").await;
            }
            cli.answers(&request, json!({"cancelled": true})).await;
        });
        cancelled.unwrap();
        assert!(matches!(soon(second.answer()).await, Err(SessionError::Cancelled)));
        cli.result("1", &[&one]).await;
        assert_eq!(soon(first.answer()).await.unwrap().text, "1");
        assert_eq!(deliveries(&session.view().await.unwrap())[1], ("two", MessageState::Cancelled));
        session.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_the_cli_does_not_cancel_is_answered() {
    let (session, stage) = session(SessionOptions::new());
    let mut first = session.send("one").await.unwrap();
    let mut cli = stage.ready().await;
    let one = cli.hears_message("one").await;
    cli.lifecycle(&one, "started").await;
    cli.init().await;
    quiet().await;
    let (cancelled, ()) = tokio::join!(session.cancel(&first.id), async {
        let request = cli.hears().await;
        cli.answers(&request, json!({"cancelled": false})).await;
    });
    assert!(matches!(cancelled, Err(SessionError::NotCancellable)));
    cli.result("1", &[&one]).await;
    assert_eq!(soon(first.answer()).await.unwrap().text, "1");
    assert!(matches!(session.cancel(&first.id).await, Err(SessionError::NotCancellable)));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_discarded_by_an_interrupt_ends_as_interrupted() {
    // 2.1.325 discards its queue when it is interrupted, and reports that.
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let one = cli.hears_message("one").await;
    cli.lifecycle(&one, "started").await;
    cli.init().await;
    quiet().await;
    let mut second = session.steer("two").await.unwrap();
    let two = cli.hears_message("two").await;
    let (interrupted, ()) = tokio::join!(session.interrupt(), async {
        let request = cli.hears_request("cancel_async_message").await;
        assert_eq!(request["request"]["message_uuid"], two.as_str());
        cli.answers(&request, json!({"cancelled": false})).await;
        let request = cli.hears_request("interrupt").await;
        cli.answers(&request, json!({})).await;
        cli.lifecycle(&two, "cancelled").await;
        cli.interrupted().await;
    });
    assert!(interrupted.unwrap());
    assert!(matches!(soon(second.answer()).await, Err(SessionError::Interrupted)));
    assert!(asked.await.unwrap().unwrap().is_interrupted());
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_message_cannot_be_cancelled() {
    let (session, _stage) = session(SessionOptions::new());
    let unknown = weir_wire::MessageId::new("6f6ad5d1-157d-44c1-9cc3-385839fd37ce");
    assert!(matches!(session.cancel(&unknown).await, Err(SessionError::NotCancellable)));
    session.stop().await;
}
