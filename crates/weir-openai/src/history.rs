//! Which conversation a request continues: clients send the whole history each time, and a hash of its beginning finds
//! the live session that it came from.

use std::collections::{HashMap, VecDeque};

use sha2::{Digest as _, Sha256};

use crate::request::{Request, Role, Turn};

/// Where a request stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The hash of what was said before; none if nothing was.
    pub before: Option<String>,
    /// What the user says now.
    pub prompt: Turn,
    /// Instructions for a new session.
    pub instructions: Option<String>,
    /// What was said before, for a session that does not know it.
    pub so_far: Vec<Turn>,
    owner: String,
    model: String,
}

/// Finds where a request stands. Conversations of different owners are never the same.
pub fn place(request: &Request, owner: &str) -> Place {
    let (system, said): (Vec<&Turn>, Vec<&Turn>) =
        request.turns.iter().partition(|turn| turn.role == Role::System);
    let last_answer = said.iter().rposition(|turn| turn.role == Role::Assistant);
    let (before, now) = said.split_at(last_answer.map_or(0, |at| at + 1));
    let instructions: Vec<&str> = system.iter().map(|turn| turn.text.as_str()).collect();
    let instructions = (!instructions.is_empty()).then(|| instructions.join("\n\n"));
    let texts: Vec<&str> = now.iter().map(|turn| turn.text.as_str()).collect();
    let so_far: Vec<Turn> = before.iter().map(|turn| (*turn).clone()).collect();
    let mut place = Place {
        before: None,
        prompt: Turn {
            role: Role::User,
            text: texts.join("\n\n"),
            images: now.iter().flat_map(|turn| turn.images.clone()).collect(),
        },
        instructions,
        so_far,
        owner: owner.to_owned(),
        model: request.model.clone(),
    };
    place.before = (!place.so_far.is_empty()).then(|| place.hash(&place.so_far));
    place
}

impl Place {
    /// The hash under which the conversation is found when the client comes back with this answer.
    pub fn after(&self, answer: &str) -> String {
        let mut turns = self.so_far.clone();
        turns.push(self.prompt.clone());
        turns.push(Turn { role: Role::Assistant, text: answer.to_owned(), images: Vec::new() });
        self.hash(&turns)
    }

    /// The prompt for a session that does not know what was said before.
    pub fn prompt_with_history(&self) -> String {
        if self.so_far.is_empty() {
            return self.prompt.text.clone();
        }
        let line = |turn: &Turn| match turn.role {
            Role::Assistant => format!("Assistant: {}", turn.text),
            Role::User | Role::System => format!("User: {}", turn.text),
        };
        let lines: Vec<String> = self.so_far.iter().map(line).collect();
        format!(
            "This is what was said so far, in another session:\n\n{}\n\nAnswer what the user says now:\n\n{}",
            lines.join("\n\n"),
            self.prompt.text
        )
    }

    fn hash(&self, turns: &[Turn]) -> String {
        let mut hasher = Sha256::new();
        // Each piece with its length, so that no two histories run together.
        let mut add = |bytes: &[u8]| {
            hasher.update(bytes.len().to_le_bytes());
            hasher.update(bytes);
        };
        for text in
            [self.owner.as_str(), self.model.as_str(), self.instructions.as_deref().unwrap_or_default()]
        {
            add(text.as_bytes());
        }
        // Several messages in a row are one prompt: clients may split them otherwise when they come back.
        let mut previous = None;
        let mut text = String::new();
        for turn in turns {
            if previous.is_some_and(|role| role != turn.role) {
                add(text.trim().as_bytes());
                text.clear();
            }
            if previous != Some(turn.role) {
                add(turn.role.as_str().as_bytes());
            }
            previous = Some(turn.role);
            text.push_str(turn.text.trim());
            text.push_str("\n\n");
            for image in &turn.images {
                add(image.media_type.as_bytes());
                add(&image.data);
            }
        }
        add(text.trim().as_bytes());
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The sessions of the newest histories. What falls out is begun anew when its client comes back.
#[derive(Debug)]
pub struct HistoryIndex {
    most: usize,
    sessions: HashMap<String, String>,
    order: VecDeque<String>,
}

impl HistoryIndex {
    /// An index of at most so many histories.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), sessions: HashMap::new(), order: VecDeque::new() }
    }

    /// The session with this history. It is taken out: whoever comes next with the same history gets another one, so
    /// that two clients never talk in one session.
    pub fn take(&mut self, before: &str) -> Option<String> {
        self.order.retain(|key| key != before);
        self.sessions.remove(before)
    }

    /// All histories with their sessions, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let session = |history: &String| self.sessions.get(history).map(String::as_str);
        self.order.iter().filter_map(move |history| Some((history.as_str(), session(history)?)))
    }

    /// A session has this history now.
    pub fn put(&mut self, after: String, session: String) {
        if self.sessions.insert(after.clone(), session).is_none() {
            self.order.push_back(after);
        }
        while self.order.len() > self.most {
            if let Some(oldest) = self.order.pop_front() {
                self.sessions.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HistoryIndex, place};
    use crate::request::{Endpoint, Leniency, Request, read};

    fn request(messages: &str) -> Request {
        let body = format!(r#"{{"model":"m","messages":{messages}}}"#);
        read(Endpoint::Chat, body.as_bytes(), &Leniency::default()).unwrap()
    }

    const FIRST: &str = r#"[{"role":"system","content":"s"},{"role":"user","content":"one"}]"#;
    const SECOND: &str = r#"[{"role":"system","content":"s"},{"role":"user","content":"one"},{"role":"assistant","content":"1"},{"role":"user","content":"two"}]"#;

    #[test]
    fn the_same_history_is_the_same_session() {
        let first = place(&request(FIRST), "me");
        assert_eq!((first.before.as_deref(), first.prompt.text.as_str()), (None, "one"));
        assert_eq!(first.instructions.as_deref(), Some("s"));
        let second = place(&request(SECOND), "me");
        assert_eq!(second.before, Some(first.after("1")));
        assert_eq!(second.prompt.text, "two");
        assert_ne!(second.before, Some(first.after("another answer")));
        assert_ne!(place(&request(SECOND), "you").before, second.before);
    }

    #[test]
    fn other_words_are_another_history() {
        let one = place(
            &request(
                r#"[{"role":"user","content":"ab"},{"role":"assistant","content":"c"},{"role":"user","content":"x"}]"#,
            ),
            "me",
        );
        let other = place(
            &request(
                r#"[{"role":"user","content":"a"},{"role":"assistant","content":"bc"},{"role":"user","content":"x"}]"#,
            ),
            "me",
        );
        assert_ne!(one.before, other.before);
    }

    #[test]
    fn a_session_that_does_not_know_is_told() {
        let text = place(&request(SECOND), "me").prompt_with_history();
        assert!(text.contains("User: one\n\nAssistant: 1"), "{text}");
        assert!(text.ends_with("two"));
    }

    #[test]
    fn the_index_is_bounded_and_hands_a_session_out_once() {
        let mut index = HistoryIndex::new(2);
        for number in 0..3 {
            index.put(format!("h{number}"), format!("s{number}"));
        }
        assert_eq!(index.take("h0"), None);
        assert_eq!(index.take("h2").as_deref(), Some("s2"));
        assert_eq!(index.take("h2"), None);
        assert_eq!(index.take("h1").as_deref(), Some("s1"));
    }
}
