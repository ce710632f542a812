//! A small disk of our own, which can be filled and emptied: a file system in memory, mounted in a name space that no
//! other program sees. The test starts itself again in there.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const DISK: &str = "WEIR_STORE_SMALL_DISK";

/// The folder where the disk is mounted, for the part of a test that runs in there.
pub(crate) fn mounted() -> Option<PathBuf> {
    std::env::var_os(DISK).map(PathBuf::from)
}

/// A command that runs this test again, by its name, with a disk of this many MiB.
#[expect(clippy::disallowed_methods, reason = "the test waits for a child of its own")]
pub(crate) fn again(test: &str, folder: &Path, mebibytes: u64) -> Command {
    let mount =
        format!("mount -t tmpfs -o size={mebibytes}m tmpfs \"$1\" && exec \"$0\" --exact \"$2\" --nocapture");
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount])
        .arg(std::env::current_exe().unwrap())
        .arg(folder)
        .arg(test)
        .env(DISK, folder)
        .stdin(Stdio::null());
    command
}

/// Runs this test again with a disk of this many MiB, and passes on how it ended.
#[track_caller]
pub(crate) fn run(test: &str, mebibytes: u64) {
    let folder = tempfile::tempdir().unwrap();
    let Output { status, stdout, stderr } = again(test, folder.path(), mebibytes).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(
        status.success() && stdout.contains("1 passed"),
        "{stdout}\n{stderr}\n(these tests mount a file system of their own: they need util-linux, and user name spaces)"
    );
}

/// Something else that takes all the space that is left, but for this many bytes.
pub(crate) fn fill(disk: &Path, left: u64) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(disk.join("filler")).unwrap();
    let piece = vec![7_u8; 4096];
    while available(disk) > left && file.write_all(&piece).is_ok() {}
}

pub(crate) fn empty(disk: &Path) {
    fs::remove_file(disk.join("filler")).unwrap();
}

pub(crate) fn available(disk: &Path) -> u64 {
    let found = rustix::fs::statvfs(disk).unwrap();
    found.f_bavail * found.f_frsize
}
