//! Disk failures.

#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::writer::{LogHealth, LogWriter, Parts};
use crate::output::Output;
use crate::stream::Source;

/// A log on a full disk.
fn full_disk(health: &Arc<LogHealth>) -> LogWriter {
    let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let parts = Parts {
        stem: PathBuf::from("/logs/x"),
        suffix: "ndjson",
        part_bytes: None,
        parts_kept: None,
        current: 1,
    };
    LogWriter::new(file, parts, None, health)
}

#[test]
fn the_first_failure_of_any_log_is_reported_once() {
    let health = LogHealth::new(false);
    let (mut one, mut other) = (full_disk(&health), full_disk(&health));
    one.write(b"lost\n").unwrap();
    other.write(b"lost, too\n").unwrap();
    one.write(b"more\n").unwrap();
    let error = other.take_error().unwrap();
    assert_eq!(error.path, Path::new("/logs/x.ndjson"));
    assert_eq!(error.source.kind(), std::io::ErrorKind::StorageFull);
    assert!(one.take_error().is_none());
    assert!(!one.is_kept());
}

#[tokio::test]
async fn the_output_continues_without_its_log_unless_it_is_required() {
    for require in [false, true] {
        let (ours, theirs) = tokio::io::duplex(100);
        let mut output = Output::new(Source::Memory(ours), 100, full_disk(&LogHealth::new(require)));
        let mut theirs = theirs;
        tokio::io::AsyncWriteExt::write_all(&mut theirs, b"line\n").await.unwrap();
        let filled = output.fill().await;
        assert_eq!(filled.is_err(), require);
        // The line is available in either case: only the log is lost.
        assert_eq!(output.next_frame(), Some(weir_wire::Frame::Line(b"line")));
        assert!(output.take_log_error().is_some());
        assert!(!output.is_ended());
    }
}
