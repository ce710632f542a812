//! The bridge as a state machine: it decides everything and does nothing.
//!
//! [`Bridge::handle`] takes what happened and the time, and gives what is to be done. The first action of a step may
//! be [`Action::Keep`]; nothing else of the step may be done before that is on the disk. After a crash
//! [`Bridge::restore`] goes on from what was kept: no message is lost, and no answer is given twice.

mod accept;
mod albums;
mod asks;
mod beside;
mod buttons;
mod card_delivery;
mod cards;
mod commands;
mod edits;
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

pub use beside::Beside;
pub use buttons::ButtonKey;
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

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Something came in from a channel.
    Incoming(Incoming),
    /// An operation was done, or was not.
    Performed {
        /// The operation's number.
        number: u64,
        /// The message that it made, or why it was not done.
        result: Result<Option<MessageRef>, OperationError>,
    },
    /// The engine tells something of a conversation.
    Reported {
        /// The scope that the conversation belongs to.
        scope: String,
        /// The conversation's key.
        conversation: String,
        /// What.
        report: Report,
    },
    /// A pairing code was looked up, and used up if it was right.
    CodeChecked {
        /// Where it was typed.
        place: Place,
        /// Who typed it.
        sender: Sender,
        /// What they may do from now on; none if the code was wrong.
        role: Option<Role>,
    },
    /// A file was fetched, or was not.
    Fetched {
        /// The message that it came with.
        message: InboxId,
        /// Its number in the message.
        index: usize,
        /// The file, which is kept, or why it cannot be had, in a few words.
        result: Result<Attachment, String>,
    },
    /// Somebody who is no conversation wants something.
    Beside(Beside),
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Keeps records. Comes first; the rest of the step waits for it.
    Keep(Vec<Change>),
    /// Tells the channel that it need not deliver this again.
    Acknowledge {
        /// The channel.
        channel: ChannelName,
        /// The delivery.
        key: String,
    },
    /// Does something in a chat, and tells [`Event::Performed`].
    Perform {
        /// Names the operation.
        number: u64,
        /// What.
        operation: Operation,
    },
    /// Sends a file that is kept, and tells [`Event::Performed`].
    Upload {
        /// Names the operation.
        number: u64,
        /// Where.
        place: Place,
        /// The file.
        file: Attachment,
        /// Names the upload.
        key: String,
    },
    /// Fetches a file that came with a message, keeps it, and tells [`Event::Fetched`].
    Fetch {
        /// The message that it came with.
        message: InboxId,
        /// Its number in the message.
        index: usize,
        /// Where the message stands.
        place: Place,
        /// The file.
        file: RemoteFile,
        /// The name under which it is kept.
        blob: String,
    },
    /// Tells the engine to do something.
    Command {
        /// The scope that the conversation belongs to.
        scope: String,
        /// The conversation, which is begun if it is not there.
        conversation: ConversationSettings,
        /// What.
        command: Command,
    },
    /// Looks up a pairing code, and tells [`Event::CodeChecked`].
    CheckCode {
        /// Where it was typed.
        place: Place,
        /// Who typed it.
        sender: Sender,
        /// The code.
        code: String,
    },
    /// What [`Beside::Tell`] or [`Beside::Ask`] of this number wanted is kept.
    Told {
        /// The number.
        number: u64,
    },
    /// Somebody has answered [`Beside::Ask`].
    Answered {
        /// Names the question.
        request: String,
        /// The answer.
        answer: Answer,
        /// Who.
        by: String,
    },
    /// Something for the log.
    Note(String),
}

/// What an operation is about.
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

/// When a chat may be written to again.
#[derive(Debug, Clone, Copy)]
struct Pace {
    not_before: i64,
    next_edit: i64,
}

/// Chats whose pace is remembered before those are forgotten that may be written to at once.
const MOST_PACES: usize = 1_000;

/// The bridge.
#[derive(Debug)]
pub struct Bridge {
    settings: Settings,
    button_key: ButtonKey,
    /// Presses and reactions that were taken lately, by their fingerprints.
    presses: VecDeque<u128>,
    channels: BTreeMap<ChannelName, Capabilities>,
    scopes: BTreeMap<String, Scope>,
    inbox: BTreeMap<InboxId, InboxRecord>,
    cards: BTreeMap<u64, Card>,
    people: BTreeMap<(ChannelName, UserId), PersonRecord>,
    limits: Limits,
    paces: BTreeMap<(ChannelName, ChatId), Pace>,
    /// Chats that go on from others, by what they are called now.
    moves: BTreeMap<(ChannelName, ChatId), records::MovedRecord>,
    /// Deliveries that were taken, by their fingerprints: there are thousands of them.
    seen: HashSet<u128>,
    done: VecDeque<(InboxId, u128)>,
    /// Commands that wait for what the engine says, by the number of the question.
    questions: HashMap<u64, commands::Question>,
    operations: HashMap<u64, Target>,
    last_id: u64,
    now: i64,
    /// No chat is edited before this time.
    first_edit: i64,
    changes: BTreeMap<(Kind, String), Change>,
    actions: Vec<Action>,
    /// Bytes of text that were looked at.
    looked_at: u64,
}

impl Bridge {
    /// A bridge that knows nothing yet.
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
            looked_at: 0,
        }
    }

    /// Takes what happened at this time, in milliseconds since 1970, and says what is to be done.
    pub fn handle(&mut self, event: Event, now: i64) -> Vec<Action> {
        self.now = self.now.max(now);
        match event {
            Event::Incoming(incoming) => self.accept(&incoming),
            Event::Performed { number, result } => self.performed(number, result),
            Event::Reported { scope, conversation, report } => self.reported(&scope, &conversation, report),
            Event::CodeChecked { place, sender, role } => self.code_checked(&place, &sender, role),
            Event::Fetched { message, index, result } => self.fetched(message, index, result),
            Event::Beside(beside) => self.beside(beside),
            Event::Tick => self.tick(),
        }
        self.finish_step()
    }

    /// When [`Event::Tick`] is due, if nothing else happens before.
    pub fn next_deadline(&self) -> Option<i64> {
        let scopes = self.scopes.values().filter_map(|scope| self.scope_deadline(scope));
        scopes.chain(self.cards_deadline()).min()
    }

    /// How many bytes of text were looked at so far, to cut it into messages and to render it: the work that texts make.
    pub fn bytes_looked_at(&self) -> u64 {
        self.looked_at
    }

    /// How many messages have no outcome yet.
    pub fn unsettled(&self) -> usize {
        self.inbox.len()
    }

    /// Whether every message has its outcome and everything that is to be said is there.
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
            Some(Target::Picture { card }) => self.picture_performed(card, result.err()),
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

    /// A number that was never used, also not before a restart.
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

    /// Ends the story of a message.
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
        if self.paces.len() > MOST_PACES {
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

/// A number that stands for a delivery. It is long enough that no two have the same.
fn delivery_mark(channel: &ChannelName, delivery: &str) -> u128 {
    let digest =
        Sha256::new().chain_update(channel.as_str()).chain_update([0]).chain_update(delivery).finalize();
    digest.iter().take(16).fold(0, |mark, byte| mark << 8 | u128::from(*byte))
}
