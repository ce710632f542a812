//! The host of a scenario: how it answers requests of the CLI.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use weir_session::{Ask, Deciding, Decision, Handler};
use weir_testkit::json::Json;
use weir_testkit::scenario::{Process, Reply};
use weir_transcript::RequestKind;
use weir_wire::QuestionAnswers;

/// Answers as the scenario specifies.
#[derive(Clone)]
pub(crate) struct Host {
    process: Arc<Process>,
    held: mpsc::UnboundedSender<Ask>,
    open: Arc<Mutex<mpsc::UnboundedReceiver<Ask>>>,
}

pub(crate) fn value(json: &Json) -> Value {
    serde_json::from_str(&json.to_string()).unwrap()
}

/// The name under which a hook is registered.
pub(crate) fn hook_name(place: usize) -> String {
    format!("hook-{}", place + 1)
}

impl Host {
    pub(crate) fn new(process: &Process) -> Self {
        let (held, open) = mpsc::unbounded_channel();
        Self { process: Arc::new(process.clone()), held, open: Arc::new(Mutex::new(open)) }
    }

    /// Waits for at least one request left open, and returns all of them with their answers.
    pub(crate) async fn answers_to_held(&self, reply: &Reply) -> Vec<(Ask, Decision)> {
        let mut open = self.open.lock().await;
        let mut asks: Vec<Ask> = open.recv().await.into_iter().collect();
        while let Ok(ask) = open.try_recv() {
            asks.push(ask);
        }
        asks.into_iter().map(|ask| (ask.clone(), decision(&ask, reply))).collect()
    }

    fn answer(&self, ask: &Ask) -> Decision {
        let tool = match ask {
            Ask::Request(request) if request.kind.tool_name().is_some() => {
                request.kind.tool_name().unwrap_or_default()
            }
            Ask::Hook(hook) => {
                let hooks = self.process.hooks.iter().enumerate();
                let called = hooks.into_iter().find(|(place, _)| hook_name(*place) == hook.callback);
                return Decision::Value(called.map_or(Value::Null, |(_, hook)| value(&hook.output)));
            }
            other => return Decision::Error(format!("this host cannot answer {other:?}")),
        };
        let rule = self.process.replies.iter().find(|rule| rule.tool == tool);
        let reply = rule.map_or(&Reply::Allow, |rule| &rule.reply);
        if *reply == Reply::Hold {
            self.held.send(ask.clone()).unwrap();
        }
        decision(ask, reply)
    }
}

impl Handler for Host {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        Box::pin(std::future::ready(self.answer(&ask)))
    }
}

fn decision(ask: &Ask, reply: &Reply) -> Decision {
    match reply {
        Reply::Allow => Decision::allow(),
        Reply::AllowWith(input) => Decision::Allow { input: Some(value(input)), remember: Vec::new() },
        Reply::AllowAlways => {
            let Some(RequestKind::Permission(ask)) = ask.kind() else { return Decision::allow() };
            Decision::Allow { input: None, remember: ask.suggestions.first().cloned().into_iter().collect() }
        }
        Reply::Deny(message) => Decision::deny(*message),
        Reply::DenyAndInterrupt(message) => {
            Decision::Deny { message: (*message).to_owned(), interrupt: true }
        }
        Reply::Answer(answers) => {
            let answers = answers
                .iter()
                .fold(QuestionAnswers::new(), |all, (question, label)| all.choose(*question, *label));
            Decision::Answers(answers)
        }
        Reply::Hold => Decision::LeaveOpen,
    }
}
