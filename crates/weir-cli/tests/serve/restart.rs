//! A server that is killed in the middle of its work and restarted.

use rustix::process::Signal;
use serde_json::json;

use crate::common::{IS_SLOW, SAYS_HELLO, eventually};
use crate::support::Served;

#[test]
fn a_killed_server_resumes_where_it_was() {
    let mut served = Served::start();
    let (quiet, busy) = (served.session(), served.session());
    served.send(&quiet, SAYS_HELLO);
    served.wait_for_status(&quiet, "idle");
    let mut events = served.follow(&quiet, "raw");
    let seen = events.until(|event| event.data.contains("\"type\":\"result\""));
    let last = seen.iter().rev().find_map(|event| event.id.clone()).unwrap();

    let mut live = served.follow(&busy, "view");
    served.send(&busy, IS_SLOW);
    live.until(|event| event.name == "changes" && event.data.contains("text_appended"));
    let waiting = served.send(&busy, SAYS_HELLO);
    served.signal(Signal::KILL);
    served.finish();
    served.restart();

    let info = served.info(&busy);
    assert_eq!((&info["status"], &info["queued"]), (&json!("interrupted"), &json!(1)), "{info}");
    let held = served.client.get(&format!("/v1/sessions/{busy}/messages?state=queued")).expect(200).json();
    assert_eq!(held["messages"][0]["message_id"], waiting["message_id"]);
    let mut events = served.client.events(&format!("/v1/sessions/{quiet}/events?format=raw"), Some(&last));
    assert_eq!(events.next().unwrap().json()["resume"], "ok");
    served.send(&quiet, "@@[{\"text\":\"After the restart\"}]");
    let more = events.until(|event| event.data.contains("\"type\":\"result\""));
    let again = more.iter().filter(|event| event.id.is_some() && seen.contains(event)).count();
    assert_eq!(again, 0, "nothing comes twice");

    served.client.post(&format!("/v1/sessions/{busy}/resume"), &json!({})).expect(202);
    // The simulated CLI is as slow as before when it resumes its work.
    served.wait_for_status(&busy, "running");
    eventually("something to interrupt", || {
        let interrupted =
            served.client.post(&format!("/v1/sessions/{busy}/interrupt"), &json!({})).expect(200);
        (interrupted.json()["interrupted"] == true).then_some(())
    });
    eventually("the answer", || {
        let log = served.client.get(&format!("/v1/sessions/{busy}/log")).expect(200).text();
        log.contains("\"text\":\"Hello there\"").then_some(())
    });
    served.client.post(&format!("/v1/sessions/{busy}/stop"), &json!({})).expect(200);
    served.client.post(&format!("/v1/sessions/{quiet}/resume"), &json!({})).expect(409);
    served.stop();
}
