//! Opens a file in the browser of the local user.
//!
//! The browser belongs to the user: Weir neither waits for it nor ends it. It is given a file name rather than
//! a link, because a link may contain a secret, and every user of the machine can read a process's arguments.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that opens files on this desktop, if there is one: `xdg-open` in a session with a display.
pub fn desktop_opener() -> Option<PathBuf> {
    opener(|name| std::env::var_os(name), Path::is_file)
}

fn opener(variable: impl Fn(&str) -> Option<OsString>, is_file: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "macos") {
        return Some(PathBuf::from("/usr/bin/open")).filter(|path| is_file(path));
    }
    if !cfg!(unix) || !(is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")) {
        return None;
    }
    let path = variable("PATH")?;
    let mut found = std::env::split_paths(&path).map(|folder| folder.join("xdg-open"));
    found.find(|program| program.is_absolute() && is_file(program))
}

/// Opens a file with this program.
///
/// # Errors
/// If the program cannot be started. Whether a browser window then appears is unknown.
#[expect(clippy::disallowed_methods, reason = "the browser belongs to the user and outlives Weir")]
pub fn show_file(opener: &Path, file: &Path) -> io::Result<()> {
    let mut command = Command::new(opener);
    command.arg::<&OsStr>(file.as_ref()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Signals meant for Weir must not reach the browser.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    // Only reaps the process.
    std::thread::Builder::new().name("weir-browser".to_owned()).spawn(move || child.wait())?;
    Ok(())
}

#[cfg(all(test, unix, not(target_os = "macos")))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_opener_needs_a_display() {
        let with = |set: &'static [(&str, &str)]| {
            let variable = move |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            };
            opener(variable, |path| path == Path::new("/b/xdg-open"))
        };
        let found = Some(PathBuf::from("/b/xdg-open"));
        assert_eq!(with(&[("PATH", "/a:/b"), ("DISPLAY", ":0")]), found);
        assert_eq!(with(&[("PATH", "/a:/b"), ("WAYLAND_DISPLAY", "wayland-0")]), found);
        assert_eq!(with(&[("PATH", "/a:/b"), ("DISPLAY", "")]), None);
        assert_eq!(with(&[("PATH", "/a:/b")]), None);
        assert_eq!(with(&[("PATH", "/a:b"), ("DISPLAY", ":0")]), None);
    }

    #[test]
    fn the_opener_gets_the_file_name() {
        let folder = tempfile::tempdir().unwrap();
        let (opener, told) = (folder.path().join("xdg-open"), folder.path().join("told"));
        std::fs::write(
            &opener,
            format!("#!/bin/sh\nprintf %s \"$1\" > '{0}.part'; mv '{0}.part' '{0}'\n", told.display()),
        )
        .unwrap();
        std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
        show_file(&opener, Path::new("/some where/page.html")).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !told.exists() {
            assert!(std::time::Instant::now() < deadline, "the opener was never started");
            std::thread::yield_now();
        }
        assert_eq!(std::fs::read_to_string(told).unwrap(), "/some where/page.html");
    }
}
