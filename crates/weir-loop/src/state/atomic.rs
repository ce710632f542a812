//! Writes files so that a reader, or the next start after a kill, finds either the old content or the new one.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use weir_base::file::Replace;

use crate::instant;

/// Writes a file: a temporary file next to it, fsync, rename, fsync of the folder. Only the owner may read it.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, None, |file| file.write_all(bytes))
}

/// Writes a file that has these permissions from the start.
pub fn replace_atomically(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    replace(path, permissions, |file| file.write_all(bytes))
}

/// Writes a file from a stream, so that the whole content is never in memory.
pub fn stream_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> io::Result<()> {
    replace(path, None, |file| {
        let mut writer = BufWriter::with_capacity(64 << 10, file);
        write(&mut writer)?;
        writer.flush()
    })
}

fn replace(
    path: &Path,
    permissions: Option<Permissions>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    instant::begin();
    let in_workspace = permissions.is_some();
    Replace::new().permissions(permissions).with(path, |file| {
        write(file)?;
        if in_workspace {
            // In the workspace a temporary file could be mistaken for a session's work.
            instant::reached("a temporary file was written");
        }
        Ok(())
    })?;
    instant::reached("a file was written");
    Ok(())
}
