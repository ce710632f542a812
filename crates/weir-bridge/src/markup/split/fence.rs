//! Fences of code blocks.

/// The fence of an open code block.
#[derive(Debug, Clone)]
pub(super) struct Fence {
    /// The line that reopens it, with its newline.
    pub(super) opening: String,
    /// The line that closes it, without a newline.
    pub(super) closing: String,
    mark: char,
    count: usize,
}

impl Fence {
    /// The fence that a line opens, if any.
    pub(super) fn opened_by(line: &str) -> Option<Self> {
        let indent = line.len() - line.trim_start_matches([' ', '>']).len();
        let (before, code) = line.split_at_checked(indent)?;
        let mark = code.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let count = code.chars().take_while(|character| *character == mark).count();
        // With more backticks later in the line it is inline code.
        let is_fence = count >= 3 && !(mark == '`' && code.trim_start_matches('`').contains('`'));
        is_fence.then(|| Self {
            opening: format!("{}\n", line.trim_end()),
            closing: format!("{before}{}", String::from(mark).repeat(count)),
            mark,
            count,
        })
    }

    /// Whether a line closes it.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim_matches([' ', '>', '\n', '\r', '\t']);
        line.chars().count() >= self.count && line.chars().all(|character| character == self.mark)
    }

    /// The fence that is open after a line, given the one that was open before it.
    pub(super) fn after(before: Option<&Self>, line: &str) -> Option<Self> {
        match before {
            Some(fence) if fence.is_closed_by(line) => None,
            Some(fence) => Some(fence.clone()),
            None => Self::opened_by(line),
        }
    }
}
