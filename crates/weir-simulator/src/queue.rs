//! The work queue: user messages, ends of background tasks, the end of the input.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::cancel::{Cancel, Stop};
use super::lock;
use crate::json::Json;

/// A user message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UserMessage {
    /// The host's own id for it.
    pub(crate) uuid: Option<String>,
    pub(crate) content: Json,
    /// Whether the host says that a program composed the text, so that it cannot be a command.
    pub(crate) is_composed: bool,
    /// Whether it gets no answer.
    pub(crate) is_note: bool,
}

impl UserMessage {
    /// The slash command in it, without the slash.
    pub(crate) fn command(&self) -> Option<&str> {
        if self.is_composed {
            return None;
        }
        let text = crate::script::texts(&self.content).pop()?;
        text.strip_prefix('/').filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_alphabetic()))
    }
}

/// A background task that has ended, and starts a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) run_id: String,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    Messages(Vec<UserMessage>),
    Notice(Notice),
    /// Nothing more will come: exit with this status, or with that of the last result.
    End(Option<u8>),
}

#[derive(Debug, Default)]
struct State {
    messages: VecDeque<UserMessage>,
    notices: VecDeque<Notice>,
    end_of_input: bool,
    end: Option<Option<u8>>,
    /// Running background tasks, and how many of them are agents.
    tasks: usize,
    agents: usize,
    current: Option<Arc<Cancel>>,
    /// Whether the reader has not yet read everything that arrived with the last message.
    held: bool,
    /// Whether the next turn should end as soon as it begins.
    interrupted: bool,
    /// Whether any turn has begun.
    begun: bool,
}

/// The work queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut lock(&self.state));
        self.changed.notify_all();
        result
    }

    /// Adds a message. Its turn begins after [`Queue::release`] at the earliest.
    pub(crate) fn hold(&self, message: UserMessage) {
        self.change(|state| {
            state.messages.push_back(message);
            state.held = true;
        });
    }

    /// Everything that arrived with the last message has been read.
    pub(crate) fn release(&self) {
        self.change(|state| state.held = false);
    }

    pub(crate) fn push(&self, message: UserMessage) {
        self.hold(message);
        self.release();
    }

    pub(crate) fn end_of_input(&self) {
        self.change(|state| state.end_of_input = true);
    }

    pub(crate) fn input_ended(&self) -> bool {
        lock(&self.state).end_of_input
    }

    /// Ends the process as soon as possible: stops what is running.
    pub(crate) fn end(&self, status: Option<u8>, reason: Stop) {
        let current = self.change(|state| {
            state.end.get_or_insert(status);
            state.current.clone()
        });
        if let Some(current) = current {
            current.cancel(reason);
        }
    }

    /// Ends the process after what is running now.
    pub(crate) fn end_after_turn(&self, status: Option<u8>) {
        self.change(|state| _ = state.end.get_or_insert(status));
    }

    pub(crate) fn is_ending(&self) -> bool {
        lock(&self.state).end.is_some()
    }

    /// Waits for something to do, which then runs until [`Queue::finished`]. With `together`, all waiting messages
    /// are taken at once, except that a slash command is taken alone; without `wait_for_tasks`, background tasks do
    /// not keep the process alive.
    pub(crate) fn next(&self, together: bool, wait_for_tasks: bool) -> Next {
        let mut state = lock(&self.state);
        loop {
            if let Some(status) = state.end {
                return Next::End(status);
            }
            if !state.held && !state.messages.is_empty() {
                let batch = take_batch(&mut state.messages, together);
                state.begin();
                return Next::Messages(batch);
            }
            if let Some(notice) = state.notices.pop_front() {
                state.begin();
                return Next::Notice(notice);
            }
            if state.end_of_input && state.messages.is_empty() && (state.tasks == 0 || !wait_for_tasks) {
                return Next::End(None);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes messages that arrived during a turn and become part of it.
    pub(crate) fn steer(&self) -> Vec<UserMessage> {
        let mut state = lock(&self.state);
        let mut taken = Vec::new();
        while state.messages.front().is_some_and(|message| message.command().is_none()) {
            taken.extend(state.messages.pop_front());
        }
        taken
    }

    /// The ids of the waiting messages.
    pub(crate) fn waiting(&self) -> Vec<String> {
        lock(&self.state).messages.iter().filter_map(|message| message.uuid.clone()).collect()
    }

    /// Removes a waiting message.
    pub(crate) fn withdraw(&self, uuid: &str) -> bool {
        self.change(|state| {
            let before = state.messages.len();
            state.messages.retain(|message| message.uuid.as_deref() != Some(uuid));
            state.messages.len() < before
        })
    }

    pub(crate) fn task_started(&self, agent: bool) {
        self.change(|state| {
            state.tasks += 1;
            state.agents += usize::from(agent);
        });
    }

    pub(crate) fn task_ended(&self, agent: bool, notice: Option<Notice>) {
        self.change(|state| {
            state.tasks = state.tasks.saturating_sub(1);
            state.agents = state.agents.saturating_sub(usize::from(agent));
            state.notices.extend(notice);
        });
    }

    /// Waits until no task is running, or until the timeout.
    pub(crate) fn wait_for_tasks(&self, time: Duration) {
        let state = lock(&self.state);
        drop(self.changed.wait_timeout_while(state, time, |state| state.tasks > 0));
    }

    /// Whether agents are running in the background, or have ended and have not been reported.
    pub(crate) fn agents_pending(&self) -> bool {
        let state = lock(&self.state);
        state.agents > 0 || !state.notices.is_empty()
    }

    /// Marks the queue as idle.
    pub(crate) fn finished(&self) {
        self.change(|state| state.current = None);
    }

    /// The flag that stops what is running.
    pub(crate) fn current(&self) -> Option<Arc<Cancel>> {
        lock(&self.state).current.clone()
    }

    /// Interrupts the waiting message, if there is one, while nothing is running: its turn ends as soon as it begins.
    /// With `first_only` that applies only to the first turn, and later ones ignore it.
    pub(crate) fn interrupt_next(&self, first_only: bool) {
        self.change(|state| {
            let waits = state.current.is_none() && !state.messages.is_empty();
            if waits && !(first_only && state.begun) {
                state.interrupted = true;
            }
        });
    }
}

impl State {
    /// Marks the queue as running.
    fn begin(&mut self) {
        let cancel = Cancel::new();
        if std::mem::take(&mut self.interrupted) {
            cancel.cancel(Stop::Interrupt);
        }
        self.begun = true;
        self.current = Some(cancel);
    }
}

fn take_batch(messages: &mut VecDeque<UserMessage>, together: bool) -> Vec<UserMessage> {
    let mut batch = Vec::new();
    while let Some(message) = messages.front() {
        let command = message.command().is_some();
        if !batch.is_empty() && (command || !together) {
            break;
        }
        batch.extend(messages.pop_front());
        if command {
            break;
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> UserMessage {
        UserMessage {
            uuid: Some(text.to_owned()),
            content: Json::from(text),
            is_composed: false,
            is_note: false,
        }
    }

    #[test]
    fn waiting_messages_are_taken_together_and_commands_alone() {
        let queue = Queue::default();
        for text in ["a", "b", "/clear", "c"] {
            queue.push(message(text));
        }
        assert_eq!(queue.next(true, true), Next::Messages(vec![message("a"), message("b")]));
        assert_eq!(queue.next(true, true), Next::Messages(vec![message("/clear")]));
        assert_eq!(queue.next(true, true), Next::Messages(vec![message("c")]));
        queue.end_of_input();
        assert_eq!(queue.next(true, true), Next::End(None));
    }

    #[test]
    fn tasks_keep_the_process_alive_and_their_ends_are_reported() {
        let queue = Queue::default();
        queue.task_started(true);
        queue.end_of_input();
        assert_eq!(queue.next(true, false), Next::End(None));
        let notice = Notice { text: "done".into(), run_id: "r".into() };
        queue.task_ended(true, Some(notice.clone()));
        assert!(queue.agents_pending());
        assert_eq!(queue.next(true, true), Next::Notice(notice));
        assert_eq!(queue.next(true, true), Next::End(None));
    }

    #[test]
    fn an_interrupt_before_a_turn_is_for_the_waiting_message() {
        let queue = Queue::default();
        let stopped = |queue: &Queue| {
            queue.next(false, true);
            let reason = queue.current().and_then(|current| current.reason());
            queue.finished();
            reason
        };
        queue.interrupt_next(false);
        queue.push(message("a"));
        assert_eq!(stopped(&queue), None, "there was nothing to interrupt");
        queue.push(message("b"));
        queue.push(message("c"));
        queue.interrupt_next(false);
        assert_eq!(stopped(&queue), Some(Stop::Interrupt));
        assert_eq!(stopped(&queue), None, "it applies to one turn");
        queue.push(message("d"));
        queue.interrupt_next(true);
        assert_eq!(stopped(&queue), None, "it applies only to the first turn");
    }

    #[test]
    fn paths_are_not_commands() {
        assert_eq!(message("/compact now").command(), Some("compact now"));
        assert_eq!(message("/ 2").command(), None);
        assert_eq!(message("no /clear").command(), None);
        let composed = UserMessage { is_composed: true, ..message("/clear") };
        assert_eq!(composed.command(), None);
    }
}
