//! A fence around the CLI that the kernel keeps: bubblewrap.
//!
//! Inside, the CLI and everything that it runs see a few system folders that they can read, the folders that they are
//! given, and nothing else; they have an empty home and an empty `/tmp`; they see no processes but their own and have no
//! terminal. The network is that of the machine, because the CLI has to reach its API.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// System folders that can be read, where they exist.
const SYSTEM: [&str; 2] = ["/usr", "/opt"];
/// On most systems these are links into `/usr`.
const LINKED: [&str; 6] = ["/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"];
/// What of `/etc` programs need in order to find names, certificates and libraries. The rest may hold secrets.
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

/// What of a home outlives the process: the transcripts, without which no session could be resumed, and copies of files for
/// rewinding. All of it is data. Nothing else is kept, because whatever programs run at their start (settings with hooks,
/// MCP servers, plugins, shell profiles, the configuration of git) lies in a home: one session could leave it there for the
/// next.
const KEPT: [&str; 5] = ["projects", "file-history", "plans", "tasks", "todos"];

/// How long it may take to make a fence and end again.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// A fence around a process and everything that it starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sandbox {
    /// The program that makes it: a path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// Folders that can be read and written.
    pub writable: Vec<PathBuf>,
    /// Files and folders that can be read. Those that do not exist are left out.
    pub readable: Vec<PathBuf>,
    /// The home folder inside. It can be written and is empty for each process, apart from the CLI's transcripts, which are
    /// kept here. It must not be the person's own.
    pub home: PathBuf,
    /// A file with a login that is put into that home for reading, if it exists.
    pub credentials: Option<PathBuf>,
}

/// Why there can be no sandbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The system has none of this kind.
    #[error(
        "there is no sandbox on this system: it needs Linux and bubblewrap (Debian's package bubblewrap)"
    )]
    NoSystem,
    /// It could not be made.
    #[error(
        "the sandbox does not work: {reason}; is bubblewrap installed (Debian's package bubblewrap), and may it make namespaces?"
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

    /// Lets a folder be read and written.
    #[must_use]
    pub fn writable(mut self, folder: impl Into<PathBuf>) -> Self {
        self.writable.push(folder.into());
        self
    }

    /// Lets a file or folder be read.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Makes one and runs nothing in it, to see whether that works.
    ///
    /// # Errors
    /// Why it does not.
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

    /// The arguments before the program that runs inside, which begins in `cwd`. `more` can be read as well.
    pub(crate) fn arguments(&self, cwd: &Path, more: &[PathBuf]) -> Vec<OsString> {
        let mut args = Arguments(Vec::new());
        for flag in [
            "--die-with-parent",
            // Whoever has the terminal that Weir was started in can type into it.
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
        for path in self.readable.iter().chain(more) {
            args.paths("--ro-bind-try", path, path);
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

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn paths(&mut self, flag: &str, from: &Path, to: &Path) {
        self.0.extend([OsString::from(flag), from.into(), to.into()]);
    }
}

/// What has to be readable so that this program runs: the package that it is a part of, and the interpreter of scripts.
pub(crate) fn needed_by(program: &Path, search_path: Option<&std::ffi::OsStr>) -> Vec<PathBuf> {
    let mut needed = Vec::new();
    let mut add = |path: PathBuf| {
        if !SYSTEM.iter().any(|system| path.starts_with(system)) && !needed.contains(&path) {
            needed.push(path);
        }
    };
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    // A package of npm needs those beside it. The outermost folder is taken, because packages nest.
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
    fn what_is_given_comes_after_what_is_hidden() {
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
    fn nothing_of_a_home_is_kept_but_data() {
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
