//! Writes files so that a reader, or the next start after a kill, finds the old text or the new one, and nothing else.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::instant;

/// Writes a file: a temporary one beside it, fsync, rename, fsync of the folder. Only we may read it.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, None, |file| file.write_all(bytes))
}

/// The same; the file has these permissions when it is there.
pub fn replace_atomically(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    replace(path, permissions, |file| file.write_all(bytes))
}

/// The same for a text that is made while it is written, so that it is never in memory as a whole.
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
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = folder.join(name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    write(&mut file)?;
    if let Some(permissions) = permissions {
        // Before it has its name: nobody would repair them after a kill.
        file.set_permissions(permissions)?;
        // Those are files of the workspace, where a temporary one could be taken for the work of a session.
        instant::reached("a temporary file was written");
    }
    file.sync_all()?;
    drop(file);
    std::fs::rename(&temporary, path)?;
    // Without this the rename itself could be lost with the power.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    instant::reached("a file was written");
    Ok(())
}
