//! Finds everything in a folder that a CLI would apply: here its settings, in `repository` what git would run.

mod repository;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::files::{entries, file_stem, read_up_to, regular};
use crate::finding::{Finding, FindingKind, Findings};
use crate::settings::{finding, mcp_file, scheduled_prompts, scheduled_tasks, settings};

/// Folders in `.claude` whose files define commands, agents and the like.
const DEFINITIONS: [&str; 8] =
    ["agents", "commands", "hooks", "output-styles", "plugins", "rules", "skills", "workflows"];
/// Files that are text for the model.
const INSTRUCTIONS: [&str; 4] = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md"];
/// Limits for the number of files with definitions in a folder, and for their total size. No person could review
/// more, and neither can we.
const MAX_FILES: usize = 5_000;
const MAX_BYTES: u64 = 32 << 20;
/// Maximum number of findings listed one by one.
const MAX_FINDINGS: usize = 200;

/// Why it could not be determined what a folder would run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// There is too much to check.
    #[error("{} has too many files, or files that are too large, to check (limits: {MAX_FILES} files, {} MiB)", folder.display(), MAX_BYTES >> 20)]
    TooMuch {
        /// The folder.
        folder: PathBuf,
    },
}

/// Finds what a CLI would apply if it were started in this folder: the folder's own settings, and the MCP servers and
/// definitions in the folders above. `home` is the user's home folder, whose settings are the user's own.
///
/// # Errors
/// If a file exists and cannot be read, or there is too much to read. Such a folder should not be trusted.
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

/// Whether a folder itself, ignoring those above it, has anything a CLI would apply apart from instructions.
///
/// # Errors
/// If a file exists and cannot be read, or there is too much to read.
pub fn has_settings(folder: &Path, home: Option<&Path>) -> Result<bool, ScanError> {
    let mut scan = Scan { found: Vec::new(), hash: Sha256::new(), files: 0, bytes: 0, folder };
    scan.level(folder, home)?;
    // Empty files count, too: they may be filled later.
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
            self.scheduled(&own.join("scheduled_tasks.json"))?;
            for definitions in DEFINITIONS {
                self.definitions(&own.join(definitions))?;
            }
        }
        for file in INSTRUCTIONS.iter().map(|file| folder.join(file)).filter(|file| file.is_file()) {
            let name = self.name(&file);
            self.found.push(finding(FindingKind::Instructions, &name, "text for the model"));
        }
        Ok(())
    }

    /// Adds the prompts that run by themselves. The CLI notes in the same file when it last did that, which is not a
    /// change.
    fn scheduled(&mut self, path: &Path) -> Result<(), ScanError> {
        let Some(content) = self.content(path)? else { return Ok(()) };
        let name = self.name(path);
        let found = scheduled_tasks(&name, &content);
        // A finding may cut its text short.
        for text in scheduled_prompts(&content) {
            self.hash.update(name.as_bytes());
            self.hash.update([0]);
            self.hash.update(text.len().to_le_bytes());
            self.hash.update(text);
        }
        self.found.extend(found);
        Ok(())
    }

    /// Adds everything in a folder of definitions. Links are followed, as the CLI does.
    fn definitions(&mut self, folder: &Path) -> Result<(), ScanError> {
        let mut seen = HashSet::new();
        let mut waiting = vec![folder.to_owned()];
        while let Some(folder) = waiting.pop() {
            let Ok(real) = folder.canonicalize() else { continue };
            if !seen.insert(real) {
                continue;
            }
            for path in entries(&folder)? {
                if path.is_dir() {
                    waiting.push(path);
                } else if self.read(&path)?.is_some() {
                    let name = self.name(&path);
                    self.found.push(finding(FindingKind::Command, &name, &file_stem(&path)));
                }
            }
        }
        Ok(())
    }

    /// Reads a file without adding it to the fingerprint. Returns `None` if it does not exist.
    fn content(&mut self, path: &Path) -> Result<Option<Vec<u8>>, ScanError> {
        let Some((file, size)) = regular(path)? else { return Ok(None) };
        self.files += 1;
        self.bytes += size;
        if self.files > MAX_FILES || self.bytes > MAX_BYTES {
            return Err(ScanError::TooMuch { folder: self.folder.to_owned() });
        }
        read_up_to(file, MAX_BYTES, path).map(Some)
    }

    /// Reads a file and adds it to the fingerprint. Returns `None` if it does not exist.
    fn read(&mut self, path: &Path) -> Result<Option<String>, ScanError> {
        let Some(content) = self.content(path)? else { return Ok(None) };
        self.hash.update(self.name(path).as_bytes());
        self.hash.update([0]);
        self.hash.update(content.len().to_le_bytes());
        self.hash.update(&content);
        Ok(Some(String::from_utf8_lossy(&content).into_owned()))
    }

    /// The path relative to the folder, if it is inside.
    fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.folder).unwrap_or(path).to_string_lossy().into_owned()
    }

    fn take_hash(&mut self) -> String {
        let hash = std::mem::take(&mut self.hash).finalize();
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
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
    fn every_location_that_a_cli_reads_counts() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("parent/project");
        std::fs::create_dir_all(&folder).unwrap();
        let mut seen = vec![scan(&folder, None).unwrap()];
        for file in [
            ".mcp.json",
            "../.mcp.json",
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/scheduled_tasks.json",
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
        // Instructions are text and change all the time.
        let before = scan(&folder, None).unwrap();
        write(folder.join("CLAUDE.md"), "be kind");
        let after = scan(&folder, None).unwrap();
        assert_eq!((&before.fingerprint, before.items.len() + 1), (&after.fingerprint, after.items.len()));
    }

    #[test]
    fn a_scheduled_prompt_counts_and_when_it_last_ran_does_not() {
        let place = tempfile::tempdir().unwrap();
        let scanned = |text: &str| {
            write(place.path().join(".claude/scheduled_tasks.json"), text);
            scan(place.path(), None).unwrap()
        };
        let first = scanned(r#"{"tasks":[{"cron":"* * * * *","prompt":"go","id":"a","createdAt":1}]}"#);
        assert_eq!(first.items[0].what, "prompt at * * * * *: go");
        let ran = scanned(
            r#"{"tasks":[{"cron":"* * * * *","prompt":"go","id":"a","createdAt":1,"lastFiredAt":2}]}"#,
        );
        assert_eq!(ran.fingerprint, first.fingerprint);
        let long = "x".repeat(1_000);
        let mut seen = vec![first.fingerprint];
        for text in [
            r#"{"tasks":[{"cron":"0 * * * *","prompt":"go"}]}"#.to_owned(),
            r#"{"tasks":[{"cron":"* * * * *","prompt":"stop"}]}"#.to_owned(),
            format!(r#"{{"tasks":[{{"cron":"* * * * *","prompt":"{long}1"}}]}}"#),
            format!(r#"{{"tasks":[{{"cron":"* * * * *","prompt":"{long}2"}}]}}"#),
            r#"{"tasks":[{"at":"now"}]}"#.to_owned(),
            "{}".to_owned(),
            "not JSON".to_owned(),
        ] {
            let found = scanned(&text);
            assert!(!found.is_harmless(), "{text}");
            assert!(!seen.contains(&found.fingerprint), "{text}");
            seen.push(found.fingerprint);
        }
    }

    #[test]
    fn the_users_own_settings_are_not_the_folders() {
        let home = tempfile::tempdir().unwrap();
        write(home.path().join(".claude/settings.json"), "{\"model\":\"opus\"}");
        let folder = home.path().join("project");
        std::fs::create_dir(&folder).unwrap();
        assert!(scan(&folder, Some(home.path())).unwrap().is_harmless());
        assert!(!scan(&folder, None).unwrap().is_harmless());
    }

    #[test]
    fn linked_files_count_by_their_content() {
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

    /// Creates what git needs to consider a folder a repository.
    fn make_repository(directory: &Path, config: &str) {
        write(directory.join("HEAD"), "ref: refs/heads/main\n");
        write(directory.join("config"), config);
        for folder in ["objects", "refs"] {
            std::fs::create_dir_all(directory.join(folder)).unwrap();
        }
    }

    const PROGRAM: &str = "[core]\nsshcommand = ./evil\n";

    #[test]
    fn every_way_to_a_repository_is_followed() {
        use std::os::unix::ffi::OsStrExt as _;
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        make_repository(&at("bare"), PROGRAM);
        make_repository(&at("plain/.git"), PROGRAM);
        std::fs::create_dir_all(at("plain/deep/below")).unwrap();
        // Git continues with the folders above if this is not a repository.
        make_repository(&at("hidden/.git"), PROGRAM);
        std::fs::create_dir_all(at("hidden/empty/.git")).unwrap();
        write(at("hidden/broken/.git/HEAD"), "nothing");
        std::fs::create_dir_all(at("hidden/linked/.git")).unwrap();
        std::os::unix::fs::symlink("refs/heads/none", at("hidden/linked/.git/HEAD")).unwrap();
        let odd = place.path().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
        make_repository(&odd, PROGRAM);
        std::fs::create_dir(at("led")).unwrap();
        std::fs::write(at("led/.git"), b"gitdir: ../odd\xff\n").unwrap();
        for folder in
            ["bare", "plain", "plain/deep/below", "hidden/empty", "hidden/broken", "hidden/linked", "led"]
        {
            assert!(scan(&at(folder), None).unwrap().has_git_programs(), "{folder}");
        }
        // A nested repository ends the search.
        make_repository(&at("plain/own/.git"), "");
        assert!(scan(&at("plain/own"), None).unwrap().is_harmless());
        // A submodule may name its working tree and nothing else.
        make_repository(&at("plain/.git/modules/sub"), "[core]\nworktree = ../../../sub\n");
        write(at("plain/sub/.git"), "gitdir: ../.git/modules/sub\n");
        assert!(scan(&at("plain/sub"), None).unwrap().is_harmless());
        make_repository(&at("plain/.git/modules/sub"), "[core]\nworktree = ../../../../elsewhere\n");
        assert!(scan(&at("plain/sub"), None).unwrap().has_git_programs());
    }

    #[test]
    fn submodules_count() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        make_repository(&at(".git"), "");
        make_repository(&at("sub/.git"), PROGRAM);
        assert!(scan(place.path(), None).unwrap().is_harmless(), "nothing leads git there");
        let mut index = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
        index.extend([0; 24]);
        index.extend(0o160_000_u32.to_be_bytes());
        index.extend([0; 32]);
        index.extend(b"\0\x03sub\0\0\0\0\0\0\0");
        std::fs::write(at(".git/index"), &index).unwrap();
        assert!(scan(place.path(), None).unwrap().has_git_programs());
        make_repository(&at("sub/.git"), "");
        assert!(scan(place.path(), None).unwrap().is_harmless());
        std::fs::write(at(".git/index"), "not an index").unwrap();
        assert!(scan(place.path(), None).unwrap().has_git_programs());
    }

    #[test]
    fn hooks_are_listed_and_count() {
        let place = tempfile::tempdir().unwrap();
        make_repository(&place.path().join(".git"), "");
        write(place.path().join(".git/hooks/pre-commit.sample"), "");
        let before = scan(place.path(), None).unwrap();
        assert!(before.is_harmless(), "{before:?}");
        write(place.path().join(".git/hooks/post-index-change"), "");
        let after = scan(place.path(), None).unwrap();
        assert_eq!(
            (after.items[0].kind, after.items[0].what.as_str()),
            (FindingKind::GitHook, "post-index-change")
        );
        assert!(!after.has_git_programs() && after.fingerprint != before.fingerprint);
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        for pipe in [
            ".git",
            ".git/HEAD",
            ".git/config",
            ".git/commondir",
            ".mcp.json",
            "HEAD",
            ".claude/settings.json",
        ] {
            let place = tempfile::tempdir().unwrap();
            let pipe = place.path().join(pipe);
            std::fs::create_dir_all(pipe.parent().unwrap()).unwrap();
            if pipe.file_name().unwrap() != "HEAD" && pipe.parent().unwrap().ends_with(".git") {
                write(place.path().join(".git/HEAD"), "ref: refs/heads/main");
            }
            rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
            scan(place.path(), None).unwrap();
        }
    }

    #[test]
    fn many_findings_hide_none() {
        let place = tempfile::tempdir().unwrap();
        make_repository(&place.path().join(".git"), PROGRAM);
        let variables: Vec<String> = (0..300).map(|number| format!("\"V{number}\":\"x\"")).collect();
        let settings = format!("{{\"env\":{{{}}}}}", variables.join(","));
        write(place.path().join(".claude/settings.json"), &settings);
        let found = scan(place.path(), None).unwrap();
        assert!(found.more > 0 && found.has_git_programs());
    }

    #[test]
    fn git_programs_are_found_in_worktrees_too() {
        let place = tempfile::tempdir().unwrap();
        make_repository(&place.path().join("repo/.git"), PROGRAM);
        write(place.path().join("repo/.git/worktrees/w/HEAD"), "ref: refs/heads/w\n");
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
