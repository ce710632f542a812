//! Editors next to everyone else on one session at once: a loop, a chat, the page, and other editors.

use serde_json::{Value, json};

use crate::common::{Client, Place, Running, eventually, script};
use crate::double::{Double, Shown, TOKEN};
use crate::editor::Editor;
use crate::repository::{commits, repository};
use crate::support::{Served, says};

const ANNA: i64 = 100;

/// Nothing is allowed in advance, and a person is asked.
const ASKS: &str = "[loop.permissions]\npolicy = \"ask\"\n[loop.coder]\nallowed_tools = [\"Read\"]\n";

/// A bridge to a chat with Anna; the name of its configuration.
async fn chat(place: &Place) -> (Double, String) {
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
    (double, file.display().to_string())
}

fn press(double: &Double, (number, shown): &(i64, Shown), wanted: &str) {
    let found = shown.buttons.iter().find(|(label, _)| label == wanted);
    double.presses(ANNA, *number, &found.unwrap_or_else(|| panic!("no {wanted}: {shown:?}")).1);
}

/// The question in the chat that is about this command.
async fn posted(double: &Double, command: &str) -> (i64, Shown) {
    double.sees(command, |shown| shown.text.contains(command) && !shown.buttons.is_empty()).await
}

/// What this editor is asked about a command.
fn asked(editor: &Editor, command: &str) -> Value {
    editor.wait(command, |message| {
        message["method"] == "session/request_permission" && message["params"].to_string().contains(command)
    })
}

/// Waits until a request is withdrawn from an editor.
fn withdrawn(editor: &Editor, ask: &Value) {
    editor.wait("the withdrawal", |message| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == ask["id"]
    });
}

fn allow() -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": "allow"}})
}

/// An editor that uses a server by its address, with a token of this role.
fn editor_with_token(place: &Place, client: &Client, url: &str, role: &str) -> Editor {
    let made = client.post("/v1/tokens", &json!({"name": format!("{role}'s editor"), "role": role}));
    let token = made.expect(201).json()["token"].as_str().unwrap().to_owned();
    let file = place.path(role);
    std::fs::write(&file, token).unwrap();
    let file = file.display().to_string();
    Editor::start_in(place, "elsewhere", &["--server", url, "--token-file", &file])
}

/// Opens a session that runs, with its history.
fn load(place: &Place, editor: &mut Editor, session: &str) {
    let loaded = editor
        .call("session/load", &json!({"sessionId": session, "cwd": place.workspace(), "mcpServers": []}));
    assert!(loaded["result"].is_object(), "{loaded}");
}

/// Waits until an editor was told this.
fn heard(editor: &Editor, wanted: &str) {
    eventually(wanted, || (editor.heard() == wanted).then_some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_two_editors_the_page_and_a_chat_share_a_session() {
    let place = Place::new();
    let (double, bridge) = chat(&place).await;
    let steps = json!([
        {"text": "I mix. ", "tool": "Bash", "input": {"command": "echo 1 > mixed"}},
        {"tool": "Bash", "input": {"command": "echo 2 > painted"}},
        {"tool": "Bash", "input": {"command": "echo 3 > dried"}},
        {"text": "All is painted."},
    ]);
    repository(&place, &format!("- [ ] Paint it\n  @@{steps}\n"), ASKS);
    let (data, ready) = (place.path("data").display().to_string(), place.path("ready.json"));
    let (file, to) = (ready.display().to_string(), format!("telegram:{ANNA}"));
    let running = Running::start(place.command(&[
        "loop",
        "run",
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
        &data,
        "--ready-file",
        &file,
        "--bridge",
        &bridge,
        "--notify-chat",
        &to,
    ]));
    let told: Value = eventually("the page", || serde_json::from_slice(&std::fs::read(&ready).ok()?).ok());
    let url = told["url"].as_str().unwrap();
    let page = Client::new(url, told["token"].as_str().unwrap());

    // The chat answers, and the prompts of the editors are withdrawn.
    let question = posted(&double, "mixed").await;
    let listed = page.get("/v1/sessions?status=waiting").expect(200).json();
    let session = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    // One comes through the socket, without a token.
    let mut near = Editor::start(&place, &[]);
    let mut far = editor_with_token(&place, &page, url, "driver");
    let mut watching = page.events(&format!("/v1/sessions/{session}/events?format=agent"), None);
    load(&place, &mut near, &session);
    load(&place, &mut far, &session);
    let asks = (asked(&near, "mixed"), asked(&far, "mixed"));
    press(&double, &question, "Allow");
    withdrawn(&near, &asks.0);
    withdrawn(&far, &asks.1);

    // An editor answers; the chat is told who, and the other editor's prompt is withdrawn.
    let question = posted(&double, "painted").await;
    let asks = (asked(&near, "painted"), asked(&far, "painted"));
    far.answer_to(&asks.1, &allow());
    withdrawn(&near, &asks.0);
    let closed = |shown: &Shown| shown.text.contains("driver's editor") && shown.buttons.is_empty();
    let (number, _) = double.sees("who answered", closed).await;
    assert_eq!(number, question.0);
    // Too late, and no less harmless for it.
    near.answer_to(&asks.0, &json!({"outcome": {"outcome": "selected", "optionId": "reject_and_stop"}}));
    press(&double, &question, "Deny");

    // The page answers; everybody else is told.
    let question = posted(&double, "dried").await;
    let asks = (asked(&near, "dried"), asked(&far, "dried"));
    let snapshot = page.events(&format!("/v1/sessions/{session}/events?format=view"), None).wait("snapshot");
    let requests = snapshot.json()["view"]["requests"].clone();
    let open = requests.as_array().unwrap().iter().find(|request| request["state"]["state"] == "open");
    let path = format!("/v1/sessions/{session}/permissions/{}", open.unwrap()["id"].as_str().unwrap());
    page.post(&path, &json!({"behavior": "allow"})).expect(200);
    withdrawn(&near, &asks.0);
    withdrawn(&far, &asks.1);
    let closed = |shown: &Shown| shown.text.contains("ready-file") && shown.buttons.is_empty();
    let (number, _) = double.sees("who answered on the page", closed).await;
    assert_eq!(number, question.0);

    // Everybody saw the whole turn, and the loop took it for what it is.
    heard(&near, "I mix. All is painted.");
    heard(&far, "I mix. All is painted.");
    let mut seen = String::new();
    while !seen.ends_with("All is painted.") {
        let event = watching.find(|event| event.name == "agent-text-delta").expect("the stream continues");
        seen.push_str(event.json()["text"].as_str().unwrap());
    }
    assert_eq!(seen, "I mix. All is painted.");
    running.finish().expect(0);
    assert_eq!(commits(&place), ["Paint it"]);
    double.sees("the end", |shown| shown.text.contains("all tasks are done: 1 done")).await;
    // The loop is over, and the editor that is left has its session.
    let listed = near.call("session/list", &json!({}));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], json!(session), "{listed}");
    far.close().expect(0);
    near.close().expect(0);
    assert_eq!(double.lock().breaches, Vec::<String>::new());
    place.wait_until_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn editors_work_in_the_session_of_a_chat() {
    let place = Place::new();
    let (double, bridge) = chat(&place).await;
    let mut served = Served::in_place(place, &["--bridge", &bridge]);
    double.says(
        ANNA,
        &script(r#"{"text":"I look. ","tool":"Bash","input":{"command":"touch one"}},{"text":"Done."}"#),
    );
    let question = posted(&double, "touch one").await;
    let listed = served.client.get("/v1/sessions").expect(200).json();
    let session = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    let url = format!("http://{}{}", served.client.address, served.client.base);
    let mut near = Editor::start(&served.place, &[]);
    let mut far = editor_with_token(&served.place, &served.client, &url, "approver");
    load(&served.place, &mut near, &session);
    load(&served.place, &mut far, &session);
    let asks = (asked(&near, "touch one"), asked(&far, "touch one"));
    // An approver may allow once and no more.
    let kinds: Vec<&str> = asks.1["params"]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["allow_once", "reject_once", "reject_once"]);
    far.answer_to(&asks.1, &allow());
    withdrawn(&near, &asks.0);
    let closed =
        |shown: &Shown| shown.text.contains("Allowed by approver's editor") && shown.buttons.is_empty();
    assert_eq!(double.sees("who answered", closed).await.0, question.0);
    double.sees("the answer", |shown| shown.text.contains("Done.")).await;
    heard(&near, "I look. Done.");

    // What an editor asks is seen by the other one and answered there, not in the chat, which may answer the request.
    let asked_for =
        near.prompt(&session, &script(r#"{"tool":"Bash","input":{"command":"touch two"}},{"text":"Two."}"#));
    let ask = asked(&near, "touch two");
    deny(&mut far, "touch two");
    withdrawn(&near, &ask);
    assert_eq!(near.response(asked_for)["result"]["stopReason"], "end_turn");
    let refused = far.ask(&session, &says("may I?"));
    assert_eq!(refused["error"]["code"], -32600, "{refused}");

    // The next message of the chat is a turn for everybody.
    double.says(ANNA, &says("Back in the chat."));
    double.sees("the next answer", |shown| shown.text.contains("Back in the chat.")).await;
    heard(&near, "I look. Done.Two.Back in the chat.");
    heard(&far, "I look. Done.Two.Back in the chat.");
    let prompts: Vec<String> = far.prompts();
    assert!(prompts.len() == 3 && prompts[2].contains("Back in the chat."), "{prompts:?}");
    assert!(served.place.path("chats/one").exists() && !served.place.path("chats/two").exists());
    near.close().expect(0);
    far.close().expect(0);
    served.stop();
    assert_eq!(double.lock().breaches, Vec::<String>::new());
}

/// Denies what an editor is asked about a command.
fn deny(editor: &mut Editor, command: &str) {
    let ask = asked(editor, command);
    editor.answer_to(&ask, &json!({"outcome": {"outcome": "selected", "optionId": "reject"}}));
}
