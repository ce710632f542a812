//! Files that came with a message, put where the agent can read them.

use std::path::Path;

use crate::driver::{EngineError, PromptFile};
use crate::file_names::{free_name, safe_name};

/// The folder inside the workspace.
const FOLDER: &str = ".weir-incoming";

/// Writes files into the workspace. Gives their names inside it.
pub(super) fn write(workspace: &Path, files: &[PromptFile]) -> Result<Vec<String>, EngineError> {
    let folder = workspace.join(FOLDER);
    let failed = |error: std::io::Error| EngineError {
        message: format!("The file could not be put into the workspace: {error}."),
        passing: false,
    };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut names = Vec::new();
    for file in files {
        let name = free_name(&folder, &safe_name(&file.name));
        std::fs::write(folder.join(&name), &file.data).map_err(failed)?;
        names.push(format!("{FOLDER}/{name}"));
    }
    Ok(names)
}

/// The prompt with the files that came with it.
pub(super) fn mention(text: &str, names: &[String]) -> String {
    let list = names.join(", ");
    if text.trim().is_empty() {
        format!("These files came: {list}")
    } else {
        format!("{text}\n\n(Files: {list})")
    }
}
