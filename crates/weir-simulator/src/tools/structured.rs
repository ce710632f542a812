//! `StructuredOutput`: how the model returns data in the schema that the host requested.
//!
//! The schema is checked as far as the tests need it: its required members and the types at its top level.

use super::{Call, Outcome};
use crate::json::Json;
use crate::sim::Sim;

/// The name of the tool.
pub(crate) const NAME: &str = "StructuredOutput";

/// Accepts the output, if it fits the schema.
pub(super) fn run(sim: &Sim, call: &Call) -> Outcome {
    let mut state = sim.state();
    let schema = state.schema.clone().unwrap_or(Json::Null);
    if let Some(problem) = problem(&schema, &call.input) {
        return Outcome::bad_call(format!("Output does not match required schema: root: {problem}"));
    }
    state.structured = Some(call.input.clone());
    let text = "Structured output provided successfully";
    Outcome::text(text, Json::from(text))
}

fn problem(schema: &Json, value: &Json) -> Option<String> {
    let mut required = schema.items_of("required").iter().filter_map(Json::as_str);
    if let Some(missing) = required.find(|name| value.get(name).is_none()) {
        return Some(format!("must have required property '{missing}'"));
    }
    let Some(Json::Object(properties)) = schema.get("properties") else { return None };
    properties.iter().find_map(|(name, property)| {
        let (wanted, given) = (property.str_of("type")?, value.get(name)?);
        let fits = match wanted {
            "string" => given.as_str().is_some(),
            "object" => given.is_object(),
            "array" => matches!(given, Json::Array(_)),
            "boolean" => matches!(given, Json::Bool(_)),
            _ => true,
        };
        (!fits).then(|| format!("{name} must be {wanted}"))
    })
}
