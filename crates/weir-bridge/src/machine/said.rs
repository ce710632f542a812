//! The text that the model has written so far.

/// The blocks of text of a reply, joined by empty lines.
#[derive(Debug, Default)]
pub(super) struct WrittenText {
    text: String,
    /// The blocks in order, each with its offset in the text.
    blocks: Vec<(u64, usize)>,
}

impl WrittenText {
    /// Whether nothing has been written.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The text.
    pub(super) fn as_str(&self) -> &str {
        self.text.trim_end()
    }

    /// Appends to a block, or replaces it. Returns whether earlier text changed. The cost of appending at the end
    /// depends only on the length of the new text.
    pub(super) fn write(&mut self, block: u64, text: &str, replaces: bool) -> bool {
        let last = self.blocks.last().copied();
        match last {
            Some((last, start)) if last == block && !replaces => {
                let is_first = start == self.text.len();
                self.text.push_str(if is_first { text.trim_start() } else { text });
                false
            }
            Some((last, _)) if last >= block => self.rewrite(block, text, replaces),
            _ => {
                self.begin(block, text);
                false
            }
        }
    }

    fn begin(&mut self, block: u64, text: &str) {
        self.text.truncate(self.as_str().len());
        // An empty block leaves no gap.
        self.blocks.pop_if(|(_, start)| *start >= self.text.len());
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.blocks.push((block, self.text.len()));
        self.text.push_str(text.trim_start());
    }

    /// Changes a block that is not the last, or replaces a block. The cost depends on the length of what follows it.
    fn rewrite(&mut self, block: u64, text: &str, replaces: bool) -> bool {
        let index = self.blocks.partition_point(|(other, _)| *other < block);
        let is_known = self.blocks.get(index).is_some_and(|(other, _)| *other == block);
        let from = self.blocks.get(index).map_or(self.text.len(), |(_, start)| *start);
        let end_of = |index: usize| self.blocks.get(index + 1).map_or(self.text.len(), |(_, start)| *start);
        let before = if is_known { self.text.get(from..end_of(index)).unwrap_or_default() } else { "" };
        let now = if replaces { text.to_owned() } else { format!("{before}{text}") };
        if before.trim_end() == now.trim() {
            return false;
        }
        let later = self.blocks.split_off(index);
        let tail = self.text.split_off(from);
        self.begin(block, &now);
        let mut rest = later.iter().skip(usize::from(is_known)).peekable();
        while let Some((other, start)) = rest.next() {
            let end = rest.peek().map_or(tail.len(), |(_, next)| next - from);
            self.begin(*other, tail.get(start - from..end).unwrap_or_default());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::WrittenText;

    #[test]
    fn blocks_are_joined_in_order_however_they_arrive() {
        let steps: [(u64, &str, bool); 12] = [
            (1, "  one", false),
            (1, " more ", false),
            (3, "\n", false),
            (3, "three ", false),
            (5, "  ", false),
            (6, "six", false),
            (2, "two", false),
            (2, "two", true),
            (1, "ONE", true),
            (6, " and seven\n", false),
            (6, "six and seven", true),
            (5, "five", false),
        ];
        let mut said = WrittenText::default();
        let mut blocks: BTreeMap<u64, String> = BTreeMap::new();
        for (block, text, replaces) in steps {
            let entry = blocks.entry(block).or_default();
            if replaces {
                text.clone_into(entry);
            } else {
                entry.push_str(text);
            }
            let before = said.as_str().to_owned();
            let changed = said.write(block, text, replaces);
            let expected: Vec<&str> =
                blocks.values().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
            assert_eq!(said.as_str(), expected.join("\n\n"), "after {block} {text:?}");
            assert!(changed || said.as_str().starts_with(&before), "{before:?} became {:?}", said.as_str());
        }
        assert!(!said.write(6, "six and seven", true), "nothing is different");
    }
}
