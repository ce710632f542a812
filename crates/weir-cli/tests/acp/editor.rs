//! An editor that speaks JSON-RPC by hand with a `weir acp`.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::common::{Done, Place, Running};

pub(crate) struct Editor {
    running: Running,
    next_id: u64,
}

impl Editor {
    /// Starts `weir acp` on the data folder of servers of these tests, and says hello.
    pub(crate) fn start(place: &Place, more: &[&str]) -> Self {
        Self::start_in(place, "data", more)
    }

    /// The same with another data folder.
    pub(crate) fn start_in(place: &Place, data: &str, more: &[&str]) -> Self {
        let data = place.path(data).display().to_string();
        let root = place.workspace().display().to_string();
        let mut args = vec!["acp", "--data-dir", &data, "--root", &root];
        args.extend(more);
        let mut command = place.command(&args);
        command.stdin(std::process::Stdio::piped());
        let mut editor = Self { running: Running::start(command), next_id: 0 };
        let hello = editor.call("initialize", &json!({"protocolVersion": 1}));
        assert_eq!(hello["result"]["agentInfo"]["name"], "weir", "{hello}");
        editor
    }

    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    fn write(&mut self, message: &Value) {
        let input = self.running.input();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for a message and returns it. Whatever came before is still there.
    pub(crate) fn wait(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let messages = |bytes: &[u8]| -> Vec<Value> {
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let text = std::str::from_utf8(&bytes[..end]).unwrap();
            text.lines().map(|line| serde_json::from_str(line).expect("only JSON is printed")).collect()
        };
        self.running.stdout.wait(what, |bytes| messages(bytes).iter().any(&is_it));
        messages(&self.running.stdout.so_far()).into_iter().find(&is_it).unwrap()
    }

    pub(crate) fn response(&self, id: u64) -> Value {
        self.wait("the response", |message| message["id"] == id && message.get("method").is_none())
    }

    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.response(id)
    }

    pub(crate) fn session(&mut self, place: &Place) -> String {
        let opened = self.call("session/new", &json!({"cwd": place.workspace(), "mcpServers": []}));
        opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
    }

    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> u64 {
        self.request(
            "session/prompt",
            &json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}),
        )
    }

    pub(crate) fn ask(&mut self, session: &str, text: &str) -> Value {
        let id = self.prompt(session, text);
        self.response(id)
    }

    /// Waits for a request of the agent and answers it.
    pub(crate) fn answer(&mut self, method: &str, result: &Value) {
        let asked = self.wait(method, |message| message["method"] == method);
        self.answer_to(&asked, result);
    }

    /// Answers this request of the agent.
    pub(crate) fn answer_to(&mut self, asked: &Value, result: &Value) {
        self.write(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
    }

    /// Says that it does not know what this request of the agent is.
    pub(crate) fn refuse(&mut self, asked: &Value) {
        let error = json!({"code": -32601, "message": "Method not found"});
        self.write(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
    }

    /// The texts of all updates of this kind so far.
    fn texts(&self, kind: &str) -> Vec<String> {
        let printed = self.running.stdout.so_far();
        let lines = String::from_utf8_lossy(&printed);
        let messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let updates = messages.map(|mut message| message["params"]["update"].take());
        let wanted = updates.filter(|update| update["sessionUpdate"] == kind);
        wanted.filter_map(|update| update["content"]["text"].as_str().map(str::to_owned)).collect()
    }

    /// The text of all pieces of the agent's answers so far.
    pub(crate) fn heard(&self) -> String {
        self.texts("agent_message_chunk").concat()
    }

    /// The prompts of others so far.
    pub(crate) fn prompts(&self) -> Vec<String> {
        self.texts("user_message_chunk")
    }

    /// Closes the editor and waits for the end of `weir acp`.
    pub(crate) fn close(mut self) -> Done {
        self.running.close_input();
        self.running.finish()
    }
}
