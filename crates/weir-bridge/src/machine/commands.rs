//! What people can tell the bridge itself.

use crate::engine::{Command, Facts};

use super::records::{InboxId, InboxRecord, Outcome, Role};
use super::words::{self, Typed};
use super::{Action, Bridge};

/// A command that waits for the engine's facts.
#[derive(Debug, Clone)]
pub(super) struct FactsRequest {
    message: InboxId,
    only_cost: bool,
}

impl Bridge {
    /// Does what a command says.
    pub(super) fn command(&mut self, record: &InboxRecord, typed: &Typed) {
        let key = record.scope.clone();
        self.scope_for(&key, &record.place);
        match typed.name.as_str() {
            "new" => self.new_conversation(record),
            "stop" => self.stop(record),
            "status" => self.describe(record, false),
            "cost" => self.describe(record, true),
            "model" => self.set_model(record, &typed.argument),
            "resume" => self.resume(record, &typed.argument),
            "cd" => self.change_folder(record, &typed.argument),
            "pair" => self.done(record, "You are paired already."),
            _ => self.done(record, words::HELP),
        }
    }

    fn done(&mut self, record: &InboxRecord, text: &str) {
        self.tell(&record.place, record.message.as_ref(), text);
        self.settle(record.id, Outcome::Answered);
    }

    fn tell_engine(&mut self, scope: &str, command: Command) {
        if let Some(conversation) = self.scopes.get(scope).map(super::scope::Scope::conversation) {
            self.actions.push(Action::Command { scope: scope.to_owned(), conversation, command });
        }
    }

    fn describe(&mut self, record: &InboxRecord, only_cost: bool) {
        let number = self.next_id();
        self.facts.insert(number, FactsRequest { message: record.id, only_cost });
        self.tell_engine(&record.scope, Command::Describe { number });
    }

    /// The engine told how a conversation is doing.
    pub(super) fn described(&mut self, number: u64, facts: Option<&Facts>) {
        let Some(request) = self.facts.remove(&number) else { return };
        let Some(record) = self.inbox.get(&request.message).cloned() else { return };
        let Some(scope) = self.scopes.get(&record.scope) else { return };
        let text = if request.only_cost {
            words::cost(facts)
        } else {
            words::status(&scope.key, scope.settings.per, scope.settings.queue, scope.waiting.len(), facts)
        };
        self.done(&record, &text);
    }

    /// Takes what waits out of the queue, and says so.
    fn forget_waiting(&mut self, scope: &str) -> usize {
        let Some(scope) = self.scopes.get_mut(scope) else { return 0 };
        let waiting = std::mem::take(&mut scope.waiting);
        for (_, id) in &waiting {
            self.settle(*id, Outcome::Refused { reason: words::STOPPED.to_owned() });
        }
        waiting.len()
    }

    fn stop(&mut self, record: &InboxRecord) {
        let running = self.scopes.get(&record.scope).is_some_and(super::scope::Scope::is_running);
        let forgotten = self.forget_waiting(&record.scope);
        if running {
            self.interrupt(&record.scope);
        }
        let text = match (running, forgotten) {
            (false, 0) => "Nothing runs here.".to_owned(),
            (true, 0) => "Stopping.".to_owned(),
            (_, 1) => "Stopping. One message that waited was not read.".to_owned(),
            (_, count) => format!("Stopping. {count} messages that waited were not read."),
        };
        self.done(record, &text);
    }

    fn new_conversation(&mut self, record: &InboxRecord) {
        let forgotten = self.forget_waiting(&record.scope);
        self.leave(&record.scope);
        let text = match forgotten {
            0 => "A new conversation begins with your next message.".to_owned(),
            1 => "A new conversation begins with your next message. One message that waited was not read."
                .to_owned(),
            count => format!(
                "A new conversation begins with your next message. {count} messages that waited were not read."
            ),
        };
        self.done(record, &text);
    }

    /// Ends what runs and lets the next message begin a conversation.
    fn leave(&mut self, scope_key: &str) {
        let Some(scope) = self.scopes.get(scope_key) else { return };
        if scope.is_running() {
            self.interrupt(scope_key);
        }
        if self.scopes.get(scope_key).is_some_and(|scope| scope.record.current != 0) {
            self.tell_engine(scope_key, Command::Stop);
        }
        if let Some(scope) = self.scopes.get_mut(scope_key) {
            scope.record.current = 0;
        }
        self.keep_scope(scope_key);
    }

    fn set_model(&mut self, record: &InboxRecord, name: &str) {
        let model = Some(name.to_owned()).filter(|name| !name.is_empty());
        let Some(scope) = self.scopes.get_mut(&record.scope) else { return };
        scope.record.model.clone_from(&model);
        let begun = scope.record.current != 0;
        self.keep_scope(&record.scope);
        if begun {
            self.tell_engine(&record.scope, Command::SetModel { model: model.clone() });
        }
        let text = match model {
            Some(model) => format!("The next turn uses `{model}`."),
            None => "The next turn uses the usual model.".to_owned(),
        };
        self.done(record, &text);
    }

    fn resume(&mut self, record: &InboxRecord, argument: &str) {
        let Some(scope) = self.scopes.get_mut(&record.scope) else { return };
        let list = &scope.record.conversations;
        if list.is_empty() {
            self.done(record, "There is no earlier conversation here.");
            return;
        }
        let chosen = argument.parse::<usize>().ok().and_then(|number| list.get(number.checked_sub(1)?));
        let Some(chosen) = chosen.cloned() else {
            let line = |(index, conversation): (usize, &super::records::ConversationRecord)| {
                let current = if conversation.number == scope.record.current { " (current)" } else { "" };
                format!("{}. {}{current}", index + 1, conversation.title)
            };
            let lines: Vec<String> = list.iter().enumerate().map(line).collect();
            let text = format!("{}\n\nGo back to one with `/resume N`.", lines.join("\n"));
            self.done(record, &text);
            return;
        };
        if scope.is_running() {
            self.done(record, "A turn runs. `/stop` it first, or wait for its end.");
            return;
        }
        scope.record.current = chosen.number;
        scope.record.workspace.clone_from(&chosen.workspace);
        self.keep_scope(&record.scope);
        self.done(record, &format!("Back in: {}", chosen.title));
    }

    fn change_folder(&mut self, record: &InboxRecord, folder: &str) {
        if self.role_of(&record.place, &record.sender) < Some(Role::Admin) {
            self.refuse(record, words::ONLY_ADMINS);
            return;
        }
        let workspace = match folder {
            "" => None,
            absolute if std::path::Path::new(absolute).is_absolute() => Some(absolute.to_owned()),
            relative => {
                let base =
                    self.scopes.get(&record.scope).map_or("", |scope| scope.settings.workspace.as_str());
                Some(std::path::Path::new(base).join(relative).to_string_lossy().into_owned())
            }
        };
        self.forget_waiting(&record.scope);
        self.leave(&record.scope);
        if let Some(scope) = self.scopes.get_mut(&record.scope) {
            scope.record.workspace.clone_from(&workspace);
        }
        self.keep_scope(&record.scope);
        let text = match workspace {
            Some(folder) => format!("A new conversation begins with your next message, in `{folder}`."),
            None => "A new conversation begins with your next message, in the usual folder.".to_owned(),
        };
        self.done(record, &text);
    }
}
