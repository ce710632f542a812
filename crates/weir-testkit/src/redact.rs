//! Replaces everything that varies between runs, so that two runs can be compared.
//!
//! Known paths and ids are replaced by name; ids with a recognisable form, and times, are recognised. Pure; it knows
//! nothing about the protocol.

use crate::Place;

/// Replaces everything that varies between runs.
///
/// ```
/// use weir_testkit::redact::Redactor;
///
/// let mut redactor = Redactor::new().replace("/tmp/x1/demo", "<cwd>");
/// assert_eq!(
///     redactor.text("/tmp/x1/demo/a.txt by toolu_07 then toolu_08, toolu_07"),
///     "<cwd>/a.txt by <tool 1> then <tool 2>, <tool 1>",
/// );
/// ```
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    replacements: Vec<(String, String)>,
    /// Tool calls in the order in which they were first seen.
    tools: Vec<String>,
}

impl Redactor {
    /// Without any names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows the folders of a place, including the form the CLI uses in file names.
    pub fn for_place(place: &Place) -> Self {
        let mut redactor = Self::new();
        let folders = [
            (place.directory(), "<cwd>"),
            (place.home(), "<home>"),
            (place.temporary(), "<tmp>"),
            (place.root().to_owned(), "<place>"),
        ];
        for (folder, name) in folders {
            let folder = folder.to_string_lossy().into_owned();
            let dashes = folder.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
            redactor = redactor.replace(folder, name).replace(dashes, name);
        }
        redactor
    }

    /// Also replaces this text. Longer texts are replaced first.
    #[must_use]
    pub fn replace(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.add(from, to);
        self
    }

    /// Replaces this text from now on.
    pub fn add(&mut self, from: impl Into<String>, to: impl Into<String>) {
        let from = from.into();
        if !from.is_empty() && !self.replacements.iter().any(|(known, _)| *known == from) {
            self.replacements.push((from, to.into()));
            self.replacements.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        }
    }

    /// The text without anything that varies between runs.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.replacements {
            text = text.replace(from, to);
        }
        self.words(&made_up_names(&text))
    }

    fn words(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(length) = time_length(rest) {
                out.push_str("<time>");
                rest = rest.get(length..).unwrap_or_default();
                continue;
            }
            let length = rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(if length == 0 { first.len_utf8() } else { length });
            out.push_str(&self.word(word));
            rest = after;
        }
        out
    }

    fn word(&mut self, word: &str) -> String {
        if is_uuid(word) {
            return "<uuid>".into();
        }
        if word.starts_with("toolu_") {
            let known = self.tools.iter().position(|tool| tool == word);
            let number = known.unwrap_or_else(|| {
                self.tools.push(word.to_owned());
                self.tools.len() - 1
            });
            return format!("<tool {}>", number + 1);
        }
        for (prefix, name) in [("msg_", "<message>"), ("req_", "<request>")] {
            if word
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
            {
                return name.into();
            }
        }
        if is_task(word) { "<task>".into() } else { word.to_owned() }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

fn is_uuid(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.chars().all(|letter| letter.is_ascii_hexdigit()))
}

/// Whether a word is an id that the CLI gives to tasks: `a` or `b` and hexadecimal digits.
fn is_task(word: &str) -> bool {
    matches!(word.len(), 7 | 17)
        && word.starts_with(['a', 'b'])
        && word.chars().any(|letter| letter.is_ascii_digit())
        && word.chars().all(|letter| letter.is_ascii_digit() || ('a'..='f').contains(&letter))
}

/// The length of the timestamp at the start of the text, such as `2026-11-15T11:55:43.216Z`.
fn time_length(text: &str) -> Option<usize> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let fits = |byte: u8, shape: u8| if shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    let start = text.as_bytes().get(..SHAPE.len())?;
    if !start.iter().zip(SHAPE).all(|(&byte, &shape)| fits(byte, shape)) {
        return None;
    }
    let rest = text.get(SHAPE.len()..)?;
    let fraction = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    let zone = usize::from(rest.get(fraction..)?.starts_with('Z'));
    Some(SHAPE.len() + fraction + zone)
}

/// Files with names made up by the CLI: the folder, the suffix, and the replacement.
const MADE_UP: [(&str, &str, &str); 2] =
    [("/.claude/plans/", ".md", "<plan>"), ("/tool-results/", ".txt", "<result>")];

fn made_up_names(text: &str) -> String {
    MADE_UP.iter().fold(text.to_owned(), |text, (folder, end, name)| made_up_name(&text, folder, end, name))
}

fn made_up_name(text: &str, folder: &str, end: &str, name: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = rest.find(folder) {
        let (before, found) = rest.split_at(place + folder.len());
        out.push_str(before);
        rest = match found.find(end) {
            Some(length) if found.get(..length).is_some_and(|name| name.chars().all(is_word)) => {
                out.push_str(name);
                found.get(length..).unwrap_or_default()
            }
            _ => found,
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_times_are_recognised_by_their_form() {
        let mut redactor = Redactor::new();
        let text = "0c8e9a7e-1f0b-4c4e-9a57-7d5d3a0a1b2c at 2026-11-15T11:55:43.216Z, msg_01X req_000001 agentId: a602c88 \
                    in a27b0e79025266abb";
        assert_eq!(redactor.text(text), "<uuid> at <time>, <message> <request> agentId: <task> in <task>");
    }

    #[test]
    fn other_words_stay() {
        let text = "a message about req_x, abcdefa, b-1, 2026-11-15, café 🦀 x-y";
        assert_eq!(Redactor::new().text(text), text);
    }

    #[test]
    fn the_longest_name_wins_and_folder_forms_are_replaced_too() {
        let place = Place::new().unwrap();
        let mut redactor = Redactor::for_place(&place);
        let cwd = place.directory().display().to_string();
        let text = format!("{cwd}/a {}/x {}", place.home().display(), cwd.replace(['/', '.'], "-"));
        assert_eq!(redactor.text(&text), "<cwd>/a <home>/x <cwd>");
    }

    #[test]
    fn some_names_are_made_up_by_the_cli() {
        assert_eq!(
            Redactor::new().text(
                "see /h/.claude/plans/calm-river.md and /h/.claude/plans/ itself, /x/tool-results/b1.txt"
            ),
            "see /h/.claude/plans/<plan>.md and /h/.claude/plans/ itself, /x/tool-results/<result>.txt"
        );
    }
}
