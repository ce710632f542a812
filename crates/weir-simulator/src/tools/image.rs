//! Images, as returned by `Read`.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::outcome::Outcome;
use crate::{array, object};

/// An image as a block; `None` if the file name is not that of an image.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Option<Outcome> {
    let kind = match path.extension()?.to_str()? {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => return None,
    };
    let data = STANDARD.encode(bytes);
    let source = object! { "type" => "base64", "data" => data.as_str(), "media_type" => kind };
    let mut file = object! { "base64" => data, "type" => kind, "originalSize" => bytes.len() };
    if let Some((width, height)) = png_size(bytes) {
        file.set(
            "dimensions",
            object! {
                "originalWidth" => width,
                "originalHeight" => height,
                "displayWidth" => width,
                "displayHeight" => height,
            },
        );
    }
    let content = array![object! { "type" => "image", "source" => source }];
    Some(Outcome::blocks(content, object! { "type" => "image", "file" => file }))
}

/// Width and height are at fixed offsets in the first chunk of a PNG.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    bytes.starts_with(b"\x89PNG").then_some((number(16)?, number(20)?))
}
