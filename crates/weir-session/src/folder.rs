//! The folder that a process is started in: where it may lie, and whether its own settings count.
//!
//! Both are decided before each start and not once: a link may lead elsewhere by then, the roots may be others after a
//! restart, and the files of the folder may have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_process::{Directory, Version};
use weir_trust::{Findings, Standing, TrustFile, has_settings, scan};

/// Where sessions may work, and whether what lies there counts.
#[derive(Debug, Clone, Default)]
pub struct FolderPolicy {
    /// The folder must lie below one of these, with all links resolved. Without any, it may lie anywhere.
    pub roots: Vec<PathBuf>,
    /// Whether the folder's own settings count.
    pub trust: FolderTrust,
}

/// Whether the settings, hooks, MCP servers, commands and instructions that lie in a folder count.
///
/// They run before anyone is asked, so by default they do not.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum FolderTrust {
    /// They are left out.
    #[default]
    LeaveOut,
    /// They count, whatever they are: a person has seen to that.
    Load,
    /// They count if a person has trusted the folder as it is.
    Remembered(Arc<TrustFile>),
    /// They count if they are those of another folder that a person has trusted, of which this one is a copy.
    CopyOf(Arc<TrustFile>, PathBuf),
}

/// A folder that a process may be started in.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    /// Held open, so that it is the folder that was looked at.
    pub(crate) directory: Option<Directory>,
    /// Whether the CLI honours what lies there.
    pub(crate) project_settings: bool,
    /// What is there that some versions cannot leave out.
    hazards: Hazards,
}

#[derive(Debug, Clone, Copy, Default)]
struct Hazards {
    settings: bool,
    git: bool,
}

impl FolderPolicy {
    /// Looks at the folder as it is now. Blocks.
    pub(crate) fn admit(&self, cwd: Option<&Path>, home: Option<&Path>) -> Result<Admitted, String> {
        let folder = match cwd {
            Some(cwd) => cwd.to_owned(),
            None => std::env::current_dir().map_err(|error| format!("the working directory: {error}"))?,
        };
        let directory = Directory::open(&folder)
            .map_err(|error| format!("the working directory {} cannot be used: {error}", folder.display()))?;
        let folder = directory.path().to_owned();
        if !self.roots.is_empty() && !self.roots.iter().any(|root| folder.starts_with(root)) {
            return Err(format!(
                "{} does not lie below a folder that sessions may work in (it may be a link that leads elsewhere, or \
                 --root has changed)",
                folder.display()
            ));
        }
        let (project_settings, hazards) = match &self.trust {
            FolderTrust::Load => (true, Hazards::default()),
            trust => match scan(&folder, home) {
                Ok(found) => (is_trusted(trust, &folder, &found, home)?, hazards(&found)),
                // What cannot be looked at is not trusted, and may be anything.
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

/// Whether what counts from above a copy was trusted, too. A copy inside its original has that above it, as it is now.
fn above_is_trusted(
    file: &TrustFile,
    original: &Path,
    copy: &Path,
    home: Option<&Path>,
) -> Result<bool, String> {
    let is_inside = copy.starts_with(original);
    for above in copy.ancestors().skip(1).take_while(|above| !is_inside || *above != original) {
        // What cannot be looked at is not trusted.
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
    /// A folder that nobody has to look at, because no process of ours is started in it.
    pub(crate) fn unchecked() -> Self {
        Self { directory: None, project_settings: true, hazards: Hazards::default() }
    }

    /// Whether the version has to be known before anything is started here.
    pub(crate) fn needs_version(&self) -> bool {
        !self.project_settings && self.hazards.settings
    }

    /// Why nothing must be started here, if it must not.
    pub(crate) fn refusal(&self) -> Option<String> {
        // Every version runs commands such as `git status` without asking anyone, and older ones already when they start.
        (!self.project_settings && self.hazards.git).then(|| {
            "the git configuration of this folder names programs that git would run, and nobody has trusted it; look at what the \
             folder would run and trust it (`weir trust`)"
                .to_owned()
        })
    }

    /// Why this version must not be started here, if it must not.
    pub(crate) fn refusal_of(&self, version: Version, has_setting_sources: bool) -> Option<String> {
        let is_hazard = !self.project_settings && self.hazards.settings && !has_setting_sources;
        is_hazard.then(|| {
            format!(
                "version {version} of the CLI would run what the settings of this folder say, and nobody has trusted it; update \
                 the CLI, or look at what the folder would run and trust it (`weir trust`)"
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
    fn a_copy_is_as_trusted_as_its_original_and_what_lies_above_it() {
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
        assert!(!counts(&inside) && !counts(&outside), "nobody has trusted the repository");
        file.trust(&repository, &scan(&repository, None).unwrap(), "ann", 0).unwrap();
        assert!(counts(&inside) && counts(&outside));

        // Something new in the copy, between the copy and its original, above it, or in the original.
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
