//! Files that are replaced atomically: a reader, or the next start after a kill, finds the old content or the new one.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the temporary files of contended ones.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// How a file is replaced.
#[derive(Debug, Clone, Default)]
pub struct Replace {
    permissions: Option<Permissions>,
    is_quick: bool,
    is_contended: bool,
}

impl Replace {
    /// Durably, and readable by its owner only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the file these permissions, before it takes its name.
    #[must_use]
    pub fn permissions(mut self, permissions: Option<Permissions>) -> Self {
        self.permissions = permissions;
        self
    }

    /// Leaves out the fsync: for a file that can be derived again.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.is_quick = true;
        self
    }

    /// For a file that several processes or threads may replace at once: each uses a temporary file of its own.
    #[must_use]
    pub fn contended(mut self) -> Self {
        self.is_contended = true;
        self
    }

    /// Replaces the file by what `write` writes: to a temporary file next to it, which is then renamed.
    ///
    /// # Errors
    /// If the file cannot be written. The old one is then still there, and no temporary file is left.
    pub fn with(&self, path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let temporary = self.temporary(path);
        let done = self.write(&temporary, write).and_then(|()| std::fs::rename(&temporary, path));
        if done.is_err() {
            let _ = std::fs::remove_file(&temporary);
            return done;
        }
        // Without this, the rename itself could be lost in a power failure.
        #[cfg(unix)]
        if !self.is_quick {
            File::open(parent(path))?.sync_all()?;
        }
        Ok(())
    }

    /// Replaces the file by these bytes.
    ///
    /// # Errors
    /// As [`Replace::with`].
    pub fn bytes(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.with(path, |file| file.write_all(bytes))
    }

    /// Unless the file is contended this is always the same name, so that a writer that was killed leaves at most one,
    /// which the next writer replaces.
    fn temporary(&self, path: &Path) -> PathBuf {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        if self.is_contended {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            name.push(format!(".{}-{number}", std::process::id()));
        }
        name.push(".new");
        parent(path).join(name)
    }

    fn write(&self, temporary: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        // One that a killed writer left may have another mode.
        let _ = std::fs::remove_file(temporary);
        let mut file = private(OpenOptions::new().create_new(true).write(true)).open(temporary)?;
        write(&mut file)?;
        if let Some(permissions) = &self.permissions {
            // Before the rename: after a kill nothing would repair them.
            file.set_permissions(permissions.clone())?;
        }
        if self.is_quick { Ok(()) } else { file.sync_all() }
    }
}

/// Durably replaces a file by these bytes; only its owner may read it.
///
/// # Errors
/// As [`Replace::with`].
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Replace::new().bytes(path, bytes)
}

/// Makes a file that is created readable by its owner only.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Creates a folder, and those above it, readable by their owner only. Existing ones stay as they are.
///
/// # Errors
/// If it cannot be created.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("state.json");
        for text in ["one", "two"] {
            replace(&file, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
        std::fs::write(place.path().join("state.json.new"), "left by a killed writer").unwrap();
        Replace::new().quick().bytes(&file, b"three").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "three");
        assert_eq!(names(place.path()), ["state.json"]);
    }

    #[test]
    fn writers_of_one_contended_file_do_not_mix() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("state.json");
        let contents: Vec<Vec<u8>> = (b'a'..b'e').map(|letter| vec![letter; 20_000]).collect();
        std::thread::scope(|scope| {
            for content in &contents {
                let write = || Replace::new().quick().contended().bytes(&file, content).unwrap();
                scope.spawn(move || (0..50).for_each(|_| write()));
            }
        });
        assert!(contents.contains(&std::fs::read(&file).unwrap()));
        assert_eq!(names(place.path()), ["state.json"]);
    }

    #[test]
    fn a_failed_write_keeps_the_old_content() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("state.json");
        replace(&file, b"old").unwrap();
        let failed = Replace::new().with(&file, |new| {
            new.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(names(place.path()), ["state.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn files_and_folders_are_private_unless_said_otherwise() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        create_private_folder(&folder).unwrap();
        let file = folder.join("file");
        replace(&file, b"x").unwrap();
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        Replace::new().permissions(Some(Permissions::from_mode(0o644))).bytes(&file, b"y").unwrap();
        assert_eq!(mode(&file), 0o644);
    }
}
