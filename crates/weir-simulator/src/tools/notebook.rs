//! Notebooks: reading them with `Read`, and `NotebookEdit`.

use std::path::Path;

use super::Call;
use super::outcome::Outcome;
use crate::agent::Agent;
use crate::json::{Json, parse};
use crate::permissions::resolve;
use crate::sim::Sim;
use crate::{array, object};

fn source_of(cell: &Json) -> String {
    match cell.get("source") {
        Some(Json::Array(lines)) => lines.iter().filter_map(Json::as_str).collect(),
        Some(Json::String(text)) => text.clone(),
        _ => String::new(),
    }
}

fn language_of(notebook: &Json) -> String {
    notebook.at(&["metadata", "language_info", "name"]).and_then(Json::as_str).unwrap_or("python").to_owned()
}

/// Reads a notebook as its cells.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Outcome {
    let notebook = match parse(&String::from_utf8_lossy(bytes)) {
        Ok(notebook) => notebook,
        Err(error) => return Outcome::failure(format!("the notebook is {error}")),
    };
    let language = language_of(&notebook);
    let (mut cells, mut text) = (Vec::new(), String::new());
    for cell in notebook.items_of("cells") {
        let (id, source) = (cell.str_of("id").unwrap_or_default(), source_of(cell));
        let kind = cell.str_of("cell_type").unwrap_or("code");
        text.push_str(&format!("<cell id=\"{id}\">{source}</cell id=\"{id}\">"));
        let shown = object! { "cellType" => kind, "source" => source, "cell_id" => id };
        cells.push(if kind == "code" { shown.with("language", language.as_str()) } else { shown });
    }
    let file = object! { "filePath" => path.display().to_string(), "cells" => cells };
    let content = array![object! { "text" => text, "type" => "text" }];
    Outcome::blocks(content, object! { "type" => "notebook", "file" => file })
}

/// Changes, inserts or deletes a cell.
pub(super) fn edit(sim: &Sim, agent: &Agent, call: &Call) -> Outcome {
    let path = resolve(sim.cwd(), call.input.str_of("notebook_path").unwrap_or_default());
    let original = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => return Outcome::failure(format!("{error}: {}", path.display())),
    };
    let mut notebook = match parse(&original) {
        Ok(notebook) => notebook,
        Err(error) => return Outcome::failure(format!("the notebook is {error}")),
    };
    let language = language_of(&notebook);
    let new_source = call.input.str_of("new_source").unwrap_or_default();
    let mode = call.input.str_of("edit_mode").unwrap_or("replace");
    let wanted = call.input.str_of("cell_id").unwrap_or_default();
    let Some(Json::Array(cells)) = notebook.get_mut("cells") else {
        return Outcome::failure("the notebook has no cells");
    };
    let place = cells.iter().position(|cell| cell.str_of("id") == Some(wanted));
    let mut old_source = None;
    let mut kind = call.input.str_of("cell_type").unwrap_or("code").to_owned();
    let (id, text) = match (mode, place) {
        ("insert", _) => {
            let id = if sim.profile.is_old() { agent.ids.base36(11) } else { agent.ids.hex(8) };
            let cell = object! { "cell_type" => kind.as_str(), "id" => id.as_str(), "source" => new_source, "metadata" => object! {} };
            cells.insert(place.map_or(0, |place| place + 1), cell);
            (id.clone(), format!("Inserted cell {id} with {new_source}"))
        }
        (_, None) => return Outcome::bad_call(format!("Cell with ID \"{wanted}\" not found in notebook.")),
        ("delete", Some(place)) => {
            cells.remove(place);
            (wanted.to_owned(), format!("Deleted cell {wanted}"))
        }
        (_, Some(place)) => {
            if let Some(cell) = cells.get_mut(place) {
                old_source = Some(source_of(cell));
                kind = cell.str_of("cell_type").unwrap_or("code").to_owned();
                cell.set("source", new_source);
            }
            (wanted.to_owned(), format!("Updated cell {wanted} with {new_source}"))
        }
    };
    let updated = pretty(&notebook, 0);
    crate::rewind::before_change(sim, &path);
    if let Err(error) = std::fs::write(&path, &updated) {
        return Outcome::failure(format!("{error}: {}", path.display()));
    }
    let mut structured = object! { "new_source" => new_source };
    if !sim.profile.is_old() {
        structured = structured.with_some("old_source", old_source);
    }
    let structured = structured.with_all(object! {
        "cell_type" => kind,
        "language" => language,
        "edit_mode" => mode,
        "cell_id" => id,
        "error" => "",
        "notebook_path" => path.display().to_string(),
        "original_file" => original,
        "updated_file" => updated,
    });
    Outcome::text(text, structured)
}

/// JSON in the style of notebooks: indented by one space per level.
fn pretty(value: &Json, depth: usize) -> String {
    let (inner, outer) = (" ".repeat(depth + 1), " ".repeat(depth));
    let block = |open: char, parts: Vec<String>, close: char| {
        if parts.is_empty() {
            return format!("{open}{close}");
        }
        format!("{open}\n{inner}{}\n{outer}{close}", parts.join(&format!(",\n{inner}")))
    };
    match value {
        Json::Array(items) => block('[', items.iter().map(|item| pretty(item, depth + 1)).collect(), ']'),
        Json::Object(members) => {
            let parts = members
                .iter()
                .map(|(key, value)| format!("{}: {}", Json::from(key), pretty(value, depth + 1)));
            block('{', parts.collect(), '}')
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notebooks_are_indented_by_one_space_per_level() {
        let value = object! { "cells" => array![object! { "id" => "c" }], "metadata" => object! {} };
        assert_eq!(
            pretty(&value, 0),
            "{\n \"cells\": [\n  {\n   \"id\": \"c\"\n  }\n ],\n \"metadata\": {}\n}"
        );
    }
}
