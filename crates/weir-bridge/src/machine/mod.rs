//! The bridge as a state machine: it makes all decisions and performs no I/O.
//!
//! [`Bridge::handle`] takes an event and the time, and returns actions. The first action of a step may be
//! [`Action::Keep`]; its records must be on disk before the other actions of the step are done. After a crash
//! [`Bridge::restore`] resumes from the stored records: no message is lost, and no answer is given twice.

mod accept;
mod albums;
mod asks;
mod buttons;
mod card_delivery;
mod cards;
mod commands;
mod edits;
mod external;
mod files;
mod limits;
mod moves;
mod pairing;
mod pictures;
mod records;
mod reply;
mod reply_delivery;
mod reply_step;
mod restore;
mod said;
mod scope;
mod settings;
mod turns;
mod typed;
mod words;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

pub use buttons::ButtonKey;
pub use external::External;
pub(crate) use records::person_key;
pub use records::{Change, InboxId, Kept, Kind, Outcome, Role};
pub use settings::{Per, QueueMode, ScopeRule, ScopeSettings, Settings};

use sha2::{Digest as _, Sha256};

use crate::channel::{
    Attachment, Capabilities, ChannelName, ChatId, Incoming, MessageRef, Operation, OperationError, Place,
    RemoteFile, Sender, UserId,
};
use crate::engine::{Answer, Command, ConversationSettings, Report};
use cards::Card;
use limits::Limits;
use records::{DoneRecord, InboxRecord, PersonRecord, put, remove};
use scope::Scope;

/// An event for the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Something came in from a channel.
    Incoming(Incoming),
    /// An operation succeeded or failed.
    Performed {
        /// Number of the operation.
        number: u64,
        /// The message that it created, if any, or why it failed.
        result: Result<Option<MessageRef>, OperationError>,
    },
    /// The engine reports something about a conversation.
    Reported {
        /// The scope that the conversation belongs to.
        scope: String,
        /// Key of the conversation.
        conversation: String,
        /// The report.
        report: Report,
    },
    /// A pairing code was checked, and consumed if it was valid.
    CodeChecked {
        /// Where it was typed.
        place: Place,
        /// Who typed it.
        sender: Sender,
        /// The new role of the sender, or `None` if the code was wrong.
        role: Option<Role>,
    },
    /// A file was fetched, or could not be.
    Fetched {
        /// The message that it came with.
        message: InboxId,
        /// Its index in the message.
        index: usize,
        /// The stored file, or a short reason why it is missing.
        result: Result<Attachment, String>,
    },
    /// Input from a program outside the chats.
    External(External),
    /// Time has passed.
    Tick,
}

/// An action for the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Stores records. Comes first; the rest of the step waits for it.
    Keep(Vec<Change>),
    /// Tells the channel that it need not repeat a delivery.
    Acknowledge {
        /// The channel.
        channel: ChannelName,
        /// Key of the delivery.
        key: String,
    },
    /// Performs an operation in a chat. The result is an [`Event::Performed`].
    Perform {
        /// Number of the operation.
        number: u64,
        /// The operation.
        operation: Operation,
    },
    /// Sends a stored file. The result is an [`Event::Performed`].
    Upload {
        /// Number of the operation.
        number: u64,
        /// Where to send it.
        place: Place,
        /// The file.
        file: Attachment,
        /// Key by which a channel recognises a repeated upload.
        key: String,
    },
    /// Fetches and stores a file that came with a message. The result is an [`Event::Fetched`].
    Fetch {
        /// The message that it came with.
        message: InboxId,
        /// Its index in the message.
        index: usize,
        /// Where the message is.
        place: Place,
        /// The file.
        file: RemoteFile,
        /// The key under which to store it.
        blob: String,
    },
    /// Sends a command to the engine.
    Command {
        /// The scope that the conversation belongs to.
        scope: String,
        /// The conversation, which is started if it does not exist.
        conversation: ConversationSettings,
        /// The command.
        command: Command,
    },
    /// Checks a pairing code. The result is an [`Event::CodeChecked`].
    CheckCode {
        /// Where it was typed.
        place: Place,
        /// Who typed it.
        sender: Sender,
        /// The code.
        code: String,
    },
    /// Confirms that an [`External::Tell`] or [`External::Ask`] is stored.
    Told {
        /// Its number.
        number: u64,
    },
    /// An [`External::Ask`] has been answered.
    Answered {
        /// Id of the question.
        request: String,
        /// The answer.
        answer: Answer,
        /// Name of the person who answered.
        by: String,
    },
    /// A line for the log.
    Note(String),
}

/// What the result of an operation applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Part { scope: String, index: usize, shown: u64, kind: PartOperation },
    File { scope: String },
    Card { id: u64, shown: u64, posted: bool },
    Picture { card: u64 },
    Document { card: u64 },
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartOperation {
    Post,
    Edit,
    Delete,
}

/// When a chat may be posted to and edited again.
#[derive(Debug, Clone, Copy)]
struct Pace {
    not_before: i64,
    next_edit: i64,
}

/// Number of chats above which paces that no longer matter are forgotten.
const MAX_PACES: usize = 1_000;

/// The bridge.
#[derive(Debug)]
pub struct Bridge {
    settings: Settings,
    button_key: ButtonKey,
    /// Fingerprints of recent button presses and reactions.
    presses: VecDeque<u128>,
    channels: BTreeMap<ChannelName, Capabilities>,
    scopes: BTreeMap<String, Scope>,
    inbox: BTreeMap<InboxId, InboxRecord>,
    cards: BTreeMap<u64, Card>,
    people: BTreeMap<(ChannelName, UserId), PersonRecord>,
    limits: Limits,
    paces: BTreeMap<(ChannelName, ChatId), Pace>,
    /// Chats that replaced others, by their current id.
    moves: BTreeMap<(ChannelName, ChatId), records::MovedRecord>,
    /// Fingerprints of accepted deliveries. Fingerprints, because there are thousands of them.
    seen: HashSet<u128>,
    done: VecDeque<(InboxId, u128)>,
    /// Commands that wait for a report of the engine, by number.
    questions: HashMap<u64, commands::Question>,
    operations: HashMap<u64, Target>,
    last_id: u64,
    now: i64,
    /// No message is edited before this time.
    first_edit: i64,
    changes: BTreeMap<(Kind, String), Change>,
    actions: Vec<Action>,
    /// Bytes of text processed so far.
    bytes_processed: u64,
}

impl Bridge {
    /// A bridge without any records.
    pub fn new(
        settings: Settings,
        channels: BTreeMap<ChannelName, Capabilities>,
        button_key: ButtonKey,
    ) -> Self {
        Self {
            button_key,
            presses: VecDeque::new(),
            settings,
            channels,
            scopes: BTreeMap::new(),
            inbox: BTreeMap::new(),
            cards: BTreeMap::new(),
            people: BTreeMap::new(),
            limits: Limits::default(),
            paces: BTreeMap::new(),
            moves: BTreeMap::new(),
            seen: HashSet::new(),
            done: VecDeque::new(),
            questions: HashMap::new(),
            operations: HashMap::new(),
            last_id: 0,
            now: 0,
            first_edit: 0,
            changes: BTreeMap::new(),
            actions: Vec::new(),
            bytes_processed: 0,
        }
    }

    /// Handles an event and returns the actions to take. `now` is in milliseconds since 1970.
    pub fn handle(&mut self, event: Event, now: i64) -> Vec<Action> {
        self.now = self.now.max(now);
        match event {
            Event::Incoming(incoming) => self.accept(&incoming),
            Event::Performed { number, result } => self.performed(number, result),
            Event::Reported { scope, conversation, report } => self.reported(&scope, &conversation, report),
            Event::CodeChecked { place, sender, role } => self.code_checked(&place, &sender, role),
            Event::Fetched { message, index, result } => self.fetched(message, index, result),
            Event::External(external) => self.external(external),
            Event::Tick => self.tick(),
        }
        self.finish_step()
    }

    /// When the next [`Event::Tick`] is due, unless another event comes first.
    pub fn next_deadline(&self) -> Option<i64> {
        let scopes = self.scopes.values().filter_map(|scope| self.scope_deadline(scope));
        scopes.chain(self.cards_deadline()).min()
    }

    /// Bytes of text processed so far to split and render messages. A measure of the work done.
    pub fn bytes_processed(&self) -> u64 {
        self.bytes_processed
    }

    /// Number of messages without an outcome.
    pub fn unsettled(&self) -> usize {
        self.inbox.len()
    }

    /// Whether every message has its outcome and everything has been sent.
    pub fn is_quiet(&self) -> bool {
        self.inbox.is_empty()
            && self.cards.is_empty()
            && self.scopes.values().all(|scope| scope.reply.is_none())
    }

    fn tick(&mut self) {
        self.expire_asks();
        let due: Vec<String> = self.scopes.keys().cloned().collect();
        for scope in due {
            self.step_scope(&scope);
        }
        let cards: Vec<u64> = self.cards_in_turn().map(|card| card.record.id).collect();
        for card in cards {
            self.step_card(card);
        }
    }

    fn performed(&mut self, number: u64, result: Result<Option<MessageRef>, OperationError>) {
        match self.operations.remove(&number) {
            Some(Target::Part { scope, index, shown, kind }) => {
                self.part_performed(&scope, index, shown, kind, result);
            }
            Some(Target::File { scope }) => self.file_performed(&scope, result.err().as_ref()),
            Some(Target::Card { id, shown, posted }) => self.card_performed(id, shown, posted, result),
            Some(Target::Picture { card }) => self.picture_performed(card, result.err().as_ref()),
            Some(Target::Document { card }) => self.document_performed(card, result.err().as_ref()),
            Some(Target::Nothing) | None => {}
        }
    }

    fn finish_step(&mut self) -> Vec<Action> {
        let mut actions = std::mem::take(&mut self.actions);
        if !self.changes.is_empty() {
            let changes = std::mem::take(&mut self.changes).into_values().collect();
            actions.insert(0, Action::Keep(changes));
        }
        actions
    }

    /// A number that has never been used, not even before a restart.
    fn next_id(&mut self) -> u64 {
        let by_clock = u64::try_from(self.now).unwrap_or_default().saturating_mul(1_000);
        self.last_id = by_clock.max(self.last_id + 1);
        self.last_id
    }

    fn change(&mut self, change: Change) {
        self.changes.insert((change.kind, change.key.clone()), change);
    }

    fn perform(&mut self, operation: Operation, target: Target) -> u64 {
        let number = self.next_id();
        self.operations.insert(number, target);
        self.actions.push(Action::Perform { number, operation });
        number
    }

    fn acknowledge(&mut self, channel: &ChannelName, key: &str) {
        self.actions.push(Action::Acknowledge { channel: channel.clone(), key: key.to_owned() });
    }

    /// Gives a message its outcome and removes it from the inbox.
    fn settle(&mut self, id: InboxId, outcome: Outcome) {
        let Some(record) = self.inbox.remove(&id) else { return };
        self.change(remove(Kind::Inbox, id.key()));
        let done = DoneRecord {
            channel: record.place.channel.clone(),
            delivery: record.delivery.clone(),
            at: self.now,
            outcome,
        };
        self.change(put(Kind::Done, id.key(), &done));
        self.done.push_back((id, delivery_mark(&record.place.channel, &record.delivery)));
        while self.done.len() > self.settings.remembered {
            if let Some((old, mark)) = self.done.pop_front() {
                self.seen.remove(&mark);
                self.change(remove(Kind::Done, old.key()));
            }
        }
    }

    fn pace(&mut self, place: &Place) -> &mut Pace {
        if self.paces.len() > MAX_PACES {
            let now = self.now;
            self.paces.retain(|_, pace| pace.not_before.max(pace.next_edit) > now);
        }
        let fresh = Pace { not_before: 0, next_edit: self.first_edit };
        self.paces.entry((place.channel.clone(), place.chat.clone())).or_insert(fresh)
    }

    fn pace_of(&self, place: &Place) -> Pace {
        let fresh = Pace { not_before: 0, next_edit: self.first_edit };
        self.paces.get(&(place.channel.clone(), place.chat.clone())).copied().unwrap_or(fresh)
    }
}

/// A fingerprint of a delivery, long enough to be unique.
fn delivery_mark(channel: &ChannelName, delivery: &str) -> u128 {
    let digest =
        Sha256::new().chain_update(channel.as_str()).chain_update([0]).chain_update(delivery).finalize();
    digest.iter().take(16).fold(0, |mark, byte| mark << 8 | u128::from(*byte))
}
