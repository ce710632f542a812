//! What the transcripts do not show: endless stalls, and what is left behind by a CLI.

use std::time::Duration;

use weir_testkit::api::ScriptedApi;
use weir_testkit::object;
use weir_testkit::real::{Driver, Launch, RealCli};
use weir_testkit::scenario::BASE_FLAGS;
use weir_testkit::{Place, end_leftovers};

const DEADLINE: Duration = Duration::from_secs(60);

fn start(cli: &RealCli, place: &Place, api: &ScriptedApi, flags: &[&str]) -> Driver {
    let launch = Launch {
        program: cli.program.clone(),
        arguments: BASE_FLAGS.iter().chain(flags).map(|flag| (*flag).to_owned()).collect(),
        environment: place.environment(&api.url()),
        directory: place.directory(),
    };
    Driver::start(&launch, Box::new(|_| None)).unwrap()
}

fn send(driver: &Driver, text: &str) {
    let message = object! { "role" => "user", "content" => text };
    let line = object! {
        "type" => "user", "message" => message, "session_id" => "default",
        "parent_tool_use_id" => weir_testkit::json::Json::Null,
    };
    driver.send(&line).unwrap();
}

#[test]
fn a_stalled_stream_is_waited_for_and_can_be_interrupted() {
    for cli in RealCli::required() {
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let driver = start(&cli, &place, &api, &["--include-partial-messages"]);
        send(&driver, r#"@@[{"text":"one two three four","stall":3600}]"#);
        driver.wait_for_lines("stream_event", None, 3, DEADLINE).unwrap();
        let request = object! { "subtype" => "interrupt" };
        driver
            .send(&object! { "type" => "control_request", "request_id" => "i", "request" => request })
            .unwrap();
        let result = driver.wait_for_lines("result", None, 1, DEADLINE).unwrap();
        assert_eq!(result.str_of("subtype"), Some("error_during_execution"), "{}", cli.version);
        assert!(driver.finish(DEADLINE).is_ok());
    }
}

#[test]
fn temporary_files_stay_inside_the_place() {
    for cli in RealCli::required() {
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let driver = start(&cli, &place, &api, &["--allowedTools", "Bash"]);
        let steps =
            r#"@@[{"tool":"Bash","input":{"command":"echo $TMPDIR","description":"x"}},{"text":"done"}]"#;
        send(&driver, steps);
        driver.wait_for_lines("result", None, 1, DEADLINE).unwrap();
        let temporary = place.temporary().display().to_string();
        let lines = driver.lines();
        let text = |line: &weir_testkit::real::Received| String::from_utf8_lossy(&line.bytes).into_owned();
        assert!(lines.iter().any(|line| line.is("user", None) && text(line).contains(&temporary)));
        for line in &lines {
            let text = text(line).replace(&temporary, "");
            assert!(!text.contains("/tmp/claude") && !text.contains("/tmp/cc-socks"), "{text}");
        }
        driver.finish(DEADLINE).unwrap();
        let root = place.root().to_owned();
        place.remove().unwrap();
        assert!(!root.exists());
    }
}

#[test]
fn a_dropped_driver_leaves_no_process() {
    for cli in RealCli::required() {
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let driver = start(&cli, &place, &api, &["--allowedTools", "Bash"]);
        let steps = r#"@@[{"tool":"Bash","input":{"command":"touch started; sleep 64","description":"x"}},{"text":"never"}]"#;
        send(&driver, steps);
        let file = place.directory().join("started");
        driver.poll_for("the command", DEADLINE, || file.exists().then_some(())).unwrap();
        drop(driver);
        // The CLI is gone; 2.1.9 leaves its command alive, which is why this exists.
        let left = end_leftovers(&place.home());
        assert!(left.iter().all(|left| !left.command.contains("claude-code")), "{left:?}");
        assert!(end_leftovers(&place.home()).is_empty());
    }
}
