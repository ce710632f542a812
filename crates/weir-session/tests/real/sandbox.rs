//! A sandbox is enforced by the kernel: real CLIs try to escape from it.

use serde_json::json;
use weir_process::Sandbox;
use weir_session::{Session, SessionOptions};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::scenario::{Cli, Process};

use crate::host::Host;
use crate::options::options;
use crate::recorder::Recorder;

const SECRET: &str = "the-sluice-key-is-under-the-stone";

/// A session in a sandbox whose tools all run without asking.
fn fenced(cli: &Cli, place: &Place, api: &ScriptedApi) -> SessionOptions {
    let (process, recorder) = (Process::default(), Recorder::default());
    let mut options = options((cli, place, api), &process, "", &Host::new(&process), &recorder)
        .allowed_tools(["Bash", "Read", "Write"]);
    let home = place.root().join("fenced-home");
    std::fs::create_dir_all(&home).unwrap();
    options.sandbox = Some(Sandbox::new(home).writable(place.directory()));
    options
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_outside_can_be_read_or_written() {
    let runs = crate::real_clis().into_iter().map(|cli| tokio::spawn(climb(Cli::from(cli))));
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
}

async fn climb(cli: Cli) {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let secret = place.root().join("secret.txt");
    std::fs::write(&secret, SECRET).unwrap();
    std::fs::write(place.home().join("secret.txt"), SECRET).unwrap();
    let (outside, inside) = (place.root().join("written.txt"), place.directory().join("written.txt"));
    let session = Session::new(fenced(&cli, &place, &api));
    let (secret, home) = (secret.display(), place.home());
    let home = home.display();
    let bash = |command: String| json!({"tool": "Bash", "input": {"command": command, "description": "x"}});
    let steps = json!([
        bash(format!("cat {secret} {home}/secret.txt /etc/shadow; true")),
        bash(format!("echo x > {}; echo x > {home}/written.txt; true", outside.display())),
        bash(format!("ln -s {secret} link; cat link /proc/1/root{secret}; true")),
        {"tool": "Read", "input": {"file_path": secret.to_string()}},
        {"tool": "Write", "input": {"file_path": outside.display().to_string(), "content": "x"}},
        bash(format!("echo inside > {}", inside.display())),
        {"text": "tried everything"},
    ]);
    let end = session.ask(format!("@@{steps}")).await.unwrap();
    assert_eq!(end.text, "tried everything", "{cli}");
    session.stop().await;
    let told = api.requests().iter().any(|request| request.body.to_string().contains(SECRET));
    assert!(!told, "{cli}: the secret was read");
    assert!(!outside.exists() && !place.home().join("written.txt").exists(), "{cli}: written outside");
    assert_eq!(std::fs::read_to_string(inside).unwrap(), "inside\n", "{cli}: not even inside");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_outlives_its_process_in_a_sandbox_and_leaves_nothing() {
    let cli = Cli::from(crate::real_clis().remove(0));
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let mut options = fenced(&cli, &place, &api);
    options.keep_process = false;
    let session = Session::new(options);
    session.ask("@@[{\"text\": \"one\"}]").await.unwrap();
    let second = session.ask("@@[{\"text\": \"two\"}]").await.unwrap();
    assert_eq!(second.text, "two");
    let requests = api.requests();
    let last = requests.iter().rfind(|request| request.is_message()).unwrap();
    assert!(last.messages >= 3, "the second process does not know what the first one said");
    session.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_working_sandbox_nothing_starts() {
    let cli = Cli::from(crate::real_clis().remove(0));
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let mut options = fenced(&cli, &place, &api);
    let sandbox = options.sandbox.take().unwrap();
    let missing = Sandbox { program: place.root().join("no-bwrap"), ..sandbox };
    assert!(missing.check().await.is_err());
    options.sandbox = Some(missing);
    let session = Session::new(options);
    let error = session.ask("hello").await.unwrap_err();
    assert!(error.to_string().contains("bubblewrap"), "{error}");
    assert_eq!(api.requests().len(), 0);
    session.stop().await;
}

/// Everything in a home that can make a later process run something.
const LEFT_BEHIND: &str = r#"mkdir -p ~/.claude/commands; cd ~
hook='[{"hooks":[{"type":"command","command":"touch WORK/hooked"}]}]'
echo "{\"hooks\":{\"SessionStart\":$hook,\"UserPromptSubmit\":$hook}}" > .claude/settings.json
cp .claude/settings.json .claude/settings.local.json
echo '{"mcpServers":{"x":{"command":"touch","args":["WORK/served"]}}}' > .claude.json
echo 'touch WORK/sourced' | tee .bashrc > .profile
printf '[core]\n\tfsmonitor = "touch WORK/monitored; false"\n' > .gitconfig"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_leaves_nothing_for_the_next_to_run() {
    let runs = crate::real_clis().into_iter().map(|cli| tokio::spawn(leave_behind(Cli::from(cli))));
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
}

async fn leave_behind(cli: Cli) {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let workspace = place.directory();
    let command = LEFT_BEHIND.replace("WORK", &workspace.display().to_string());
    let bash = |command: &str| json!({"tool": "Bash", "input": {"command": command, "description": "x"}});
    let first = Session::new(fenced(&cli, &place, &api));
    first.ask(format!("@@{}", json!([bash(&command), {"text": "left"}]))).await.unwrap();
    first.stop().await;
    let second = Session::new(fenced(&cli, &place, &api));
    let steps = json!([bash("git init -q . && git status; touch ran"), {"text": "looked"}]);
    second.ask(format!("@@{steps}")).await.unwrap();
    second.stop().await;
    assert!(workspace.join("ran").exists(), "{cli}: nothing was tried");
    for sign in ["hooked", "served", "sourced", "monitored"] {
        assert!(!workspace.join(sign).exists(), "{cli}: {sign} by what another session left in the home");
    }
}
