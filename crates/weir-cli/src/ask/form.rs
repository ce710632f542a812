//! Fields of an MCP server's form: renders them and parses answers. No IO.

use std::fmt::Write as _;

use serde_json::Value;
use weir_transcript::reveal;
use weir_wire::{FieldKind, FormField};

use crate::screen::Style;

/// The text to show.
pub(super) fn text(field: &FormField, style: Style) -> String {
    let mut text = format!("  {}", style.bold(&reveal(&field.label)));
    if let Some(about) = &field.description {
        // Writing to a string cannot fail.
        let _ = write!(text, "  {}", style.faint(&reveal(about).replace('\n', " ")));
    }
    text.push('\n');
    for (number, choice) in field.choices().iter().enumerate() {
        let _ = writeln!(text, "  {} {}", style.accent(&(number + 1).to_string()), reveal(choice));
    }
    text
}

/// The input prompt.
pub(super) fn prompt(field: &FormField) -> &'static str {
    match (&field.kind, field.required) {
        (FieldKind::Choices { .. }, true) => "numbers with commas > ",
        (FieldKind::Choices { .. }, false) => "numbers with commas, or - to leave it out > ",
        (FieldKind::Choice { .. } | FieldKind::Boolean, true) => "a number > ",
        (FieldKind::Choice { .. } | FieldKind::Boolean, false) => "a number, or - to leave it out > ",
        (_, true) => "your answer > ",
        (_, false) => "your answer, or - to leave it out > ",
    }
}

/// Parses an answer to the field's value; numbers stand for choices.
pub(super) fn read(field: &FormField, answer: &str) -> Result<Option<Value>, String> {
    let choices = field.choices();
    if choices.is_empty() {
        return field.read(&[answer.to_owned()]);
    }
    let chosen = answer.split(',').map(str::trim).map(|part| {
        let place = part.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        place.and_then(|place| choices.get(place).cloned()).unwrap_or_else(|| part.to_owned())
    });
    field.read(&chosen.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_is_filled_in_field_by_field() {
        let schema = json!({"required": ["size"], "properties": {
            "size": {"enum": ["s", "l"], "enumNames": ["Small", "Large"], "description": "How big"},
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        }});
        let order = ["size", "name", "tags"].map(str::to_owned);
        let fields = weir_wire::form_fields(&schema, &order).unwrap();
        let [size, name, tags] = fields.as_slice() else { panic!() };
        assert_eq!(text(size, Style::plain()), "  size  How big\n  1 Small\n  2 Large\n");
        assert_eq!(prompt(size), "a number > ");
        assert_eq!(read(size, "2"), Ok(Some(json!("l"))));
        assert_eq!(read(size, "small"), Ok(Some(json!("s"))));
        assert!(read(size, "3").is_err() && read(size, "").is_err());
        assert_eq!((read(name, "Ann"), read(name, "-")), (Ok(Some(json!("Ann"))), Ok(None)));
        assert_eq!(read(tags, "2, 1"), Ok(Some(json!(["b", "a"]))));
    }
}
