//! Reading files that anyone may have put there: nothing blocks, and nothing is read without a limit.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::scan::ScanError;

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Opens a regular file and returns its size. Returns `None` for anything else: reading a pipe would block until
/// something is written to it.
pub(crate) fn regular(path: &Path) -> Result<Option<(std::fs::File, u64)>, ScanError> {
    let failed = |source| ScanError::Read { path: path.to_owned(), source };
    match path.metadata() {
        Ok(metadata) if !metadata.is_file() => Ok(None),
        Ok(metadata) => Ok(Some((open(path).map_err(failed)?, metadata.len()))),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

pub(crate) fn read_up_to(file: std::fs::File, limit: u64, path: &Path) -> Result<Vec<u8>, ScanError> {
    let mut content = Vec::new();
    let read = file.take(limit).read_to_end(&mut content);
    read.map_err(|source| ScanError::Read { path: path.to_owned(), source })?;
    Ok(content)
}

/// Opens a file without blocking if it has become a pipe in the meantime.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::open(path)
}

/// The entries of a folder, sorted; empty if it does not exist.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ScanError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(source) => return Err(ScanError::Read { path: folder.to_owned(), source }),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(unix)]
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}

#[cfg(not(unix))]
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(crate) fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
