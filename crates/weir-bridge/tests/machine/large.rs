//! Large replies: their cost grows with their length, in every channel, and no other chat waits for them.
//!
//! Counts the bytes of text that the machine processes to split and render it, and the bytes that it stores and sends.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::sync::mpsc;
use weir_bridge::channel::{
    Capabilities, Channel as _, Incoming, IncomingBody, IncomingText, MessageRef, Operation, OperationError,
    Place, Sender,
};
use weir_bridge::config::Secret;
use weir_bridge::engine::{Command, Ending, EndingOutcome, Report};
use weir_bridge::machine::{Action, Bridge, ButtonKey, Event, Role, Settings};
use weir_bridge::markup::Markup;
use weir_bridge::terminal::TerminalChannel;
use weir_bridge::webhook::{WebhookChannel, WebhookOptions};

const MEGABYTE: usize = 1 << 20;
/// Bytes of a reply that arrive at a time, as the CLI streams it.
const DELTA: usize = 16;

/// A chat that counts the work of the machine.
struct Counted {
    bridge: Bridge,
    now: i64,
    next: u64,
    /// Uploads are refused.
    refuses_files: bool,
    shown: BTreeMap<String, String>,
    uploads: Vec<Vec<u8>>,
    kept: u64,
    sent: u64,
    operations: u64,
    prompts: Vec<(String, String, String)>,
}

impl Counted {
    fn new(channel: Capabilities) -> Self {
        let mut settings = Settings::default();
        settings.people.insert(("test".into(), "anna".into()), Role::User);
        Self {
            bridge: Bridge::new(
                settings,
                BTreeMap::from([("test".into(), channel)]),
                ButtonKey::new([1; 32]),
            ),
            now: 1_000,
            next: 0,
            refuses_files: false,
            shown: BTreeMap::new(),
            uploads: Vec::new(),
            kept: 0,
            sent: 0,
            operations: 0,
            prompts: Vec::new(),
        }
    }

    fn event(&mut self, event: Event) {
        let mut actions = self.bridge.handle(event, self.now);
        while !actions.is_empty() {
            let mut next = Vec::new();
            for action in actions {
                match action {
                    Action::Keep(changes) => {
                        let bytes = changes.iter().filter_map(|change| change.value.as_ref());
                        self.kept += bytes.map(|value: &Value| value.to_string().len() as u64).sum::<u64>();
                    }
                    Action::Perform { number, operation } => {
                        let result = self.perform(operation);
                        next.extend(self.bridge.handle(Event::Performed { number, result }, self.now));
                    }
                    Action::Command { scope, conversation, command: Command::Send { client_id, .. } } => {
                        self.prompts.push((scope, conversation.key, client_id));
                    }
                    _ => {}
                }
            }
            actions = next;
        }
    }

    fn perform(&mut self, operation: Operation) -> Result<Option<MessageRef>, OperationError> {
        self.operations += 1;
        match operation {
            Operation::Post { content, key, .. } => {
                self.sent += content.text.plain.len() as u64;
                self.shown.insert(key.clone(), content.text.plain);
                Ok(Some(key.into()))
            }
            Operation::Edit { message, content, .. } => {
                self.sent += content.text.plain.len() as u64;
                self.shown.insert(message.as_str().to_owned(), content.text.plain);
                Ok(None)
            }
            Operation::Upload { .. } if self.refuses_files => Err(OperationError::Refused("no files".into())),
            Operation::Upload { file, .. } => {
                self.sent += file.data.len() as u64;
                self.uploads.push(file.data);
                Ok(None)
            }
            Operation::Delete { message, .. } => {
                self.shown.remove(message.as_str());
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Sends a message in a chat. Returns the scope, the conversation and the client id of the prompt.
    fn says(&mut self, chat: &str) -> (String, String, String) {
        self.next += 1;
        let body = IncomingBody::Text(IncomingText::new("go"));
        self.event(Event::Incoming(Incoming {
            key: self.next.to_string(),
            place: Place { channel: "test".into(), chat: chat.into(), thread: None },
            sender: Sender { id: "anna".into(), name: "Anna".into(), is_bot: false },
            direct: true,
            addressed: true,
            order: i64::try_from(self.next).unwrap(),
            message: None,
            body,
        }));
        self.prompts.last().cloned().unwrap()
    }

    fn report(&mut self, prompt: &(String, String, String), report: Report) {
        let (scope, conversation, _) = prompt.clone();
        self.event(Event::Reported { scope, conversation, report });
    }

    /// Lets time pass, with a tick for each deadline.
    fn waits(&mut self, ms: i64) {
        let until = self.now + ms;
        while let Some(due) = self.bridge.next_deadline().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.event(Event::Tick);
        }
        self.now = until;
    }

    /// Streams a reply in small pieces, one per millisecond, and ends the turn.
    fn streams(&mut self, prompt: &(String, String, String), text: &str) {
        let mut at = 0;
        while at < text.len() {
            let end = (at + DELTA).min(text.len());
            self.report(prompt, Report::Text { block: 1, text: text[at..end].into(), replaces: false });
            self.waits(1);
            at = end;
        }
        let ending = Ending::new("turn", EndingOutcome::Answered(text.to_owned()));
        self.report(prompt, Report::Finished { client_id: prompt.2.clone(), ending });
        while !self.bridge.is_quiet() {
            self.waits(1_000);
        }
    }

    fn work(&self) -> u64 {
        self.bridge.bytes_processed() + self.kept + self.sent
    }
}

fn webhook(edits: bool) -> Capabilities {
    let options = WebhookOptions {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        url: "https://example.org".into(),
        secret: Secret::new("secret"),
        edits,
        longest: 16_000,
    };
    WebhookChannel::new(options).unwrap().capabilities()
}

fn terminal(columns: Option<usize>) -> Capabilities {
    let (_, lines) = mpsc::channel(1);
    TerminalChannel::new(lines, Box::new(std::io::sink()), columns).capabilities()
}

/// Every channel. Telegram and Matrix have their own crates, whose tests compare these numbers.
fn channels() -> Vec<(&'static str, Capabilities)> {
    let telegram = Capabilities {
        markup: Markup::TelegramHtml,
        longest: 4_096,
        posts_once: false,
        edits: true,
        deletes: true,
        ..webhook(true)
    };
    let matrix = Capabilities { markup: Markup::MatrixHtml, longest: 20_000, ..webhook(true) };
    vec![
        ("webhook without edits", webhook(false)),
        ("webhook with edits", webhook(true)),
        ("telegram", telegram),
        ("matrix", matrix),
        ("terminal", terminal(Some(80))),
        ("pipe", terminal(None)),
    ]
}

fn answer(size: usize) -> String {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < size {
        number += 1;
        text.push_str(&format!("Paragraph {number} of the answer, with some `code` in it.\n\n"));
        if number % 40 == 0 {
            text.push_str("```rust\nfn main() {\n    println!(\"hello\");\n}\n```\n\n");
        }
    }
    text
}

#[test]
fn a_large_reply_costs_its_length_in_every_channel() {
    let text = answer(MEGABYTE);
    for (name, channel) in channels() {
        for refuses_files in [false, true] {
            let longest = channel.longest as u64;
            let mut chat = Counted::new(channel.clone());
            chat.refuses_files = refuses_files;
            let prompt = chat.says("1");
            chat.streams(&prompt, &text);
            // Each operation sends a message. A few times its length may be processed and stored for it.
            let max = 16 * text.len() as u64 + chat.operations * 12 * longest;
            assert!(
                chat.work() <= max,
                "{name}: processed {}, stored {}, sent {} bytes in {} operations for {} bytes",
                chat.bridge.bytes_processed(),
                chat.kept,
                chat.sent,
                chat.operations,
                text.len()
            );
            let whole = chat.shown.values().map(String::len).sum::<usize>()
                + chat.uploads.iter().map(Vec::len).sum::<usize>();
            assert!(whole * 10 >= text.len() * 9, "{name}: {whole} bytes have arrived");
        }
    }
}

#[test]
fn twice_the_length_costs_about_twice_as_much() {
    for (name, channel) in channels() {
        let cost = |size: usize| {
            let mut chat = Counted::new(channel.clone());
            chat.refuses_files = true;
            let prompt = chat.says("1");
            chat.streams(&prompt, &answer(size));
            chat.work()
        };
        let (half, whole) = (cost(MEGABYTE / 4), cost(MEGABYTE / 2));
        assert!(
            whole <= half * 5 / 2,
            "{name}: {half} bytes for a quarter, {whole} for a half of a megabyte"
        );
    }
}

#[test]
fn text_that_shows_nothing_new_costs_little() {
    // No piece changes the message, so no edit delays the next processing.
    for filler in [" ", "\n", "[a]: https://example.org\n"] {
        for (name, channel) in channels() {
            let mut chat = Counted::new(channel.clone());
            let prompt = chat.says("1");
            let long = "word ".repeat(1_500);
            chat.report(&prompt, Report::Text { block: 1, text: format!("{long}\n\n"), replaces: false });
            chat.waits(10_000);
            let before = chat.bridge.bytes_processed();
            for _ in 0..20_000 {
                chat.report(&prompt, Report::Text { block: 1, text: filler.into(), replaces: false });
            }
            let bytes_processed = chat.bridge.bytes_processed() - before;
            assert!(bytes_processed <= 2_000_000, "{name}, {filler:?}: {bytes_processed} bytes");
        }
    }
}

#[test]
fn unasked_text_costs_its_length_too() {
    let text = answer(MEGABYTE / 2);
    for (name, channel) in channels() {
        for refuses_files in [false, true] {
            let mut chat = Counted::new(channel.clone());
            chat.refuses_files = refuses_files;
            let prompt = chat.says("1");
            chat.streams(&prompt, "done");
            chat.report(&prompt, Report::Unasked { text: text.clone() });
            while !chat.bridge.is_quiet() {
                chat.waits(1_000);
            }
            assert!(chat.work() <= 24 * text.len() as u64, "{name}: {} bytes", chat.work());
            let whole = chat.shown.values().map(String::len).sum::<usize>()
                + chat.uploads.iter().map(Vec::len).sum::<usize>();
            assert!(whole * 10 >= text.len() * 9, "{name}: {whole} bytes have arrived");
        }
    }
}

#[test]
fn a_large_reply_does_not_hold_up_other_chats() {
    for (name, channel) in channels() {
        let mut chat = Counted::new(channel);
        let large = chat.says("large");
        let text = answer(MEGABYTE / 8);
        for piece in text.as_bytes().chunks(DELTA) {
            let piece = String::from_utf8_lossy(piece).into_owned();
            chat.report(&large, Report::Text { block: 1, text: piece, replaces: false });
        }
        // Another chat gets its answer at once, with work proportional to its own size.
        let before = chat.work();
        let quick = chat.says("quick");
        let ending = Ending::new("quick", EndingOutcome::Answered("Quick.".to_owned()));
        chat.report(&quick, Report::Finished { client_id: quick.2.clone(), ending });
        chat.waits(1_000);
        assert!(chat.shown.values().any(|text| text == "Quick."), "{name}");
        assert!(chat.work() - before <= 1_000_000, "{name}: {} bytes", chat.work() - before);
    }
}
