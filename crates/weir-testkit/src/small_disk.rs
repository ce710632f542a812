//! A small disk for a test, which can be filled and emptied: a file system in memory, mounted in a namespace that no
//! other program sees. The test runs itself again in there.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DISK: &str = "WEIR_SMALL_DISK";
const FILLER: &str = "filler";

/// The folder where the disk is mounted; `None` in the test that has not started it yet.
pub fn mounted() -> Option<PathBuf> {
    std::env::var_os(DISK).map(PathBuf::from)
}

/// A command that runs a program with these arguments and with a disk of this many MiB, mounted on the folder.
#[expect(clippy::disallowed_methods, reason = "the caller waits for it; only tests call it")]
pub fn again_as(program: &Path, folder: &Path, mebibytes: u64, arguments: &[&str]) -> Command {
    let mount =
        format!("disk=$1; shift; mount -t tmpfs -o size={mebibytes}m tmpfs \"$disk\" && exec \"$0\" \"$@\"");
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount])
        .arg(program)
        .arg(folder)
        .args(arguments)
        .env(DISK, folder)
        .stdin(Stdio::null());
    command
}

/// Runs one test of this program again, by its name, with a disk of this many MiB.
///
/// # Errors
/// Its output, if it failed.
pub fn run_test(name: &str, mebibytes: u64) -> Result<(), String> {
    let output = || {
        let folder = tempfile::tempdir()?;
        let program = std::env::current_exe()?;
        again_as(&program, folder.path(), mebibytes, &["--exact", name, "--nocapture"]).output()
    };
    let output = output().map_err(|error| format!("{error}\n{NEEDS}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && stdout.contains("1 passed") {
        return Ok(());
    }
    Err(format!("{stdout}\n{}\n{NEEDS}", String::from_utf8_lossy(&output.stderr)))
}

const NEEDS: &str =
    "(this mounts its own file system: it needs `unshare` and `mount` from util-linux, and user namespaces)";

/// Takes all free space except this many bytes, as another program would.
///
/// # Errors
/// If the disk cannot be used.
pub fn fill(disk: &Path, left: u64) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(disk.join(FILLER))?;
    let piece = [7_u8; 4096];
    while available(disk)? > left && file.write_all(&piece).is_ok() {}
    Ok(())
}

/// Frees some of the space taken.
///
/// # Errors
/// If nothing was taken.
pub fn drain(disk: &Path, bytes: u64) -> io::Result<()> {
    let file = fs::OpenOptions::new().write(true).open(disk.join(FILLER))?;
    let length = file.metadata()?.len();
    file.set_len(length.saturating_sub(bytes))
}

/// Frees all of the space taken.
///
/// # Errors
/// If nothing was taken.
pub fn empty(disk: &Path) -> io::Result<()> {
    fs::remove_file(disk.join(FILLER))
}

/// The free space on the disk.
///
/// # Errors
/// If the disk cannot be used.
pub fn available(disk: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(disk)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}
