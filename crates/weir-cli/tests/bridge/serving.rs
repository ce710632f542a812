//! A bridge in a server's host: a chat's session is shown on the page too.

use serde_json::{Value, json};

use crate::common::{Place, TOUCHES, eventually, script};
use crate::double::{Double, TOKEN};
use crate::support::Served;

const ANNA: i64 = 100;

struct Both {
    served: Served,
    double: Double,
}

impl Both {
    async fn start() -> Self {
        let place = Place::new();
        let double = Double::start().await;
        std::fs::create_dir(place.path("chats")).unwrap();
        let config = format!(
            "data_dir = \"bridge\"\n[defaults]\nworkspace = \"chats\"\n[[people]]\nchannel = \"telegram\"\nid = \"{ANNA}\"\n\
             [telegram]\napi_url = \"{}\"\ntoken = {{ file = \"token\" }}\n",
            double.url
        );
        let file = place.path("bridge.toml");
        std::fs::write(&file, config).unwrap();
        std::fs::write(place.path("token"), TOKEN).unwrap();
        let served = Served::in_place(place, &["--bridge", &file.display().to_string()]);
        Self { served, double }
    }

    /// The output and exit code of `weir bridge status`.
    fn status(&self) -> (Option<i32>, Value) {
        let file = self.served.place.path("bridge.toml").display().to_string();
        let done = self.served.place.weir(&["bridge", "status", "--json", "--config", &file]);
        (done.code, done.json())
    }

    /// The only session.
    fn session(&self) -> Value {
        let sessions = self.served.client.get("/v1/sessions").expect(200).json();
        let sessions = sessions["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 1, "{sessions:#?}");
        sessions[0].clone()
    }

    fn id(&self) -> String {
        self.session()["id"].as_str().unwrap().to_owned()
    }

    /// The open request, as the page sees it.
    fn open_request(&self) -> String {
        eventually("a request is open", || {
            let snapshot = self.served.follow(&self.id(), "view").wait("snapshot").json();
            let requests = snapshot["view"]["requests"].as_array().unwrap().clone();
            let open = requests.iter().find(|request| request["state"]["state"] == "open")?;
            Some(open["id"].as_str().unwrap().to_owned())
        })
    }

    fn allow_on_the_page(&self, request: &str) -> crate::common::Answer {
        let path = format!("/v1/sessions/{}/permissions/{request}", self.id());
        self.served.client.post(&path, &json!({"behavior": "allow"}))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn either_side_may_answer_and_both_see_who_did() {
    let mut both = Both::start().await;
    let double = both.double.clone();
    double.says(ANNA, TOUCHES);
    double.sees("the question", |shown| shown.text.contains("Allow Bash?")).await;
    let session = both.session();
    assert_eq!(session["origin"], "bridge");
    assert_eq!(session["status"], "waiting");
    assert!(session["name"].as_str().unwrap().starts_with("telegram: "), "{session:#}");
    assert!(session["cwd"].as_str().unwrap().ends_with("/chats"), "{session:#}");

    // The page answers, and the chat sees who did.
    let request = both.open_request();
    both.allow_on_the_page(&request).expect(200);
    let (_, closed) =
        double.sees("the answer of the page", |shown| shown.text.contains("Allowed by ready-file")).await;
    assert!(closed.buttons.is_empty(), "{closed:?}");
    double.sees("the end", |shown| shown.text.contains("Finished")).await;
    assert!(both.served.place.path("chats/made").exists());

    // The chat answers, and the page sees who did.
    double.says(ANNA, &script(r#"{"tool":"Bash","input":{"command":"touch again"}},{"text":"Done again"}"#));
    let (number, shown) = double.sees("the next question", |shown| shown.text.contains("touch again")).await;
    let request = both.open_request();
    let (_, allow) = shown.buttons.iter().find(|(label, _)| label == "Allow").unwrap().clone();
    double.presses(ANNA, number, &allow);
    double.sees("the next end", |shown| shown.text.contains("Done again")).await;
    let late = both.allow_on_the_page(&request).expect(409).json();
    assert_eq!(late["answered_by"], "User100", "{late:#}");
    both.served.stop();
    assert_eq!(double.lock().breaches, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_from_the_page_are_not_posted_to_the_chat() {
    let mut both = Both::start().await;
    let double = both.double.clone();
    double.says(ANNA, &script(r#"{"text":"From the chat."}"#));
    double.sees("the answer", |shown| shown.text.contains("From the chat.")).await;
    eventually("the status shows it", || {
        let (code, status) = both.status();
        let telegram = &status["channels"]["telegram"];
        let is_healthy = code == Some(0) && status["running"] == true && telegram["connected"] == true;
        (is_healthy && telegram["last_inbound"].as_i64() > Some(0)).then_some(())
    });
    let id = both.id();
    // A turn of the page runs while the next message comes from the chat.
    both.served.send(&id, &script(r#"{"text":"Only for the page, and not in a hurry.","wdelay":0.2}"#));
    both.served.wait_for_status(&id, "running");
    double.says(ANNA, &script(r#"{"text":"Again for the chat."}"#));
    let (_, shown) = double.sees("the next answer", |shown| shown.text.contains("Again for the chat.")).await;
    assert_eq!(shown.text, "Again for the chat.");
    let transcript = both.served.client.get(&format!("/v1/sessions/{id}/transcript")).expect(200).text();
    assert!(transcript.contains("Only for the page") && transcript.contains("Again for the chat."));
    assert!(double.lock().messages.values().all(|shown| !shown.text.contains("Only for")));

    // After a session is deleted on the page, the chat starts a new one.
    both.served.client.ask("DELETE", &format!("/v1/sessions/{id}"), &[], None).expect(204);
    double.says(ANNA, &script(r#"{"text":"In a new one."}"#));
    double.sees("the answer in a new session", |shown| shown.text.contains("In a new one.")).await;
    assert_ne!(both.id(), id);
    both.served.stop();
    let (code, status) = both.status();
    assert_eq!((code, &status["running"]), (Some(1), &json!(false)), "{status:#}");
}

#[test]
fn a_bad_bridge_configuration_is_reported_before_the_server_listens() {
    let place = Place::new();
    let data = place.path("data").display().to_string();
    for (config, expected) in [
        ("[defaults]\nworkspace = \"nowhere\"\n", "does not exist; create it first"),
        ("[defaults]\nworkspace = \"workspace\"\n", "no channel is enabled"),
        ("colour = 1\n", "unknown field `colour`"),
    ] {
        let file = place.path("bridge.toml");
        std::fs::write(&file, config).unwrap();
        let file = file.display().to_string();
        let done = place.weir(&["serve", "--listen", "127.0.0.1:0", "--data-dir", &data, "--bridge", &file]);
        assert!(done.code != Some(0) && done.stderr.contains(expected), "{done:?}");
    }
}
