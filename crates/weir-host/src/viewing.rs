//! The files of a session's folder, for a person who reads them: a folder, a text with the lines that the agent has
//! edited, a picture.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_session::read_bytes_below;

use crate::error::HostError;

/// How many entries of a folder are listed.
const MAX_ENTRIES: usize = 2_000;
/// How much of a text is shown.
const MAX_TEXT: u64 = 1 << 20;
/// How large a file may be that is sent as it is.
const MAX_BYTES: u64 = 16 << 20;

/// A folder of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FileTree {
    /// Its path relative to the session's folder; empty for that itself.
    pub path: String,
    /// What is in it, folders first, by name. What has a name that is no text is left out.
    pub entries: Vec<TreeEntry>,
    /// Whether there is more than is listed.
    pub more: bool,
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TreeEntry {
    /// Its name.
    pub name: String,
    /// Its path relative to the session's folder.
    pub path: String,
    /// What it is.
    pub kind: TreeKind,
    /// Size of a file in bytes.
    pub size: Option<u64>,
}

/// What is in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum TreeKind {
    /// A folder.
    Folder,
    /// A file.
    File,
    /// A link, which is not followed.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// A file of a session's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FileView {
    /// Its path relative to the session's folder.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// What it is.
    pub kind: FileViewKind,
    /// Its text, up to 1 MiB.
    pub text: Option<String>,
    /// Whether the text is longer.
    pub truncated: bool,
    /// The lines that the agent's tools have written in this session, as far as they were not changed by anything else.
    pub edited: Vec<LineRange>,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum FileViewKind {
    /// A text.
    Text,
    /// A picture that browsers show and never execute: PNG, JPEG, GIF or WebP.
    Picture,
    /// Anything else.
    Binary,
}

/// Lines of a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LineRange {
    /// The first one.
    pub from: u32,
    /// The last one.
    pub to: u32,
}

/// The bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBytes {
    /// Such as `image/png`; none if a browser should not show it.
    pub picture: Option<&'static str>,
    /// The bytes.
    pub data: Vec<u8>,
}

/// A folder below another one, without following links that lead out. Blocks.
pub(crate) fn tree(folder: &Path, path: &str) -> Result<FileTree, HostError> {
    let inside = relative(path)?;
    let place = folder.join(&inside).canonicalize().map_err(|error| refused(path, &error.to_string()))?;
    if !place.starts_with(folder) {
        return Err(refused(path, "it is outside the session's folder"));
    }
    let listed = std::fs::read_dir(&place).map_err(|error| refused(path, &error.to_string()))?;
    let mut tree = FileTree { path: text_of(&inside), ..FileTree::default() };
    for found in listed.flatten() {
        if tree.entries.len() >= MAX_ENTRIES {
            tree.more = true;
            break;
        }
        let (Ok(name), Ok(about)) = (found.file_name().into_string(), found.path().symlink_metadata()) else {
            continue;
        };
        let kind = match about.file_type() {
            kind if kind.is_dir() => TreeKind::Folder,
            kind if kind.is_file() => TreeKind::File,
            kind if kind.is_symlink() => TreeKind::Link,
            _ => TreeKind::Other,
        };
        let size = about.is_file().then_some(about.len());
        tree.entries.push(TreeEntry { path: text_of(&inside.join(&name)), name, kind, size });
    }
    tree.entries.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    Ok(tree)
}

/// A file below a folder. Blocks.
pub(crate) fn view(folder: &Path, path: &str) -> Result<FileView, HostError> {
    let inside = relative(path)?;
    let (data, size) = read(folder, &inside, MAX_TEXT)?;
    let mut view = FileView {
        path: text_of(&inside),
        size,
        kind: FileViewKind::Binary,
        text: None,
        truncated: false,
        edited: Vec::new(),
    };
    if picture(&data).is_some() {
        view.kind = FileViewKind::Picture;
        return Ok(view);
    }
    view.truncated = size > data.len() as u64;
    if let Some(text) = text_in(data, view.truncated) {
        (view.kind, view.text) = (FileViewKind::Text, Some(text));
    } else {
        view.truncated = false;
    }
    Ok(view)
}

/// A file as it is. Blocks.
pub(crate) fn bytes(folder: &Path, path: &str) -> Result<FileBytes, HostError> {
    let (data, size) = read(folder, &relative(path)?, MAX_BYTES)?;
    if size > data.len() as u64 {
        return Err(refused(path, &format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(FileBytes { picture: picture(&data), data })
}

fn read(folder: &Path, inside: &Path, max: u64) -> Result<(Vec<u8>, u64), HostError> {
    read_bytes_below(folder, inside, max).map_err(|reason| refused(&text_of(inside), &reason))
}

/// A path inside the folder, as it was named. Nothing that leads up, and nothing from elsewhere.
fn relative(path: &str) -> Result<PathBuf, HostError> {
    let mut inside = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            _ => return Err(refused(path, "it must be a path inside the session's folder")),
        }
    }
    Ok(inside)
}

fn refused(path: &str, reason: &str) -> HostError {
    HostError::Invalid(format!("{path:?} cannot be shown: {reason}"))
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The text of a file, of which a part of the last character may be missing.
fn text_in(data: Vec<u8>, truncated: bool) -> Option<String> {
    if data.contains(&0) {
        return None;
    }
    match String::from_utf8(data) {
        Ok(text) => Some(text),
        Err(error) if truncated && error.utf8_error().error_len().is_none() => {
            let end = error.utf8_error().valid_up_to();
            let mut data = error.into_bytes();
            data.truncate(end);
            String::from_utf8(data).ok()
        }
        Err(_) => None,
    }
}

/// The type of a picture, by its first bytes: a name says nothing.
fn picture(data: &[u8]) -> Option<&'static str> {
    match data {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// A hunk that is being read.
struct OpenHunk {
    /// The line of the new side that comes next.
    at: u32,
    /// How many lines of each side are left.
    old: u32,
    new: u32,
}

/// The lines that changes have written, one diff after another, as far as later ones left them.
pub(crate) fn edited_lines(unified: &str) -> Vec<LineRange> {
    let mut lines: Vec<u32> = Vec::new();
    let mut open: Option<OpenHunk> = None;
    for line in unified.lines() {
        // A hunk says how long it is: a removed line may look like the head of the next diff.
        let Some(hunk) = open.as_mut().filter(|hunk| hunk.old > 0 || hunk.new > 0) else {
            open = line.strip_prefix("@@ -").and_then(read_hunk);
            continue;
        };
        let place = lines.partition_point(|line| *line < hunk.at);
        match line.as_bytes().first() {
            Some(b'+') => {
                for later in lines.iter_mut().skip(place) {
                    *later = later.saturating_add(1);
                }
                lines.insert(place, hunk.at);
                (hunk.at, hunk.new) = (hunk.at.saturating_add(1), hunk.new.saturating_sub(1));
            }
            Some(b'-') => {
                if lines.get(place) == Some(&hunk.at) {
                    lines.remove(place);
                }
                for later in lines.iter_mut().skip(place) {
                    *later = later.saturating_sub(1);
                }
                hunk.old = hunk.old.saturating_sub(1);
            }
            // A remark about the line before.
            Some(b'\\') => {}
            Some(b' ') | None => {
                (hunk.old, hunk.new) = (hunk.old.saturating_sub(1), hunk.new.saturating_sub(1));
                hunk.at = hunk.at.saturating_add(1);
            }
            // The rest of the diff was left out.
            Some(_) => open = None,
        }
    }
    let mut ranges: Vec<LineRange> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some(range) if range.to + 1 == line => range.to = line,
            _ => ranges.push(LineRange { from: line, to: line }),
        }
    }
    ranges
}

/// The head of a hunk, after its first mark: `1,2 +3,4 @@`.
fn read_hunk(head: &str) -> Option<OpenHunk> {
    let (old, rest) = head.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let side = |side: &str| {
        let (start, count) = side.split_once(',').unwrap_or((side, "1"));
        Some((start.parse::<u32>().ok()?, count.parse::<u32>().ok()?))
    };
    let ((_, old), (start, new)) = (side(old)?, side(new)?);
    // An empty side names the line before it.
    Some(OpenHunk { at: if new == 0 { start.saturating_add(1) } else { start }, old, new })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().canonicalize().unwrap().join("work");
        std::fs::create_dir_all(folder.join("src")).unwrap();
        std::fs::write(folder.join("src/main.rs"), "fn main\n").unwrap();
        std::fs::write(folder.join("../secret"), "the secret").unwrap();
        std::os::unix::fs::symlink(folder.join("../secret"), folder.join("link")).unwrap();
        std::os::unix::fs::symlink("/", folder.join("all")).unwrap();
        (place, folder)
    }

    #[test]
    fn only_what_is_inside_is_shown_and_links_are_only_named() {
        let (_place, folder) = place();
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("pipe")).unwrap();
        let listed = tree(&folder, "").unwrap();
        let seen: Vec<_> = listed.entries.iter().map(|entry| (entry.name.as_str(), entry.kind)).collect();
        let expected = [
            ("src", TreeKind::Folder),
            ("all", TreeKind::Link),
            ("link", TreeKind::Link),
            ("pipe", TreeKind::Other),
        ];
        assert_eq!(seen, expected);
        assert_eq!(tree(&folder, "./src").unwrap().entries[0].path, "src/main.rs");
        assert_eq!(view(&folder, "src/main.rs").unwrap().text.as_deref(), Some("fn main\n"));
        for path in [
            "..",
            "../secret",
            "link",
            "all/etc/passwd",
            "/etc/passwd",
            "src/../../secret",
            "pipe",
            "none",
            "a\0b",
        ] {
            assert!(view(&folder, path).is_err() && bytes(&folder, path).is_err(), "{path}");
        }
        for path in ["..", "all", "/", "src/..", "none"] {
            assert!(tree(&folder, path).is_err(), "{path}");
        }
        assert!(view(&folder, "src").is_err());
    }

    #[test]
    fn a_file_is_what_its_bytes_say() {
        let (_place, folder) = place();
        let write = |name: &str, data: &[u8]| std::fs::write(folder.join(name), data).unwrap();
        write("a.png", b"<script>alert(1)</script>");
        write("b.txt", b"\x89PNG\r\n\x1a\n rest");
        write("c", b"\0\x01");
        write("d", "ä".repeat(600_000).as_bytes());
        let kind = |name: &str| view(&folder, name).unwrap().kind;
        assert_eq!(
            (kind("a.png"), kind("b.txt"), kind("c")),
            (FileViewKind::Text, FileViewKind::Picture, FileViewKind::Binary)
        );
        assert_eq!(bytes(&folder, "a.png").unwrap().picture, None);
        assert_eq!(bytes(&folder, "b.txt").unwrap().picture, Some("image/png"));
        let long = view(&folder, "d").unwrap();
        assert!(long.truncated && long.text.unwrap().chars().all(|letter| letter == 'ä'));
    }

    #[test]
    fn lines_move_with_later_edits() {
        let range = |from, to| LineRange { from, to };
        let created = "--- /dev/null\n+++ a\n@@ -0,0 +1,3 @@\n+one\n+two\n+three\n";
        assert_eq!(edited_lines(created), [range(1, 3)]);
        let edit = "--- a\n+++ a\n@@ -2,3 +2,4 @@\n ctx\n-old\n+new\n+more\n ctx\n";
        assert_eq!(edited_lines(edit), [range(3, 4)]);
        // Two lines above are added later, and one of the edited ones is removed.
        let above = format!("{edit}--- a\n+++ a\n@@ -1,1 +1,3 @@\n+x\n+y\n ctx\n");
        assert_eq!(edited_lines(&above), [range(1, 2), range(5, 6)]);
        let removed = format!("{above}--- a\n+++ a\n@@ -5,1 +4,0 @@\n-new\n");
        assert_eq!(edited_lines(&removed), [range(1, 2), range(5, 5)]);
        let looks_like_a_head = "@@ -1,2 +1,1 @@\n--- a\n-x\n+y\n--- a\n+++ a\n@@ -3,0 +4,1 @@\n+z\n";
        assert_eq!(edited_lines(looks_like_a_head), [range(1, 1), range(4, 4)]);
        assert_eq!(edited_lines("nothing\n+x\n"), []);
        assert_eq!(edited_lines("@@ -x +y @@\n+x\n"), []);
    }
}
