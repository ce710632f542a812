//! Parses git configuration files exactly as git does. Pure.
//!
//! Everything git takes for a setting has to be one here: a line that only git understands would hide a program.

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// In lower case.
    pub(crate) section: String,
    /// As written; empty if there is none.
    pub(crate) subsection: String,
    /// In lower case.
    pub(crate) name: String,
    /// `true` for a name without a value.
    pub(crate) value: String,
}

/// The settings in a file, and whether it could be parsed to the end.
pub(crate) fn entries(text: &[u8]) -> (Vec<Entry>, bool) {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = Reader { rest: text };
    let mut found = Vec::new();
    let is_whole = reader.read_all(&mut found).is_some();
    (found, is_whole)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// Returns `None` where git would give up, too.
    fn read_all(&mut self, found: &mut Vec<Entry>) -> Option<()> {
        let (mut section, mut subsection) = (String::new(), String::new());
        while let Some(byte) = self.next() {
            match byte {
                b'#' | b';' => self.skip_line(),
                b'[' => (section, subsection) = self.head()?,
                byte if byte.is_ascii_whitespace() || byte == 0x0b => {}
                byte if byte.is_ascii_alphabetic() => {
                    let (name, value) = self.setting(byte)?;
                    let (section, subsection) = (section.clone(), subsection.clone());
                    found.push(Entry { section, subsection, name, value });
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// The next byte; a carriage return before a line feed is skipped.
    fn next(&mut self) -> Option<u8> {
        if self.rest.starts_with(b"\r\n") {
            self.rest = self.rest.get(1..)?;
        }
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// Reads a section header after its bracket: the section, and the subsection after a dot or in quotes.
    fn head(&mut self) -> Option<(String, String)> {
        let mut section = Vec::new();
        loop {
            match self.next()? {
                b']' => break,
                b' ' | b'\t' => {
                    let subsection = self.quoted()?;
                    return (self.next()? == b']').then(|| (lower(&section), plain(&subsection)));
                }
                b'\n' => return None,
                byte => section.push(byte),
            }
        }
        let section = plain(&section);
        let (section, subsection) = section.split_once('.').unwrap_or((&section, ""));
        Some((section.to_ascii_lowercase(), subsection.to_owned()))
    }

    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while let byte @ (b' ' | b'\t' | b'"') = self.next()? {
            if byte != b'"' {
                continue;
            }
            loop {
                match self.next()? {
                    b'"' => return Some(text),
                    b'\n' => return None,
                    b'\\' => text.push(self.next().filter(|byte| *byte != b'\n')?),
                    byte => text.push(byte),
                }
            }
        }
        None
    }

    fn setting(&mut self, first: u8) -> Option<(String, String)> {
        let mut name = vec![first];
        let mut byte = self.next();
        while let Some(letter) = byte.filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') {
            name.push(letter);
            byte = self.next();
        }
        while matches!(byte, Some(b' ' | b'\t')) {
            byte = self.next();
        }
        match byte {
            None | Some(b'\n') => Some((lower(&name), "true".to_owned())),
            Some(b'=') => Some((lower(&name), plain(&self.value()?))),
            // Git rejects a comment after a name without a value. To be safe it is accepted here.
            Some(_) => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut is_quoted, mut is_comment) = (Vec::new(), false, false);
        // The length without trailing white space.
        let mut kept = 0;
        loop {
            match self.next() {
                None | Some(b'\n') if is_quoted => return None,
                None | Some(b'\n') => break,
                Some(_) if is_comment => {}
                Some(byte) if byte.is_ascii_whitespace() && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                Some(b'#' | b';') if !is_quoted => is_comment = true,
                Some(b'"') => is_quoted = !is_quoted,
                Some(b'\\') => match self.next()? {
                    // Continues on the next line.
                    b'\n' => continue,
                    b't' => value.push(b'\t'),
                    b'n' => value.push(b'\n'),
                    b'b' => value.push(8),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return None,
                },
                Some(byte) => value.push(byte),
            }
            if !is_comment {
                kept = value.len();
            }
        }
        value.truncate(kept);
        Some(value)
    }
}

fn plain(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn lower(text: &[u8]) -> String {
    plain(text).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings git finds in a file.
    #[expect(clippy::disallowed_methods, reason = "git itself is what this is compared with")]
    fn as_git_reads(text: &[u8]) -> Option<Vec<(String, String)>> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("config");
        std::fs::write(&file, text).unwrap();
        let mut git = std::process::Command::new("git");
        git.current_dir(place.path()).args(["config", "--no-includes", "--list", "-z", "--file"]).arg(&file);
        let done = git.output().unwrap();
        let listed = String::from_utf8_lossy(&done.stdout).into_owned();
        let entries = listed.split_terminator('\0').map(|entry| {
            let (name, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            (name.to_owned(), value.to_owned())
        });
        done.status.success().then(|| entries.collect())
    }

    fn as_read_here(text: &[u8]) -> Option<Vec<(String, String)>> {
        let (entries, is_whole) = entries(text);
        let named = entries.into_iter().map(|entry| {
            let Entry { section, subsection, name, value } = entry;
            let middle = if subsection.is_empty() { String::new() } else { format!("{subsection}.") };
            (format!("{section}.{middle}{name}"), value)
        });
        is_whole.then(|| named.collect())
    }

    #[test]
    fn it_parses_files_as_git_does() {
        for text in [
            &b""[..],
            b"[a]b=c",
            b"[a]\nb\n[a \"X y\"]c = d e  \n",
            b"\xef\xbb\xbf[A]\r\n\tB = c\r\n",
            b"[a]\nb = c \\\n[x]\nd = \"e # f\" ; g\n",
            b"[a \"q\\\"]\"] b = \"c\\n\\t\\\\\" d\n",
            b"[a]\nb = c # d\\\ne = f\n",
            b"[a]\nb =\nc = \"\"\n",
            b"[a]\nb = c\n[broken",
            b"[a]\nb = \"c\n",
            b"[a]\nb = \\q\n",
            b"[a]\n1b = c\n",
            b"[a]\n b-c = d   e \t\n# x\n; y\n\n[d]\n",
        ] {
            // If git gives up, the result here must not count as complete. If it does not, both find the same.
            assert_eq!(as_read_here(text), as_git_reads(text), "{}", String::from_utf8_lossy(text));
        }
    }
}
