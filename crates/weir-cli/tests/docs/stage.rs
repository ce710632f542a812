//! The environment in which commands run: a repository, a home, a CLI that answers everything.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use weir_testkit::http::receive_bodies;

use crate::blocks::{Block, read};
use crate::common::{Client, Done, Place, Running, Terminal, eventually};
use crate::exists;
use crate::table::{self, How};

/// The session that the commands of the documentation name.
const SESSION: &str = "5edec5ab-0000-4000-8000-000000000001";

/// The answer of the simulated agent to a message without a script.
const ANSWER: &str = r#"[{"text":"A small mill that grinds numbers."}]"#;

/// A document whose planner answers with one task, whose coder writes a file.
const DOCUMENT: &str = r#"@@[{"text":"- [ ] Describe the mill\n  @@[{\"tool\":\"Bash\",\"input\":{\"command\":\"echo grinds > notes.md\"}},{\"text\":\"Done.\"}]\n"}]"#;

/// A list of one task, whose coder writes a file.
const TASKS: &str = "- [ ] Describe the mill\n  @@[{\"tool\":\"Bash\",\"input\":{\"command\":\"echo grinds > notes.md\"}},{\"text\":\"Done.\"}]\n";

/// The environment of a block.
pub(crate) struct Stage {
    pub(crate) place: Place,
    /// Words of a command that are replaced here, for example by a free port.
    swaps: Vec<(&'static str, String)>,
    /// Programs that run until the end of the block.
    servers: Vec<Running>,
    /// Programs that end by themselves.
    loops: Vec<Running>,
}

/// Runs all blocks of a file, each on its own stage.
pub(crate) fn play(file: &str) {
    for block in read(file) {
        let mut stage = Stage::new(&block);
        for command in &block.commands {
            stage.play(&block, command);
        }
        stage.end();
    }
}

impl Stage {
    fn new(block: &Block) -> Self {
        let mut place = Place::new();
        let bin = place.path("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_weir"), bin.join("weir")).unwrap();
        let claude = bin.join("claude");
        std::fs::write(&claude, "#!/bin/sh\nexec \"$WEIR_CLAUDE\" \"$@\"\n").unwrap();
        std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let script = place.path("script.json");
        std::fs::write(&script, ANSWER).unwrap();
        place = place
            .set("PATH", format!("{}:{path}", bin.display()))
            .set("SIMULATED_CLAUDE_SCRIPT", script)
            // Any free port.
            .set("WEIR_LISTEN", "127.0.0.1:0");
        if block.commands.iter().any(|command| command.starts_with("weir demo")) {
            // The tour runs only without a script.
            place = place.without("SIMULATED_CLAUDE_SCRIPT");
        }
        let stage = Self { place, swaps: Vec::new(), servers: Vec::new(), loops: Vec::new() };
        stage.write(
            "home/.gitconfig",
            "[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n",
        );
        for folder in ["home/projects", "home/src/x"] {
            std::fs::create_dir_all(stage.place.path(folder)).unwrap();
        }
        stage.write("workspace/README.md", "A mill that grinds numbers.\n");
        stage.write("workspace/Makefile", "test:\n\t@echo ok\n");
        stage.write("workspace/PRD.md", DOCUMENT);
        stage.write("workspace/servers.json", "{\"mcpServers\":{}}");
        stage.shell("git init --quiet && git add --all && git commit --quiet --message Begin").expect(0);
        stage
    }

    fn play(&mut self, block: &Block, command: &str) {
        let rule = table::rule(&block.file, command);
        let at = format!("{}:{}: {command}", block.file, block.line);
        if let Some(before) = rule.and_then(|rule| rule.before) {
            before(self);
        }
        let played =
            self.swaps.iter().fold(command.to_owned(), |text, (word, other)| text.replace(word, other));
        match rule.map_or_else(|| table::usual(command), |rule| rule.how) {
            How::Succeeds => self.ends(&at, &played, 0),
            How::Ends(code) => self.ends(&at, &played, code),
            How::Runs(shows) => {
                let running = self.start(&played);
                eventually(&format!("{at} shows {shows:?}"), || {
                    let printed = [running.stdout.so_far(), running.stderr.so_far()].concat();
                    String::from_utf8_lossy(&printed).contains(shows).then_some(())
                });
                running.signal(Signal::INT);
                let done = running.finish();
                // Other programs may be killed by the signal.
                let is_ours = played.starts_with("weir ");
                assert!(done.code == Some(0) || (done.code.is_none() && !is_ours), "{at}: {done:?}");
            }
            How::IsLeft(shows) => {
                let words: Vec<&str> = played.split_whitespace().skip(1).collect();
                let mut terminal = Terminal::weir(&self.place, &words);
                terminal.wait_for(shows);
                terminal.keys("\u{4}");
                let done = terminal.finish();
                assert_eq!(done.code, Some(0), "{at}: {done:?}");
            }
            How::Exists(why) => exists::check(&self.place, &format!("{at} (not run: {why})"), command),
        }
    }

    fn ends(&self, at: &str, command: &str, code: i32) {
        let done = self.shell(command);
        assert_eq!(done.code, Some(code), "{at}: {done:?}");
    }

    fn end(mut self) {
        for server in self.servers.drain(..) {
            server.signal(Signal::INT);
            server.finish().expect(0);
        }
        for running in self.loops.drain(..) {
            running.finish().expect(0);
        }
        self.place.wait_until_empty();
    }

    /// Runs a command in a shell and waits for it.
    pub(crate) fn shell(&self, command: &str) -> Done {
        self.start_shell(command).finish()
    }

    fn start(&self, command: &str) -> Running {
        // Signals are for the program and not for the shell.
        self.start_shell(&format!("exec {command}"))
    }

    #[expect(clippy::disallowed_methods, reason = "the commands of the documentation are for a shell")]
    fn start_shell(&self, command: &str) -> Running {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env_clear().envs(self.place.environment().iter().cloned());
        shell.current_dir(self.place.workspace()).stdin(Stdio::null());
        Running::start(shell)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.place.path(name), text).unwrap();
    }

    /// Replaces a word of the documentation from now on.
    pub(crate) fn swap(&mut self, word: &'static str, other: impl Into<String>) {
        self.swaps.retain(|(known, _)| *known != word);
        self.swaps.push((word, other.into()));
    }

    /// An earlier session, which the documentation calls `5edec5ab`.
    pub(crate) fn have_session(&mut self) {
        self.shell(&format!("weir run -q --session-id {SESSION} 'What is this?'")).expect(0);
    }

    /// A server with a session; `$URL`, `$TOKEN` and `$ID` name them.
    pub(crate) fn have_server(&mut self) {
        let ready = self.place.path("ready.json");
        self.servers.push(self.start(&format!("weir serve --ready-file '{}'", ready.display())));
        self.place.wait_for_file("ready.json");
        let file: serde_json::Value = serde_json::from_slice(&std::fs::read(&ready).unwrap()).unwrap();
        let (url, token) = (file["url"].as_str().unwrap(), file["token"].as_str().unwrap());
        let new = serde_json::json!({ "cwd": self.place.workspace() });
        let session = Client::new(url, token).post("/v1/sessions", &new).expect(201).json();
        self.swap("$URL", url);
        self.swap("$TOKEN", token);
        self.swap("$ID", session["id"].as_str().unwrap());
    }

    /// A channel for the bridge that `weir bridge init` has configured: a webhook, and a program that answers it.
    pub(crate) fn have_channel(&mut self) {
        let file = self.place.path("workspace/weir-bridge.toml");
        let config = std::fs::read_to_string(&file).unwrap();
        if config.contains("\n[webhook]") {
            return;
        }
        let (url, _) = receive_bodies().unwrap();
        self.write("workspace/secret", "a secret that is long enough to be one");
        let channel = format!(
            "\n[webhook]\nlisten = \"127.0.0.1:0\"\nurl = \"{url}\"\nsecret = {{ file = \"secret\" }}\n"
        );
        std::fs::write(&file, config + &channel).unwrap();
    }

    /// A configured loop with a task, committed.
    pub(crate) fn have_tasks(&mut self) {
        self.commit_tasks(TASKS);
    }

    fn commit_tasks(&self, tasks: &str) {
        self.write("workspace/TASKS.md", tasks);
        self.shell("weir loop init && git add --all && git commit --quiet --message Tasks").expect(0);
    }

    /// A loop that asks a question for each of two tasks.
    pub(crate) fn have_question(&mut self) {
        if self.loops.is_empty() {
            self.commit_tasks(&["one", "two"].map(asking_task).concat());
            self.loops.push(self.start("weir loop run"));
            self.wait_for_question("one");
        }
    }

    /// The second question, which the documentation calls `2c88898d`.
    pub(crate) fn have_second_question(&mut self) {
        let listed = self.wait_for_question("two");
        let id = listed.split_once("--question ").and_then(|(_, rest)| rest.split_whitespace().next());
        self.swap("2c88898d", id.unwrap());
    }

    fn wait_for_question(&self, task: &str) -> String {
        eventually(&format!("the question of {task}"), || {
            let done = self.shell("weir loop answer");
            Some(done.text().to_owned()).filter(|listed| listed.contains(&format!("Which mill for {task}?")))
        })
    }
}

/// A task whose coder asks a question and then writes a file.
fn asking_task(name: &str) -> String {
    let question = serde_json::json!({
        "question": format!("Which mill for {name}?"), "header": "Mill", "multiSelect": false,
        "options": [{ "label": "small", "description": "" }, { "label": "large", "description": "" }],
    });
    let script = serde_json::json!([
        { "tool": "AskUserQuestion", "input": { "questions": [question] } },
        { "tool": "Bash", "input": { "command": format!("echo {name} > {name}.txt") } },
        { "text": "Done." },
    ]);
    format!("- [ ] {name}\n  @@{script}\n")
}
