//! Writes files that came with a message to a folder that the agent can read.

use std::io::Write as _;
use std::path::Path;

use crate::driver::{EngineError, PromptFile};
use crate::file_names::{free_name, safe_name};

/// Folder in the workspace for incoming files.
const FOLDER: &str = ".weir-incoming";

/// Writes files to the workspace. Returns their paths relative to it.
pub(super) fn write(workspace: &Path, files: &[PromptFile]) -> Result<Vec<String>, EngineError> {
    let folder = workspace.join(FOLDER);
    let failed = |error: std::io::Error| EngineError {
        message: format!("The file could not be written to the workspace: {error}."),
        passing: false,
    };
    // A symlink in its place, which an agent could have made, would lead out of the workspace.
    match folder.symlink_metadata() {
        Ok(known) if known.is_dir() => {}
        Ok(_) => return Err(failed(std::io::Error::other(format!("{FOLDER} is not a folder")))),
        Err(_) => std::fs::create_dir(&folder).map_err(failed)?,
    }
    let mut names = Vec::new();
    for file in files {
        let name = free_name(&folder, &safe_name(&file.name));
        let mut new = std::fs::File::options();
        // Creates a new file only, so an existing symlink is not followed.
        let mut new = new.write(true).create_new(true).open(folder.join(&name)).map_err(failed)?;
        new.write_all(&file.data).map_err(failed)?;
        names.push(format!("{FOLDER}/{name}"));
    }
    Ok(names)
}

/// The prompt with a list of the files that came with it.
pub(super) fn mention(text: &str, names: &[String]) -> String {
    let list = names.join(", ");
    if text.trim().is_empty() {
        format!("These files arrived: {list}")
    } else {
        format!("{text}\n\n(Files: {list})")
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_in_the_workspace() {
        let place = tempfile::tempdir().unwrap();
        let (workspace, outside) = (place.path().join("workspace"), place.path().join("outside"));
        for folder in [&workspace, &outside] {
            std::fs::create_dir(folder).unwrap();
        }
        let file = || PromptFile {
            name: "a.txt".to_owned(),
            media_type: "text/plain".to_owned(),
            data: b"x".to_vec(),
            is_picture: false,
        };
        assert_eq!(write(&workspace, &[file()]).unwrap(), [".weir-incoming/a.txt"]);
        std::fs::remove_dir_all(workspace.join(FOLDER)).unwrap();
        std::os::unix::fs::symlink(&outside, workspace.join(FOLDER)).unwrap();
        assert!(write(&workspace, &[file()]).is_err());
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    }
}
