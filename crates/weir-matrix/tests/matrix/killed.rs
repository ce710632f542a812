//! A bridge that is killed in the middle of a turn.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use matrix_sdk::ruma::OwnedUserId;
use serde_json::json;

use crate::person::Person;
use crate::place::{Place, Plan};
use crate::{script, synapse};

const FOLDER: &str = "WEIR_TEST_MATRIX_FOLDER";
const HOMESERVER: &str = "WEIR_TEST_MATRIX_HOMESERVER";
const BOT: &str = "WEIR_TEST_MATRIX_BOT";
const PERSON: &str = "WEIR_TEST_MATRIX_PERSON";

/// The bridge that is killed: this program, running only this test.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let variable = |name: &str| std::env::var(name).unwrap();
    let bot = OwnedUserId::try_from(variable(BOT)).unwrap();
    let plan = Plan::new(&PathBuf::from(folder), &variable(HOMESERVER), &bot, &[&variable(PERSON)]);
    let _bridge = plan.start().await;
    std::future::pending::<()>().await;
}

/// A child that is killed and reaped however the test ends.
struct Killed(Child);

impl Killed {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(plan: &Plan, person: &Person, output: &Path) -> Killed {
    #[expect(clippy::disallowed_methods, reason = "the test kills a child of its own and reaps it")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "killed::child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, &plan.folder)
        .env(HOMESERVER, &plan.homeserver)
        .env(BOT, plan.bot.as_str())
        .env(PERSON, person.id.as_str())
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(output).unwrap());
    Killed(command.spawn().unwrap())
}

async fn nothing_is_lost_and_nothing_is_answered_twice(encrypted: bool) {
    let anna = Person::new("anna").await;
    let place = Place::new(&[&anna.id]).await;
    let mut first = start(&place.plan, &anna, &place.path("output"));
    let room = anna.makes_room(encrypted, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    anna.says(&room, &script(&json!([{"text": "Before."}]))).await;
    anna.sees("the first answer", |shown| shown.text.contains("Before.")).await;
    anna.says(&room, &script(&json!([{"text": "word ".repeat(2_000), "wdelay": 0.1}]))).await;
    anna.sees("the beginning", |shown| shown.text.contains("word word")).await;
    first.kill();
    // Each has its own script: a message without one plays the previous script, which is long.
    for number in 0..30 {
        anna.says(&room, &script(&json!([{"text": format!("After {number}.")}]))).await;
    }
    let bridge = place.plan.start().await;
    anna.sees("what became of it", |shown| {
        shown.text.contains("The bridge was restarted while this was being answered")
    })
    .await;
    // Each message has its outcome, including those that were sent in the meantime.
    bridge.settles(32).await;
    anna.says(&room, &script(&json!([{"text": "The last."}]))).await;
    anna.sees("the last answer", |shown| shown.text.contains("The last.")).await;
    let texts = anna.texts_of(place.bot());
    for once in ["Before.", "The bridge was restarted", "The last."] {
        assert_eq!(texts.iter().filter(|text| text.contains(once)).count(), 1, "{once}: {texts:#?}");
    }
    let after: Vec<&String> = texts.iter().filter(|text| text.contains("After")).collect();
    let different: BTreeSet<&String> = after.iter().copied().collect();
    assert!(!after.is_empty() && different.len() == after.len(), "{texts:#?}");
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_plain_room() {
    if synapse::is_skipped() {
        return;
    }
    nothing_is_lost_and_nothing_is_answered_twice(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_an_encrypted_room() {
    if synapse::is_skipped() {
        return;
    }
    nothing_is_lost_and_nothing_is_answered_twice(true).await;
}
