//! A loop in a chat: it posts notifications there, and its questions are answered there.

use crate::common::{Place, Running};
use crate::double::{Double, Shown, TOKEN};
use crate::repository::{commits, repository, state, task, weir_loop};

const ANNA: i64 = 100;
const STRANGER: i64 = 666;

const ASKS: &str = "- [ ] Paint it\n  @@[{\"tool\":\"AskUserQuestion\",\"input\":{\"questions\":[{\"question\":\"Which colour?\",\"header\":\"x\",\"multiSelect\":false,\"options\":[{\"label\":\"Red\",\"description\":\"r\"},{\"label\":\"Blue\",\"description\":\"b\"}]}]}},{\"tool\":\"Bash\",\"input\":{\"command\":\"echo 1 > a\"}},{\"text\":\"ok\"}]\n";

/// A repository, and a bridge to a chat with Anna.
async fn begin(list: &str, config: &str) -> (Place, Double) {
    let place = Place::new();
    let double = Double::start().await;
    std::fs::create_dir(place.path("chats")).unwrap();
    let bridge = format!(
        "data_dir = \"bridge\"\n[defaults]\nworkspace = \"chats\"\n[[people]]\nchannel = \"telegram\"\nid = \"{ANNA}\"\n\
         [telegram]\napi_url = \"{}\"\ntoken = {{ file = \"token\" }}\n",
        double.url
    );
    std::fs::write(place.path("bridge.toml"), bridge).unwrap();
    std::fs::write(place.path("token"), TOKEN).unwrap();
    repository(&place, list, config);
    (place, double)
}

fn start(place: &Place) -> Running {
    let chat = format!("telegram:{ANNA}");
    Running::start(place.command(&["loop", "run", "--bridge", "../bridge.toml", "--notify-chat", &chat]))
}

fn button(shown: &Shown, wanted: &str) -> String {
    let found = shown.buttons.iter().find(|(label, _)| label == wanted);
    found.map(|(_, data)| data.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_by_a_button_and_the_end_is_announced() {
    let (place, double) = begin(ASKS, "").await;
    let running = start(&place);
    let (number, shown) = double.sees("the question", |shown| shown.text.contains("Which colour?")).await;
    assert!(shown.text.contains("Task paint-it"), "{shown:?}");
    // No one else may answer.
    let blue = button(&shown, "Blue");
    double.presses(STRANGER, number, &button(&shown, "Red"));
    double.presses(ANNA, number, &blue);
    double.sees("the answer", |shown| shown.text.contains("Answered by User100")).await;
    running.finish().expect(0);
    double.sees("the end", |shown| shown.text.contains("all tasks are done: 1 done")).await;
    assert_eq!(commits(&place), ["Paint it"]);
    assert_eq!(state(&place)["tasks"][0]["answers"]["Which colour?"], "Blue");
    assert_eq!(double.lock().breaches, Vec::<String>::new());
    place.wait_until_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_an_answer_and_a_second_answer_is_refused() {
    let (place, double) = begin(ASKS, "").await;
    let running = start(&place);
    double.sees("the question", |shown| shown.text.contains("Which colour?")).await;
    double.says(ANNA, "2");
    running.finish().expect(0);
    assert_eq!(state(&place)["tasks"][0]["answers"]["Which colour?"], "Blue");
    let late = weir_loop(&place, &["answer", "red"]);
    assert!(late.code != Some(0) && late.stderr.contains("no question is open"), "{late:?}");
    place.wait_until_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_elsewhere_closes_the_question_in_the_chat() {
    let (place, double) = begin(ASKS, "").await;
    let running = start(&place);
    let (number, _) = double.sees("the question", |shown| shown.text.contains("Which colour?")).await;
    weir_loop(&place, &["answer", "red"]).expect(0);
    let (closed, shown) = double.sees("who answered", |shown| shown.text.contains("Answered by")).await;
    assert_eq!((closed, shown.buttons.len()), (number, 0), "{shown:?}");
    running.finish().expect(0);
    assert_eq!(state(&place)["tasks"][0]["answers"]["Which colour?"], "Red");
    place.wait_until_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_and_failures_are_posted_too() {
    let config = "[loop.permissions]\npolicy = \"ask\"\n[loop.coder]\nallowed_tools = [\"Read\"]\n[loop.task_limits]\nattempts = 1\n\
                  [[loop.gates]]\nname = \"whole\"\ncommand = [\"test\", \"!\", \"-e\", \"broken\"]\n";
    let (place, double) = begin(&task("Break it", "touch broken"), config).await;
    let running = start(&place);
    let (number, shown) = double.sees("the question", |shown| shown.text.contains("Allow Bash?")).await;
    double.presses(ANNA, number, &button(&shown, "Allow"));
    double.sees("the failure", |shown| shown.text.contains("Task break-it: failed")).await;
    running.finish().expect(1);
    place.wait_until_empty();
}

#[test]
fn a_chat_without_a_bridge_is_refused_before_anything_is_spent() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 > a"), "[loop.notify]\nchat = \"telegram:5\"\n");
    let done = weir_loop(&place, &["run"]).expect(2);
    assert!(done.stderr.contains("--bridge FILE"), "{done:?}");
    assert!(commits(&place).is_empty());
    let done = weir_loop(&place, &["run", "--notify-chat", "telegram:5"]).expect(2);
    assert!(done.stderr.contains("--bridge"), "{done:?}");
}
