//! The interpreter that a script CLI needs.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::files::Files;

/// The program that a script starting with `#!/usr/bin/env NAME` runs.
pub fn interpreter_of(program: &Path) -> Option<String> {
    let mut beginning = [0; 256];
    let count = std::fs::File::open(program).and_then(|mut file| file.read(&mut beginning)).ok()?;
    let text = String::from_utf8_lossy(beginning.get(..count)?).into_owned();
    let words = text.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let mut words = words.skip_while(|word| !word.ends_with("/env")).skip(1);
    words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned)
}

/// Finds a program by name in a `PATH`.
pub fn find_in_path(name: &str, path: &OsStr, files: &dyn Files) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| files.is_program(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_of_a_script() {
        let folder = tempfile::tempdir().unwrap();
        let check = |text: &[u8]| {
            let file = folder.path().join("script");
            std::fs::write(&file, text).unwrap();
            interpreter_of(&file)
        };
        assert_eq!(check(b"#!/usr/bin/env node\nx"), Some("node".to_owned()));
        assert_eq!(check(b"#!/usr/bin/env -S node --no-warnings\nx"), Some("node".to_owned()));
        assert_eq!(check(b"#!/bin/sh\nx"), None);
        assert_eq!(check(b"\x7fELF\xff\xff"), None);
        assert_eq!(check(b""), None);
    }
}
