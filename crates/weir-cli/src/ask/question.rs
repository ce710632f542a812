//! Questions of the model: renders them and parses answers. No IO.

use std::fmt::Write as _;

use weir_transcript::reveal;
use weir_wire::Question;

use super::heading;
use crate::screen::Style;

/// The text to show.
pub(super) fn text(question: &Question, style: Style) -> String {
    let mut text = heading(&question.question, style);
    for (number, option) in question.options.as_deref().unwrap_or_default().iter().enumerate() {
        let about = option.description.as_deref().unwrap_or_default();
        let about = style.faint(&reveal(about).replace('\n', " "));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {} {}  {about}",
            style.accent(&(number + 1).to_string()),
            reveal(&option.label)
        );
    }
    text
}

/// The input prompt.
pub(super) fn prompt(question: &Question) -> &'static str {
    match (question.options.as_deref().unwrap_or_default(), question.multi_select) {
        ([], _) => "your answer > ",
        (_, Some(true)) => "numbers with commas, or your own words > ",
        _ => "a number, or your own words > ",
    }
}

/// The chosen labels, or free text if `takes_words` is set or there are no options. `None` if the input does not
/// answer the question.
pub(super) fn chosen(
    question: &Question,
    answer: &str,
    takes_words: bool,
) -> Result<Option<Vec<String>>, String> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Ok(None);
    }
    let options = question.options.as_deref().unwrap_or_default();
    let label = |part: &str| {
        options
            .iter()
            .find(|option| option.label.eq_ignore_ascii_case(part))
            .map(|option| option.label.clone())
    };
    if let Some(label) = label(answer) {
        return Ok(Some(vec![label]));
    }
    let parts: Vec<&str> = answer.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let numbers: Option<Vec<usize>> = parts.iter().map(|part| part.parse().ok()).collect();
    let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty() && !options.is_empty()) else {
        return Ok((takes_words || options.is_empty()).then(|| vec![answer.to_owned()]));
    };
    if numbers.len() > 1 && question.multi_select != Some(true) {
        return Err("Only one can be chosen.".into());
    }
    let mut labels = Vec::new();
    for number in numbers {
        let option = number.checked_sub(1).and_then(|place| options.get(place));
        let option = option.ok_or_else(|| format!("There is no choice {number}."))?;
        if !labels.contains(&option.label) {
            labels.push(option.label.clone());
        }
    }
    Ok(Some(labels))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(several: bool) -> Question {
        let json = format!(
            r#"{{"question":"Which?","header":"h","multiSelect":{several},"options":[{{"label":"Red","description":"warm"}},{{"label":"Blue"}}]}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn numbers_labels_and_words() {
        let one = question(false);
        let answer = |text: &str| chosen(&one, text, true);
        assert_eq!(answer("2"), Ok(Some(vec!["Blue".to_owned()])));
        assert_eq!(answer("red"), Ok(Some(vec!["Red".to_owned()])));
        assert_eq!(answer("something else"), Ok(Some(vec!["something else".to_owned()])));
        assert_eq!(answer(" "), Ok(None));
        assert_eq!(answer("3"), Err("There is no choice 3.".to_owned()));
        assert_eq!(answer("0"), Err("There is no choice 0.".to_owned()));
        assert_eq!(answer("1,2"), Err("Only one can be chosen.".to_owned()));
        let two = question(true);
        assert_eq!(chosen(&two, "2, 1,2", true), Ok(Some(vec!["Blue".to_owned(), "Red".to_owned()])));
    }

    #[test]
    fn free_text_is_not_an_answer_unless_it_is_accepted() {
        let one = question(false);
        assert_eq!(chosen(&one, "something else", false), Ok(None));
        assert_eq!(chosen(&one, "blue", false), Ok(Some(vec!["Blue".to_owned()])));
    }

    #[test]
    fn choices_are_numbered() {
        let text = text(&question(false), Style::plain());
        assert!(text.contains("Which?\n  1 Red  warm\n  2 Blue"), "{text}");
    }
}
