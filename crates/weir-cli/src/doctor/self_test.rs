//! Tests Weir itself on a simulated CLI: one turn with a tool, from the start of the process to its end.

use std::path::Path;
use std::time::{Duration, Instant};

use weir_process::{Environment, LogOptions};
use weir_session::{Session, SessionOptions};
use weir_transcript::ToolState;

use super::report::Report;
use crate::explain::explain;
use crate::screen::seconds;

/// Longer than any machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long processes and locks may take to disappear.
const CLEANUP: Duration = Duration::from_secs(2);

const PROMPT: &str = r#"@@[{"tool":"Bash","input":{"command":"echo weir"}},{"text":"All is well."}]"#;

pub(super) async fn check(report: &mut Report) {
    let started = Instant::now();
    match run().await {
        Ok(()) => {
            let took = seconds(started.elapsed());
            report
                .good("self-test", format!("a turn with a tool on the simulated CLI, nothing left ({took})"));
        }
        Err(error) => {
            let advice =
                "this is a bug in Weir or a problem of this machine; please report it with this text";
            report.fail("self-test", error, advice);
        }
    }
}

async fn run() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("cannot create a temporary folder: {error}"))?;
    let program = crate::simulated::link_in(folder.path())
        .map_err(|error| format!("cannot link the program: {error}"))?;
    let mut options = SessionOptions::new().program(program).cwd(folder.path()).allowed_tools(["Bash"]);
    options.environment = Environment::only(["PATH", "TMPDIR", "SystemRoot"]).set("HOME", folder.path());
    options.state_directory = Some(folder.path().join("state"));
    options.log = Some(LogOptions::new(folder.path().join("logs"), "doctor", "self-test"));
    options.limits.starting = Some(PATIENCE);
    options.limits.turn = Some(PATIENCE);
    let session = Session::new(options);
    let answer = session.ask(PROMPT).await.map_err(|error| explain(&error, None));
    let view = session.view().await.unwrap_or_default();
    session.stop().await;
    let answer = answer?;
    if answer.is_error() || answer.text != "All is well." {
        return Err(format!("unexpected answer: {}", answer.text));
    }
    if !view.tools().any(|(_, tool)| tool.state == ToolState::Succeeded) {
        return Err("the tool did not run".to_owned());
    }
    wait_until_clean(&folder.path().join("state")).await
}

/// Waits until no process or lock is left. The last ones may be removed by another thread.
async fn wait_until_clean(state: &Path) -> Result<(), String> {
    let count = |name: &str| std::fs::read_dir(state.join(name)).map(Iterator::count).unwrap_or_default();
    let is_empty = async {
        while count("processes") + count("locks") > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let left = tokio::time::timeout(CLEANUP, is_empty).await;
    left.map_err(|_| format!("{} locks and {} processes are left", count("locks"), count("processes")))
}
