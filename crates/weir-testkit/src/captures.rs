//! The recorded streams of real CLIs in `tests/fixtures/captures`.

use std::io;
use std::path::{Path, PathBuf};

/// The output of a recorded process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capture {
    /// The version of the CLI.
    pub version: String,
    /// The name of the recording.
    pub name: String,
    /// The file with the output.
    pub path: PathBuf,
}

impl Capture {
    /// A recording by version and name.
    pub fn new(version: &str, name: &str) -> Self {
        let path = folder().join(version).join(format!("{name}.out.ndjson"));
        Self { version: version.to_owned(), name: name.to_owned(), path }
    }

    /// Every recording, in order.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for version in std::fs::read_dir(folder())? {
            let version = version?;
            for file in std::fs::read_dir(version.path())? {
                let file = file?.file_name();
                if let Some(name) = file.to_string_lossy().strip_suffix(".out.ndjson") {
                    found.push(Self::new(&version.file_name().to_string_lossy(), name));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// The output.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        std::fs::read(&self.path)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/captures")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recording_can_be_read() {
        let all = Capture::all().unwrap();
        assert!(all.len() > 100, "the recorded streams are missing");
        assert!(all.contains(&Capture::new("2.1.9", "two-turns")));
        assert!(all.iter().all(|capture| capture.read().is_ok()));
    }
}
