//! An agent that plays sessions: it changes files and writes a log, with an instant for a kill after each.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::agent::{Agent, AgentRequest, AgentRun, Running, Surroundings, run_from_log};
use crate::instant;

/// What a session does in its folder, and what it says.
pub(super) type Script = fn(task: &str, folder: &Path) -> Said;

/// How a session ends.
pub(super) enum Said {
    /// With this text.
    Answer(&'static str),
    /// With a tool call that was not allowed.
    Denied,
    /// With a limit of the account that has already been lifted.
    Limited,
}

/// What each session costs.
pub(super) const COST: f64 = 0.25;

pub(super) struct Player {
    pub(super) script: Script,
    pub(super) logs: PathBuf,
}

impl Player {
    fn play(&self, request: &AgentRequest) -> AgentRun {
        let path = self.logs.join(format!("{}-{}-{}.ndjson", request.session_id, request.mode, request.task));
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        let mut write = |line: serde_json::Value| {
            instant::begin();
            log.write_all(format!("{line}\n").as_bytes()).unwrap();
            instant::reached("a line of a session was logged");
        };
        let id = &request.session_id;
        write(
            json!({"type": "system", "subtype": "init", "session_id": id, "cwd": request.cwd, "model": "m", "tools": []}),
        );
        instant::begin();
        let said = (self.script)(&request.task, &request.cwd);
        instant::reached("a session has worked");
        let mut result = json!({
            "type": "result", "subtype": "success", "is_error": false, "session_id": id, "num_turns": 2, "duration_ms": 5,
            "total_cost_usd": COST, "permission_denials": [],
            "usage": {"input_tokens": 100, "output_tokens": 50},
            "modelUsage": {"m": {"inputTokens": 100, "outputTokens": 50, "costUSD": COST}},
        });
        match said {
            Said::Answer(text) => result["result"] = json!(text),
            Said::Denied => {
                let denial = json!({"tool_name": "WebFetch", "tool_use_id": "t", "tool_input": {"url": "https://example.com/"}});
                result["permission_denials"] = json!([denial]);
                result["result"] = json!("It was not allowed.");
            }
            Said::Limited => {
                write(
                    json!({"type": "rate_limit_event", "session_id": id, "rate_limit_info": {"status": "rejected", "resetsAt": 1, "rateLimitType": "five_hour"}}),
                );
                result["is_error"] = json!(true);
                result["result"] = json!("Try later.");
            }
        }
        write(
            json!({"type": "assistant", "session_id": id, "message": {"id": "m1", "role": "assistant", "model": "m", "content": [{"type": "text", "text": result["result"]}]}}),
        );
        write(result);
        drop(log);
        run_from_log(&path, &request.cwd, &request.protected).unwrap().unwrap()
    }
}

impl Agent for Player {
    fn run(&self, request: AgentRequest, _: Surroundings) -> Running<'_> {
        Box::pin(async move { self.play(&request) })
    }
}
