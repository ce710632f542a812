//! A small disk, for tests that need one of their own.

use std::path::Path;

pub(crate) use weir_testkit::small_disk::mounted;

/// Runs this test again with a disk of this many MiB.
#[track_caller]
pub(crate) fn run(test: &str, mebibytes: u64) {
    if let Err(text) = weir_testkit::small_disk::run_test(test, mebibytes) {
        panic!("{text}");
    }
}

pub(crate) fn fill(disk: &Path, left: u64) {
    weir_testkit::small_disk::fill(disk, left).unwrap();
}

pub(crate) fn empty(disk: &Path) {
    weir_testkit::small_disk::empty(disk).unwrap();
}

pub(crate) fn available(disk: &Path) -> u64 {
    weir_testkit::small_disk::available(disk).unwrap()
}
