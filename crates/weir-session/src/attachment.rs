//! Pictures and documents that go with a message.

use std::path::{Path, PathBuf};

use weir_wire::OutgoingBlock;

/// Maximum size of a file that is sent. The model's API takes requests of up to 32 MB, in which a file grows by a third.
const MAX_BYTES: u64 = 20 << 20;

/// A picture or a document that goes with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment(OutgoingBlock);

/// Why a file cannot go with a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachmentError {
    /// The file could not be read.
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: std::io::Error,
    },
    /// The file is too large.
    #[error("{} has {bytes} bytes; a message takes files of up to {} MiB", path.display(), MAX_BYTES >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The file is of a kind that the model does not take.
    #[error("{} is not a PNG, JPEG, GIF, WebP or PDF file", path.display())]
    UnknownKind {
        /// The file.
        path: PathBuf,
    },
    /// Neither a file nor a web address.
    #[error("{address} is not a web address: it must begin with https:// or http://")]
    NoAddress {
        /// What was given.
        address: String,
    },
}

impl Attachment {
    /// A picture: PNG, JPEG, GIF or WebP.
    pub fn image(media_type: impl Into<String>, data: Vec<u8>) -> Self {
        Self(OutgoingBlock::Image { media_type: media_type.into(), data })
    }

    /// A picture that the model's API fetches from the web.
    pub fn image_url(url: impl Into<String>) -> Self {
        Self(OutgoingBlock::ImageUrl { url: url.into() })
    }

    /// A PDF.
    pub fn pdf(data: Vec<u8>, title: Option<String>) -> Self {
        Self(OutgoingBlock::Document { media_type: "application/pdf".into(), data, title })
    }

    /// A plain text.
    pub fn text(text: impl Into<String>, title: Option<String>) -> Self {
        let data = text.into().into_bytes();
        Self(OutgoingBlock::Document { media_type: "text/plain".into(), data, title })
    }

    /// A PDF that the model's API fetches from the web.
    pub fn pdf_url(url: impl Into<String>, title: Option<String>) -> Self {
        Self(OutgoingBlock::DocumentUrl { url: url.into(), title })
    }

    /// A picture or a PDF from a file. Its first bytes say what it is, not its name. Blocks.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is of a kind that the model does not take.
    pub fn read(path: &Path) -> Result<Self, AttachmentError> {
        use std::io::Read as _;
        let unreadable = |error| AttachmentError::Unreadable { path: path.to_owned(), error };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if !about.is_file() {
            return Err(unreadable(std::io::Error::other("it is not a file")));
        }
        let mut data = Vec::new();
        // The file may grow while it is read.
        file.take(MAX_BYTES + 1).read_to_end(&mut data).map_err(unreadable)?;
        if data.len() as u64 > MAX_BYTES {
            let bytes = about.len().max(data.len() as u64);
            return Err(AttachmentError::TooLarge { path: path.to_owned(), bytes });
        }
        let title = path.file_name().map(|name| name.to_string_lossy().into_owned());
        match kind(&data) {
            Some("application/pdf") => Ok(Self::pdf(data, title)),
            Some(media_type) => Ok(Self::image(media_type, data)),
            None => Err(AttachmentError::UnknownKind { path: path.to_owned() }),
        }
    }

    /// A picture or a PDF by its web address: a PDF if the path ends with `.pdf`, otherwise a picture.
    ///
    /// # Errors
    /// The text is not a web address.
    pub fn at(address: &str) -> Result<Self, AttachmentError> {
        let lower = address.to_ascii_lowercase();
        let Some(rest) = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://")) else {
            return Err(AttachmentError::NoAddress { address: address.to_owned() });
        };
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        Ok(if path.ends_with(".pdf") { Self::pdf_url(address, None) } else { Self::image_url(address) })
    }

    /// The part of a message that it is.
    pub fn into_block(self) -> OutgoingBlock {
        self.0
    }
}

/// The media type of a file that the model takes, by its first bytes.
fn kind(data: &[u8]) -> Option<&'static str> {
    let starts = |prefix: &[u8]| data.starts_with(prefix);
    match data {
        _ if starts(b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        _ if starts(b"\xff\xd8\xff") => Some("image/jpeg"),
        _ if starts(b"GIF87a") || starts(b"GIF89a") => Some("image/gif"),
        _ if starts(b"RIFF") && data.get(8..12) == Some(b"WEBP") => Some("image/webp"),
        _ if starts(b"%PDF-") => Some("application/pdf"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(data: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), data).unwrap();
        file
    }

    #[test]
    fn the_first_bytes_say_what_a_file_is() {
        let read = |data: &[u8]| Attachment::read(file(data).path());
        for (data, media_type) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a..", "image/gif"),
            (b"RIFF....WEBPVP8", "image/webp"),
        ] {
            let Ok(Attachment(OutgoingBlock::Image { media_type: read, .. })) = read(data) else {
                panic!("{media_type}")
            };
            assert_eq!(read, media_type);
        }
        assert!(matches!(read(b"%PDF-1.7"), Ok(Attachment(OutgoingBlock::Document { title: Some(_), .. }))));
        for other in [&b"RIFF....WAVE"[..], b"#!/bin/sh", b""] {
            assert!(matches!(read(other), Err(AttachmentError::UnknownKind { .. })));
        }
        assert!(matches!(Attachment::read(Path::new("/")), Err(AttachmentError::Unreadable { .. })));
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused() {
        let file = file(b"%PDF-");
        file.as_file().set_len(MAX_BYTES + 1).unwrap();
        let error = Attachment::read(file.path()).unwrap_err();
        assert!(error.to_string().contains("20 MiB"), "{error}");
    }

    #[test]
    fn an_address_is_a_picture_unless_its_path_names_a_pdf() {
        let is_pdf = |address| match Attachment::at(address) {
            Ok(Attachment(block)) => Some(matches!(block, OutgoingBlock::DocumentUrl { .. })),
            Err(_) => None,
        };
        assert_eq!(is_pdf("https://example.org/a.PDF?x=1"), Some(true));
        assert_eq!(is_pdf("http://example.org/a.png?b=.pdf"), Some(false));
        for other in ["file:///etc/passwd", "/etc/passwd", "example.org", ""] {
            assert_eq!(is_pdf(other), None, "{other}");
        }
    }
}
