//! Turns: which messages become a prompt, and how their replies begin and end.

use crate::channel::Operation;
use crate::engine::{Command, Ending, EndingOutcome, PROMPT_PREFIX, Report};
use crate::markup::Splitter;

use super::cards::backoff;
use super::records::{InboxId, InboxRecord, Kind, Outcome, ReplyRecord, Settled, put};
use super::reply::Reply;
use super::settings::{Per, QueueMode};
use super::{Action, Bridge, Target, typed, words};

/// Maximum number of attempts to send a prompt that the engine does not accept.
const MAX_REFUSALS: u32 = 12;

/// The client id of the prompt that starts with this message.
pub(super) fn client_id(id: InboxId) -> String {
    format!("{PROMPT_PREFIX}{}", id.0)
}

impl Bridge {
    /// Takes all steps that are possible in a scope now.
    pub(super) fn step_scope(&mut self, key: &str) {
        self.give_up_files(key);
        self.send_again_if_due(key);
        self.take_endings(key);
        self.start_turn(key);
        self.steer_complete(key);
        self.step_reply(key);
    }

    /// Handles a report of the engine.
    pub(super) fn reported(&mut self, key: &str, conversation: &str, report: Report) {
        match report {
            Report::Finished { client_id, ending } => self.finished(key, &client_id, ending),
            Report::NotTaken { client_id, reason, passing } => {
                self.not_taken(key, &client_id, reason, passing);
            }
            Report::Asked(ask) => self.asked(key, conversation, ask),
            Report::Settled { request, how } => self.settled_elsewhere(&request, &how),
            Report::Taken { request } => self.answer_taken(&request),
            Report::TooLate { request, how } => self.too_late(&request, &how),
            Report::Unasked { text } => self.tell_scope(key, &text),
            Report::Facts { number, facts } => self.described(number, facts.as_ref()),
            Report::Task { number, how } => self.task_stopped(number, &how),
            Report::Folder { number, folder } => self.folder_checked(number, folder),
            Report::Pictures(files) => self.pictured(key, conversation, files),
            // Handled by the driver.
            Report::Pictured(_) => {}
            Report::Text { .. }
            | Report::ToolStarted { .. }
            | Report::ToolEnded { .. }
            | Report::Delayed { .. } => {
                self.progress(key, conversation, report);
            }
        }
        self.step_scope(key);
    }

    fn tell_scope(&mut self, key: &str, text: &str) {
        if let Some(place) = self.scopes.get(key).map(|scope| scope.place.clone()) {
            self.tell(&place, None, text);
        }
    }

    fn progress(&mut self, key: &str, conversation: &str, report: Report) {
        // This is the turn of a message that was sent to the engine while another turn was running.
        if let Some(scope) = self.scopes.get(key)
            && scope.reply.is_none()
            && let Some(first) = scope.steered.first().copied()
        {
            self.begin_reply(key, vec![first]);
            if let Some(scope) = self.scopes.get_mut(key) {
                scope.steered.retain(|id| *id != first);
            }
        }
        let Some(reply) = self.reply_mut(key) else { return };
        if reply.record.conversation != conversation || reply.record.settled.is_some() {
            return;
        }
        match report {
            Report::Text { block, text, replaces } => reply.text(block, &text, replaces),
            Report::ToolStarted { id, title } => reply.tool_started(id, title),
            Report::ToolEnded { id } => reply.tool_ended(&id),
            Report::Delayed { reason } => reply.delayed(reason),
            _ => {}
        }
    }

    /// Turns waiting messages into a prompt, if no turn is running.
    fn start_turn(&mut self, key: &str) {
        let now = self.now;
        let Some(scope) = self.scopes.get(key) else { return };
        let is_free = scope.reply.is_none() && scope.steered.is_empty() && scope.endings.is_empty();
        if !is_free || scope.waiting.is_empty() || now < scope.quiet_until || !self.head_is_ready(scope) {
            return;
        }
        self.fold_album(key);
        let complete = self.scopes.get(key).map_or(0, |scope| self.complete_messages(scope));
        let Some(scope) = self.scopes.get_mut(key) else { return };
        let count = if scope.settings.queue == QueueMode::Collect { complete } else { complete.min(1) };
        if count == 0 {
            return;
        }
        let messages: Vec<InboxId> = scope.waiting.drain(..count).map(|(_, id)| id).collect();
        let first = messages.first().and_then(|id| self.inbox.get(id)).map(|record| record.text.clone());
        if scope.record.current == 0 {
            let number = self.next_id();
            if let Some(scope) = self.scopes.get_mut(key) {
                scope.begin(number, first.as_deref().unwrap_or_default(), now);
            }
            self.keep_scope(key);
        }
        self.begin_reply(key, messages);
        self.send_prompt(key);
    }

    /// Starts a reply to these messages.
    fn begin_reply(&mut self, key: &str, messages: Vec<InboxId>) {
        let id = self.next_id();
        let Some(scope) = self.scopes.get(key) else { return };
        let conversation = scope.conversation_key();
        // The reply goes where the last of the messages came from.
        let last = messages.last().and_then(|id| self.inbox.get(id));
        let place = last.map_or_else(|| scope.place.clone(), |record| record.place.clone());
        let reply_to = last.filter(|record| !record.direct).and_then(|record| record.message.clone());
        let record = ReplyRecord {
            id,
            scope: key.to_owned(),
            messages: messages.clone(),
            conversation: conversation.clone(),
            place: place.clone(),
            reply_to,
            parts: Vec::new(),
            settled: None,
            pictures: Vec::new(),
            said: String::new(),
        };
        for id in messages {
            self.mark_sent(id, &conversation);
        }
        if let Some(scope) = self.scopes.get_mut(key) {
            scope.reply = Some(Reply::new(record));
            scope.pictures.clear();
            scope.refusals = 0;
        }
        self.keep_reply(key);
        if self.channels.get(&place.channel).is_some_and(|channel| channel.typing) {
            self.perform(Operation::Typing { place }, Target::Nothing);
        }
    }

    fn mark_sent(&mut self, id: InboxId, conversation: &str) {
        if let Some(record) = self.inbox.get_mut(&id) {
            record.sent_to = Some(conversation.to_owned());
            let change = put(Kind::Inbox, id.key(), record);
            self.change(change);
        }
    }

    /// Sends the prompt of the current reply to the engine.
    pub(super) fn send_prompt(&mut self, key: &str) {
        let Some(scope) = self.scopes.get(key) else { return };
        let Some(reply) = &scope.reply else { return };
        let records: Vec<&InboxRecord> =
            reply.record.messages.iter().filter_map(|id| self.inbox.get(id)).collect();
        let Some(first) = records.first() else { return };
        let shared = scope.settings.per != Per::User;
        let texts: Vec<String> = records.iter().map(|record| prompt_text(record, shared)).collect();
        let command = Command::Send {
            client_id: client_id(first.id),
            text: texts.join("\n\n"),
            attachments: records.iter().flat_map(|record| record.attachments.clone()).collect(),
            steer: false,
            by: first.sender.name.clone(),
        };
        let conversation = scope.conversation_named(reply.record.conversation.clone());
        self.actions.push(Action::Command { scope: key.to_owned(), conversation, command });
    }

    /// Adds a message to the running turn.
    pub(super) fn steer(&mut self, record: &InboxRecord) {
        let Some(scope) = self.scopes.get_mut(&record.scope) else { return };
        scope.steered.push(record.id);
        let conversation = scope.conversation();
        let text = prompt_text(record, scope.settings.per != Per::User);
        self.mark_sent(record.id, &conversation.key);
        self.send_steered(record, conversation, text);
    }

    pub(super) fn send_steered(
        &mut self,
        record: &InboxRecord,
        conversation: crate::engine::ConversationSettings,
        text: String,
    ) {
        let command = Command::Send {
            client_id: client_id(record.id),
            text,
            attachments: record.attachments.clone(),
            steer: true,
            by: record.sender.name.clone(),
        };
        self.actions.push(Action::Command { scope: record.scope.clone(), conversation, command });
    }

    /// Tells the engine to interrupt the turn, once.
    pub(super) fn interrupt(&mut self, key: &str) {
        let Some(scope) = self.scopes.get_mut(key) else { return };
        let conversation = match &mut scope.reply {
            Some(reply) if reply.interrupting || reply.record.settled.is_some() => return,
            Some(reply) => {
                reply.interrupting = true;
                reply.record.conversation.clone()
            }
            None => scope.conversation_key(),
        };
        let conversation = scope.conversation_named(conversation);
        self.actions.push(Action::Command {
            scope: key.to_owned(),
            conversation,
            command: Command::Interrupt,
        });
    }

    /// The turn of a prompt has ended.
    fn finished(&mut self, key: &str, finished: &str, ending: Ending) {
        let Some(scope) = self.scopes.get_mut(key) else { return };
        if let Some(reply) = &scope.reply
            && reply.record.settled.is_none()
            && reply.record.messages.first().is_some_and(|id| client_id(*id) == finished)
        {
            self.settle_reply(key, ending);
            return;
        }
        if let Some(at) = scope.steered.iter().position(|id| client_id(*id) == finished) {
            let id = scope.steered.remove(at);
            scope.endings.push((id, ending));
        }
    }

    /// Shows the turns of messages that were sent to the engine while another turn was running.
    fn take_endings(&mut self, key: &str) {
        let Some(scope) = self.scopes.get_mut(key) else { return };
        let shown = scope.record.last_turn.clone();
        let (same, others): (Vec<_>, Vec<_>) = std::mem::take(&mut scope.endings)
            .into_iter()
            .partition(|(_, ending)| shown.as_ref().is_some_and(|(turn, _)| *turn == ending.turn));
        scope.endings = others;
        let next = (scope.reply.is_none() && !scope.endings.is_empty()).then(|| scope.endings.remove(0));
        if let Some((_, into)) = shown {
            for (id, _) in same {
                self.settle(id, Outcome::Merged { into });
            }
        }
        if let Some((id, ending)) = next {
            self.begin_reply(key, vec![id]);
            self.settle_reply(key, ending);
        }
    }

    /// Gives a reply its final text.
    fn settle_reply(&mut self, key: &str, ending: Ending) {
        let max_parts = self.settings.max_parts.max(1);
        let Some(scope) = self.scopes.get_mut(key) else { return };
        let footer = words::footer(&ending).filter(|_| scope.settings.footer);
        let Some(reply) = &mut scope.reply else { return };
        let channel = self.channels.get(&reply.record.place.channel);
        let so_far = reply.so_far().to_owned();
        // After a restart the engine may know more of the text than the record, which has what was shown.
        let knows_more = reply.has_no_text() && ending.said.len() > so_far.len();
        let said = if knows_more { ending.said.clone() } else { so_far.clone() };
        let after = |text: String, last: &str| {
            if text.is_empty() { last.to_owned() } else { format!("{text}\n\n{last}") }
        };
        let (mut markdown, outcome) = match ending.outcome {
            EndingOutcome::Answered(text) if text.trim().is_empty() => {
                (if so_far.is_empty() { words::EMPTY_ANSWER.to_owned() } else { so_far }, Outcome::Answered)
            }
            // The result is the end of the text; keep what came before it too.
            EndingOutcome::Answered(text) if so_far.trim_end().ends_with(text.trim_end()) => {
                (so_far, Outcome::Answered)
            }
            EndingOutcome::Answered(text) => (text, Outcome::Answered),
            EndingOutcome::Interrupted => {
                (after(said, words::INTERRUPTED), Outcome::Failed { reason: "it was stopped".to_owned() })
            }
            // The CLI reports API errors as text of the model, and then again as the result.
            EndingOutcome::Failed(reason) if words::ends_with_sentence(&said, &reason) => {
                (said, Outcome::Failed { reason })
            }
            EndingOutcome::Failed(reason) => (after(said, &reason), Outcome::Failed { reason }),
        };
        let mut file = None;
        if let Some(channel) = channel.filter(|channel| channel.files) {
            let mut splitter = Splitter::new(channel.markup, channel.longest);
            splitter.advance(&markdown, max_parts);
            let mut bytes_processed = splitter.bytes_processed();
            if splitter.has_more(&markdown) && splitter.closed().len() >= max_parts {
                let mut half = Splitter::new(channel.markup, channel.longest / 2);
                let open = half.advance(&markdown, 1);
                bytes_processed += half.bytes_processed();
                let first = half.closed().first().cloned().or(open);
                file = Some(std::mem::take(&mut markdown));
                markdown = after(first.unwrap_or_default(), words::IN_FILE);
            }
            self.bytes_processed += bytes_processed;
        }
        let left_out = scope.pictures.len().saturating_sub(self.settings.max_pictures);
        if left_out > 0 {
            markdown = after(markdown, &words::more_pictures(left_out));
        }
        if ending.degraded {
            markdown = after(markdown, words::DEGRADED);
        }
        if let Some(footer) = footer {
            markdown = after(markdown, &footer);
        }
        // Only needed until the turn has ended.
        reply.record.said = String::new();
        reply.record.settled = Some(Settled { markdown, outcome, file, file_sent: false });
        reply.split_again();
        if let Some(first) = reply.record.messages.first() {
            scope.record.last_turn = Some((ending.turn, *first));
        }
        scope.send_again = None;
        self.keep_text(key);
        self.keep_reply(key);
        self.keep_scope(key);
    }

    /// The engine did not accept a prompt.
    fn not_taken(&mut self, key: &str, refused: &str, reason: String, passing: bool) {
        let now = self.now;
        let Some(scope) = self.scopes.get_mut(key) else { return };
        if let Some(at) = scope.steered.iter().position(|id| client_id(*id) == refused) {
            let id = scope.steered.remove(at);
            if let Some(record) = self.inbox.get_mut(&id) {
                record.sent_to = None;
                scope.enqueue(record.order, id);
                let change = put(Kind::Inbox, id.key(), record);
                self.change(change);
            }
            return;
        }
        let is_ours = scope.reply.as_ref().is_some_and(|reply| {
            reply.record.settled.is_none()
                && reply.record.messages.first().is_some_and(|id| client_id(*id) == refused)
        });
        if !is_ours {
            return;
        }
        scope.refusals += 1;
        if passing && scope.refusals < MAX_REFUSALS {
            scope.send_again = Some(now + backoff(scope.refusals));
            if let Some(reply) = &mut scope.reply {
                reply.delayed(reason);
            }
            return;
        }
        // A folder chosen with `/cd` may be the reason, so say how to leave it.
        let reason = match &scope.record.workspace {
            Some(_) => format!("{reason}\n\n{}", words::OUT_OF_FOLDER),
            None => reason,
        };
        let ending = Ending::new(format!("not-taken-{refused}"), EndingOutcome::Failed(reason));
        self.settle_reply(key, ending);
    }

    fn send_again_if_due(&mut self, key: &str) {
        let now = self.now;
        let Some(scope) = self.scopes.get_mut(key) else { return };
        if scope.send_again.is_some_and(|due| due <= now) {
            scope.send_again = None;
            self.send_prompt(key);
        }
    }
}

/// The text of a message as the model reads it.
pub(super) fn prompt_text(record: &InboxRecord, shared: bool) -> String {
    let text = typed::without_escape(&record.text);
    // If several people share a conversation, the model should know who says what.
    if shared && !record.direct { format!("{}: {text}", record.sender.name) } else { text.to_owned() }
}
