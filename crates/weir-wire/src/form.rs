//! Forms of MCP servers (elicitation): reads their schemas, checks answers and parses typed input.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FormField {
    /// Key of the value in the answer.
    pub name: String,
    /// Text shown to people.
    pub label: String,
    /// What the field is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the answer must contain it.
    pub required: bool,
    /// The default value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The kind of value it holds.
    pub kind: FieldKind,
}

/// The kind of value a field holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum FieldKind {
    /// A string.
    Text {
        /// `email`, `uri`, `date` or `date-time`.
        format: Option<String>,
        /// Minimum number of characters.
        min_length: Option<u64>,
        /// Maximum number of characters.
        max_length: Option<u64>,
    },
    /// A number.
    Number {
        /// Whether it must be a whole number.
        integer: bool,
        /// Smallest allowed value.
        minimum: Option<f64>,
        /// Largest allowed value.
        maximum: Option<f64>,
    },
    /// Yes or no.
    Boolean,
    /// One of several options.
    Choice {
        /// The options.
        options: Vec<FormOption>,
    },
    /// Any number of options.
    Choices {
        /// The options.
        options: Vec<FormOption>,
        /// Minimum number of choices.
        min_items: Option<u64>,
        /// Maximum number of choices.
        max_items: Option<u64>,
    },
}

/// An option of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FormOption {
    /// Value to use in the answer.
    pub value: String,
    /// Text shown to people.
    pub label: String,
}

/// The fields of a form, in the order in which the server listed them; `None` for a schema that is not a form.
pub fn form_fields(schema: &Value, order: &[String]) -> Option<Vec<FormField>> {
    let properties = schema.get("properties")?.as_object()?;
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let listed = order.iter().filter(|name| properties.contains_key(*name));
    let rest = properties.keys().filter(|name| !order.contains(name));
    let mut fields = Vec::new();
    for name in listed.chain(rest) {
        let about = properties.get(name)?;
        let text = |key: &str| about.get(key).and_then(Value::as_str).map(str::to_owned);
        fields.push(FormField {
            name: name.clone(),
            label: text("title").unwrap_or_else(|| name.clone()),
            description: text("description"),
            required: required.contains(&name.as_str()),
            default: about.get("default").cloned(),
            kind: kind(about)?,
        });
    }
    Some(fields)
}

fn kind(about: &Value) -> Option<FieldKind> {
    let count = |key: &str| about.get(key).and_then(Value::as_u64);
    if let Some(options) = options(about) {
        return Some(FieldKind::Choice { options });
    }
    Some(match about.get("type").and_then(Value::as_str)? {
        "string" => FieldKind::Text {
            format: about.get("format").and_then(Value::as_str).map(str::to_owned),
            min_length: count("minLength"),
            max_length: count("maxLength"),
        },
        number @ ("number" | "integer") => FieldKind::Number {
            integer: number == "integer",
            minimum: about.get("minimum").and_then(Value::as_f64),
            maximum: about.get("maximum").and_then(Value::as_f64),
        },
        "boolean" => FieldKind::Boolean,
        "array" => FieldKind::Choices {
            options: options(about.get("items")?)?,
            min_items: count("minItems"),
            max_items: count("maxItems"),
        },
        _ => return None,
    })
}

/// The choices of a schema: `enum` with `enumNames`, or `oneOf` and `anyOf` with titles.
fn options(about: &Value) -> Option<Vec<FormOption>> {
    let list = |key: &str| about.get(key).and_then(Value::as_array);
    if let Some(values) = list("enum") {
        let names = list("enumNames").cloned().unwrap_or_default();
        let option = |(at, value): (usize, &Value)| {
            let value = value.as_str()?.to_owned();
            let label = names.get(at).and_then(Value::as_str).map_or_else(|| value.clone(), str::to_owned);
            Some(FormOption { value, label })
        };
        return values.iter().enumerate().map(option).collect();
    }
    let option = |option: &Value| {
        let value = option.get("const")?.as_str()?.to_owned();
        let label = option.get("title").and_then(Value::as_str).map_or_else(|| value.clone(), str::to_owned);
        Some(FormOption { value, label })
    };
    list("oneOf").or_else(|| list("anyOf"))?.iter().map(option).collect()
}

/// Checks an answer against the fields of a form.
///
/// # Errors
/// Returns what does not match, and in which field.
pub fn check_form(fields: &[FormField], content: &Map<String, Value>) -> Result<(), String> {
    if let Some(name) = content.keys().find(|name| !fields.iter().any(|field| field.name == **name)) {
        return Err(format!("the form has no field {name:?}"));
    }
    for field in fields {
        match content.get(&field.name) {
            Some(value) => field.check(value).map_err(|reason| format!("{}: {reason}", field.label))?,
            None if field.required => return Err(format!("{}: an answer is needed", field.label)),
            None => {}
        }
    }
    Ok(())
}

/// Checks a string against a field's format. Unknown formats accept everything.
fn check_format(format: &str, text: &str) -> Result<(), String> {
    let (fits, wanted) = match format {
        "email" => (is_email(text), "an e-mail address is needed, such as anna@example.org"),
        "uri" => (is_uri(text), "an address is needed, such as https://example.org"),
        "date" => (is_date(text), "a date is needed, such as 2026-01-31"),
        "date-time" => (is_date_time(text), "a date and time are needed, such as 2026-01-31T12:00:00Z"),
        _ => return Ok(()),
    };
    fits.then_some(()).ok_or_else(|| wanted.to_owned())
}

fn is_email(text: &str) -> bool {
    let is_word = |part: &str| {
        !part.is_empty() && !part.contains(|letter: char| letter.is_whitespace() || letter == '@')
    };
    text.rsplit_once('@').is_some_and(|(name, host)| is_word(name) && is_word(host))
}

fn is_uri(text: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    };
    let has_rest =
        |rest: &str| !rest.trim_start_matches('/').is_empty() && !rest.contains(char::is_whitespace);
    text.split_once(':').is_some_and(|(scheme, rest)| is_scheme(scheme) && has_rest(rest))
}

/// `2026-01-31`, with a day that exists in the month.
fn is_date(text: &str) -> bool {
    let Some((year, month, day)) = numbers(text, '-', [4, 2, 2]) else { return false };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `2026-01-31T12:00:00Z`, optionally with fractions of a second and an offset.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else { return false };
    let zone = time.find(['Z', 'z', '+', '-']);
    let Some((clock, zone)) = zone.and_then(|place| time.split_at_checked(place)) else { return false };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let is_clock = numbers(clock, ':', [2, 2, 2])
        .is_some_and(|(hour, minute, second)| hour < 24 && minute < 60 && second <= 60);
    let is_zone = matches!(zone, "Z" | "z")
        || zone
            .get(1..)
            .and_then(|offset| numbers(&format!("{offset}:00"), ':', [2, 2, 2]))
            .is_some_and(|(hour, minute, _)| hour < 24 && minute < 60);
    is_date(date) && is_clock && is_fraction && is_zone
}

/// Three numbers with the given counts of digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<(u32, u32, u32)> {
    let mut parts = text.split(between).zip(digits).map(|(part, digits)| {
        let matches = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| matches)
    });
    let found = (parts.next()??, parts.next()??, parts.next()??);
    (text.split(between).count() == 3).then_some(found)
}

impl FormField {
    fn check(&self, value: &Value) -> Result<(), String> {
        let is_option = |options: &[FormOption], value: &Value| {
            value.as_str().is_some_and(|value| options.iter().any(|option| option.value == value))
        };
        match &self.kind {
            FieldKind::Text { min_length, max_length, format } => {
                let text = value.as_str().ok_or("a string is needed")?;
                let length = text.chars().count() as u64;
                if self.required && length == 0 || min_length.is_some_and(|least| length < least) {
                    return Err(format!("at least {} characters are needed", min_length.unwrap_or(1)));
                }
                match (max_length, format.as_deref()) {
                    (Some(most), _) if length > *most => Err(format!("at most {most} characters allowed")),
                    (_, Some(format)) if length > 0 => check_format(format, text),
                    _ => Ok(()),
                }
            }
            FieldKind::Number { integer, minimum, maximum } => {
                let number = value.as_f64().ok_or("a number is needed")?;
                if *integer && number.fract() != 0.0 {
                    return Err("a whole number is needed".to_owned());
                }
                match (minimum, maximum) {
                    (Some(least), _) if number < *least => Err(format!("at least {least}")),
                    (_, Some(most)) if number > *most => Err(format!("at most {most}")),
                    _ => Ok(()),
                }
            }
            FieldKind::Boolean => {
                value.is_boolean().then_some(()).ok_or_else(|| "yes or no is needed".to_owned())
            }
            FieldKind::Choice { options } => {
                is_option(options, value).then_some(()).ok_or_else(|| "choose one of the options".to_owned())
            }
            FieldKind::Choices { options, min_items, max_items } => {
                let chosen = value.as_array().ok_or("a list is needed")?;
                if !chosen.iter().all(|value| is_option(options, value)) {
                    return Err("choose from the options".to_owned());
                }
                if chosen
                    .iter()
                    .enumerate()
                    .any(|(place, value)| chosen.iter().take(place).any(|other| other == value))
                {
                    return Err("choose each option only once".to_owned());
                }
                let count = chosen.len() as u64;
                match (min_items, max_items) {
                    (Some(least), _) if count < *least => Err(format!("choose at least {least}")),
                    (_, Some(most)) if count > *most => Err(format!("choose at most {most}")),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Converts typed input to a value of the field; `None` if it was left out.
    ///
    /// # Errors
    /// Returns why the input does not match the field.
    pub fn read(&self, typed: &[String]) -> Result<Option<Value>, String> {
        let words = typed.join(", ");
        let words = words.trim();
        if words.is_empty() || (words == "-" && !self.required) {
            return if self.required { Err("an answer is needed".to_owned()) } else { Ok(None) };
        }
        let option = |options: &[FormOption], word: &str| {
            let matches = |option: &&FormOption| {
                option.label.eq_ignore_ascii_case(word) || option.value.eq_ignore_ascii_case(word)
            };
            let found = options.iter().find(matches);
            found
                .map(|option| Value::String(option.value.clone()))
                .ok_or_else(|| format!("{word:?} is not an option"))
        };
        let value = match &self.kind {
            FieldKind::Text { .. } => Value::String(words.to_owned()),
            FieldKind::Number { integer: true, .. } => {
                words.parse::<i64>().map(Value::from).map_err(|_| "a whole number is needed".to_owned())?
            }
            FieldKind::Number { .. } => {
                let number = words.parse::<f64>().ok().and_then(Number::from_f64);
                Value::Number(number.ok_or_else(|| "a number is needed".to_owned())?)
            }
            FieldKind::Boolean => match words.to_lowercase().as_str() {
                "yes" | "y" | "true" => Value::Bool(true),
                "no" | "n" | "false" => Value::Bool(false),
                _ => return Err("yes or no is needed".to_owned()),
            },
            FieldKind::Choice { options } => option(options, words)?,
            FieldKind::Choices { options, .. } => {
                let parts = words.split(',').map(str::trim).filter(|part| !part.is_empty());
                Value::Array(parts.map(|part| option(options, part)).collect::<Result<_, _>>()?)
            }
        };
        self.check(&value)?;
        Ok(Some(value))
    }

    /// The labels of the options.
    pub fn choices(&self) -> Vec<String> {
        match &self.kind {
            FieldKind::Choice { options } | FieldKind::Choices { options, .. } => {
                options.iter().map(|option| option.label.clone()).collect()
            }
            FieldKind::Boolean => vec!["Yes".to_owned(), "No".to_owned()],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_are_checked() {
        for (format, good, bad) in [
            ("email", &["a@b", "anna.b+c@example.org"][..], &["nonsense", "@b", "a@", "a b@c", "a@b@"][..]),
            (
                "uri",
                &["https://example.org/x?y#z", "mailto:a@b"],
                &["no url", "https://", "://x", "1a:b", "x"],
            ),
            (
                "date",
                &["2026-01-31", "2024-02-29"],
                &["2026-02-29", "2026-13-01", "2026-1-1", "yesterday", "2026-01-31-1"],
            ),
            (
                "date-time",
                &["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.25+01:30"],
                &[
                    "2026-01-31",
                    "2026-01-31T25:00:00Z",
                    "2026-01-31T12:00:00",
                    "2026-01-31T12:00Z",
                    "2026-01-31T12:00:00.Z",
                ],
            ),
            ("hostname", &["anything"], &[]),
        ] {
            for text in good {
                assert_eq!(check_format(format, text), Ok(()), "{format} {text}");
            }
            for text in bad {
                assert!(check_format(format, text).is_err(), "{format} {text}");
            }
        }
    }

    fn fields() -> Vec<FormField> {
        let schema = json!({"type": "object", "required": ["name", "size"], "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 5},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
            "sure": {"type": "boolean", "default": true},
            "tags": {"type": "array", "maxItems": 1, "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}},
        }});
        form_fields(&schema, &["size".to_owned(), "gone".to_owned()]).unwrap()
    }

    #[test]
    fn the_fields_of_a_form_are_in_the_order_of_the_server() {
        let fields = fields();
        assert_eq!(fields[0].name, "size");
        assert_eq!(fields.len(), 5);
        let name = fields.iter().find(|field| field.name == "name").unwrap();
        assert_eq!((name.label.as_str(), name.required), ("Your name", true));
        assert_eq!(fields[0].choices(), ["Small", "Large"]);
        for schema in [
            json!(null),
            json!({"type": "object"}),
            json!({"properties": {"a": {"type": "object", "properties": {}}}}),
            json!({"properties": {"a": {"type": "array", "items": {"type": "object"}}}}),
            json!({"properties": {"a": {"enum": [1]}}}),
        ] {
            assert_eq!(form_fields(&schema, &[]), None, "{schema}");
        }
    }

    #[test]
    fn only_matching_answers_are_accepted() {
        let fields = fields();
        let check = |content: Value| check_form(&fields, content.as_object().unwrap());
        assert_eq!(
            check(json!({"name": "Ann", "size": "s", "age": 7, "sure": false, "tags": ["b"]})),
            Ok(())
        );
        for content in [
            json!({"name": "Ann"}),
            json!({"name": "A", "size": "s"}),
            json!({"name": "Annabel", "size": "s"}),
            json!({"name": 7, "size": "s"}),
            json!({"name": "Ann", "size": "Small"}),
            json!({"name": "Ann", "size": "s", "age": 1.5}),
            json!({"name": "Ann", "size": "s", "age": 151}),
            json!({"name": "Ann", "size": "s", "sure": "yes"}),
            json!({"name": "Ann", "size": "s", "tags": ["a", "b"]}),
            json!({"name": "Ann", "size": "s", "tags": ["c"]}),
            json!({"name": "Ann", "size": "s", "more": 1}),
        ] {
            assert!(check(content.clone()).is_err(), "{content}");
        }
    }

    #[test]
    fn typed_input_is_converted_by_the_field() {
        let fields = fields();
        let read = |name: &str, typed: &str| {
            let field = fields.iter().find(|field| field.name == name).unwrap();
            field.read(&[typed.to_owned()])
        };
        assert_eq!(read("name", "Ann"), Ok(Some(json!("Ann"))));
        assert_eq!(read("age", "7"), Ok(Some(json!(7))));
        assert_eq!(read("size", "large"), Ok(Some(json!("l"))));
        assert_eq!(read("sure", "No"), Ok(Some(json!(false))));
        assert_eq!(read("tags", "A"), Ok(Some(json!(["a"]))));
        assert_eq!(read("age", "-"), Ok(None));
        for (name, typed) in [("name", ""), ("name", "-"), ("age", "old"), ("size", "m"), ("tags", "A, b")] {
            assert!(read(name, typed).is_err(), "{name} {typed}");
        }
    }
}
