//! A machine with a chat in which every operation succeeds at once.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_bridge::channel::{
    Capabilities, ChannelName, Incoming, IncomingBody, IncomingText, MessageRef, Operation, Place,
    RemoteFile, Sender,
};
use weir_bridge::engine::{Answer, Ask, AskKind, Command, Ending, EndingOutcome, Report};
use weir_bridge::machine::{Action, Bridge, ButtonKey, Event, InboxId, Kept, Kind, Role, Settings};
use weir_bridge::markup::Markup;

/// A chat in which every operation succeeds at once.
pub(crate) struct Chat {
    pub(crate) bridge: Bridge,
    pub(crate) now: i64,
    pub(crate) shown: BTreeMap<String, String>,
    pub(crate) buttons: BTreeMap<String, Vec<String>>,
    pub(crate) commands: Vec<Command>,
    /// Answers to external questions.
    pub(crate) answered: Vec<(String, Answer, String)>,
    pub(crate) told: Vec<u64>,
    pub(crate) conversation: String,
    /// The model of the last command.
    pub(crate) model: Option<String>,
    /// Pictures that were sent.
    pub(crate) uploads: Vec<String>,
    /// Files to fetch.
    pub(crate) fetches: Vec<(InboxId, usize, RemoteFile, String)>,
    /// Pairing codes to check.
    pub(crate) codes: Vec<String>,
    /// The records on disk.
    pub(crate) kept: BTreeMap<(Kind, String), Value>,
    pub(crate) settings: Settings,
    channels: BTreeMap<ChannelName, Capabilities>,
    next: u64,
}

pub(crate) fn anna() -> Sender {
    Sender { id: "anna".into(), name: "Anna".into(), is_bot: false }
}

impl Chat {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        Self::with_role(settings, Role::User)
    }

    /// A chat in which Anna has this role.
    pub(crate) fn with_role(mut settings: Settings, role: Role) -> Self {
        settings.people.insert(("test".into(), "anna".into()), role);
        let capabilities = Capabilities {
            markup: Markup::Plain,
            longest: 1_000,
            edits: true,
            deletes: true,
            typing: false,
            buttons: true,
            reactions: false,
            files: false,
            largest_picture: Some(100),
            posts_once: true,
            edit_interval_ms: 0,
        };
        let channels = BTreeMap::from([("test".into(), capabilities)]);
        Self {
            bridge: Bridge::new(settings.clone(), channels.clone(), ButtonKey::new([1; 32])),
            now: 1_000,
            shown: BTreeMap::new(),
            buttons: BTreeMap::new(),
            commands: Vec::new(),
            answered: Vec::new(),
            told: Vec::new(),
            conversation: String::new(),
            model: None,
            uploads: Vec::new(),
            fetches: Vec::new(),
            codes: Vec::new(),
            kept: BTreeMap::new(),
            settings,
            channels,
            next: 0,
        }
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.now += 10;
        let actions = self.bridge.handle(event, self.now);
        self.act(actions);
    }

    /// Kills and restarts the bridge.
    pub(crate) fn restarts(&mut self) {
        let records = self.kept.iter();
        let kept =
            records.map(|((kind, key), value)| Kept { kind: *kind, key: key.clone(), value: value.clone() });
        let (settings, channels) = (self.settings.clone(), self.channels.clone());
        let (bridge, actions) =
            Bridge::restore(settings, channels, ButtonKey::new([2; 32]), kept.collect(), self.now);
        self.bridge = bridge;
        self.act(actions);
    }

    fn act(&mut self, mut actions: Vec<Action>) {
        while !actions.is_empty() {
            let mut next = Vec::new();
            for action in actions {
                match action {
                    Action::Keep(changes) => {
                        for change in changes {
                            let record = (change.kind, change.key);
                            match change.value {
                                Some(value) => self.kept.insert(record, value),
                                None => self.kept.remove(&record),
                            };
                        }
                    }
                    Action::Perform { number, operation } => {
                        let message = self.perform(operation);
                        next.extend(
                            self.bridge.handle(Event::Performed { number, result: Ok(message) }, self.now),
                        );
                    }
                    Action::Upload { number, file, .. } => {
                        self.uploads.push(file.blob);
                        next.extend(
                            self.bridge.handle(Event::Performed { number, result: Ok(None) }, self.now),
                        );
                    }
                    Action::Command { conversation, command, .. } => {
                        (self.conversation, self.model) = (conversation.key, conversation.spec.model);
                        self.commands.push(command);
                    }
                    Action::Fetch { message, index, file, blob, .. } => {
                        self.fetches.push((message, index, file, blob));
                    }
                    Action::CheckCode { code, .. } => self.codes.push(code),
                    Action::Told { number } => self.told.push(number),
                    Action::Answered { request, answer, by } => self.answered.push((request, answer, by)),
                    _ => {}
                }
            }
            actions = next;
        }
    }

    fn perform(&mut self, operation: Operation) -> Option<MessageRef> {
        let (name, content, posted) = match operation {
            Operation::Post { content, key, .. } => (key, content, true),
            Operation::Edit { message, content, .. } => (message.as_str().to_owned(), content, false),
            _ => return None,
        };
        self.shown.insert(name.clone(), content.text.plain);
        let data = content.buttons.into_iter().map(|button| button.data).collect();
        self.buttons.insert(name.clone(), data);
        posted.then(|| name.as_str().into())
    }

    /// Delivers something in a direct chat.
    pub(crate) fn incoming(&mut self, sender: Sender, chat: &str, body: IncomingBody) {
        self.incoming_as(sender, chat, body, None, None);
    }

    /// Delivers something in a group, addressed to the bot or not.
    pub(crate) fn in_group(&mut self, sender: Sender, chat: &str, body: IncomingBody, addressed: bool) {
        self.incoming_as(sender, chat, body, None, Some(addressed));
    }

    fn incoming_as(
        &mut self,
        sender: Sender,
        chat: &str,
        body: IncomingBody,
        message: Option<&str>,
        group: Option<bool>,
    ) {
        let mut incoming = self.incoming_of(sender, chat, body);
        incoming.direct = group.is_none();
        incoming.addressed = group.unwrap_or(true);
        incoming.message = message.map(Into::into);
        self.event(Event::Incoming(incoming));
    }

    /// A delivery from this sender in a direct chat.
    pub(crate) fn incoming_of(&mut self, sender: Sender, chat: &str, body: IncomingBody) -> Incoming {
        self.next += 1;
        Incoming {
            key: self.next.to_string(),
            place: Place { channel: "test".into(), chat: chat.into(), thread: None },
            sender,
            direct: true,
            addressed: true,
            order: i64::try_from(self.next).unwrap_or(0),
            message: None,
            body,
        }
    }

    /// A person sends a message in a chat.
    pub(crate) fn says(&mut self, sender: Sender, chat: &str, text: &str) {
        let body = IncomingBody::Text(IncomingText::new(text));
        self.incoming(sender, chat, body);
    }

    /// A person sends a message with this id.
    pub(crate) fn says_as(&mut self, sender: Sender, chat: &str, text: &str, message: &str) {
        let body = IncomingBody::Text(IncomingText::new(text));
        self.incoming_as(sender, chat, body, Some(message), None);
    }

    /// The outcomes of the messages so far.
    pub(crate) fn outcomes(&self) -> Vec<&str> {
        let done = self.kept.iter().filter(|((kind, _), _)| *kind == Kind::Done);
        done.filter_map(|(_, value)| value["outcome"].as_str()).collect()
    }

    /// The prompts that were sent to the engine, with their client ids.
    pub(crate) fn prompts(&self) -> Vec<(String, String)> {
        let prompt = |command: &Command| match command {
            Command::Send { client_id, text, .. } => Some((client_id.clone(), text.clone())),
            _ => None,
        };
        self.commands.iter().filter_map(prompt).collect()
    }

    /// The turn of a prompt ends with this answer.
    pub(crate) fn answers(&mut self, chat: &str, client_id: &str, text: &str) {
        let ending = Ending::new(client_id, EndingOutcome::Answered(text.to_owned()));
        let report = Report::Finished { client_id: client_id.to_owned(), ending };
        let (scope, conversation) = (format!("test/chat/{chat}"), self.conversation.clone());
        self.event(Event::Reported { scope, conversation, report });
    }

    pub(crate) fn report(&mut self, report: Report) {
        let conversation = self.conversation.clone();
        self.event(Event::Reported { scope: "test/chat/1".into(), conversation, report });
    }

    /// Starts a turn that asks for permission. Returns the id of the card and the data of its first button.
    pub(crate) fn asks(&mut self) -> (String, String) {
        self.says(anna(), "1", "do it");
        let kind = AskKind::Permission {
            tool: "Bash".into(),
            details: "`ls`".into(),
            always: Some("`Bash(ls)`".into()),
        };
        self.report(Report::Asked(Ask { request: "r1".into(), kind }));
        let card = self.buttons.iter().find(|(_, buttons)| !buttons.is_empty());
        let (name, buttons) = card.map(|(name, buttons)| (name.clone(), buttons.clone())).unwrap_or_default();
        (name, buttons.first().cloned().unwrap_or_default())
    }

    pub(crate) fn presses(&mut self, card: &str, data: String) {
        self.incoming(anna(), "1", IncomingBody::Button { to: card.into(), data });
    }
}
