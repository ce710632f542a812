//! Names for files from other people: they stay in their folder and overwrite nothing.

use std::path::Path;

/// A name without path separators that is not hidden.
pub(crate) fn safe_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let keep = |character: char| character.is_alphanumeric() || " ._-+()".contains(character);
    let name: String = name.chars().filter(|character| keep(*character)).take(100).collect();
    let name = name.trim_matches([' ', '.']);
    if name.is_empty() { "file".to_owned() } else { name.to_owned() }
}

/// The name, with a number added if the folder already has a file with this name.
pub(crate) fn free_name(folder: &Path, name: &str) -> String {
    let taken = |name: &str| folder.join(name).symlink_metadata().is_ok();
    if !taken(name) {
        return name.to_owned();
    }
    let (stem, extension) =
        name.rsplit_once('.').map_or((name, String::new()), |(stem, end)| (stem, format!(".{end}")));
    (2..u32::MAX)
        .map(|number| format!("{stem}-{number}{extension}"))
        .find(|name| !taken(name))
        .unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{free_name, safe_name};

    #[test]
    fn names_stay_in_the_folder() {
        assert_eq!(safe_name("../../etc/passwd"), "passwd");
        assert_eq!(safe_name("..\\..\\x.exe"), "x.exe");
        assert_eq!(safe_name(".bashrc"), "bashrc");
        assert_eq!(safe_name("a\nb.txt"), "ab.txt");
        assert_eq!(safe_name(".."), "file");
    }

    #[test]
    fn existing_files_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "").unwrap();
        assert_eq!(free_name(folder.path(), "a.txt"), "a-2.txt");
        assert_eq!(free_name(folder.path(), "b.txt"), "b.txt");
    }
}
