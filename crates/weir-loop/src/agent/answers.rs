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
    /// A number beyond the choices.
    #[error("there is no choice {given}; there are {choices}, and words of your own are an answer, too")]
    NoChoice {
        /// The number.
        given: usize,
        /// How many choices there are.
        choices: usize,
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
        let parts: Result<Vec<String>, _> =
            words.split(',').map(|part| choice(question, part.trim())).collect();
        return Ok(parts?.join(", "));
    }
    choice(question, words)
}

fn choice(question: &AskedQuestion, words: &str) -> Result<String, AnswerError> {
    let options = &question.options;
    // A label that is a number is meant before the place of another one.
    if let Some(label) = options.iter().find(|label| label.eq_ignore_ascii_case(words)) {
        return Ok(label.clone());
    }
    let are_numbers = options.iter().any(|label| label.parse::<f64>().is_ok());
    if let Some(number) = words.parse::<usize>().ok().filter(|_| !options.is_empty() && !are_numbers) {
        let label = number.checked_sub(1).and_then(|place| options.get(place));
        return label.cloned().ok_or(AnswerError::NoChoice { given: number, choices: options.len() });
    }
    let lower = words.to_lowercase();
    let mut beginning = options.iter().filter(|label| label.to_lowercase().starts_with(&lower));
    let by_beginning = beginning.next().filter(|_| beginning.next().is_none());
    Ok(by_beginning.cloned().unwrap_or_else(|| words.to_owned()))
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
        assert_eq!(of(&["9"], false), Err(AnswerError::NoChoice { given: 9, choices: 3 }));
        let numbers = [question(&["3", "5"], false)];
        let of_numbers = |word: &str| match_answers(&numbers, &[word.to_owned()]).unwrap()[0].1.clone();
        assert_eq!((of_numbers("3"), of_numbers("9")), ("3".into(), "9".into()), "its own words");
        assert_eq!(of(&[" "], false), Err(AnswerError::Empty));
        assert!(matches!(of(&[], false), Err(AnswerError::Count { .. })));
    }
}
