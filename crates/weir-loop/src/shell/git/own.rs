//! Weir's own repository: the only configuration, index and references that count for the work of sessions.
//!
//! It shares nothing with the repository of the person but the store of objects, into which it writes. A session may run
//! git, so neither the `.git` in its folder nor the configuration of the person decides what is committed: hooks,
//! filters, a watcher of files, flags in an index, `info/exclude` and replaced objects exist only where Weir's own
//! repository has them, and it has none.

use std::path::{Path, PathBuf};

use weir_process::Environment;

use super::{Git, GitError};
use crate::state::write_atomically;

/// Settings of a person that say how files are written, and that cannot be used to cheat: the gates see the same.
const KEPT: [&str; 8] = [
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.bigfilethreshold",
    "core.compression",
];

/// Weir's own repository.
#[derive(Debug)]
pub(crate) struct OwnRepository {
    folder: PathBuf,
    objects: PathBuf,
    name: String,
    email: String,
    /// The configuration of the repositories that sessions and gates see.
    visible: String,
    excludes: String,
    /// The tags and branches that sessions see.
    references: String,
    /// The files of the repository, as Weir has written them.
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// Folders of the repository, all of them empty apart from `info/exclude`.
const FOLDERS: [&str; 3] = ["refs", "info", "objects"];

impl OwnRepository {
    /// Creates the repository in a folder, or takes over the one that is there with a new configuration. `home` is the
    /// repository of the person.
    pub(crate) async fn open(folder: PathBuf, home: &Git) -> Result<Self, GitError> {
        let objects = home.absolute(&home.line(&["rev-parse", "--git-path", "objects"]).await?);
        let shallow = home.absolute(&home.line(&["rev-parse", "--git-path", "shallow"]).await?);
        let (name, email) = identity(&home.line(&["var", "GIT_COMMITTER_IDENT"]).await?);
        let format = home.line(&["rev-parse", "--show-object-format"]).await?;
        let common = format!(
            "[core]\n\trepositoryformatversion = {}\n\tbare = false\n{}[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n{}",
            u8::from(format != "sha1"),
            settings(home).await?,
            if format == "sha1" {
                String::new()
            } else {
                format!("[extensions]\n\tobjectFormat = {format}\n")
            },
        );
        let excluded = folder.join("info/exclude");
        let config = format!(
            "{common}[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tuntrackedCache = false\n\tattributesFile = /dev/null\n\
             \texcludesFile = {}\n\tlogAllRefUpdates = false\n\tcheckStat = default\n\ttrustctime = true\n[submodule]\n\trecurse = false\n\
             [diff]\n\trenames = false\n",
            quoted(&excluded)
        );
        let visible = format!(
            "{common}[user]\n\tname = {}\n\temail = {}\n",
            quoted(Path::new(&name)),
            quoted(Path::new(&email))
        );
        let excludes = excludes(home).await?;
        let listed =
            ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"];
        let references = home.run(&listed).await?;
        let mut files = vec![
            (PathBuf::from("HEAD"), b"ref: refs/heads/none\n".to_vec()),
            (PathBuf::from("config"), config.into_bytes()),
            (PathBuf::from("info/exclude"), excludes.clone().into_bytes()),
        ];
        let boundary = std::fs::read(&shallow).unwrap_or_default();
        if !boundary.is_empty() {
            files.push((PathBuf::from("shallow"), boundary));
        }
        let own = Self { folder, objects, name, email, visible, excludes, references, files };
        own.ensure_own()?;
        Ok(own)
    }

    /// Makes the repository what Weir has written, if another program has written there: a session that is not in a sandbox
    /// could.
    pub(crate) fn ensure_own(&self) -> Result<(), GitError> {
        let failed = |source| GitError::Own { path: self.folder.clone(), source };
        for name in FOLDERS {
            let path = self.folder.join(name);
            if std::fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir()) {
                remove(&path).map_err(failed)?;
            }
            std::fs::create_dir_all(path).map_err(failed)?;
        }
        for folder in ["", "refs", "info", "objects"] {
            for entry in std::fs::read_dir(self.folder.join(folder)).map_err(failed)? {
                let name = Path::new(folder).join(entry.map_err(failed)?.file_name());
                let is_known = self.files.iter().any(|(known, _)| *known == name)
                    || FOLDERS.iter().any(|known| Path::new(known) == name);
                if !is_known {
                    remove(&self.folder.join(name)).map_err(failed)?;
                }
            }
        }
        for (name, text) in &self.files {
            let path = self.folder.join(name);
            let is_file = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
            if !is_file || std::fs::read(&path).map_err(failed)? != *text {
                remove(&path).map_err(failed)?;
                write_atomically(&path, text).map_err(|source| GitError::Own { path, source })?;
            }
        }
        Ok(())
    }

    /// The folders with objects, which have to be readable for a git that works on a place.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let mut all = vec![self.objects.clone()];
        let mut next = 0;
        while let Some(folder) = all.get(next).cloned() {
            let text = std::fs::read_to_string(folder.join("info/alternates")).unwrap_or_default();
            let more = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
            let more: Vec<PathBuf> =
                more.map(|line| folder.join(line)).filter(|path| !all.contains(path)).collect();
            all.extend(more);
            next += 1;
        }
        all
    }

    /// The variables with which git uses this repository for a folder, and no configuration from elsewhere.
    pub(super) fn environment(&self, outer: Environment, folder: &Path, index: &Path) -> Environment {
        outer
            .set("GIT_DIR", &self.folder)
            .set("GIT_WORK_TREE", folder)
            .set("GIT_INDEX_FILE", index)
            .set("GIT_OBJECT_DIRECTORY", &self.objects)
            .set("GIT_CONFIG_NOSYSTEM", "1")
            .set("GIT_CONFIG_GLOBAL", "/dev/null")
            .set("GIT_CONFIG_SYSTEM", "/dev/null")
            .set("GIT_ATTR_NOSYSTEM", "1")
            .set("GIT_NO_REPLACE_OBJECTS", "1")
            .set("GIT_LITERAL_PATHSPECS", "1")
            .set("GIT_AUTHOR_NAME", &self.name)
            .set("GIT_AUTHOR_EMAIL", &self.email)
            .set("GIT_COMMITTER_NAME", &self.name)
            .set("GIT_COMMITTER_EMAIL", &self.email)
    }

    /// Writes a repository into a place that Weir has laid out, with a commit as its detached `HEAD`, for the git that a
    /// session or a gate runs there. Weir never reads it. What was there is removed.
    pub(crate) fn write_visible(&self, place: &Path, commit: &str, index: &Path) -> std::io::Result<()> {
        let folder = place.join(".git");
        remove(&folder)?;
        for name in ["refs/heads", "refs/tags", "info", "objects/info", "objects/pack"] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text);
        write("config", &self.visible)?;
        write("info/exclude", &self.excludes)?;
        write("objects/info/alternates", &format!("{}\n", self.objects.display()))?;
        // Sorted by name, as git expects.
        let mut references: Vec<&str> = self.references.lines().collect();
        references.sort_by_key(|line| line.split_once(' ').map(|(_, name)| name));
        let listed: String = references.iter().flat_map(|line| [*line, "\n"]).collect();
        write("packed-refs", &format!("# pack-refs with: sorted \n{listed}"))?;
        if let Ok(shallow) = std::fs::read(self.folder.join("shallow")) {
            std::fs::write(folder.join("shallow"), shallow)?;
        }
        std::fs::copy(index, folder.join("index"))?;
        // Last: without it this is not a repository yet.
        write("HEAD", &format!("{commit}\n"))
    }
}

/// Removes a file, a link or a folder, if it is there.
pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if found.is_dir() => remove_folder(path),
        Ok(_) => std::fs::remove_file(path),
    }
}

/// Removes a folder, also if a program has made parts of it unwritable.
fn remove_folder(path: &Path) -> std::io::Result<()> {
    if std::fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    open_up(path);
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Makes all folders below a folder writable.
fn open_up(path: &Path) {
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !is_folder {
        return;
    }
    #[cfg(unix)]
    {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        // What cannot be changed is reported when it cannot be removed.
        let _ = std::fs::set_permissions(path, permissions);
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
        open_up(&entry.path());
    }
}

/// Name and address of `NAME <ADDRESS> TIME ZONE`.
fn identity(text: &str) -> (String, String) {
    let (name, rest) = text.split_once('<').unwrap_or((text, ""));
    let (email, _) = rest.split_once('>').unwrap_or((rest, ""));
    (name.trim().to_owned(), email.trim().to_owned())
}

/// The person's settings that are kept, as lines of a configuration.
async fn settings(home: &Git) -> Result<String, GitError> {
    let text = home.raw(&["config", "-z", "--get-regexp", r"^core\."], b"").await?.stdout.text();
    let mut lines = String::new();
    for (name, value) in text.split('\0').filter_map(|entry| entry.split_once('\n')) {
        if KEPT.contains(&name) {
            let key = name.trim_start_matches("core.");
            lines.push_str(&format!("\t{key} = {}\n", quoted(Path::new(value))));
        }
    }
    Ok(lines)
}

/// What the person has git ignore in this repository and everywhere, as of now.
async fn excludes(home: &Git) -> Result<String, GitError> {
    let inside = home.absolute(&home.line(&["rev-parse", "--git-path", "info/exclude"]).await?);
    let named = home.raw(&["config", "--type=path", "core.excludesFile"], b"").await?;
    let mut files = vec![inside];
    if named.is_success() {
        files.push(home.absolute(named.stdout.text().trim_end_matches('\n')));
    } else {
        let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
        files.extend(config.map(|config| config.join("git/ignore")));
    }
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    Ok(texts.flat_map(|text| [text, "\n".to_owned()]).collect())
}

/// A value of git's configuration.
fn quoted(value: &Path) -> String {
    let text = value.to_string_lossy();
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}
