//! Finds the submodules in git's index. Pure.
//!
//! `git status` looks into each of them and applies the configuration there, whether or not `.gitmodules` lists them.

/// Offsets of an entry's mode and flags, for object names of 20 bytes.
const MODE: usize = 24;
const FLAGS: usize = 60;
/// The mode of a submodule.
const SUBMODULE: u32 = 0o160_000;

/// The paths of the submodules; `None` for an unknown kind of index.
pub(crate) fn submodules(index: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = index.strip_prefix(b"DIRC")?;
    let version = number(rest, 0)?;
    let count = number(rest, 4)?;
    rest = rest.get(8..)?;
    let mut found = Vec::new();
    let mut path = Vec::new();
    for _ in 0..count {
        let flags = u16::from_be_bytes(rest.get(FLAGS..FLAGS + 2)?.try_into().ok()?);
        let is_extended = version >= 3 && flags & 0x4000 != 0;
        let start = FLAGS + if is_extended { 4 } else { 2 };
        let mode = number(rest, MODE)?;
        let mut name = rest.get(start..)?;
        match version {
            2 | 3 => path.clear(),
            // The path starts with a prefix of the previous one.
            4 => {
                let cut = offset(&mut name)?;
                path.truncate(path.len().checked_sub(cut)?);
            }
            _ => return None,
        }
        let length = name.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(name.get(..length)?);
        if mode == SUBMODULE {
            found.push(path.clone());
        }
        let used = rest.len() - name.len() + length;
        // Padded with one to eight zeros, so that the next one begins at a multiple of eight.
        let end = if version == 4 { used + 1 } else { (used + 8) & !7 };
        rest = rest.get(end..)?;
    }
    // Some of the entries may be in another file.
    let mut extension = rest;
    while let Some(name) = extension.get(..4).filter(|_| extension.len() > 28) {
        if name == b"link" {
            return None;
        }
        let size = usize::try_from(number(extension, 4)?).ok()?;
        extension = extension.get(8..)?.get(size..)?;
    }
    Some(found)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number in git's own encoding.
fn offset(bytes: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value = value.checked_mul(128)?.checked_add(usize::from(first & 0x7f))?;
        if first & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "git itself writes what is read here")]
    fn git(folder: &std::path::Path, arguments: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments);
        let done = git.output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }

    #[test]
    fn submodules_are_found_in_every_version_of_the_index() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        git(folder, &["init", "-q"]);
        let id = "1234567890123456789012345678901234567890";
        for number in 0..40 {
            std::fs::write(folder.join(format!("file-{number}")), "x").unwrap();
        }
        git(folder, &["add", "."]);
        for path in ["a/deep/one", "file-19-and-more", "z"] {
            git(folder, &["update-index", "--add", "--cacheinfo", &format!("160000,{id},{path}")]);
        }
        let read = || submodules(&std::fs::read(folder.join(".git/index")).unwrap());
        for version in ["2", "3", "4"] {
            git(folder, &["update-index", "--index-version", version]);
            let expected = ["a/deep/one", "file-19-and-more", "z"].map(|path| path.as_bytes().to_vec());
            assert_eq!(read().unwrap(), expected, "version {version}");
        }
        // Version 3 is written only where it is needed.
        std::fs::write(folder.join("intended"), "x").unwrap();
        git(folder, &["update-index", "--index-version", "3"]);
        git(folder, &["add", "--intent-to-add", "intended"]);
        assert_eq!(read().unwrap().len(), 3);
        git(folder, &["update-index", "--split-index"]);
        assert_eq!(read(), None);
    }

    #[test]
    fn nonsense_is_rejected() {
        for index in [&b""[..], b"DIRC", b"DIRC\0\0\0\x09\0\0\0\x01", b"DIRC\0\0\0\x02\xff\xff\xff\xff"] {
            assert_eq!(submodules(index), None);
        }
        assert_eq!(submodules(b"DIRC\0\0\0\x02\0\0\0\0").unwrap(), Vec::<Vec<u8>>::new());
    }
}
