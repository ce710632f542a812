//! The folder that a process is started in: whether it is allowed, and whether its own settings are loaded.
//!
//! Both are decided before each start rather than once: a link may lead elsewhere by then, the roots may be
//! different after a restart, and the files in the folder may have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_process::{Directory, Version};
use weir_trust::{Findings, Standing, TrustFile, has_settings, scan};

/// Where sessions may work, and whether settings found there are loaded.
#[derive(Debug, Clone, Default)]
pub struct FolderPolicy {
    /// The folder must be inside one of these, with all links resolved. If empty, any folder is allowed.
    pub roots: Vec<PathBuf>,
    /// Whether the folder's own settings are loaded.
    pub trust: FolderTrust,
}

/// Whether the settings, hooks, MCP servers, commands and instructions in a folder are loaded.
///
/// They run before any permission is asked for, so by default they are not.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum FolderTrust {
    /// Not loaded.
    #[default]
    LeaveOut,
    /// Loaded, whatever they are: a person has checked them.
    Load,
    /// Loaded if a person has trusted the folder in its current state.
    Remembered(Arc<TrustFile>),
    /// Loaded if they are those of another folder that a person has trusted, of which this one is a copy.
    CopyOf(Arc<TrustFile>, PathBuf),
}

/// A folder that a process may be started in.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    /// Held open, so that it is the folder that was checked.
    pub(crate) directory: Option<Directory>,
    /// Whether the CLI loads the settings found there.
    pub(crate) project_settings: bool,
    /// Contents that some versions cannot ignore.
    hazards: Hazards,
}

#[derive(Debug, Clone, Copy, Default)]
struct Hazards {
    settings: bool,
    git: bool,
}

impl FolderPolicy {
    /// Checks the current state of the folder. Blocks.
    pub(crate) fn admit(&self, cwd: Option<&Path>, home: Option<&Path>) -> Result<Admitted, String> {
        let folder = match cwd {
            Some(cwd) => cwd.to_owned(),
            None => std::env::current_dir()
                .map_err(|error| format!("the working directory cannot be used: {error}"))?,
        };
        let directory = Directory::open(&folder)
            .map_err(|error| format!("the working directory {} cannot be used: {error}", folder.display()))?;
        let folder = directory.path().to_owned();
        if !self.roots.is_empty() && !self.roots.iter().any(|root| folder.starts_with(root)) {
            return Err(format!(
                "{} is not inside a folder that sessions may work in (it may be a link that leads elsewhere, or \
                 --root has changed)",
                folder.display()
            ));
        }
        let (project_settings, hazards) = match &self.trust {
            FolderTrust::Load => (true, Hazards::default()),
            trust => match scan(&folder, home) {
                Ok(found) => (is_trusted(trust, &folder, &found, home)?, hazards(&found)),
                // A folder that cannot be read is not trusted, and may contain anything.
                Err(_) => (false, Hazards { settings: true, git: true }),
            },
        };
        Ok(Admitted { directory: Some(directory), project_settings, hazards })
    }
}

fn is_trusted(
    trust: &FolderTrust,
    folder: &Path,
    found: &Findings,
    home: Option<&Path>,
) -> Result<bool, String> {
    match trust {
        FolderTrust::LeaveOut => Ok(false),
        FolderTrust::Load => Ok(true),
        FolderTrust::Remembered(file) => file.standing(folder, found).map(|known| known == Standing::Trusted),
        FolderTrust::CopyOf(file, original) => match file.covers_copy(original, found) {
            Ok(true) => return above_is_trusted(file, original, folder, home),
            other => other,
        },
    }
    .map_err(|error| error.to_string())
}

/// Whether settings loaded from folders above a copy were trusted too. A copy inside its original has the
/// original above it, in its current state.
fn above_is_trusted(
    file: &TrustFile,
    original: &Path,
    copy: &Path,
    home: Option<&Path>,
) -> Result<bool, String> {
    let is_inside = copy.starts_with(original);
    for above in copy.ancestors().skip(1).take_while(|above| !is_inside || *above != original) {
        // A folder that cannot be read is not trusted.
        if has_settings(above, home).unwrap_or(true) {
            return Ok(false);
        }
    }
    if !is_inside {
        return Ok(true);
    }
    let Ok(found) = scan(original, home) else { return Ok(false) };
    let standing = file.standing(original, &found).map_err(|error| error.to_string())?;
    Ok(standing == Standing::Trusted)
}

fn hazards(found: &Findings) -> Hazards {
    Hazards { settings: found.has_settings(), git: found.has_git_programs() }
}

impl Admitted {
    /// A folder that needs no check, because none of our processes is started in it.
    pub(crate) fn unchecked() -> Self {
        Self { directory: None, project_settings: true, hazards: Hazards::default() }
    }

    /// Whether the version has to be known before anything is started here.
    pub(crate) fn needs_version(&self) -> bool {
        !self.project_settings && self.hazards.settings
    }

    /// Why no process may be started here, if that is the case.
    pub(crate) fn refusal(&self) -> Option<String> {
        // Every version runs commands such as `git status` without asking, older ones even at startup.
        (!self.project_settings && self.hazards.git).then(|| {
            "the git configuration of this folder names programs that git would run, and the folder is not trusted; \
             check what it would run and trust it (`weir trust`)"
                .to_owned()
        })
    }

    /// Why this version may not be started here, if that is the case.
    pub(crate) fn refusal_of(&self, version: Version, has_setting_sources: bool) -> Option<String> {
        let is_hazard = !self.project_settings && self.hazards.settings && !has_setting_sources;
        is_hazard.then(|| {
            format!(
                "version {version} of the CLI would run the settings of this folder, which is not trusted; update the \
                 CLI, or check what the folder would run and trust it (`weir trust`)"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: PathBuf, text: &str) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    #[test]
    fn a_copy_is_as_trusted_as_its_original_and_the_folders_above_it() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let (repository, inside, outside) =
            (place.join("repo"), place.join("repo/.ralph/worktrees/a"), place.join("elsewhere/b"));
        for folder in [&repository, &inside, &outside] {
            write(folder.join(".claude/settings.json"), "{\"model\": \"opus\"}");
        }
        let file = Arc::new(TrustFile::new(place.join("trust.json")));
        let counts = |folder: &Path| {
            let trust = FolderTrust::CopyOf(Arc::clone(&file), repository.clone());
            FolderPolicy { trust, roots: Vec::new() }.admit(Some(folder), None).unwrap().project_settings
        };
        assert!(!counts(&inside) && !counts(&outside), "the repository is not trusted");
        file.trust(&repository, &scan(&repository, None).unwrap(), "ann", 0).unwrap();
        assert!(counts(&inside) && counts(&outside));

        // A new file in the copy, between the copy and its original, above it, or in the original.
        let trap = "{\"mcpServers\":{\"x\":{\"command\":\"x\"}}}";
        for (file, folder) in [
            (inside.join(".mcp.json"), &inside),
            (place.join("repo/.ralph/.mcp.json"), &inside),
            (place.join("elsewhere/.mcp.json"), &outside),
            (repository.join(".mcp.json"), &inside),
            (place.join(".mcp.json"), &outside),
        ] {
            write(file.clone(), trap);
            assert!(!counts(folder), "{}", file.display());
            std::fs::remove_file(file).unwrap();
            assert!(counts(folder));
        }
    }
}
