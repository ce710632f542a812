//! A scope: the people who share a conversation, their waiting messages, and the running turn.

use std::collections::HashSet;

use weir_session::SessionSpec;

use crate::channel::Place;
use crate::engine::{ConversationSettings, Ending};

use super::records::{ConversationRecord, InboxId, Kind, ScopeRecord, put};
use super::reply::Reply;
use super::settings::{Per, ScopeSettings};
use super::{Bridge, Sender};

/// Maximum number of conversations that `/resume` offers.
const MAX_CONVERSATIONS: usize = 20;

/// A scope.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) key: String,
    pub(super) record: ScopeRecord,
    pub(super) settings: ScopeSettings,
    /// Where the last message came from.
    pub(super) place: Place,
    /// Waiting messages, in the channel's order.
    pub(super) waiting: Vec<(i64, InboxId)>,
    /// Waiting messages do not become a prompt before this time.
    pub(super) quiet_until: i64,
    /// The reply that is being written.
    pub(super) reply: Option<Reply>,
    /// Messages that were sent to the engine while a turn was running.
    pub(super) steered: Vec<InboxId>,
    /// Turns that have ended and are not shown yet.
    pub(super) endings: Vec<(InboxId, Ending)>,
    /// When to send a prompt again that the engine did not accept.
    pub(super) send_again: Option<i64>,
    pub(super) refusals: u32,
    /// Pictures since the last turn ended, by content.
    pub(super) pictures: HashSet<String>,
}

impl Scope {
    pub(super) fn new(key: String, record: ScopeRecord, settings: ScopeSettings, place: Place) -> Self {
        Self {
            key,
            record,
            settings,
            place,
            waiting: Vec::new(),
            quiet_until: 0,
            reply: None,
            steered: Vec::new(),
            endings: Vec::new(),
            send_again: None,
            refusals: 0,
            pictures: HashSet::new(),
        }
    }

    /// Whether a turn is running.
    pub(super) fn is_running(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.record.settled.is_none()) || !self.steered.is_empty()
    }

    /// Whether a message can be added to the running turn: the turn belongs to the current conversation, and no other
    /// message is waiting.
    pub(super) fn can_steer(&self) -> bool {
        self.runs_current() && self.waiting.is_empty()
    }

    /// Whether a turn of the current conversation is running.
    pub(super) fn runs_current(&self) -> bool {
        let same =
            self.reply.as_ref().is_none_or(|reply| reply.record.conversation == self.conversation_key());
        self.is_running() && self.record.current != 0 && same
    }

    /// Queues a message by the channel's order.
    pub(super) fn enqueue(&mut self, order: i64, id: InboxId) {
        let at = self.waiting.partition_point(|other| *other <= (order, id));
        self.waiting.insert(at, (order, id));
    }

    /// The model of new conversations, or `None` for the CLI's default.
    pub(super) fn model(&self) -> Option<&str> {
        // The configuration may have changed since it was chosen.
        let chosen = self.record.model.as_deref().filter(|model| self.settings.allows_model(model));
        chosen.or(self.settings.spec.model.as_deref())
    }

    /// The folder of new conversations.
    pub(super) fn workspace(&self) -> &str {
        self.record.workspace.as_deref().unwrap_or(&self.settings.workspace)
    }

    /// The key of the current conversation.
    pub(super) fn conversation_key(&self) -> String {
        format!("bridge/{}/{}", self.key, self.record.current)
    }

    /// The settings of the current conversation.
    pub(super) fn conversation(&self) -> ConversationSettings {
        self.conversation_named(self.conversation_key())
    }

    /// The settings of a conversation of this scope.
    pub(super) fn conversation_named(&self, key: String) -> ConversationSettings {
        let current = self.record.conversations.iter().find(|other| other.number == self.record.current);
        let own = current.and_then(|current| current.workspace.clone());
        ConversationSettings {
            key,
            name: format!(
                "{}: {}",
                self.place.channel,
                current.map_or("chat", |current| current.title.as_str())
            ),
            workspace: own.unwrap_or_else(|| self.settings.workspace.clone()),
            spec: Box::new(SessionSpec {
                model: self.model().map(str::to_owned),
                ..self.settings.spec.clone()
            }),
            pictures: self.settings.pictures,
        }
    }

    /// Starts another conversation.
    pub(super) fn begin(&mut self, number: u64, title: &str, at: i64) {
        let title = title.lines().next().unwrap_or_default().chars().take(60).collect();
        let workspace = self.record.workspace.clone();
        self.record.conversations.push(ConversationRecord { number, title, at, workspace });
        self.record.current = number;
        if self.record.conversations.len() > MAX_CONVERSATIONS {
            self.record.conversations.remove(0);
        }
    }
}

/// The person whom a scope belongs to, judging by its key, if it is not shared.
pub(super) fn owner(scope: &str) -> Option<&str> {
    let mut fields = scope.splitn(4, '/').skip(1);
    if fields.next() == Some("user") { fields.nth(1) } else { None }
}

impl Bridge {
    /// The settings that apply to a person in a place.
    pub(super) fn settings_at(&self, place: &Place, user: Option<&str>) -> &ScopeSettings {
        let before = self.original_chat(&place.channel, &place.chat);
        let rule = self.settings.scopes.iter().find(|rule| rule.fits(place, before, user));
        rule.map_or(&self.settings.default_scope, |rule| &rule.settings)
    }

    /// The key of the scope that a message belongs to.
    pub(super) fn scope_key(&self, place: &Place, sender: &Sender) -> String {
        let Place { channel, chat, thread } = place;
        let chat = self.original_chat(channel, chat);
        match (self.settings_at(place, Some(sender.id.as_str())).per, thread) {
            (Per::Thread, Some(thread)) => format!("{channel}/thread/{chat}/{thread}"),
            (Per::Chat | Per::Thread, _) => format!("{channel}/chat/{chat}"),
            (Per::User, _) => format!("{channel}/user/{chat}/{}", sender.id),
        }
    }

    /// The scope of a message, which is created if necessary.
    pub(super) fn scope_for(&mut self, key: &str, place: &Place) -> &mut Scope {
        let settings = self.settings_at(place, owner(key)).clone();
        let scope = self.scopes.entry(key.to_owned()).or_insert_with(|| {
            Scope::new(key.to_owned(), ScopeRecord::default(), settings.clone(), place.clone())
        });
        scope.settings = settings;
        scope.place = place.clone();
        scope
    }

    pub(super) fn keep_scope(&mut self, key: &str) {
        if let Some(scope) = self.scopes.get(key) {
            let change = put(Kind::Scope, key.to_owned(), &scope.record);
            self.change(change);
        }
    }

    /// When a scope needs attention next, unless another event comes first.
    pub(super) fn scope_deadline(&self, scope: &Scope) -> Option<i64> {
        let is_free = scope.reply.is_none() && scope.steered.is_empty();
        let takes = (is_free && !scope.waiting.is_empty()) || self.can_steer_head(scope);
        let takes = (takes && self.head_is_ready(scope)).then_some(scope.quiet_until);
        let writes = scope.reply.as_ref().and_then(|reply| self.reply_deadline(reply));
        [takes, self.files_deadline(scope), writes, scope.send_again].into_iter().flatten().min()
    }
}
