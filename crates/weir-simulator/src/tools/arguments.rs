//! Checks the arguments of a call.

use super::outcome::Outcome;
use crate::json::Json;

/// The required and optional arguments of a tool.
fn parameters(tool: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    Some(match tool {
        "Bash" => {
            (&["command"], &["description", "timeout", "run_in_background", "dangerouslyDisableSandbox"])
        }
        "Read" => (&["file_path"], &["offset", "limit", "pages"]),
        "Write" => (&["file_path", "content"], &[]),
        "Edit" => (&["file_path", "old_string", "new_string"], &["replace_all"]),
        "Glob" => (&["pattern"], &["path"]),
        _ => return None,
    })
}

/// What is wrong with the arguments, as text for the model and in the structured form.
pub(super) fn check(tool: &str, input: &Json) -> Option<Outcome> {
    let (required, optional) = parameters(tool)?;
    let missing = required.iter().filter(|name| input.str_of(name).is_none());
    let known = |name: &String| required.contains(&name.as_str()) || optional.contains(&name.as_str());
    let unexpected = input.members().iter().map(|(name, _)| name).filter(|name| !known(name));
    let structured: Vec<String> = missing.clone().map(|name| problem(name)).collect();
    let missing = missing.map(|name| format!("The required parameter `{name}` is missing"));
    let issues: Vec<String> = missing
        .chain(unexpected.map(|name| format!("An unexpected parameter `{name}` was provided")))
        .collect();
    if issues.is_empty() {
        return None;
    }
    let plural = if issues.len() > 1 { "issues" } else { "issue" };
    Some(Outcome::BadCall {
        text: format!(
            "InputValidationError: {tool} failed due to the following {plural}:\n{}",
            issues.join("\n")
        ),
        structured: format!("InputValidationError: [\n{}\n]", structured.join(",\n")),
    })
}

fn problem(name: &str) -> String {
    format!(
        "  {{\n    \"expected\": \"string\",\n    \"code\": \"invalid_type\",\n    \"path\": [\n      \"{name}\"\n    ],\n    \"message\": \"Invalid input: expected string, received undefined\"\n  }}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;

    #[test]
    fn missing_and_unexpected_arguments_are_named() {
        let Some(Outcome::BadCall { text, .. }) = check("Read", &object! { "nonsense" => 1 }) else {
            panic!("accepted")
        };
        assert_eq!(
            text,
            "InputValidationError: Read failed due to the following issues:\nThe required parameter `file_path` is missing\nAn unexpected parameter `nonsense` was provided"
        );
        assert_eq!(check("Read", &object! { "file_path" => "x", "limit" => 1 }), None);
        assert_eq!(check("NoSuch", &object! {}), None);
    }
}
