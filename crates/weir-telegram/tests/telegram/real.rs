//! A chat with the real CLI.
//!
//! The CLI has to be installed: `scripts/setup-real-cli.sh`. `WEIR_SKIP_REAL_CLI=1` skips this test and says so.

use serde_json::json;
use weir_testkit::Place as RealPlace;
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::RealCli;

use crate::place::{ANNA, Place};

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_the_session_prevents_further_requests_and_is_not_written_to_settings() {
    let Some(cli) = RealCli::required().into_iter().max_by_key(|cli| cli.version) else { return };
    let api = ScriptedApi::start().unwrap();
    let real = RealPlace::new().unwrap();
    let mut place = Place::new().await;
    place.cli = Some((cli.program.clone(), real.environment(&api.url())));
    let bridge = place.start().await;
    let runs = json!({"tool": "Bash", "input": {"command": "perl -e 'print 6 * 7'"}});
    let script = json!([runs, runs, {"text": "Both were done."}]);
    place.double.says(ANNA, &format!("@@{script}"));
    let (number, shown) = place.double.sees("the question", |shown| shown.text.contains("Allow Bash?")).await;
    let allow = shown.buttons.iter().find(|(label, _)| label == "Allow for this session");
    let (_, allow) = allow.unwrap_or_else(|| panic!("no such choice: {shown:#?}")).clone();
    place.double.presses(ANNA, number, &allow);
    place.double.sees("the answer", |shown| shown.text.contains("Both were done.")).await;
    bridge.settled(1).await;
    let asked = place.double.lock().messages.values().filter(|shown| shown.text.contains("Allowed")).count();
    assert_eq!(asked, 1, "{:#?}", place.double.lock().messages);
    for file in [
        place.path("work/.claude/settings.local.json"),
        place.path("work/.claude/settings.json"),
        real.home().join(".claude/settings.json"),
        real.home().join(".claude/settings.local.json"),
    ] {
        assert!(!file.exists(), "{} was written", file.display());
    }
    bridge.end(&place).await;
}
