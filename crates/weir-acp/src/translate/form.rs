//! Forms of MCP servers, for editors that have forms.

use agent_client_protocol::v1::schema::{
    BooleanPropertySchema, CreateElicitationResponse, ElicitationAction, ElicitationContentValue,
    ElicitationSchema, EnumOption, IntegerPropertySchema, MultiSelectPropertySchema, NumberPropertySchema,
    StringFormat, StringPropertySchema,
};
use serde_json::{Map, Value, json};
use weir_host::Decision;
use weir_wire::{FieldKind, FormField, FormOption};

/// The form for these fields.
pub(crate) fn form(fields: &[FormField]) -> ElicitationSchema {
    fields.iter().fold(ElicitationSchema::new(), with_field)
}

fn with_field(form: ElicitationSchema, field: &FormField) -> ElicitationSchema {
    let (name, required) = (field.name.clone(), field.required);
    let (title, about) = (field.label.clone(), field.description.clone());
    let default = field.default.as_ref();
    let small = |value: &Option<u64>| value.and_then(|value| u32::try_from(value).ok());
    match &field.kind {
        FieldKind::Text { format, min_length, max_length } => {
            let format = match format.as_deref() {
                Some("email") => Some(StringFormat::Email),
                Some("uri") => Some(StringFormat::Uri),
                Some("date") => Some(StringFormat::Date),
                Some("date-time") => Some(StringFormat::DateTime),
                _ => None,
            };
            let property = StringPropertySchema::new().title(title).description(about).format(format);
            let property = property.min_length(small(min_length)).max_length(small(max_length));
            let default = default.and_then(Value::as_str).map(str::to_owned);
            form.property(name, property.default_value(default), required)
        }
        FieldKind::Number { integer: true, minimum, maximum } => {
            let whole = |value: &Option<f64>| value.map(|value| value as i64);
            let property = IntegerPropertySchema::new().title(title).description(about);
            let property = property.minimum(whole(minimum)).maximum(whole(maximum));
            form.property(name, property.default_value(default.and_then(Value::as_i64)), required)
        }
        FieldKind::Number { minimum, maximum, .. } => {
            let property = NumberPropertySchema::new().title(title).description(about);
            let property = property.minimum(*minimum).maximum(*maximum);
            form.property(name, property.default_value(default.and_then(Value::as_f64)), required)
        }
        FieldKind::Boolean => {
            let property = BooleanPropertySchema::new().title(title).description(about);
            form.property(name, property.default_value(default.and_then(Value::as_bool)), required)
        }
        FieldKind::Choice { options } => {
            let property = StringPropertySchema::new().title(title).description(about);
            form.property(name, property.one_of(titled(options)), required)
        }
        FieldKind::Choices { options, min_items, max_items } => {
            let property = MultiSelectPropertySchema::titled(titled(options)).title(title).description(about);
            form.property(name, property.min_items(*min_items).max_items(*max_items), required)
        }
        _ => form.property(name, StringPropertySchema::new().title(title).description(about), required),
    }
}

fn titled(options: &[FormOption]) -> Vec<EnumOption> {
    options.iter().map(|option| EnumOption::new(option.value.clone(), option.label.clone())).collect()
}

/// What the person's answer decides.
pub(crate) fn decide(response: &CreateElicitationResponse) -> Decision {
    Decision::Value(match &response.action {
        ElicitationAction::Accept(accepted) => {
            let content = accepted.content.iter().flatten();
            let content: Map<String, Value> =
                content.map(|(name, given)| (name.clone(), value(given))).collect();
            if content.is_empty() {
                json!({"action": "accept"})
            } else {
                json!({"action": "accept", "content": content})
            }
        }
        ElicitationAction::Cancel => json!({"action": "cancel"}),
        _ => json!({"action": "decline"}),
    })
}

fn value(given: &ElicitationContentValue) -> Value {
    match given {
        ElicitationContentValue::String(text) => json!(text),
        ElicitationContentValue::Integer(number) => json!(number),
        ElicitationContentValue::Number(number) => json!(number),
        ElicitationContentValue::Boolean(is) => json!(is),
        ElicitationContentValue::StringArray(all) => json!(all),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use agent_client_protocol::v1::schema::ElicitationAcceptAction;

    use super::*;

    #[test]
    fn an_answer_is_what_the_server_gets() {
        let content: BTreeMap<String, ElicitationContentValue> =
            [("a".to_owned(), 3.into()), ("b".to_owned(), true.into())].into();
        let response = CreateElicitationResponse::new(ElicitationAcceptAction::new().content(content));
        assert_eq!(
            decide(&response),
            Decision::Value(json!({"action": "accept", "content": {"a": 3, "b": true}}))
        );
        let declined = CreateElicitationResponse::new(ElicitationAction::Decline);
        assert_eq!(decide(&declined), Decision::Value(json!({"action": "decline"})));
        let cancelled = CreateElicitationResponse::new(ElicitationAction::Cancel);
        assert_eq!(decide(&cancelled), Decision::Value(json!({"action": "cancel"})));
    }
}
