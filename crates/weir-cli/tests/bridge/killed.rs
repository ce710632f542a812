//! A bridge that is killed in the middle of a turn and restarted: nothing is lost, nothing is posted twice.
//!
//! Telegram is a double in this process, which survives the bridge. The moment is chosen by a call of the bridge that is
//! never answered: the call took effect or not, and the bridge dies before it knows which.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use weir_bridge::machine::Kept;
use weir_bridge::store::BridgeStore;

use crate::common::{Place, Running, eventually};
use crate::double::{Double, TOKEN};

pub(crate) const ANNA: i64 = 100;

/// The moments: the text of the call that is never answered.
const FIRST_SIGN: &str = "\u{2026}";
const FIRST_TEXT: &str = "The first";
const WHOLE_TEXT: &str = "The end.";
const SECOND_ANSWER: &str = "The second.";

pub(crate) struct Chat {
    pub(crate) place: Place,
    pub(crate) double: Double,
    pub(crate) config: String,
}

impl Chat {
    pub(crate) async fn new() -> Self {
        let place = Place::new();
        let double = Double::start().await;
        let config = format!(
            "data_dir = \"data\"\n[defaults]\nworkspace = \"workspace\"\nqueue = \"followup\"\nallowed_tools = [\"Bash\"]\n\
             [[people]]\nchannel = \"telegram\"\nid = \"{ANNA}\"\n\
             [telegram]\napi_url = \"{}\"\ntoken = {{ file = \"token\" }}\n",
            double.url
        );
        std::fs::write(place.path("bridge.toml"), config).unwrap();
        std::fs::write(place.path("token"), TOKEN).unwrap();
        let config = place.path("bridge.toml").display().to_string();
        Self { place, double, config }
    }

    fn start(&self) -> Running {
        Running::start(self.place.command(&["bridge", "run", "--config", &self.config]))
    }

    fn kept(&self) -> Vec<Kept> {
        let file: PathBuf = self.place.path("data/bridge.db");
        BridgeStore::open(&file).unwrap().load().unwrap()
    }

    /// The texts of the bot's messages, without placeholders.
    fn said(&self) -> Vec<String> {
        let texts = self.double.lock().messages.values().map(|shown| shown.text.clone()).collect::<Vec<_>>();
        texts.into_iter().filter(|text| text != FIRST_SIGN).collect()
    }

    fn outcomes(&self) -> Vec<String> {
        let kept = self.kept();
        let done = kept.iter().filter(|kept| kept.kind.as_str() == "done");
        done.map(|kept| kept.value["outcome"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// Kills the bridge at this moment, and checks what becomes of both messages.
async fn killed_at(instant: &str, is_done: bool) {
    let chat = Chat::new().await;
    let context =
        format!("killed when it wrote {instant:?}, which was {}done", if is_done { "" } else { "not " });
    chat.double.lock().silence = Some((instant.to_owned(), is_done));
    let running = chat.start();
    let words = "The first answer has a few words and takes its time. The end.";
    let turn = json!([
        {"tool": "Bash", "input": {"command": "echo ran >> ran.txt"}},
        {"text": words, "wdelay": 0.2},
    ]);
    chat.double.says(ANNA, &format!("@@{turn}"));
    chat.double.says(ANNA, &format!("@@{}", json!([{"text": SECOND_ANSWER}])));
    eventually(&context, || chat.double.lock().silence.is_none().then_some(()));
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None, "{context}");

    let running = chat.start();
    chat.double.sees(&context, |shown| shown.text.contains(SECOND_ANSWER)).await;
    eventually(&context, || {
        let open = ["inbox", "reply", "card"];
        (!chat.kept().iter().any(|kept| open.contains(&kept.kind.as_str()))).then_some(())
    });
    running.signal(Signal::TERM);
    running.finish().expect(0);
    chat.place.wait_until_empty();

    let said = chat.said();
    let first: Vec<&String> = said
        .iter()
        .filter(|text| text.contains(FIRST_TEXT) || text.contains("restarted") || text.contains("Bash"))
        .collect();
    assert_eq!(first.len(), 1, "{context}: {said:#?}");
    let is_answered = first.iter().all(|text| text.ends_with(WHOLE_TEXT));
    let is_cut_off = first.iter().all(|text| text.contains("The bridge was restarted"));
    assert!(is_answered != is_cut_off, "{context}: {said:#?}");
    assert_eq!(said.iter().filter(|text| text.contains(SECOND_ANSWER)).count(), 1, "{context}: {said:#?}");
    assert_eq!(said.len(), 2, "{context}: {said:#?}");
    let expected = if is_answered { ["answered", "answered"] } else { ["failed", "answered"] };
    assert_eq!(chat.outcomes(), expected, "{context}: {said:#?}");
    let ran = std::fs::read_to_string(chat.place.workspace().join("ran.txt")).unwrap_or_default();
    assert!(ran.lines().count() <= 1, "{context}: no turn runs twice: {ran:?}");
    assert_eq!(chat.double.lock().breaches, Vec::<String>::new(), "{context}");
    // A placeholder may appear twice if the kill left it undecided; nothing else may.
    let signs = chat.double.lock().messages.len() - said.len();
    assert!(signs <= usize::from(is_done), "{context}: {signs} signs are left");
}

/// Each moment in its own thread: most of the time they wait.
fn killed_at_each(instants: &[(&str, bool)]) {
    std::thread::scope(|scope| {
        for (instant, is_done) in instants {
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(1)
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(killed_at(instant, *is_done));
                runtime.shutdown_timeout(Duration::from_secs(1));
            });
        }
    });
}

#[test]
fn killed_before_and_after_the_first_text() {
    killed_at_each(&[(FIRST_SIGN, false), (FIRST_SIGN, true), (FIRST_TEXT, false), (FIRST_TEXT, true)]);
}

#[test]
fn killed_after_the_answer_and_before_its_outcome_is_stored() {
    killed_at_each(&[(WHOLE_TEXT, false), (WHOLE_TEXT, true), (SECOND_ANSWER, false), (SECOND_ANSWER, true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_a_question_is_open() {
    let chat = Chat::new().await;
    let running = chat.start();
    let file = chat.place.workspace().join("made.txt");
    let turn = json!([{"tool": "Write", "input": {"file_path": file, "content": "made"}}, {"text": "Made."}]);
    chat.double.says(ANNA, &format!("@@{turn}"));
    let asks = |shown: &crate::double::Shown| shown.text.contains("Allow Write?");
    let (number, asked) = chat.double.sees("the question", asks).await;
    let (_, allow) = asked.buttons.iter().find(|(label, _)| label == "Allow").unwrap().clone();
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);

    // The button is pressed while no bridge runs. The process that asked is gone, so this allows nothing.
    chat.double.presses(ANNA, number, &allow);
    let running = chat.start();
    let (_, closed) = chat.double.sees("the end of it", |shown| shown.text.contains("no longer open")).await;
    assert!(closed.buttons.is_empty(), "{closed:?}");
    chat.double
        .sees("what became of the turn", |shown| shown.text.contains("The bridge was restarted while"))
        .await;
    chat.double.says(ANNA, &format!("@@{}", json!([{"text": SECOND_ANSWER}])));
    chat.double.sees("the next answer", |shown| shown.text.contains(SECOND_ANSWER)).await;
    eventually("the outcomes", || (chat.outcomes() == ["failed", "answered"]).then_some(()));
    assert!(!file.exists(), "nothing was allowed");
    running.signal(Signal::TERM);
    running.finish().expect(0);
    assert_eq!(chat.double.lock().breaches, Vec::<String>::new());
}
