//! One log file: appends, starts a new part when one is full, and stops at the first failure.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::mask::Masker;
use super::options::LogError;

/// State shared by the three logs of a process: the first failure of any of them.
#[derive(Debug, Default)]
pub(crate) struct LogHealth {
    pub(crate) require: bool,
    error: Mutex<Reported>,
}

#[derive(Debug, Default)]
struct Reported {
    has_failed: bool,
    error: Option<LogError>,
}

impl LogHealth {
    pub(crate) fn new(require: bool) -> Arc<Self> {
        Arc::new(Self { require, error: Mutex::default() })
    }

    /// Keeps only the first failure: a full disk fails for all files.
    pub(crate) fn report(&self, path: &Path, source: io::Error) {
        let mut reported = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if !reported.has_failed {
            reported.has_failed = true;
            reported.error = Some(LogError { path: path.to_owned(), source });
        }
    }

    fn take(&self) -> Option<LogError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).error.take()
    }

    /// An error if a log has failed and logs are required.
    fn check(&self) -> io::Result<()> {
        if !self.require {
            return Ok(());
        }
        let reported = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        match &reported.error {
            Some(error) => Err(io::Error::new(error.source.kind(), error.to_string())),
            None if reported.has_failed => {
                Err(io::Error::other("the raw log has failed, and it is required"))
            }
            None => Ok(()),
        }
    }
}

/// Appends to one log. Does nothing without a file.
#[derive(Debug)]
pub(crate) struct LogWriter {
    target: Option<Box<Target>>,
    /// `None` if logging is off.
    health: Option<Arc<LogHealth>>,
}

#[derive(Debug)]
struct Target {
    file: File,
    parts: Parts,
    /// Bytes in the current part.
    size: u64,
    /// Whether the last byte written was not a line feed.
    in_line: bool,
    masker: Option<Masker>,
}

/// Naming and limits of the parts of a log.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Everything before the suffix.
    pub(crate) stem: PathBuf,
    /// `ndjson`, `in.ndjson` or `stderr`.
    pub(crate) suffix: &'static str,
    pub(crate) part_bytes: Option<u64>,
    pub(crate) parts_kept: Option<usize>,
    /// The number of the current part, from 1.
    pub(crate) current: usize,
}

impl Parts {
    pub(crate) fn path(&self, part: usize) -> PathBuf {
        let mut path = self.stem.clone().into_os_string();
        if part > 1 {
            path.push(format!(".part{part}"));
        }
        path.push(".");
        path.push(self.suffix);
        PathBuf::from(path)
    }

    /// Creates the file of a part and locks it while it is open. An existing file is never touched.
    pub(crate) fn open(&self, part: usize) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.path(part))?;
        // Marks the file as in use for cleanup of the folder. Without lock support, cleanup relies on its age.
        let _ = file.try_lock();
        Ok(file)
    }
}

impl LogWriter {
    /// Logging is off.
    pub(crate) fn none() -> Self {
        Self { target: None, health: None }
    }

    /// The log could not be created.
    pub(crate) fn failed(health: &Arc<LogHealth>) -> Self {
        Self { target: None, health: Some(Arc::clone(health)) }
    }

    pub(crate) fn new(file: File, parts: Parts, masker: Option<Masker>, health: &Arc<LogHealth>) -> Self {
        let target = Target { file, parts, size: 0, in_line: false, masker };
        Self { target: Some(Box::new(target)), health: Some(Arc::clone(health)) }
    }

    /// Appends a chunk. Fails only if logs are required; otherwise the failure is kept for
    /// [`LogWriter::take_error`].
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(target) = &mut self.target
            && let Err(error) = target.write(bytes)
        {
            self.fail(error);
        }
        self.check()
    }

    /// Writes bytes held back by masking. Called at the end, and again on drop.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if let Some(target) = &mut self.target
            && let Err(error) = target.finish()
        {
            self.fail(error);
        }
        self.check()
    }

    fn fail(&mut self, error: io::Error) {
        if let (Some(target), Some(health)) = (self.target.take(), &self.health) {
            health.report(&target.parts.path(target.parts.current), error);
        }
    }

    fn check(&self) -> io::Result<()> {
        self.health.as_ref().map_or(Ok(()), |health| health.check())
    }

    /// Whether anything is written at all.
    pub(crate) fn is_kept(&self) -> bool {
        self.target.is_some()
    }

    pub(crate) fn take_error(&self) -> Option<LogError> {
        self.health.as_ref()?.take()
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

impl Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(mut masker) = self.masker.take() else { return self.append(bytes) };
        let mut masked = Vec::with_capacity(bytes.len());
        masker.push(bytes, &mut masked);
        self.masker = Some(masker);
        self.append(&masked)
    }

    fn finish(&mut self) -> io::Result<()> {
        let Some(mut masker) = self.masker.take() else { return Ok(()) };
        let mut masked = Vec::new();
        masker.finish(&mut masked);
        self.masker = Some(masker);
        self.append(&masked)
    }

    /// Appends, using as many parts as needed. A part ends only after a line feed.
    fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if !self.in_line && self.is_full() {
                self.next_part()?;
            }
            let length = self.length_in_this_part(bytes);
            let (now, later) = bytes.split_at(length);
            self.file.write_all(now)?;
            self.size += length as u64;
            self.in_line = now.last() != Some(&b'\n');
            bytes = later;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.parts.part_bytes.is_some_and(|limit| self.size >= limit.max(1))
    }

    /// Bytes up to the first line feed at or after the limit.
    fn length_in_this_part(&self, bytes: &[u8]) -> usize {
        let Some(limit) = self.parts.part_bytes else { return bytes.len() };
        let room = usize::try_from(limit.saturating_sub(self.size)).unwrap_or(usize::MAX).saturating_sub(1);
        let beyond = bytes.get(room..).unwrap_or_default();
        memchr::memchr(b'\n', beyond).map_or(bytes.len(), |line_feed| room + line_feed + 1)
    }

    fn next_part(&mut self) -> io::Result<()> {
        self.file = self.parts.open(self.parts.current + 1)?;
        self.parts.current += 1;
        self.size = 0;
        if let Some(kept) = self.parts.parts_kept
            && let Some(oldest) = self.parts.current.checked_sub(kept.max(1))
            && oldest > 0
        {
            // It does not matter if the part has already been removed.
            let _ = std::fs::remove_file(self.parts.path(oldest));
        }
        Ok(())
    }
}
