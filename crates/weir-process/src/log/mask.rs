//! Replaces secrets in a stream of bytes.
//!
//! Chunks may end anywhere, even inside a secret. A possible beginning of one is held back until it is clear;
//! that is never longer than the longest secret, and empty for most chunks.

use crate::secrets::{Entry, Secrets};

/// Replaces secrets in a stream of bytes.
#[derive(Debug)]
pub(crate) struct Masker {
    secrets: Secrets,
    held: Vec<u8>,
    longest: usize,
}

impl Masker {
    pub(crate) fn new(secrets: &Secrets) -> Self {
        let longest = forms(secrets.entries()).map(|(form, _)| form.len()).max().unwrap_or(0);
        Self { secrets: secrets.clone(), held: Vec::new(), longest }
    }

    /// Takes a chunk and appends what is safe to write to `target`.
    pub(crate) fn push(&mut self, chunk: &[u8], target: &mut Vec<u8>) {
        let mut joined = std::mem::take(&mut self.held);
        let bytes = if joined.is_empty() {
            chunk
        } else {
            joined.extend_from_slice(chunk);
            &joined
        };
        let hold = self.hold_from(bytes);
        let taken = self.replace(bytes, hold, target);
        self.held = bytes.get(taken..).unwrap_or_default().to_vec();
    }

    /// Flushes held-back bytes at the end of the stream, where they cannot become a secret any more.
    pub(crate) fn finish(&mut self, target: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        let taken = self.replace(&held, held.len(), target);
        target.extend_from_slice(held.get(taken..).unwrap_or_default());
    }

    /// Start of the earliest secret that could continue in the next chunk.
    fn hold_from(&self, bytes: &[u8]) -> usize {
        let first = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        let could_go_on = |&start: &usize| {
            let tail = bytes.get(start..).unwrap_or_default();
            forms(self.secrets.entries()).any(|(form, _)| form.len() > tail.len() && form.starts_with(tail))
        };
        (first..bytes.len()).find(could_go_on).unwrap_or(bytes.len())
    }

    /// Copies `bytes` up to `end` with secrets replaced and returns how many bytes were consumed. A secret that
    /// begins before `end` is replaced as a whole.
    fn replace(&self, bytes: &[u8], end: usize, target: &mut Vec<u8>) -> usize {
        let mut searches: Vec<Search<'_>> = forms(self.secrets.entries()).map(Search::new).collect();
        let mut done = 0;
        while done < end {
            let first = searches
                .iter_mut()
                .filter_map(|search| Some((search.next(bytes, done)?, search.form.len(), search.name)))
                .min_by_key(|&(start, length, _)| (start, usize::MAX - length))
                .filter(|&(start, ..)| start < end);
            let Some((start, length, name)) = first else {
                target.extend_from_slice(bytes.get(done..end).unwrap_or_default());
                return end;
            };
            target.extend_from_slice(bytes.get(done..start).unwrap_or_default());
            target.extend_from_slice(format!("[weir: masked {name}]").as_bytes());
            done = start + length;
        }
        done
    }
}

/// The search for one form. It remembers its last match, so that text full of one secret is not searched
/// repeatedly for all the others.
struct Search<'a> {
    form: &'a [u8],
    name: &'a str,
    found: Found,
}

#[derive(Clone, Copy)]
enum Found {
    NotSearched,
    At(usize),
    Nowhere,
}

impl<'a> Search<'a> {
    fn new((form, name): (&'a [u8], &'a str)) -> Self {
        Self { form, name, found: Found::NotSearched }
    }

    /// Position of the next match at or after `from`.
    fn next(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        match self.found {
            Found::At(start) if start >= from => return Some(start),
            Found::Nowhere => return None,
            Found::At(_) | Found::NotSearched => {}
        }
        let start = memchr::memmem::find(bytes.get(from..)?, self.form).map(|offset| from + offset);
        self.found = start.map_or(Found::Nowhere, Found::At);
        start
    }
}

fn forms(entries: &[Entry]) -> impl Iterator<Item = (&[u8], &str)> {
    entries.iter().flat_map(|entry| entry.forms.iter().map(|form| (form.as_slice(), entry.name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secrets(values: &[&str]) -> Secrets {
        let mut secrets = Secrets::new();
        for (index, value) in values.iter().enumerate() {
            secrets.insert(&format!("S{index}"), value).unwrap();
        }
        secrets
    }

    fn masked(secrets: &Secrets, chunks: &[&[u8]]) -> String {
        let mut masker = Masker::new(secrets);
        let mut target = Vec::new();
        for chunk in chunks {
            masker.push(chunk, &mut target);
        }
        masker.finish(&mut target);
        String::from_utf8(target).unwrap()
    }

    #[test]
    fn a_secret_split_across_reads_is_masked() {
        let secrets = secrets(&["sk-ant-12345"]);
        assert_eq!(masked(&secrets, &[b"a sk-a", b"nt-12", b"345 b"]), "a [weir: masked S0] b");
        assert_eq!(masked(&secrets, &[b"a sk-a", b"nt-99"]), "a sk-ant-99");
        assert_eq!(masked(&secrets, &[b"sk-ant-1234"]), "sk-ant-1234");
    }

    #[test]
    fn only_a_possible_beginning_is_held_back() {
        let mut masker = Masker::new(&secrets(&["secret"]));
        let mut target = Vec::new();
        masker.push(b"whole line\n", &mut target);
        assert_eq!(target, b"whole line\n");
        masker.push(b"a sec", &mut target);
        assert_eq!(target, b"whole line\na ");
    }

    #[test]
    fn the_longer_of_two_secrets_wins_even_across_a_split() {
        let secrets = secrets(&["abcd", "abcdefgh"]);
        assert_eq!(masked(&secrets, &[b"abcd", b"efgh."]), "[weir: masked S1].");
        assert_eq!(masked(&secrets, &[b"abcd", b"ef."]), "[weir: masked S0]ef.");
    }

    proptest! {
        #[test]
        fn any_chunking_masks_the_same(
            text in "[abx]{0,60}",
            sizes in proptest::collection::vec(1usize..7, 1..10),
        ) {
            let secrets = secrets(&["abab", "aabba", "babx"]);
            let mut chunks: Vec<&[u8]> = Vec::new();
            let mut rest = text.as_bytes();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break }
                let (now, later) = rest.split_at((*size).min(rest.len()));
                chunks.push(now);
                rest = later;
            }
            let whole = masked(&secrets, &[text.as_bytes()]);
            prop_assert_eq!(&masked(&secrets, &chunks), &whole);
            for secret in ["abab", "aabba", "babx"] {
                prop_assert!(!whole.contains(secret));
            }
        }
    }
}
