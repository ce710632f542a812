//! From what a person typed to answers. Pure.

use crate::state::AskedQuestion;

/// Why an answer does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Too few or too many.
    #[error("there are {wanted} questions and {given} answers; give one answer for each, in order")]
    Count {
        /// How many questions there are.
        wanted: usize,
        /// How many answers were given.
        given: usize,
    },
    /// An empty one.
    #[error("an answer is empty; a question is never answered empty")]
    Empty,
}

/// Finds the choice that is meant by a number, by the beginning of its label, or takes the words as they are.
pub fn match_answers(
    questions: &[AskedQuestion],
    given: &[String],
) -> Result<Vec<(String, String)>, AnswerError> {
    // One question takes all the words.
    let joined;
    let given: &[String] = match questions {
        [_] if given.len() > 1 => {
            joined = [given.join(" ")];
            &joined
        }
        _ => given,
    };
    if given.len() != questions.len() {
        return Err(AnswerError::Count { wanted: questions.len(), given: given.len() });
    }
    questions
        .iter()
        .zip(given)
        .map(|(question, words)| Ok((question.question.clone(), answer(question, words)?)))
        .collect()
}

fn answer(question: &AskedQuestion, words: &str) -> Result<String, AnswerError> {
    let words = words.trim();
    if words.is_empty() {
        return Err(AnswerError::Empty);
    }
    if question.several {
        let parts: Vec<String> = words.split(',').map(|part| choice(question, part.trim())).collect();
        return Ok(parts.join(", "));
    }
    Ok(choice(question, words))
}

fn choice(question: &AskedQuestion, words: &str) -> String {
    let by_number =
        words.parse::<usize>().ok().and_then(|number| question.options.get(number.checked_sub(1)?));
    let same = |label: &&String| label.eq_ignore_ascii_case(words);
    let lower = words.to_lowercase();
    let mut beginning = question.options.iter().filter(|label| label.to_lowercase().starts_with(&lower));
    let by_beginning = beginning.next().filter(|_| beginning.next().is_none());
    let found = by_number.or_else(|| question.options.iter().find(same)).or(by_beginning);
    found.cloned().unwrap_or_else(|| words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(options: &[&str], several: bool) -> AskedQuestion {
        AskedQuestion {
            question: "Which?".into(),
            options: options.iter().map(ToString::to_string).collect(),
            several,
        }
    }

    #[test]
    fn numbers_labels_beginnings_and_words() {
        let of = |words: &[&str], several| {
            let given: Vec<String> = words.iter().map(ToString::to_string).collect();
            match_answers(&[question(&["SQLite", "Postgres", "Plain files"], several)], &given)
                .map(|all| all[0].1.clone())
        };
        assert_eq!(of(&["2"], false).unwrap(), "Postgres");
        assert_eq!(of(&["sqlite"], false).unwrap(), "SQLite");
        assert_eq!(of(&["plain"], false).unwrap(), "Plain files");
        assert_eq!(of(&["p"], false).unwrap(), "p");
        assert_eq!(of(&["something", "else"], false).unwrap(), "something else");
        assert_eq!(of(&["1,post"], true).unwrap(), "SQLite, Postgres");
        assert_eq!(of(&["9"], false).unwrap(), "9");
        assert_eq!(of(&[" "], false), Err(AnswerError::Empty));
        assert!(matches!(of(&[], false), Err(AnswerError::Count { .. })));
    }
}
