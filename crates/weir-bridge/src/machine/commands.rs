//! Commands for the bridge itself.

use crate::engine::{Command, Facts};

use super::records::{InboxId, InboxRecord, Outcome, Role};
use super::typed::{self, Typed};
use super::{Action, Bridge, words};

/// A command that waits for a report of the engine.
#[derive(Debug, Clone)]
pub(super) struct Question {
    message: InboxId,
    about: About,
}

#[derive(Debug, Clone, Copy)]
enum About {
    Cost,
    Status,
    Folder,
    Task,
}

impl Bridge {
    /// Carries out a command.
    pub(super) fn command(&mut self, record: &InboxRecord, typed: &Typed) {
        let key = record.scope.clone();
        self.scope_for(&key, &record.place);
        match typed.name.as_str() {
            "new" => self.new_conversation(record),
            "stop" if !typed.argument.is_empty() => self.stop_task(record, &typed.argument),
            "stop" => self.stop(record),
            "status" => self.describe(record, About::Status),
            "cost" => self.describe(record, About::Cost),
            "model" => self.set_model(record, &typed.argument),
            "resume" => self.resume(record, &typed.argument),
            "cd" => self.change_folder(record, &typed.argument),
            "pair" => self.done(record, "You are already paired."),
            _ => {
                let help = typed::help(self.role_of(&record.place, &record.sender));
                self.done(record, &help);
            }
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

    fn describe(&mut self, record: &InboxRecord, about: About) {
        let number = self.next_id();
        self.questions.insert(number, Question { message: record.id, about });
        self.tell_engine(&record.scope, Command::Describe { number });
    }

    /// The engine described a conversation.
    pub(super) fn described(&mut self, number: u64, facts: Option<&Facts>) {
        let Some(question) = self.questions.remove(&number) else { return };
        let Some(record) = self.inbox.get(&question.message).cloned() else { return };
        let Some(scope) = self.scopes.get(&record.scope) else { return };
        let text = match question.about {
            About::Cost => words::cost(facts),
            About::Status | About::Folder | About::Task => words::status(scope, facts),
        };
        self.done(&record, &text);
    }

    /// Removes all waiting messages from the queue, and returns how many there were.
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
        let text = if running || forgotten > 0 { "Stopping." } else { "Nothing is running here." };
        let text = words::with_forgotten(text.to_owned(), forgotten);
        self.done(record, &text);
    }

    /// Stops a background task. The engine reports the result.
    fn stop_task(&mut self, record: &InboxRecord, task: &str) {
        let number = self.next_id();
        self.questions.insert(number, Question { message: record.id, about: About::Task });
        self.tell_engine(&record.scope, Command::StopTask { number, task: task.to_owned() });
    }

    /// The engine reported the result of stopping a task.
    pub(super) fn task_stopped(&mut self, number: u64, how: &str) {
        let Some(question) = self.questions.remove(&number) else { return };
        if let Some(record) = self.inbox.get(&question.message).cloned() {
            self.done(&record, how);
        }
    }

    fn new_conversation(&mut self, record: &InboxRecord) {
        let forgotten = self.forget_waiting(&record.scope);
        self.leave(&record.scope);
        let text = "Your next message starts a new session.".to_owned();
        let text = words::with_forgotten(text, forgotten);
        self.done(record, &text);
    }

    /// Stops what is running, so that the next message starts a new conversation.
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
        let refusal = match &model {
            Some(model) if !typed::is_model(model) => Some(words::NO_MODEL.to_owned()),
            Some(model) if !scope.settings.allows_model(model) => {
                Some(words::other_models(&scope.settings.models))
            }
            _ => None,
        };
        if let Some(words) = refusal {
            self.refuse(record, &words);
            return;
        }
        scope.record.model.clone_from(&model);
        let has_started = scope.record.current != 0;
        self.keep_scope(&record.scope);
        if has_started {
            self.tell_engine(&record.scope, Command::SetModel { model: model.clone() });
        }
        let text = match model {
            Some(model) => format!("The next turn uses `{model}`."),
            None => "The next turn uses the default model.".to_owned(),
        };
        self.done(record, &text);
    }

    fn resume(&mut self, record: &InboxRecord, argument: &str) {
        let Some(scope) = self.scopes.get_mut(&record.scope) else { return };
        let list = &scope.record.conversations;
        if list.is_empty() {
            self.done(record, "There are no earlier sessions here.");
            return;
        }
        let chosen = argument.parse::<usize>().ok().and_then(|number| list.get(number.checked_sub(1)?));
        let Some(chosen) = chosen.cloned() else {
            let line = |(index, conversation): (usize, &super::records::ConversationRecord)| {
                let current = if conversation.number == scope.record.current { " (current)" } else { "" };
                format!("{}. {}{current}", index + 1, conversation.title)
            };
            let lines: Vec<String> = list.iter().enumerate().map(line).collect();
            let text = format!("{}\n\nReturn to one with `/resume N`.", lines.join("\n"));
            self.done(record, &text);
            return;
        };
        if scope.is_running() {
            self.done(record, "A turn is running. `/stop` it first, or wait until it ends.");
            return;
        }
        scope.record.current = chosen.number;
        scope.record.workspace.clone_from(&chosen.workspace);
        self.keep_scope(&record.scope);
        self.done(record, &format!("Resumed: {}", chosen.title));
    }

    fn change_folder(&mut self, record: &InboxRecord, folder: &str) {
        if self.role_of(&record.place, &record.sender) < Some(Role::Admin) {
            self.refuse(record, words::ONLY_ADMINS);
            return;
        }
        if folder.is_empty() {
            self.go_to(record, None);
            return;
        }
        let here = self.scopes.get(&record.scope).map_or("", super::scope::Scope::workspace);
        // `join` keeps an absolute path as it is.
        let folder = std::path::Path::new(here).join(folder).to_string_lossy().into_owned();
        let number = self.next_id();
        self.questions.insert(number, Question { message: record.id, about: About::Folder });
        self.tell_engine(&record.scope, Command::LookAt { number, folder });
    }

    /// The engine reported whether conversations may work in a folder.
    pub(super) fn folder_checked(&mut self, number: u64, folder: Result<String, String>) {
        let Some(question) = self.questions.remove(&number) else { return };
        let Some(record) = self.inbox.get(&question.message).cloned() else { return };
        match folder {
            Ok(folder) => self.go_to(&record, Some(folder)),
            Err(reason) => self.refuse(&record, &format!("{reason} {}", words::SAME_FOLDER)),
        }
    }

    /// Makes the next message start a conversation in another folder, or in the default one.
    fn go_to(&mut self, record: &InboxRecord, folder: Option<String>) {
        let forgotten = self.forget_waiting(&record.scope);
        self.leave(&record.scope);
        if let Some(scope) = self.scopes.get_mut(&record.scope) {
            scope.record.workspace.clone_from(&folder);
        }
        self.keep_scope(&record.scope);
        let place = folder.map_or_else(|| "the default folder".to_owned(), |folder| format!("`{folder}`"));
        let text = format!("Your next message starts a new session in {place}.");
        self.done(record, &words::with_forgotten(text, forgotten));
    }
}
