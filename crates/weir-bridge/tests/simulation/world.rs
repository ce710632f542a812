//! A simulated world for the bridge, determined by a seed.

use std::collections::{BTreeMap, VecDeque};

use weir_bridge::channel::{
    Attachment, Incoming, IncomingBody, IncomingText, Operation, OutgoingFile, Place, RemoteFile, Sender,
};
use weir_bridge::driver::Batch;
use weir_bridge::machine::{
    Action, Bridge, ButtonKey, Event, InboxId, Kept, Kind, QueueMode, Role, Settings,
};
use weir_testkit::Random;

use crate::channel::{Screen, capabilities};
use crate::engine::Engine;

pub(crate) const STRANGER: &str = "stranger";

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) random: Random,
    settings: Settings,
    bridge: Bridge,
    disk: BTreeMap<(Kind, String), serde_json::Value>,
    pub(crate) screen: Screen,
    pub(crate) engine: Engine,
    flights: VecDeque<(u64, Operation)>,
    fetches: VecDeque<(InboxId, usize, RemoteFile, String)>,
    /// Steps that share one write, as in the driver.
    batch: Batch,
    pub(crate) now: i64,
    /// Messages that the channel delivers until they are acknowledged.
    undelivered: Vec<Incoming>,
    pub(crate) written: Vec<Incoming>,
    faults: bool,
    pub(crate) mode: QueueMode,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mode = match random.below(4) {
            0 => QueueMode::Collect,
            1 => QueueMode::Steer,
            2 => QueueMode::Followup,
            _ => QueueMode::Interrupt,
        };
        let mut settings = Settings {
            messages_per_minute: 1_000,
            messages_per_ten_minutes: 10_000,
            ask_timeout_ms: 20_000,
            ..Settings::default()
        };
        settings.default_scope.queue = mode;
        settings.people.insert(("sim".into(), "anna".into()), Role::Admin);
        settings.people.insert(("sim".into(), "ben".into()), Role::User);
        let posts_once = random.chance(50);
        let screen = Screen::new(posts_once);
        let bridge = Bridge::new(settings.clone(), Self::channels(posts_once), ButtonKey::new([1; 32]));
        Self {
            random,
            settings,
            bridge,
            disk: BTreeMap::new(),
            screen,
            engine: Engine::default(),
            flights: VecDeque::new(),
            fetches: VecDeque::new(),
            batch: Batch::default(),
            now: 1_000_000,
            undelivered: Vec::new(),
            written: Vec::new(),
            faults: true,
            mode,
        }
    }

    fn channels(
        posts_once: bool,
    ) -> BTreeMap<weir_bridge::channel::ChannelName, weir_bridge::channel::Capabilities> {
        BTreeMap::from([("sim".into(), capabilities(posts_once))])
    }

    /// Lets one thing happen.
    pub(crate) fn step(&mut self) {
        match self.random.below(20) {
            0 if self.random.chance(30) => self.change(),
            0..=2 => self.write(),
            3..=5 => self.deliver(),
            6..=9 => self.engine.advance(&mut self.random),
            10 | 11 => self.report(),
            12 => self.fetch(),
            13..=16 => self.land(),
            17 | 18 => self.wait(),
            _ if self.random.chance(25) => self.crash(),
            _ => {}
        }
    }

    fn write(&mut self) {
        let number = self.written.len();
        let chat = format!("chat{}", self.random.below(3));
        let who = match self.random.below(10) {
            0 => STRANGER,
            1..=5 => "anna",
            _ => "ben",
        };
        let chat = if who == STRANGER { "alone".to_owned() } else { chat };
        let text = match self.random.below(30) {
            0 => "/stop".to_owned(),
            1 => "/status".to_owned(),
            2 => "/new".to_owned(),
            3 => "1".to_owned(),
            _ => format!("please do number {number}"),
        };
        let incoming = Incoming {
            key: format!("d{number}"),
            place: Place { channel: "sim".into(), chat: chat.as_str().into(), thread: None },
            sender: Sender { id: who.into(), name: who.into(), is_bot: false },
            direct: true,
            addressed: true,
            order: i64::try_from(number).unwrap_or(0),
            message: Some(format!("u{number}").into()),
            body: IncomingBody::Text(self.message(number, text)),
        };
        self.written.push(incoming.clone());
        self.undelivered.push(incoming);
    }

    /// Some messages have files, and some of those belong to an album.
    fn message(&mut self, number: usize, text: String) -> IncomingText {
        let mut message = IncomingText::new(text);
        if message.text.starts_with("please") && self.random.chance(25) {
            let count = 1 + self.random.below(2);
            message.files = (0..count)
                .map(|index| RemoteFile {
                    name: format!("file-{number}-{index}"),
                    media_type: "image/png".into(),
                    size: None,
                    reference: format!("{number}/{index}"),
                })
                .collect();
            message.album = self.random.chance(50).then(|| format!("album-{}", number / 4));
        }
        message
    }

    /// A file is fetched, or cannot be. For some there is never a result.
    fn fetch(&mut self) {
        let Some((message, index, file, blob)) = self.fetches.pop_front() else { return };
        let (name, media_type) = (file.name, file.media_type);
        let result = match self.random.below(5) {
            0 if self.faults => return,
            1 => Err("the line is down".to_owned()),
            _ => Ok(Attachment { name, media_type, size: 1, blob }),
        };
        self.event(Event::Fetched { message, index, result });
    }

    /// A person edits one of their messages, in whatever state it is.
    fn change(&mut self) {
        if self.written.is_empty() {
            return;
        }
        let pick = usize::try_from(self.random.below(self.written.len() as u64)).unwrap_or(0);
        let mut incoming = self.written[pick].clone();
        let (Some(message), IncomingBody::Text(IncomingText { text, .. })) =
            (incoming.message.take(), incoming.body)
        else {
            return;
        };
        incoming.key = format!("e{}", self.now);
        incoming.body = IncomingBody::Edited { message, text: format!("{text}, please") };
        self.undelivered.push(incoming);
    }

    /// Delivers a message that was not acknowledged, in any order, or repeats one that was.
    fn deliver(&mut self) {
        let again = self.random.chance(10);
        let list = if again { &self.written } else { &self.undelivered };
        if list.is_empty() {
            return;
        }
        let pick = usize::try_from(self.random.below(list.len().min(3) as u64)).unwrap_or(0);
        let incoming = list[pick].clone();
        self.event(Event::Incoming(incoming));
    }

    fn report(&mut self) {
        if let Some((scope, conversation, report)) = self.engine.reports.pop_front() {
            self.event(Event::Reported { scope, conversation, report });
        }
    }

    /// Completes an operation, in any order.
    fn land(&mut self) {
        if self.flights.is_empty() {
            return;
        }
        let pick = usize::try_from(self.random.below(self.flights.len() as u64)).unwrap_or(0);
        let Some((number, operation)) = self.flights.remove(pick) else { return };
        let result = if self.faults {
            self.screen.apply_with_faults(&operation, &mut self.random)
        } else {
            self.screen.apply(&operation)
        };
        self.event(Event::Performed { number, result });
    }

    fn wait(&mut self) {
        // The driver does not delay a batch: only events that come together share a write.
        self.act_on_batch();
        let until = self.now + i64::try_from(self.random.below(1_500)).unwrap_or(0);
        while let Some(due) = self.bridge.next_deadline().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            let before = self.bridge.next_deadline();
            self.event(Event::Tick);
            self.act_on_batch();
            assert!(
                self.bridge.next_deadline() != before || before > Some(self.now),
                "the deadline does not advance: {before:?}"
            );
        }
        self.now = until;
    }

    fn event(&mut self, event: Event) {
        let actions = self.bridge.handle(event, self.now);
        self.batch.add(actions);
        if !self.faults || self.batch.steps() >= 4 || self.random.chance(70) {
            self.act_on_batch();
        }
    }

    fn act_on_batch(&mut self) {
        let actions = std::mem::take(&mut self.batch).into_actions();
        // A crash may come between any two actions. Then the rest is never done.
        let done = if self.faults && self.random.chance(2) {
            usize::try_from(self.random.below(actions.len() as u64 + 1)).unwrap_or(0)
        } else {
            actions.len()
        };
        let crashes = done < actions.len();
        for action in actions.into_iter().take(done) {
            self.act(action);
        }
        if crashes {
            self.crash();
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Keep(changes) => {
                for change in changes {
                    let key = (change.kind, change.key);
                    match change.value {
                        Some(value) => {
                            let known = self.disk.insert(key.clone(), value);
                            assert!(key.0 != Kind::Done || known.is_none(), "a second outcome for {}", key.1);
                        }
                        None => {
                            self.disk.remove(&key);
                        }
                    }
                }
            }
            Action::Acknowledge { key, .. } => self.undelivered.retain(|incoming| incoming.key != key),
            Action::Perform { number, operation } => {
                if let Operation::Edit { place, .. } = &operation {
                    self.screen.edited(&place.chat, self.now);
                }
                self.flights.push_back((number, operation));
            }
            Action::Upload { number, place, file, key } => {
                let file =
                    OutgoingFile { name: file.name, media_type: file.media_type, data: file.blob.into() };
                self.flights.push_back((number, Operation::Upload { place, file, key }));
            }
            Action::Command { scope, conversation, command } => {
                self.engine.command(&scope, &conversation.key, command);
            }
            Action::Fetch { message, index, file, blob, .. } => {
                self.fetches.push_back((message, index, file, blob));
            }
            Action::CheckCode { .. } | Action::Told { .. } | Action::Answered { .. } | Action::Note(_) => {}
        }
    }

    /// Kills and restarts the bridge and the engine.
    fn crash(&mut self) {
        self.batch = Batch::default();
        for (_, operation) in std::mem::take(&mut self.flights) {
            if self.random.chance(50) {
                let _ = self.screen.apply(&operation);
            }
        }
        self.fetches.clear();
        self.engine.crash(&mut self.random);
        self.now += i64::try_from(self.random.below(3_000)).unwrap_or(0) + 1;
        let kept = self
            .disk
            .iter()
            .map(|((kind, key), value)| Kept { kind: *kind, key: key.clone(), value: value.clone() })
            .collect();
        let channels = Self::channels(self.screen.posts_once);
        let (bridge, actions) =
            Bridge::restore(self.settings.clone(), channels, ButtonKey::new([2; 32]), kept, self.now);
        self.bridge = bridge;
        for action in actions {
            self.act(action);
        }
    }

    /// Runs without faults until there is nothing left to do.
    pub(crate) fn drain(&mut self) {
        self.act_on_batch();
        self.faults = false;
        for _ in 0..20_000 {
            let is_quiet = self.undelivered.is_empty()
                && self.flights.is_empty()
                && self.engine.reports.is_empty()
                && !self.engine.is_busy()
                && self.bridge.unsettled() == 0
                && self.bridge.next_deadline().is_none();
            if is_quiet {
                return;
            }
            self.deliver();
            self.engine.advance(&mut self.random);
            self.report();
            self.fetch();
            self.land();
            self.wait();
        }
        panic!(
            "it does not settle: {} messages open, next deadline {:?}, now {}",
            self.bridge.unsettled(),
            self.bridge.next_deadline(),
            self.now
        );
    }

    pub(crate) fn outcomes(&self) -> Vec<(String, String)> {
        let done = self.disk.iter().filter(|((kind, _), _)| *kind == Kind::Done);
        done.map(|(_, value)| {
            (
                value["delivery"].as_str().unwrap_or_default().to_owned(),
                value["outcome"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect()
    }

    pub(crate) fn leftovers(&self) -> Vec<&(Kind, String)> {
        let open = |kind: Kind| !matches!(kind, Kind::Done | Kind::Scope | Kind::Person | Kind::Moved);
        self.disk.keys().filter(|(kind, _)| open(*kind)).collect()
    }
}
