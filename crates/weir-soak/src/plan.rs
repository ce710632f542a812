//! What one session does, generated from a seed. Pure.

use std::time::Duration;

use serde_json::{Value, json};
use weir_testkit::Random;

/// What one step of the model costs, in dollars: the usual tokens at the price of [`MODEL`].
pub const STEP_USD: f64 = 0.001_05;
/// The model of all sessions.
pub const MODEL: &str = "claude-sonnet-4-5-20250929";

/// A version whose results do not say which messages they answer.
const OLD: &str = "2.1.9";
/// A second result while the next turn may already be running. It can only be understood if the version says which
/// messages a result answers.
const LATE: &str = r#"{"late_result":0.05}"#;

/// Misbehaviour of a whole process that a session has to tolerate.
const HABITS: &[&str] = &[
    "split_utf8",
    "crlf",
    "reordered_keys",
    "duplicate_responses",
    "ignore_sigterm",
    "ignore_sigint",
    "ignore_eof",
    r#"{"slow_start":0.1}"#,
    r#"{"coalesce":true}"#,
    r#"{"coalesce":false}"#,
    "ignore_interrupt",
];

/// Misbehaviour that does not prevent the reply.
const HARMLESS: &[&str] = &[
    r#""unknown_type""#,
    r#""unknown_subtype""#,
    r#""unknown_block""#,
    r#""changed_type""#,
    r#""broken_json""#,
    r#""sandbox_debug""#,
    r#""blank_lines""#,
    r#""keep_alive""#,
    r#"{"huge_line":1}"#,
    r#"{"messages":200}"#,
    r#"{"stderr_flood":1}"#,
    r#""unknown_control_request""#,
    r#""cancelled_request""#,
    r#""stray_result""#,
    LATE,
    r#""empty_result_first""#,
    r#""result_object""#,
    r#""empty_result""#,
];

/// Misbehaviour that prevents the reply.
const FATAL: &[&str] = &[
    r#""no_result""#,
    r#""exit_without_result""#,
    r#""truncated_result""#,
    r#"{"silence":"turn"}"#,
    r#"{"silence":"mid"}"#,
    r#"{"silence":"result"}"#,
    r#"{"crash":{"at":"turn","exit":3}}"#,
    r#"{"crash":{"at":"mid","exit":0}}"#,
    r#"{"crash":{"at":"mid","signal":"KILL"}}"#,
    r#"{"crash":{"at":"result","signal":"TERM"}}"#,
    r#"{"orphan":60}"#,
];

/// What one session does.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The CLI version to imitate.
    pub version: &'static str,
    /// Constant misbehaviour of the process.
    pub habit: Option<&'static str>,
    /// Whether the process stays after its turn.
    pub keep_process: bool,
    /// Whether its output is a terminal.
    pub terminal: bool,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// How it ends.
    pub end: End,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send a message.
    Say(Say),
    /// Interrupt the running turn.
    Interrupt,
    /// Cancel the last message.
    Cancel,
    /// Kill the process, if there is one.
    Kill,
    /// Close the process when its turn has ended.
    Close,
    /// Get the view, follow updates for a moment, and send the CLI a request.
    Look,
    /// Wait.
    Pause(Duration),
}

/// A message and how the model responds.
#[derive(Debug, Clone, PartialEq)]
pub struct Say {
    /// Occurs in its reply and in no other.
    pub token: String,
    /// The script.
    pub prompt: String,
    /// Number of times the model speaks.
    pub rounds: u32,
    /// Deliberate misbehaviour.
    pub fault: Option<&'static str>,
    /// Whether it is sent into the running turn.
    pub steer: bool,
    /// Whether to wait for its reply before the next step.
    pub wait: bool,
    /// Whether its reply is never waited for.
    pub forget: bool,
}

impl Say {
    /// Removes this fault.
    fn without(&mut self, fault: &'static str) {
        if self.fault == Some(fault) {
            self.fault = None;
            // It is the last member of its step.
            let member = format!(r#","misbehave":{fault}"#);
            self.prompt = self.prompt.replace(&member, "");
        }
    }
}

/// How a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Wait for all messages, close the process, then stop the session.
    Calm,
    /// Stop immediately.
    Stop,
    /// Drop every handle immediately.
    Drop,
}

impl Plan {
    /// The plan for a seed.
    pub fn of(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let calm = random.chance(25);
        let habit = if calm || random.chance(60) { None } else { random.pick(HABITS).copied() };
        let mut plan = Self {
            version: if random.chance(70) { "2.1.325" } else { OLD },
            habit,
            keep_process: random.chance(80),
            terminal: random.chance(10),
            steps: Vec::new(),
            end: End::Calm,
        };
        for number in 0..1 + random.below(5) {
            let mut say = say(&mut random, calm, &format!("token-{seed:x}-{number}-end"));
            if plan.version == OLD {
                say.without(LATE);
            }
            plan.steps.push(Step::Say(say));
            if !calm {
                plan.steps.extend(disturbance(&mut random));
            }
        }
        if !calm {
            plan.end = match random.below(10) {
                0 => End::Stop,
                1 => End::Drop,
                _ => End::Calm,
            };
        }
        plan
    }

    /// All messages.
    pub fn says(&self) -> impl Iterator<Item = &Say> {
        self.steps.iter().filter_map(|step| if let Step::Say(say) = step { Some(say) } else { None })
    }

    /// Whether nothing is disturbed and nothing fails, so that every message gets its own reply at its exact cost.
    pub fn is_undisturbed(&self) -> bool {
        let quiet = |step: &Step| matches!(step, Step::Say(say) if say.fault.is_none() && !say.steer);
        self.habit.is_none() && self.end == End::Calm && self.steps.iter().all(quiet)
    }

    /// The maximum it can cost, in dollars.
    pub fn max_usd(&self) -> f64 {
        self.says().map(|say| f64::from(say.rounds) * STEP_USD).sum()
    }
}

fn disturbance(random: &mut Random) -> Option<Step> {
    match random.below(20) {
        0 | 1 => Some(Step::Interrupt),
        2 => Some(Step::Cancel),
        3 => Some(Step::Kill),
        4 => Some(Step::Close),
        5 | 6 => Some(Step::Look),
        7..=9 => Some(Step::Pause(Duration::from_millis(random.below(120)))),
        _ => None,
    }
}

fn say(random: &mut Random, calm: bool, token: &str) -> Say {
    let fault = match random.below(10) {
        _ if calm => None,
        0..=2 => random.pick(HARMLESS).copied(),
        3 => random.pick(FATAL).copied(),
        _ => None,
    };
    let mut steps = Vec::new();
    for _ in 0..random.below(3) {
        let command = match random.below(4) {
            0 => "sleep 0.05; echo slept".to_owned(),
            1 => "exit 3".to_owned(),
            2 => "seq 1 2000".to_owned(),
            _ => format!("echo {token} >> tokens"),
        };
        steps.push(json!({"tool": "Bash", "input": {"command": command, "description": "a step"}}));
    }
    let mut last = json!({"text": format!("Grüße 🦀 {token} and so on")});
    set(&mut last, random.chance(20), "wdelay", &json!(0.01));
    set(&mut last, random.chance(20), "thinking", &json!("hm"));
    set(&mut last, random.chance(10), "sleep", &json!(0.1));
    steps.push(last);
    if let Some(fault) = fault {
        let place = usize::try_from(random.below(u64::try_from(steps.len()).unwrap_or_default()));
        let fault: Value = serde_json::from_str(fault).unwrap_or_default();
        if let Some(step) = place.ok().and_then(|place| steps.get_mut(place)) {
            set(step, true, "misbehave", &fault);
        }
    }
    let rounds = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    Say {
        token: token.to_owned(),
        prompt: format!("please @@{}", Value::Array(steps)),
        rounds,
        fault,
        steer: !calm && random.chance(15),
        wait: random.chance(60),
        forget: !calm && random.chance(5),
    }
}

fn set(step: &mut Value, if_so: bool, key: &str, value: &Value) {
    if let Some(step) = step.as_object_mut().filter(|_| if_so) {
        step.insert(key.to_owned(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_follow_from_their_seed_and_differ() {
        assert_eq!(Plan::of(7), Plan::of(7));
        let plans: Vec<Plan> = (0..400).map(Plan::of).collect();
        let some = |what: &dyn Fn(&Plan) -> bool| plans.iter().any(what);
        assert!(some(&|plan| plan.is_undisturbed()) && some(&|plan| !plan.keep_process));
        assert!(some(&|plan| plan.terminal) && some(&|plan| plan.end == End::Drop));
        for step in [Step::Interrupt, Step::Cancel, Step::Kill, Step::Close, Step::Look] {
            assert!(some(&|plan| plan.steps.contains(&step)), "{step:?}");
        }
        let late = |plan: &Plan| plan.says().any(|say| say.prompt.contains("late_result"));
        assert!(some(&late) && !some(&|plan| plan.version == OLD && late(plan)));
        for fault in HARMLESS.iter().chain(FATAL) {
            assert!(serde_json::from_str::<Value>(fault).is_ok(), "{fault}");
        }
    }

    #[test]
    fn every_message_has_a_script_that_ends_with_its_token() {
        for say in Plan::of(3).says() {
            let scripts = weir_testkit::script::scripts(&say.prompt);
            assert_eq!(scripts.len(), 1, "{}", say.prompt);
            assert!(say.prompt.contains(&say.token));
        }
    }
}
