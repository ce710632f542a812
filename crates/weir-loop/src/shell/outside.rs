//! What lies outside of the repository and takes part in checks: settings that tools look for in the folders above the one
//! in which they run and in a person's home, and the programs in `PATH`.
//!
//! A session that is not in a sandbox could write there. What was there when the run began is trusted, because a person
//! put it there; if it is different when gates run, their result says nothing, and the run ends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What tools look for in the folder in which they run and in those above it.
const ABOVE: &[&str] = &[
    ".babelrc",
    ".cargo/config",
    ".cargo/config.toml",
    ".clippy.toml",
    ".eslintrc",
    ".eslintrc.cjs",
    ".eslintrc.js",
    ".eslintrc.json",
    ".eslintrc.yml",
    ".mise.toml",
    ".mvn/jvm.config",
    ".mvn/maven.config",
    ".npmrc",
    ".nvmrc",
    ".pnp.cjs",
    ".pytest.ini",
    ".python-version",
    ".rustfmt.toml",
    ".tool-versions",
    ".yarnrc",
    ".yarnrc.yml",
    "Cargo.toml",
    "babel.config.cjs",
    "babel.config.js",
    "babel.config.json",
    "clippy.toml",
    "conftest.py",
    "go.mod",
    "go.work",
    "gradle.properties",
    "mise.toml",
    "package.json",
    "pnpm-workspace.yaml",
    "pyproject.toml",
    "pytest.ini",
    "pytest.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "tsconfig.json",
];

/// What tools look for in a person's home.
const HOME: &[&str] = &[
    ".bunfig.toml",
    ".cargo/config",
    ".cargo/config.toml",
    ".config/go/env",
    ".config/pip/pip.conf",
    ".config/pnpm/rc",
    ".gradle/gradle.properties",
    ".gradle/init.gradle",
    ".m2/settings.xml",
    ".mavenrc",
    ".npmrc",
    ".pip/pip.conf",
    ".pydistutils.cfg",
    ".yarnrc",
    ".yarnrc.yml",
];

/// Programs with which checks are made, in addition to those that gates name: interpreters, compilers, runners, and what
/// scripts use to decide.
const TOOLS: &[&str] = &[
    "ar",
    "awk",
    "bash",
    "bun",
    "bundle",
    "cargo",
    "cargo-clippy",
    "cargo-nextest",
    "cat",
    "cc",
    "clang",
    "clippy-driver",
    "cmake",
    "cmp",
    "composer",
    "cp",
    "ctest",
    "dash",
    "deno",
    "diff",
    "dotnet",
    "env",
    "eslint",
    "expr",
    "find",
    "g++",
    "gcc",
    "git",
    "go",
    "gradle",
    "grep",
    "head",
    "java",
    "javac",
    "jest",
    "jq",
    "just",
    "ld",
    "make",
    "mvn",
    "mypy",
    "ninja",
    "node",
    "nox",
    "npm",
    "npx",
    "perl",
    "php",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "pytest",
    "python",
    "python3",
    "rake",
    "rspec",
    "ruby",
    "ruff",
    "rustc",
    "rustdoc",
    "rustup",
    "sed",
    "sh",
    "sort",
    "tail",
    "task",
    "test",
    "tox",
    "tr",
    "tsc",
    "uv",
    "vitest",
    "wc",
    "xargs",
    "yarn",
];

/// Larger programs are compared by their stamps: reading them would take too long.
const MAX_READ: u64 = 64 << 10;

/// Variables that name a file which programs read when they start.
const NAMING: &[&str] = &["BASH_ENV", "ENV", "MAKEFILES", "PYTHONSTARTUP", "npm_config_userconfig"];

/// Which file it is, and when it was last written or given other permissions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// Device, number, and the time of the last change, which no program can set.
    #[cfg(unix)]
    place: (u64, u64, i64, i64),
}

impl Stamp {
    /// The stamp of the file that a path leads to, if there is one.
    pub(super) fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|found| Self::from(&found))
    }
}

impl From<&std::fs::Metadata> for Stamp {
    fn from(found: &std::fs::Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            size: found.len(),
            modified: found.modified().ok(),
            #[cfg(unix)]
            place: (found.dev(), found.ino(), found.ctime(), found.ctime_nsec()),
        }
    }
}

/// A fingerprint of everything in a folder, by the stamps of its files. It differs after any change.
pub(super) fn tree_stamp(folder: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
        path.hash(&mut hasher);
        Stamp::from(&found).hash(&mut hasher);
        if found.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            names.sort();
            open.extend(names);
        }
    }
    hasher.finish()
}

/// What was there when the run began.
#[derive(Debug)]
pub(super) struct Outside {
    /// The content of each file, or that there was none.
    files: BTreeMap<PathBuf, Option<u64>>,
    /// The names in each folder of packages, or that there was none.
    packages: BTreeMap<PathBuf, Option<u64>>,
    /// For the name of each program that takes part, the program that `PATH` leads to.
    programs: BTreeMap<String, (PathBuf, Program)>,
}

/// What a program is. Small ones are scripts, which tools such as pyenv write again and again.
#[derive(Debug, PartialEq, Eq)]
enum Program {
    Script(Option<u64>),
    Binary(Stamp),
}

impl Outside {
    /// Looks at what is there now, for gates with these commands that run below a folder and get copies of these files.
    pub(super) fn look<'a>(
        checks: &Path,
        copies: impl Iterator<Item = PathBuf>,
        commands: impl Iterator<Item = &'a [String]>,
    ) -> Self {
        let named = commands.flatten().filter(|word| Path::new(word).components().count() == 1).cloned();
        let mut names: Vec<String> = TOOLS.iter().map(ToString::to_string).chain(named).collect();
        names.sort();
        names.dedup();
        let above: Vec<&Path> = checks.ancestors().skip(1).collect();
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let in_home = home.iter().flat_map(|home| HOME.iter().map(move |name| home.join(name)));
        let files = above.iter().flat_map(|folder| ABOVE.iter().map(move |name| folder.join(name)));
        let variables = NAMING.iter().filter_map(|name| std::env::var_os(name).map(PathBuf::from));
        let files = files.chain(in_home).chain(variables).chain(copies).map(|path| (content(&path), path));
        let packages = above.iter().map(|folder| folder.join("node_modules"));
        let packages = packages.chain(home.iter().map(|home| home.join(".node_modules")));
        Self {
            files: files.map(|(content, path)| (path, content)).collect(),
            packages: packages.map(|path| (path.clone(), names_in(&path))).collect(),
            programs: programs(&names),
        }
    }

    /// What is different now, in words.
    pub(super) fn changed(&self) -> Option<String> {
        let file = self.files.iter().find(|(path, known)| content(path) != **known).map(|(path, _)| path);
        let path = file.or_else(|| {
            self.packages.iter().find(|(path, known)| names_in(path) != **known).map(|(path, _)| path)
        });
        if let Some(path) = path {
            return Some(path.display().to_string());
        }
        let names: Vec<String> = self.programs.keys().cloned().collect();
        let now = programs(&names);
        let (name, (before, _)) =
            self.programs.iter().find(|(name, known)| now.get(name.as_str()) != Some(*known))?;
        Some(match now.get(name) {
            Some((path, _)) if path != before => {
                format!("{} (which comes before {})", path.display(), before.display())
            }
            _ => before.display().to_string(),
        })
    }
}

/// The programs that `PATH` leads to by these names.
fn programs(names: &[String]) -> BTreeMap<String, (PathBuf, Program)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let program = |name: &String| {
        let path = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())?;
        let found = std::fs::metadata(&path).ok()?;
        let program = match found.len() {
            0..=MAX_READ => Program::Script(content(&path)),
            _ => Program::Binary(Stamp::from(&found)),
        };
        Some((name.clone(), (path, program)))
    };
    names.iter().filter_map(program).collect()
}

/// A fingerprint of a file's content.
fn content(path: &Path) -> Option<u64> {
    let bytes = std::fs::read(path).ok()?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Some(hasher.finish())
}

/// A fingerprint of the names in a folder.
fn names_in(folder: &Path) -> Option<u64> {
    let mut names: Vec<OsString> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    names.sort();
    let mut hasher = DefaultHasher::new();
    names.hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_appears_changes_or_goes_away_above_the_checks_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let checks = folder.path().join("a/checks");
        std::fs::create_dir_all(folder.path().join("a/.cargo")).unwrap();
        std::fs::write(folder.path().join("a/setup.cfg"), "one").unwrap();
        let outside = Outside::look(&checks, std::iter::empty(), std::iter::empty());
        assert_eq!(outside.changed(), None);
        let config = folder.path().join("a/.cargo/config.toml");
        for (path, text) in [(config, "[build]"), (folder.path().join("a/setup.cfg"), "two")] {
            let before = std::fs::read(&path).ok();
            std::fs::write(&path, text).unwrap();
            assert_eq!(outside.changed(), Some(path.display().to_string()));
            match before {
                Some(before) => std::fs::write(&path, before).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            assert_eq!(outside.changed(), None);
        }
        std::fs::create_dir_all(folder.path().join("node_modules/jest")).unwrap();
        let changed = outside.changed().unwrap();
        assert!(changed.ends_with("node_modules"), "{changed}");
        // Files of a project without any meaning to tools may come and go.
        std::fs::remove_dir_all(folder.path().join("node_modules")).unwrap();
        std::fs::write(folder.path().join("a/notes.txt"), "x").unwrap();
        assert_eq!(outside.changed(), None);
    }

    #[test]
    fn any_change_in_a_folder_shows_in_its_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b");
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(&file, "one").unwrap();
        let before = tree_stamp(folder.path());
        assert_eq!(tree_stamp(folder.path()), before);
        let modified = std::fs::metadata(&file).unwrap().modified().unwrap();
        // The same length and the same time: the file was changed all the same.
        std::fs::write(&file, "two").unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
        assert_ne!(tree_stamp(folder.path()), before);
        assert_ne!(tree_stamp(&folder.path().join("missing")), before);
    }
}
