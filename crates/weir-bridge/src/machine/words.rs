//! Texts of the bridge itself, and short answers of people.

use weir_base::money::dollars;
use weir_base::time::duration_text;

use crate::engine::{Ending, Facts};

use super::scope::Scope;
use super::{Per, QueueMode};

pub(super) const PAIRING_HINT: &str = "You are not paired yet. Ask the owner for a pairing code (`weir bridge pair`), then send me `/pair CODE` or `!pair CODE`.";
pub(super) const PAIRED: &str = "You are paired. Send me a message, or `/help`.";
pub(super) const WRONG_CODE: &str = "That code is not valid. Codes work once and expire after a short time.";
pub(super) const NO_MORE_CODES: &str = "That code is not valid. No more codes are accepted from you; ask the owner to allow you in the configuration.";
pub(super) const TOO_FAST: &str =
    "Too many messages in one minute. This message was not read; please send it again later.";
pub(super) const TOO_MUCH: &str = "Too many messages in ten minutes, as if two programs were answering each other. I will not respond here until there are fewer.";
pub(super) const QUEUE_FULL: &str =
    "Too many messages are waiting already. This one was not accepted; send it again later, or use `/stop`.";
pub(super) const STOPPED: &str = "It was stopped before this message was handled.";
pub(super) const PLACEHOLDER: &str = "\u{2026}";
pub(super) const INTERRUPTED: &str = "_Stopped._";
pub(super) const EMPTY_ANSWER: &str = "_Done. The answer is empty._";
/// Added to an answer if the CLI's result was empty.
pub(super) const DEGRADED: &str = "_The result was empty; this is the text written before it._";
pub(super) const IN_FILE: &str = "_The full answer is in the file below._";
pub(super) const TIMED_OUT: &str = "Not answered in time, so it was denied.";
pub(super) const EDITED_TOO_LATE: &str = "I had already started on this message when you edited it. If the change matters, send it as a new message.";
pub(super) const RESTARTED: &str = "The bridge was restarted, so this is no longer open.";
pub(super) const SAME_FOLDER: &str = "Nothing has changed.";
pub(super) const NOTHING_TO_READ: &str =
    "There is nothing in this message that I can read. Send text, a picture or a file.";
pub(super) const WAITS_FOR_ANSWER: &str = "I asked a question and am waiting for the answer: choose one of the numbers, or reply to the question. This message will be handled after that.";
pub(super) const OUT_OF_FOLDER: &str = "`/cd` without a folder goes back to the default one.";
pub(super) const OLD_BUTTON: &str =
    "That button has no effect: its question is closed, or was asked elsewhere.";
pub(super) const NOT_YOURS: &str = "That question is for someone else.";
pub(super) const ONLY_ADMINS: &str = "Only an administrator may do that.";

/// The meaning of a short answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// These numbers, starting at one.
    Numbers(Vec<usize>),
    Yes,
    No,
}

/// Parses a short answer: numbers, yes or no.
pub(super) fn choice(text: &str) -> Option<Choice> {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    match text.as_str() {
        "y" | "yes" | "ok" | "allow" => return Some(Choice::Yes),
        "n" | "no" | "deny" => return Some(Choice::No),
        _ => {}
    }
    let mut numbers = Vec::new();
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        numbers.push(word.parse().ok().filter(|number| (0..=99).contains(number))?);
    }
    (!numbers.is_empty()).then_some(Choice::Numbers(numbers))
}

/// The reaction that stands for a number.
pub(super) fn reaction(number: usize) -> String {
    format!("{number}\u{fe0f}\u{20e3}")
}

/// The number that a reaction stands for.
pub(super) fn reacted(reaction: &str) -> Option<Choice> {
    match reaction.trim_end_matches('\u{fe0f}') {
        "\u{1f44d}" | "\u{2705}" => Some(Choice::Yes),
        "\u{1f44e}" | "\u{274c}" => Some(Choice::No),
        other => {
            let digits: String = other.chars().take_while(char::is_ascii_digit).collect();
            let is_number = other.ends_with('\u{20e3}');
            digits.parse().ok().filter(|_| is_number).map(|number| Choice::Numbers(vec![number]))
        }
    }
}

/// The reply to an invalid model name.
pub(super) const NO_MODEL: &str = "That is not a valid model name. Nothing has changed.";

/// The reply to a model that may not be chosen here.
pub(super) fn other_models(models: &[String]) -> String {
    let names: Vec<String> = models.iter().map(|model| format!("`{model}`")).collect();
    format!("That model cannot be chosen here. Nothing has changed. Available models: {}.", names.join(", "))
}

/// Why a file that took too long was left out.
pub(super) const TOO_SLOW: &str = "it took too long";

/// What the agent reads instead of a missing file.
pub(super) fn no_file(name: &str, reason: &str) -> String {
    format!("[{name} could not be read: {reason}]")
}

/// Added to an answer if some pictures are not shown.
pub(super) fn more_pictures(count: usize) -> String {
    match count {
        1 => "_One more picture is not shown here._".to_owned(),
        count => format!("_{count} more pictures are not shown here._"),
    }
}

/// Posted instead of a picture that cannot be shown.
pub(super) fn no_picture(name: &str, why: &str) -> String {
    format!("_The picture {} could not be shown: {why}._", code_free(name))
}

/// Cost, tokens and time in a line.
pub(super) fn footer(ending: &Ending) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(cost) = ending.cost_usd {
        parts.push(dollars(cost));
    }
    if let Some(usage) = &ending.usage {
        let cached = usage.cache_read_input_tokens;
        let input = usage.input_tokens + cached + usage.cache_creation_input_tokens;
        let cached = if cached > 0 { format!(" ({} cached)", count(cached)) } else { String::new() };
        parts.push(format!("{} in{cached}, {} out", count(input), count(usage.output_tokens)));
    }
    // With several models, show the cost of each.
    if ending.models.len() > 1 {
        let models =
            ending.models.iter().map(|model| format!("{} {}", code_free(&model.model), dollars(model.usd)));
        parts.push(models.collect::<Vec<_>>().join(", "));
    }
    if let Some(time) = ending.duration_ms {
        parts.push(duration_text(time));
    }
    (!parts.is_empty()).then(|| format!("_{}_", parts.join(" \u{b7} ")))
}

/// A name without markup characters.
fn code_free(name: &str) -> String {
    name.replace(['_', '*', '`', '[', ']'], "-")
}

fn count(tokens: u64) -> String {
    if tokens < 10_000 { tokens.to_string() } else { format!("{}k", tokens / 1_000) }
}

/// Whether a text ends with a sentence, ignoring case and the full stop.
pub(super) fn ends_with_sentence(text: &str, sentence: &str) -> bool {
    let bare = |text: &str| text.trim().trim_end_matches('.').to_lowercase();
    bare(text).ends_with(&bare(sentence))
}

/// Appends how many messages were dropped from the queue.
pub(super) fn with_forgotten(sentence: String, count: usize) -> String {
    match count {
        0 => sentence,
        1 => format!("{sentence} One waiting message was not read."),
        count => format!("{sentence} {count} waiting messages were not read."),
    }
}

/// The reply to `/status`.
pub(super) fn status(scope: &Scope, facts: Option<&Facts>) -> String {
    let shared = match scope.settings.per {
        Per::Chat => "shared by everyone in this chat",
        Per::Thread => "shared by everyone in this thread",
        Per::User => "yours alone",
    };
    let queue = match scope.settings.queue {
        QueueMode::Collect => "collect",
        QueueMode::Steer => "steer",
        QueueMode::Followup => "followup",
        QueueMode::Interrupt => "interrupt",
    };
    let mut lines = vec![format!("Scope: `{}`, {shared}", scope.key)];
    let (model, folder) = match facts {
        Some(facts) => {
            lines.push(format!("Session: `{}` ({})", facts.session, facts.status));
            (facts.model.as_deref(), facts.workspace.as_str())
        }
        None => {
            lines.push("Session: none yet; the next message starts one".to_owned());
            (scope.model(), scope.workspace())
        }
    };
    lines.push(format!("Model: {}", model.unwrap_or("the CLI's default")));
    lines.push(format!("Folder: `{folder}`"));
    for (place, task) in facts.iter().flat_map(|facts| &facts.tasks).enumerate() {
        let number = place + 1;
        lines.push(format!("Background task {number}: {task} (`/stop {number}` stops it)"));
    }
    lines.push(cost(facts));
    lines.push(format!("Messages during a turn: {queue}; {} waiting", scope.waiting.len()));
    lines.join("\n")
}

/// The reply to an answer that is not one of the choices.
pub(super) fn no_such_choice(choices: usize, several: bool) -> String {
    match (choices, several) {
        (1, _) => {
            "That is not one of the choices. Answer with 1, or reply to the question with your own words."
                .to_owned()
        }
        (_, true) => {
            format!("That is not one of the choices. Answer with numbers from 1 to {choices}, as in 1,2.")
        }
        (_, false) => format!("That is not one of the choices. Answer with one number from 1 to {choices}."),
    }
}

/// The reply to `/cost`.
pub(super) fn cost(facts: Option<&Facts>) -> String {
    let Some(facts) = facts else { return "Cost: nothing yet".to_owned() };
    let spent = facts.cost_usd.map_or_else(|| "unknown".to_owned(), dollars);
    match facts.max_cost_usd {
        Some(max) => format!("Cost: {spent} of at most {} (the CLI's estimate)", dollars(max)),
        None => format!("Cost: {spent} (the CLI's estimate)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_answers() {
        assert_eq!(choice("1, 3"), Some(Choice::Numbers(vec![1, 3])));
        assert_eq!(choice("Yes."), Some(Choice::Yes));
        assert_eq!(choice("1 apple"), None);
        assert_eq!(choice(""), None);
        assert_eq!(reacted(&reaction(2)), Some(Choice::Numbers(vec![2])));
        assert_eq!(reacted("\u{1f44d}"), Some(Choice::Yes));
        assert_eq!(reacted("\u{1f600}"), None);
    }

    #[test]
    fn the_footer_shows_cached_tokens_and_the_cost_per_model() {
        let mut ending = Ending::new("t", crate::engine::EndingOutcome::Answered(String::new()));
        assert_eq!(footer(&ending), None, "unknown values are left out, not shown as zero");
        ending.usage = Some(weir_transcript::TokenUsage {
            input_tokens: 10,
            output_tokens: 50,
            cache_read_input_tokens: 20_000,
            cache_creation_input_tokens: 5,
        });
        let model = |name: &str, usd: f64| weir_transcript::ModelCost {
            model: name.into(),
            usd,
            ..weir_transcript::ModelCost::default()
        };
        ending.models = vec![model("opus_x", 0.5)];
        assert_eq!(footer(&ending).unwrap(), "_20k in (20k cached), 50 out_");
        ending.models.push(model("haiku", 0.01));
        ending.cost_usd = Some(0.51);
        assert_eq!(
            footer(&ending).unwrap(),
            "_$0.51 \u{b7} 20k in (20k cached), 50 out \u{b7} opus-x $0.50, haiku $0.01_"
        );
    }
}
