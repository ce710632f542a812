//! Looks for everything that a CLI would honour in a folder.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::finding::{Finding, FindingKind, Findings};
use crate::settings::{finding, mcp_file, settings};

/// Folders in `.claude` whose files define commands, agents and the like.
const DEFINITIONS: [&str; 8] =
    ["agents", "commands", "hooks", "output-styles", "plugins", "rules", "skills", "workflows"];
/// Files that are text for the model.
const INSTRUCTIONS: [&str; 4] = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md"];
/// How many files a folder may define things in, and how large they may be together. Beyond that nobody could look
/// through it, and neither can we.
const MAX_FILES: usize = 5_000;
const MAX_BYTES: u64 = 32 << 20;
/// How many findings are told one by one.
const MAX_FINDINGS: usize = 200;

/// Why it is not known what a folder would run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// There is too much to look at.
    #[error("{} holds too many or too large files to check ({MAX_FILES} files, {} MiB)", folder.display(), MAX_BYTES >> 20)]
    TooMuch {
        /// The folder.
        folder: PathBuf,
    },
}

/// Looks at what a CLI would honour if it were started in this folder: the folder's own settings, and the MCP servers and
/// definitions of the folders above. `home` is the person's own home folder, whose settings are the person's.
///
/// # Errors
/// If a file is there and cannot be read, or there is too much to read. Such a folder is not to be trusted.
pub fn scan(folder: &Path, home: Option<&Path>) -> Result<Findings, ScanError> {
    let mut scan = Scan { found: Vec::new(), hash: Sha256::new(), files: 0, bytes: 0, folder };
    scan.level(folder, home)?;
    scan.git(folder)?;
    let fingerprint = scan.take_hash();
    for above in folder.ancestors().skip(1) {
        scan.level(above, home)?;
    }
    let inherited = scan.take_hash();
    let mut items = scan.found;
    items.sort();
    let more = items.len().saturating_sub(MAX_FINDINGS);
    items.truncate(MAX_FINDINGS);
    Ok(Findings { items, more, fingerprint, inherited })
}

/// Whether a folder itself, without those above it, has anything that a CLI would honour apart from instructions.
///
/// # Errors
/// If a file is there and cannot be read, or there is too much to read.
pub fn has_settings(folder: &Path, home: Option<&Path>) -> Result<bool, ScanError> {
    let mut scan = Scan { found: Vec::new(), hash: Sha256::new(), files: 0, bytes: 0, folder };
    scan.level(folder, home)?;
    // An empty file counts as well: it is there, and may be filled.
    Ok(scan.files > 0)
}

struct Scan<'a> {
    found: Vec<Finding>,
    hash: Sha256,
    files: usize,
    bytes: u64,
    folder: &'a Path,
}

impl Scan<'_> {
    fn level(&mut self, folder: &Path, home: Option<&Path>) -> Result<(), ScanError> {
        if let Some(text) = self.read(&folder.join(".mcp.json"))? {
            let name = self.name(&folder.join(".mcp.json"));
            self.found.extend(mcp_file(&name, &text));
        }
        if home != Some(folder) {
            let own = folder.join(".claude");
            for file in ["settings.json", "settings.local.json"] {
                if let Some(text) = self.read(&own.join(file))? {
                    let name = self.name(&own.join(file));
                    self.found.extend(settings(&name, &text));
                }
            }
            for definitions in DEFINITIONS {
                self.definitions(&own.join(definitions))?;
            }
        }
        for file in INSTRUCTIONS.iter().map(|file| folder.join(file)).filter(|file| file.is_file()) {
            let name = self.name(&file);
            self.found.push(finding(FindingKind::Instructions, &name, "text for the model".to_owned()));
        }
        Ok(())
    }

    /// Everything that a folder of definitions holds. Links are followed, as the CLI follows them.
    fn definitions(&mut self, folder: &Path) -> Result<(), ScanError> {
        let mut seen = HashSet::new();
        let mut waiting = vec![folder.to_owned()];
        while let Some(folder) = waiting.pop() {
            let Ok(real) = folder.canonicalize() else { continue };
            if !seen.insert(real) {
                continue;
            }
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(source) => return Err(ScanError::Read { path: folder, source }),
            };
            let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths {
                if path.is_dir() {
                    waiting.push(path);
                } else if self.read(&path)?.is_some() {
                    let name = self.name(&path);
                    self.found.push(finding(FindingKind::Command, &name, file_stem(&path)));
                }
            }
        }
        Ok(())
    }

    /// The configuration of the repository that the folder is in.
    fn git(&mut self, folder: &Path) -> Result<(), ScanError> {
        let Some(top) = folder.ancestors().find(|folder| folder.join(".git").exists()) else { return Ok(()) };
        let mut directory = top.join(".git");
        // In a worktree it is a file that says where the rest is.
        if let Some(place) = std::fs::read_to_string(&directory).ok().filter(|_| directory.is_file()) {
            let place = place.trim().strip_prefix("gitdir:").map(|place| top.join(place.trim()));
            directory = place.unwrap_or(directory);
        }
        let common = std::fs::read_to_string(directory.join("commondir"));
        let common = common.map_or_else(|_| directory.clone(), |common| directory.join(common.trim()));
        for file in [common.join("config"), directory.join("config.worktree")] {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let name = self.name(&file);
            let programs = crate::git::configuration(&name, &text);
            for program in &programs {
                self.hash.update(program.what.as_bytes());
                self.hash.update([0]);
            }
            self.found.extend(programs);
        }
        Ok(())
    }

    /// Reads a file and counts it in. None where there is none.
    fn read(&mut self, path: &Path) -> Result<Option<String>, ScanError> {
        let failed = |source| ScanError::Read { path: path.to_owned(), source };
        let metadata = match path.metadata() {
            // A pipe could be written to later, and reading it would wait for that.
            Ok(metadata) if !metadata.is_file() => return Ok(None),
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        self.files += 1;
        self.bytes += metadata.len();
        if self.files > MAX_FILES || self.bytes > MAX_BYTES {
            return Err(ScanError::TooMuch { folder: self.folder.to_owned() });
        }
        let mut content = Vec::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MAX_BYTES).read_to_end(&mut content).map_err(failed)?;
        self.hash.update(self.name(path).as_bytes());
        self.hash.update([0]);
        self.hash.update(content.len().to_le_bytes());
        self.hash.update(&content);
        Ok(Some(String::from_utf8_lossy(&content).into_owned()))
    }

    /// The path relative to the folder, where it lies in it.
    fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.folder).unwrap_or(path).to_string_lossy().into_owned()
    }

    fn take_hash(&mut self) -> String {
        let hash = std::mem::take(&mut self.hash).finalize();
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn an_empty_folder_has_nothing() {
        let place = tempfile::tempdir().unwrap();
        let found = scan(place.path(), None).unwrap();
        assert!(found.is_harmless() && !found.has_git_programs(), "{found:?}");
    }

    #[test]
    fn every_place_that_a_cli_looks_at_counts() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("parent/project");
        std::fs::create_dir_all(&folder).unwrap();
        let mut seen = vec![scan(&folder, None).unwrap()];
        for file in [
            ".mcp.json",
            "../.mcp.json",
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/commands/deep/x.md",
            ".claude/agents/x.md",
            ".claude/skills/x/SKILL.md",
            ".claude/skills/x/run.sh",
            ".claude/hooks/x.sh",
        ] {
            write(folder.join(file), "{\"mcpServers\":{\"x\":{\"command\":\"x\"}}}");
            let found = scan(&folder, None).unwrap();
            assert!(!found.is_harmless(), "{file}");
            let known = |before: &Findings| {
                (&before.fingerprint, &before.inherited) == (&found.fingerprint, &found.inherited)
            };
            assert!(!seen.iter().any(known), "{file} changes nothing");
            seen.push(found);
        }
        // Instructions are text. They change all the time.
        let before = scan(&folder, None).unwrap();
        write(folder.join("CLAUDE.md"), "be kind");
        let after = scan(&folder, None).unwrap();
        assert_eq!((&before.fingerprint, before.items.len() + 1), (&after.fingerprint, after.items.len()));
    }

    #[test]
    fn a_persons_own_settings_are_not_the_folders() {
        let home = tempfile::tempdir().unwrap();
        write(home.path().join(".claude/settings.json"), "{\"model\":\"opus\"}");
        let folder = home.path().join("project");
        std::fs::create_dir(&folder).unwrap();
        assert!(scan(&folder, Some(home.path())).unwrap().is_harmless());
        assert!(!scan(&folder, None).unwrap().is_harmless());
    }

    #[test]
    fn what_lies_elsewhere_counts_by_its_content() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("project");
        write(place.path().join("elsewhere/x.md"), "one");
        std::fs::create_dir_all(folder.join(".claude")).unwrap();
        std::os::unix::fs::symlink(place.path().join("elsewhere"), folder.join(".claude/commands")).unwrap();
        // A loop of links ends.
        std::os::unix::fs::symlink(&folder, folder.join(".claude/skills")).unwrap();
        let before = scan(&folder, None).unwrap();
        write(place.path().join("elsewhere/x.md"), "two");
        assert_ne!(scan(&folder, None).unwrap().fingerprint, before.fingerprint);
    }

    #[test]
    fn programs_of_git_are_found_in_worktrees_too() {
        let place = tempfile::tempdir().unwrap();
        write(place.path().join("repo/.git/config"), "[core]\nfsmonitor = ./evil\n");
        write(place.path().join("repo/.git/worktrees/w/commondir"), "../..\n");
        write(place.path().join("w/.git"), "gitdir: ../repo/.git/worktrees/w\n");
        for folder in ["repo", "w"] {
            assert!(scan(&place.path().join(folder), None).unwrap().has_git_programs(), "{folder}");
        }
    }

    #[test]
    fn a_folder_that_is_too_large_to_check_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        write(place.path().join(".claude/skills/huge"), "");
        let huge =
            std::fs::File::options().write(true).open(place.path().join(".claude/skills/huge")).unwrap();
        huge.set_len(MAX_BYTES + 1).unwrap();
        assert!(matches!(scan(place.path(), None), Err(ScanError::TooMuch { .. })));
    }
}
