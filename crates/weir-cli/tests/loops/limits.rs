//! The account's limit with the real command: it is waited for, killed while waiting, and resumed.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;

use crate::common::{Place, Running};
use crate::repository::{commits, repository, state, task};

/// A CLI whose first session is refused because of the account's limit for this many seconds.
fn limited(place: &Place, seconds: u32) -> String {
    let folder = place.workspace().join("..").canonicalize().unwrap();
    let program = folder.join("limited-claude");
    let text = format!(
        "#!/bin/sh\n\
         case \"$*\" in *--session-id*)\n\
         if [ ! -e '{0}/had' ]; then\n\
         touch '{0}/had'\n\
         export SIMULATED_CLAUDE_MISBEHAVE='[{{\"rate_limit\": {seconds}}}, {{\"crash\": {{\"at\": \"result\", \"exit\": 1}}}}]'\n\
         fi;;\n\
         esac\n\
         exec '{0}/simulated-claude' \"$@\"\n",
        folder.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.to_string_lossy().into_owned()
}

const CONFIG: &str = "[loop.rate_limit]\nmargin = \"100ms\"\n";

/// One attempt counts, the refused one does not, and the work was done once.
fn assert_done(place: &Place) {
    assert_eq!(commits(place), ["A"]);
    assert_eq!(std::fs::read_to_string(place.workspace().join("a")).unwrap(), "1\n");
    let run = state(place);
    let outcomes: Vec<(&str, bool)> = run["tasks"][0]["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| (attempt["outcome"].as_str().unwrap(), attempt["counted"] == true))
        .collect();
    assert_eq!(outcomes, [("rate_limited", false), ("done", true)]);
    assert!(run["wait"].is_null(), "{run}");
}

#[test]
fn a_limit_is_waited_for_before_the_task_is_done() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 >> a"), CONFIG);
    let claude = limited(&place, 1);
    let done = place.weir(&["loop", "run", "--json", "--claude", &claude]).expect(0);
    let events = done.json_lines();
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    let place_of = |name: &str| names.iter().position(|other| *other == name);
    assert!(place_of("waiting") < place_of("wait_ended") && place_of("wait_ended") < place_of("task_done"));
    assert_done(&place);
    place.wait_until_empty();
}

#[test]
fn killed_while_waiting_it_keeps_waiting_and_then_works() {
    let place = Place::new();
    repository(&place, &task("A", "echo 1 >> a"), CONFIG);
    let claude = limited(&place, 3);
    let running = Running::start(place.command(&["loop", "run", "--json", "--claude", &claude]));
    running.wait_for("\"event\":\"waiting\"");
    running.signal(Signal::KILL);
    running.finish();
    let until = state(&place)["wait"]["until"].as_i64().unwrap();
    let done = place.weir(&["loop", "run", "--json", "--claude", &claude]).expect(0);
    assert_done(&place);
    let ended = state(&place)["tasks"][0]["attempts"][1]["ended_at"].as_i64().unwrap();
    assert!(ended >= until, "it worked before the limit was lifted: {done:?}");
    place.wait_until_empty();
}
