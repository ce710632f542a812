//! Reads the file that a call would write, so that a person can see what would change.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use weir_transcript::{FilePreview, proposed_path};

/// Larger files are not read.
const MAX_BYTES: u64 = 1 << 20;

/// What a call would do to the file that it writes; `None` if it writes none. Blocks.
///
/// Only a regular file of limited size is read, and if `roots` are given, only one that is inside one of them
/// with all links resolved. For other files it only says that they exist. The roots must already be resolved.
pub fn file_preview(tool: &str, input: &Value, cwd: &Path, roots: Option<&[PathBuf]>) -> Option<FilePreview> {
    let named = cwd.join(proposed_path(tool, input)?);
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let Some(path) = resolved(&named) else {
        return Some(FilePreview::hidden(tool, &shown(&named), "the path cannot be resolved"));
    };
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some(FilePreview::of(tool, input, &shown(&path), None));
        }
        Err(error) => return Some(FilePreview::hidden(tool, &shown(&path), error.to_string())),
        Ok(_) => {}
    }
    let root = match roots {
        None => Path::new("/"),
        Some(roots) => match roots.iter().find(|root| path.starts_with(root)) {
            Some(root) => root,
            None => {
                let reason = "it is outside the folders that this server works in";
                return Some(FilePreview::hidden(tool, &shown(&path), reason));
            }
        },
    };
    Some(match read(root, &path) {
        Ok(content) => FilePreview::of(tool, input, &shown(&path), Some(&content)),
        Err(reason) => FilePreview::hidden(tool, &shown(&path), reason),
    })
}

/// The text of a file in a folder, whose path must already be resolved. Blocks.
///
/// Only a regular file of limited size is read, and only if it is inside the folder with all links resolved.
///
/// # Errors
/// Why it is not read, as text for a person.
pub fn read_text_below(folder: &Path, file: &Path) -> Result<String, String> {
    let path = folder.join(file).canonicalize().map_err(|error| error.to_string())?;
    if !path.starts_with(folder) {
        return Err("it is outside the session's folder".to_owned());
    }
    read(folder, &path)
}

/// The first bytes of a file in a folder, whose path must already be resolved, and the file's size. Blocks.
///
/// Only a regular file is read, and only if it is inside the folder with all links resolved.
///
/// # Errors
/// Why it is not read, as text for a person.
pub fn read_bytes_below(folder: &Path, file: &Path, max: u64) -> Result<(Vec<u8>, u64), String> {
    let path = folder.join(file).canonicalize().map_err(|error| error.to_string())?;
    if !path.starts_with(folder) {
        return Err("it is outside the session's folder".to_owned());
    }
    let file = open_below(folder, &path).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut content = Vec::new();
    file.take(max).read_to_end(&mut content).map_err(|error| error.to_string())?;
    // The size can change during reading.
    Ok((content, about.len()))
}

/// The path with links followed as far as it exists. `None` if a part is a dangling link or a loop.
fn resolved(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    let existing = path.ancestors().find(|part| part.symlink_metadata().is_ok())?;
    let rest = path.strip_prefix(existing).ok()?;
    if rest.components().any(|part| !matches!(part, Component::Normal(_))) {
        return None;
    }
    let real = existing.canonicalize().ok()?;
    Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}

/// The text of a file in a folder. No links are followed: the path is already resolved, so any link in it was
/// created since.
fn read(root: &Path, path: &Path) -> Result<String, String> {
    let file = open_below(root, path).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut content = Vec::new();
    // The size can change during reading.
    file.take(MAX_BYTES + 1).read_to_end(&mut content).map_err(|error| error.to_string())?;
    if content.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {} KiB", MAX_BYTES >> 10));
    }
    String::from_utf8(content).map_err(|_| "it is not UTF-8 text".to_owned())
}

#[cfg(unix)]
fn open_below(root: &Path, path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags, open, openat};

    let inside = path.strip_prefix(root).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut place = open(root, folder | OFlags::RDONLY, Mode::empty())?;
    let mut parts = inside.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(std::io::ErrorKind::InvalidInput.into()) };
        // A pipe must not make us wait for its writer.
        let file = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let flags = if parts.peek().is_some() { folder } else { file };
        place = openat(&place, name, flags | OFlags::RDONLY, Mode::empty())?;
    }
    Ok(File::from(place))
}

#[cfg(not(unix))]
fn open_below(_: &Path, path: &Path) -> std::io::Result<File> {
    File::open(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_transcript::FileEffect;

    use super::*;

    fn write(root: &Path, file: &str) -> FilePreview {
        let input = json!({"file_path": file, "content": "new\n"});
        file_preview("Write", &input, root, Some(&[root.to_owned()])).unwrap()
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("work");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/a"), "old\n").unwrap();
        std::fs::write(root.join("../secret"), "the secret\n").unwrap();
        (place, root)
    }

    #[test]
    fn replaced_content_is_shown() {
        let (_place, root) = place();
        let preview = write(&root, "src/a");
        assert_eq!((preview.effect, preview.removed, preview.added), (FileEffect::Replaces, 1, 1));
        assert_eq!(preview.path, root.join("src/a").to_str().unwrap());
        assert_eq!(write(&root, "src/b").effect, FileEffect::Creates);
        assert_eq!(write(&root, "deep/er/b").effect, FileEffect::Creates);
        assert_eq!(file_preview("Bash", &json!({"command": "ls"}), &root, None), None);
    }

    #[test]
    fn nothing_outside_is_read() {
        let (_place, root) = place();
        for path in ["../secret", root.join("../secret").to_str().unwrap(), "src/../../secret", "/etc/passwd"]
        {
            let preview = write(&root, path);
            assert_eq!((preview.effect, &preview.diff), (FileEffect::Replaces, &None), "{path}");
            assert!(preview.reason.unwrap().contains("outside"), "{path}");
        }
        // A user at their own terminal sees all of it.
        let input = json!({"file_path": "../secret", "content": "new\n"});
        assert_eq!(file_preview("Write", &input, &root, None).unwrap().removed, 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_and_large_files_are_reported_and_not_read() {
        let (_place, root) = place();
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
        std::os::unix::fs::symlink("src/a", root.join("inside")).unwrap();
        for path in ["link", "up/secret"] {
            let preview = write(&root, path);
            assert_eq!((preview.effect, &preview.diff), (FileEffect::Replaces, &None), "{path}");
            assert!(preview.path.ends_with("/secret") && !preview.path.contains("work"), "{}", preview.path);
        }
        assert!(write(&root, "dangling").reason.is_some());
        let preview = write(&root, "inside");
        assert!(preview.path.ends_with("src/a") && preview.removed == 1, "{preview:?}");
        // A link created after the path was resolved.
        assert!(read(&root, &root.join("link")).is_err());
        assert!(read(&root, &root.join("up/secret")).is_err());
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        assert!(write(&root, "pipe").reason.unwrap().contains("regular"));
        assert!(write(&root, "src").reason.unwrap().contains("regular"));
        std::fs::write(root.join("large"), vec![b'x'; (1 << 20) + 1]).unwrap();
        assert!(write(&root, "large").reason.unwrap().contains("larger"));
        std::fs::write(root.join("binary"), [0xff, 0xfe, 0]).unwrap();
        assert!(write(&root, "binary").reason.unwrap().contains("UTF-8"));
    }
}
