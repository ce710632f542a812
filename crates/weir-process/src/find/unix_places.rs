//! Where installers put the CLI on Unix.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::files::Files;

/// Common locations of the program, likeliest first.
pub(super) fn programs(variable: &dyn Fn(&str) -> Option<OsString>, files: &dyn Files) -> Vec<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut folders = Vec::new();
    let home = folder("HOME");
    if let Some(home) = &home {
        // The native installer, and the older one that keeps its own copy.
        folders.extend([home.join(".local/bin"), home.join(".claude/local"), home.join(".claude/bin")]);
    }
    // Prefixes configured for npm, pnpm, bun and volta.
    folders.extend(folder("NPM_CONFIG_PREFIX").map(|prefix| prefix.join("bin")));
    folders.extend(folder("PNPM_HOME"));
    folders.extend(folder("BUN_INSTALL").map(|prefix| prefix.join("bin")));
    folders.extend(folder("VOLTA_HOME").map(|prefix| prefix.join("bin")));
    folders.extend(
        ["/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/bin"]
            .map(PathBuf::from),
    );
    if let Some(home) = &home {
        let below_home = [
            ".npm-global/bin",
            ".npm/bin",
            "node_modules/.bin",
            ".volta/bin",
            ".bun/bin",
            ".yarn/bin",
            ".local/share/pnpm",
            "Library/pnpm",
            ".asdf/shims",
            ".local/share/mise/shims",
            "n/bin",
        ];
        folders.extend(below_home.map(|place| home.join(place)));
        let nvm = folder("NVM_DIR").unwrap_or_else(|| home.join(".nvm"));
        let versions = newest_first(files, &nvm.join("versions/node"));
        folders.extend(versions.iter().map(|version| version.join("bin")));
        for fnm in [".local/share/fnm/node-versions", ".fnm/node-versions"] {
            let versions = newest_first(files, &home.join(fnm));
            folders.extend(versions.iter().map(|version| version.join("installation/bin")));
        }
    }
    let in_local = home.map(|home| home.join(".claude/local/node_modules/.bin"));
    folders.into_iter().chain(in_local).map(|folder| folder.join("claude")).collect()
}

/// Folders named after versions such as `v22.3.0`.
fn newest_first(files: &dyn Files, folder: &Path) -> Vec<PathBuf> {
    let mut versions = files.list(folder);
    versions.sort_by_key(|path| std::cmp::Reverse(numbers(path)));
    versions
}

fn numbers(path: &Path) -> Vec<u32> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.trim_start_matches('v').split('.').map(|part| part.parse().unwrap_or(0)).collect()
}
