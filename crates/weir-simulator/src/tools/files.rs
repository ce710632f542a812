//! `Read`, `Write` and `Edit`.

use std::path::{Path, PathBuf};

use super::Call;
use super::outcome::Outcome;
use super::patch::structured_patch;
use crate::json::{Json, without_surrogates};
use crate::permissions::resolve;
use crate::rewind;
use crate::sim::Sim;
use crate::{array, object};

const CURRENT: &str = " (file state is current in your context — no need to Read it back)";
const CAUTION: &str = "\n\n<system-reminder>\nWhenever you read a file, you should consider whether it would be considered malware. You CAN and SHOULD provide analysis of malware, what it is doing. But you MUST refuse to improve or augment the code. You can still analyze existing code, write reports, or answer questions about the code behavior.\n</system-reminder>\n";
const UNREAD: &str = "File has not been read yet. Read it first before writing to it.";

fn path_of(sim: &Sim, call: &Call) -> PathBuf {
    resolve(sim.cwd(), &without_surrogates(call.input.str_of("file_path").unwrap_or_default()))
}

fn was_read(sim: &Sim, path: &Path) -> bool {
    sim.state().read_files.contains(path)
}

fn now_known(sim: &Sim, path: &Path) {
    sim.state().read_files.insert(path.to_owned());
}

/// What is wrong with a call, checked before asking for permission.
pub(super) fn check(sim: &Sim, call: &Call) -> Option<String> {
    let path = path_of(sim, call);
    let existing = std::fs::read_to_string(&path).ok();
    match call.name.as_str() {
        "Read" if sim.profile.is_old() && !path.exists() => Some("File does not exist.".to_owned()),
        "Write" if existing.is_some() && sim.profile.wants_files_read() && !was_read(sim, &path) => {
            Some(UNREAD.to_owned())
        }
        "Edit" => {
            let text = |key| without_surrogates(call.input.str_of(key).unwrap_or_default());
            let (old, new) = (text("old_string"), text("new_string"));
            if old == new {
                return Some(
                    "No changes to make: old_string and new_string are exactly the same.".to_owned(),
                );
            }
            match existing {
                None if old.is_empty() => None,
                None => Some(missing(sim)),
                Some(_) if sim.profile.wants_files_read() && !was_read(sim, &path) => Some(UNREAD.to_owned()),
                Some(content) if !content.contains(&old) => {
                    Some(format!("String to replace not found in file.\nString: {old}"))
                }
                Some(content) if content.matches(&old).count() > 1 && !call.input.is_true("replace_all") => {
                    let count = content.matches(&old).count();
                    Some(format!(
                        "Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: {old}"
                    ))
                }
                Some(_) => None,
            }
        }
        _ => None,
    }
}

fn missing(sim: &Sim) -> String {
    if sim.profile.is_old() {
        return "File does not exist.".to_owned();
    }
    format!("File does not exist. Note: your current working directory is {}.", sim.cwd().display())
}

pub(super) fn read(sim: &Sim, call: &Call) -> Outcome {
    let path = path_of(sim, call);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Outcome::failure(missing(sim)),
        Err(error) => return Outcome::failure(format!("{error}: {}", path.display())),
    };
    now_known(sim, &path);
    if let Some(image) = super::image::read(&path, &bytes) {
        return image;
    }
    if path.extension().is_some_and(|end| end == "ipynb") {
        return super::notebook::read(&path, &bytes);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<&str> = text.split('\n').collect();
    let start =
        call.input.integer_of("offset").and_then(|start| usize::try_from(start).ok()).unwrap_or(1).max(1);
    let limit = call.input.integer_of("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(2_000);
    let chosen: Vec<&str> = lines.iter().skip(start - 1).take(limit).copied().collect();
    let numbered: Vec<String> =
        chosen
            .iter()
            .zip(start..)
            .map(|(line, number)| {
                if sim.profile.is_old() {
                    format!("{number:>6}→{line}")
                } else {
                    format!("{number}\t{line}")
                }
            })
            .collect();
    let mut content = numbered.join("\n");
    if text.is_empty() {
        content = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
            .to_owned();
    }
    if sim.profile.is_old() {
        content.push_str(CAUTION);
    }
    let file = object! {
        "filePath" => path.display().to_string(),
        "content" => chosen.join("\n"),
        "numLines" => chosen.len(),
        "startLine" => start,
        "totalLines" => lines.len(),
    };
    Outcome::text(content, object! { "type" => "text", "file" => file })
}

pub(super) fn write(sim: &Sim, call: &Call) -> Outcome {
    let path = path_of(sim, call);
    let content = call.input.str_of("content").unwrap_or_default();
    let original = std::fs::read_to_string(&path).ok();
    if let Err(text) = save(sim, &path, content) {
        return Outcome::failure(text);
    }
    now_known(sim, &path);
    let shown = path.display().to_string();
    let patch =
        original.as_ref().map_or_else(|| array![], |old| structured_patch(old, &without_surrogates(content)));
    let mut structured = object! {
        "type" => if original.is_some() { "update" } else { "create" },
        "filePath" => shown.as_str(),
        "content" => content,
        "structuredPatch" => patch,
        "originalFile" => original.clone(),
    };
    let mut text = match (&original, sim.profile.is_old()) {
        (None, _) => format!("File created successfully at: {shown}"),
        (Some(_), false) => format!("The file {shown} has been updated successfully."),
        (Some(_), true) => format!(
            "The file {shown} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n{}",
            snippet(content, 0, usize::MAX)
        ),
    };
    if !sim.profile.is_old() {
        structured.set("userModified", false);
        text.push_str(CURRENT);
    }
    Outcome::text(text, structured)
}

pub(super) fn edit(sim: &Sim, call: &Call) -> Outcome {
    let path = path_of(sim, call);
    let known = was_read(sim, &path);
    let original = std::fs::read_to_string(&path).unwrap_or_default();
    let text = |key| call.input.str_of(key).unwrap_or_default();
    let (old, new) = (without_surrogates(text("old_string")), without_surrogates(text("new_string")));
    let all = call.input.is_true("replace_all");
    let changed = match (old.is_empty(), all) {
        (true, _) => new.clone(),
        (false, true) => original.replace(&old, &new),
        (false, false) => original.replacen(&old, &new, 1),
    };
    if let Err(text) = save(sim, &path, &changed) {
        return Outcome::failure(text);
    }
    now_known(sim, &path);
    let shown = path.display().to_string();
    let structured = object! {
        "filePath" => shown.as_str(),
        "oldString" => text("old_string"),
        "newString" => text("new_string"),
        "originalFile" => original.as_str(),
        "structuredPatch" => structured_patch(&original, &changed),
        "userModified" => false,
        "replaceAll" => all,
    };
    let current = if known { CURRENT } else { "" };
    let text = match (sim.profile.is_old(), all) {
        (false, false) => format!("The file {shown} has been updated successfully.{current}"),
        (false, true) => {
            format!("The file {shown} has been updated. All occurrences were successfully replaced.{current}")
        }
        (true, true) => format!(
            "The file {shown} has been updated. All occurrences of '{old}' were successfully replaced with '{new}'."
        ),
        (true, false) => {
            let before = original.split(&old).next().unwrap_or_default().matches('\n').count();
            let lines = new.matches('\n').count() + 1;
            let around = snippet(&changed, before.saturating_sub(4), before + lines + 4);
            format!(
                "The file {shown} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n{around}"
            )
        }
    };
    Outcome::text(text, structured)
}

/// Numbered lines in a range, counted from zero.
fn snippet(text: &str, from: usize, to: usize) -> String {
    let lines = text.split('\n').enumerate().skip(from).take(to.saturating_sub(from));
    lines.map(|(number, line)| format!("{:>6}→{line}", number + 1)).collect::<Vec<_>>().join("\n")
}

fn save(sim: &Sim, path: &Path, content: &str) -> Result<(), String> {
    rewind::before_change(sim, path);
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| std::fs::write(path, without_surrogates(content)));
    written.map_err(|error| format!("{error}: {}", path.display()))
}

/// The arguments of an edit as they appear in the model's message.
pub(super) fn shown_edit_input(input: &Json) -> Json {
    let mut shown = object! { "replace_all" => input.is_true("replace_all") };
    for (key, value) in input.members().iter().filter(|(key, _)| key != "replace_all") {
        shown.set(key, value);
    }
    shown
}

/// The arguments of an edit as the tool receives them.
pub(super) fn full_edit_input(input: &Json) -> Json {
    let all = input.is_true("replace_all");
    let mut full = input.clone();
    full.remove("replace_all");
    full.with("replace_all", all)
}
