//! Turns what a person typed into answers. Pure.

use crate::state::AskedQuestion;

/// Why an answer is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The number of answers differs from the number of questions.
    #[error("got {given} answers for {wanted} questions; give one answer per question, in order")]
    Count {
        /// Number of questions.
        wanted: usize,
        /// Number of answers given.
        given: usize,
    },
    /// A number outside the list of choices.
    #[error("choice {given} does not exist: there are {choices}; you can also answer in your own words")]
    NoChoice {
        /// The number given.
        given: usize,
        /// Number of choices.
        choices: usize,
    },
    /// An answer is empty.
    #[error("an answer must not be empty")]
    Empty,
}

/// Resolves each answer to a choice, by its number or the start of its label. Other text is used as it is.
pub fn match_answers(
    questions: &[AskedQuestion],
    given: &[String],
) -> Result<Vec<(String, String)>, AnswerError> {
    // With a single question, all the words are its answer.
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
        let parts: Result<Vec<String>, _> =
            words.split(',').map(|part| choice(question, part.trim())).collect();
        return Ok(parts?.join(", "));
    }
    choice(question, words)
}

fn choice(question: &AskedQuestion, words: &str) -> Result<String, AnswerError> {
    let options = &question.options;
    // A label that is itself a number takes precedence over a position in the list.
    if let Some(label) = options.iter().find(|label| label.eq_ignore_ascii_case(words)) {
        return Ok(label.clone());
    }
    let are_numbers = options.iter().any(|label| label.parse::<f64>().is_ok());
    if let Some(number) = words.parse::<usize>().ok().filter(|_| !options.is_empty() && !are_numbers) {
        let label = number.checked_sub(1).and_then(|index| options.get(index));
        return label.cloned().ok_or(AnswerError::NoChoice { given: number, choices: options.len() });
    }
    let lower = words.to_lowercase();
    let mut matches = options.iter().filter(|label| label.to_lowercase().starts_with(&lower));
    let only_match = matches.next().filter(|_| matches.next().is_none());
    Ok(only_match.cloned().unwrap_or_else(|| words.to_owned()))
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
    fn numbers_labels_prefixes_and_free_text() {
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
        assert_eq!(of(&["9"], false), Err(AnswerError::NoChoice { given: 9, choices: 3 }));
        let numbers = [question(&["3", "5"], false)];
        let of_numbers = |word: &str| match_answers(&numbers, &[word.to_owned()]).unwrap()[0].1.clone();
        assert_eq!((of_numbers("3"), of_numbers("9")), ("3".into(), "9".into()), "free text");
        assert_eq!(of(&[" "], false), Err(AnswerError::Empty));
        assert!(matches!(of(&[], false), Err(AnswerError::Count { .. })));
    }
}
