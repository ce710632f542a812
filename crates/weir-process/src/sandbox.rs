//! A sandbox around the CLI, enforced by the kernel: bubblewrap.
//!
//! Inside, the CLI and everything it runs see a few read-only system folders, the folders that they are given,
//! and nothing else. They have an empty home and an empty `/tmp`, see only their own processes and have no
//! terminal. The network is the machine's, because the CLI has to reach its API.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// System folders that are readable, if they exist.
const SYSTEM: [&str; 2] = ["/usr", "/opt"];
/// On most systems these are links into `/usr`.
const LINKED: [&str; 6] = ["/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"];
/// The parts of `/etc` that programs need to resolve names and find certificates and libraries. The rest may
/// hold secrets.
const ETC: [&str; 18] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki",
    "/etc/resolv.conf",
    "/etc/ssl",
    "/etc/timezone",
];

/// The parts of a home that outlive the process: transcripts, without which no session could be resumed, and
/// file copies for rewinding. All of it is data. Nothing else is kept, because everything that programs run at
/// startup (settings with hooks, MCP servers, plugins, shell profiles, git configuration) is in a home, and one
/// session could leave it there for the next.
const KEPT: [&str; 5] = ["projects", "file-history", "plans", "tasks", "todos"];

/// How long the check may take to create a sandbox and exit.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// A sandbox around a process and everything it starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sandbox {
    /// The program that creates it: a path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// Folders that are readable and writable.
    pub writable: Vec<PathBuf>,
    /// Files and folders that are readable. Missing ones are skipped.
    pub readable: Vec<PathBuf>,
    /// The home folder inside. It is writable, and empty for each process apart from the CLI's transcripts,
    /// which are kept here. It must not be the user's own home.
    pub home: PathBuf,
    /// A file with credentials that is mounted read-only into that home, if it exists.
    pub credentials: Option<PathBuf>,
}

/// Why a sandbox cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// Sandboxes are not available on this system.
    #[error(
        "sandboxes are not available on this system: they need Linux and bubblewrap (Debian's package bubblewrap)"
    )]
    NoSystem,
    /// It could not be created.
    #[error(
        "the sandbox does not work: {reason}; is bubblewrap installed (Debian's package bubblewrap), and may it create namespaces?"
    )]
    NotWorking {
        /// What went wrong.
        reason: String,
    },
}

impl Sandbox {
    /// A sandbox with this home and nothing else.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self {
            program: PathBuf::from("bwrap"),
            writable: Vec::new(),
            readable: Vec::new(),
            home: home.into(),
            credentials: None,
        }
    }

    /// Makes a folder readable and writable.
    #[must_use]
    pub fn writable(mut self, folder: impl Into<PathBuf>) -> Self {
        self.writable.push(folder.into());
        self
    }

    /// Makes a file or folder readable.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Creates a sandbox and runs nothing in it, to check that it works.
    ///
    /// # Errors
    /// Why it does not work.
    pub async fn check(&self) -> Result<(), SandboxError> {
        if !cfg!(target_os = "linux") {
            return Err(SandboxError::NoSystem);
        }
        let failed = |reason: String| SandboxError::NotWorking { reason };
        let mut args = self.arguments(Path::new("/"), &[]);
        args.push("true".into());
        let environment = crate::Environment::inherit();
        let answer = crate::brief::ask(&self.program, &args, &environment, PATIENCE).await;
        let answer = answer.map_err(|error| failed(format!("{}: {error}", self.program.display())))?;
        if answer.exit.is_success() { Ok(()) } else { Err(failed(answer.stderr.trim().to_owned())) }
    }

    /// The folders of the home that outlive the process.
    pub(crate) fn kept(&self) -> impl Iterator<Item = PathBuf> {
        KEPT.iter().map(|folder| self.home.join(".claude").join(folder))
    }

    /// The arguments before the program to run inside, which starts in `cwd`. `more` is readable as well.
    pub(crate) fn arguments(&self, cwd: &Path, more: &[PathBuf]) -> Vec<OsString> {
        let mut args = Arguments(Vec::new());
        for flag in [
            "--die-with-parent",
            // A process that has the terminal Weir was started in can type into it.
            "--new-session",
            "--unshare-user-try",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ] {
            args.add([flag]);
        }
        args.add(["--cap-drop", "ALL"]);
        for folder in SYSTEM.iter().chain(&ETC) {
            args.add(["--ro-bind-try", folder, folder]);
        }
        for folder in LINKED.map(Path::new) {
            match std::fs::read_link(folder) {
                Ok(target) => args.paths("--symlink", &target, folder),
                Err(_) => args.paths("--ro-bind-try", folder, folder),
            }
        }
        args.add(["--proc", "/proc"]);
        args.add(["--dev", "/dev"]);
        args.add(["--tmpfs", "/tmp"]);
        // Folders that the environment names are usually not there. The CLI writes settings into the one for
        // temporary files before it does anything else.
        args.paths("--setenv", Path::new("HOME"), &self.home);
        args.add(["--setenv", "TMPDIR", "/tmp"]);
        for name in ["CLAUDE_CODE_TMPDIR", "CLAUDE_CONFIG_DIR", "XDG_RUNTIME_DIR"] {
            args.add(["--unsetenv", name]);
        }
        for path in readable(self.readable.iter().chain(more)) {
            args.paths("--ro-bind-try", &path, &path);
        }
        args.add(["--tmpfs"]);
        args.0.push(self.home.clone().into());
        for folder in self.kept().filter(|folder| folder.is_dir()) {
            args.paths("--bind", &folder, &folder);
        }
        if let Some(login) = self.credentials.as_ref().filter(|login| login.exists()) {
            args.paths("--ro-bind-try", login, &self.home.join(".claude/.credentials.json"));
        }
        for folder in &self.writable {
            args.paths("--bind", folder, folder);
        }
        args.add(["--chdir"]);
        args.0.push(cwd.into());
        args.add(["--"]);
        args.0
    }
}

/// The paths to mount. A path that lies in a mounted folder is already there, and bubblewrap refuses to mount on a
/// link. What such a link points to is mounted instead.
fn readable<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Vec<PathBuf> {
    let mut mounted: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    for path in paths {
        for path in [path.canonicalize().ok(), Some(path.clone())].into_iter().flatten() {
            if !mounted.iter().any(|folder| path.starts_with(folder)) {
                mounted.push(path);
            }
        }
    }
    mounted.split_off(SYSTEM.len())
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn paths(&mut self, flag: &str, from: &Path, to: &Path) {
        self.0.extend([OsString::from(flag), from.into(), to.into()]);
    }
}

/// Paths that must be readable for this program to run: the package it belongs to, and the interpreter of
/// scripts.
pub(crate) fn needed_by(program: &Path, search_path: Option<&std::ffi::OsStr>) -> Vec<PathBuf> {
    let mut needed = Vec::new();
    let mut add = |path: PathBuf| {
        if !SYSTEM.iter().any(|system| path.starts_with(system)) && !needed.contains(&path) {
            needed.push(path);
        }
    };
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    // An npm package needs the packages next to it. Take the outermost folder, because packages nest.
    let packages =
        real.ancestors().filter(|folder| folder.file_name().is_some_and(|name| name == "node_modules"));
    add(packages.last().map_or_else(|| real.clone(), Path::to_owned));
    add(program.to_owned());
    for folder in search_path.map(std::env::split_paths).into_iter().flatten() {
        let node = folder.join("node");
        if let Ok(real) = node.canonicalize() {
            add(node);
            add(real);
            break;
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_folders_come_after_hidden_ones() {
        let sandbox = Sandbox::new("/data/home").writable("/tmp/project").readable("/tmp/tool");
        let args = sandbox.arguments(Path::new("/tmp/project/sub"), &["/tmp/more".into()]);
        let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
        let place = |wanted: &[&str]| words.windows(wanted.len()).position(|words| words == wanted).unwrap();
        let hidden = place(&["--tmpfs", "/tmp"]);
        assert!(hidden < place(&["--bind", "/tmp/project", "/tmp/project"]));
        assert!(hidden < place(&["--ro-bind-try", "/tmp/tool", "/tmp/tool"]));
        assert!(hidden < place(&["--ro-bind-try", "/tmp/more", "/tmp/more"]));
        assert_eq!(words[words.len() - 3..], ["--chdir", "/tmp/project/sub", "--"]);
        assert!(!words.contains(&"/etc") && !words.contains(&"/home") && !words.contains(&"/"));
    }

    #[test]
    fn the_environment_names_no_folder_outside() {
        let args = Sandbox::new("/data/home").arguments(Path::new("/"), &[]);
        let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
        let has = |wanted: &[&str]| words.windows(wanted.len()).any(|words| words == wanted);
        assert!(has(&["--tmpfs", "/tmp"]) && has(&["--setenv", "TMPDIR", "/tmp"]));
        assert!(has(&["--setenv", "HOME", "/data/home"]));
        for name in ["CLAUDE_CODE_TMPDIR", "CLAUDE_CONFIG_DIR", "XDG_RUNTIME_DIR"] {
            assert!(has(&["--unsetenv", name]), "{name}");
        }
    }

    #[test]
    fn nothing_is_mounted_on_a_link_in_a_mounted_folder() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let [folder, other] = ["folder", "other"].map(|name| root.join(name));
        for folder in [&folder, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(other.join("tool"), "").unwrap();
        let (inside, outside) = (folder.join("link"), root.join("link"));
        for link in [&inside, &outside] {
            std::os::unix::fs::symlink(other.join("tool"), link).unwrap();
        }
        let given = [folder.clone(), inside, outside.clone(), "/usr/bin/env".into(), root.join("missing")];
        let mounted = readable(given.iter());
        assert_eq!(mounted, [folder, other.join("tool"), outside, root.join("missing")]);
    }

    #[test]
    fn only_data_in_a_home_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(home.path());
        for folder in sandbox.kept() {
            std::fs::create_dir_all(folder).unwrap();
        }
        let args = sandbox.arguments(Path::new("/"), &[]);
        let at =
            |flag: &str, path: &Path| args.windows(2).position(|pair| pair[0] == flag && pair[1] == path);
        let emptied = at("--tmpfs", home.path()).unwrap();
        assert!(at("--bind", home.path()).is_none() && at("--bind", &home.path().join(".claude")).is_none());
        assert!(at("--bind", &home.path().join(".claude/projects")).is_some_and(|bound| bound > emptied));
        assert!(args.contains(&"--new-session".into()));
    }

    #[test]
    fn a_package_is_readable_as_a_whole() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let bin = root.join("node_modules/.bin");
        std::fs::create_dir_all(root.join("node_modules/a/node_modules/b")).unwrap();
        std::fs::create_dir_all(&bin).unwrap();
        let program = root.join("node_modules/a/node_modules/b/cli.js");
        std::fs::write(&program, "").unwrap();
        std::os::unix::fs::symlink(&program, bin.join("claude")).unwrap();
        let needed = needed_by(&bin.join("claude"), None);
        assert_eq!(needed, [root.join("node_modules"), bin.join("claude")]);
        assert_eq!(needed_by(Path::new("/usr/bin/true"), None), Vec::<PathBuf>::new());
    }
}
