//! The agent's pictures: those that tools return, and files that an answer names.

use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pulldown_cmark::{Event, Parser, Tag};
use weir_host::Image;
use weir_transcript::{EntryBody, View};
use weir_wire::MessageId;

use crate::channel::OutgoingFile;

/// Maximum number of names in an answer that are checked.
const MAX_NAMES: usize = 50;
/// Maximum size of a file in bytes.
const MAX_FILE_BYTES: u64 = 50 << 20;

/// The pictures of a tool, with file names.
pub(super) fn of_tool(pictures: Vec<Image>) -> Vec<OutgoingFile> {
    let named = pictures.into_iter().filter_map(|Image { data, .. }| {
        // The tool may have declared the wrong type, and channels check it.
        let (media_type, ending) = kind(&data)?;
        Some(OutgoingFile { name: format!("picture.{ending}"), media_type: media_type.to_owned(), data })
    });
    named.collect()
}

/// The tool calls that returned pictures in the turn of a message, except those of sub-agents.
pub(super) fn calls_with_pictures(view: &View, message: &MessageId) -> Vec<String> {
    let turn = view.turns.iter().rev().find(|turn| turn.messages.contains(message)).map(|turn| turn.id);
    let of_turn = view.entries.iter().filter(|entry| turn.is_some() && entry.turn == turn);
    let tools = of_turn.filter(|entry| entry.parent.is_none()).filter_map(|entry| match &entry.body {
        EntryBody::Tool(tool) if tool.output.as_ref().is_some_and(|output| output.images > 0) => {
            Some(tool.id.to_string())
        }
        _ => None,
    });
    tools.collect()
}

/// Pictures in the workspace that an answer names and that were written after this time. Blocks.
pub(super) fn named(workspace: &Path, markdown: &str, since: i64) -> Vec<OutgoingFile> {
    let Ok(workspace) = workspace.canonicalize() else { return Vec::new() };
    let since = UNIX_EPOCH + Duration::from_millis(u64::try_from(since).unwrap_or(0));
    let mut seen = Vec::new();
    let mut files = Vec::new();
    for name in names(markdown).into_iter().take(MAX_NAMES) {
        let Some(path) = inside(&workspace, &name).filter(|path| !seen.contains(path)) else { continue };
        files.extend(read(&path, since));
        seen.push(path);
    }
    files
}

/// File names in an answer: targets of links and images, and inline code.
fn names(markdown: &str) -> Vec<String> {
    let is_picture = |name: &str| {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        ending.is_some_and(|ending| ["png", "jpg", "jpeg", "gif", "webp"].contains(&ending.as_str()))
    };
    let named = Parser::new(markdown).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        Event::Code(code) => Some(code.into_string()),
        _ => None,
    });
    named
        .map(|name| name.trim().trim_start_matches("file://").to_owned())
        .filter(|name| is_picture(name))
        .collect()
}

/// The path of a file, if it is in the workspace. Symlinks that lead out of it are not followed.
fn inside(workspace: &Path, name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let path = workspace.join(path).canonicalize().ok()?;
    path.starts_with(workspace).then_some(path)
}

fn read(path: &Path, since: SystemTime) -> Option<OutgoingFile> {
    let about = path.metadata().ok()?;
    let is_new = about.modified().is_ok_and(|written| written >= since);
    if !about.is_file() || about.len() > MAX_FILE_BYTES || !is_new {
        return None;
    }
    let data = std::fs::read(path).ok()?;
    let (media_type, _) = kind(&data)?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(OutgoingFile { name, media_type: media_type.to_owned(), data })
}

/// The media type and file extension of a picture, judging by its first bytes.
fn kind(data: &[u8]) -> Option<(&'static str, &'static str)> {
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some(("image/png", "png")),
        [0xff, 0xd8, 0xff, ..] => Some(("image/jpeg", "jpg")),
        [b'G', b'I', b'F', b'8', ..] => Some(("image/gif", "gif")),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(("image/webp", "webp")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{named, names, of_tool};
    use weir_host::Image;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    #[test]
    fn names_are_found_in_links_images_and_code() {
        let text = "See ![it](a.png), [that](b/c.JPG), `d.webp` and `cargo test`, not e.png or <https://x.org/f.gif>.";
        assert_eq!(names(text), ["a.png", "b/c.JPG", "d.webp", "https://x.org/f.gif"]);
    }

    #[test]
    fn only_new_pictures_of_the_workspace_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let (work, out) = (folder.path().join("work"), folder.path().join("secret.png"));
        std::fs::create_dir(&work).unwrap();
        std::fs::write(&out, PNG).unwrap();
        std::fs::write(work.join("a.png"), PNG).unwrap();
        std::fs::write(work.join("text.png"), "not a picture").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&out, work.join("link.png")).unwrap();
        let text =
            format!("`a.png` `./a.png` `text.png` `link.png` `../secret.png` `{}` `none.png`", out.display());
        let found: Vec<String> = named(&work, &text, 0).into_iter().map(|file| file.name).collect();
        assert_eq!(found, ["a.png"]);
        assert!(named(&work, &text, i64::MAX / 2).is_empty(), "it was there before");
    }

    #[test]
    fn files_that_are_not_pictures_are_left_out() {
        let image = |data: &[u8]| Image { media_type: "image/jpeg".into(), data: data.to_vec() };
        let found = of_tool(vec![image(PNG), image(b"<html>")]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].media_type.as_str()), ("picture.png", "image/png"));
    }
}
