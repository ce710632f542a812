//! Finds fenced code blocks in Markdown text.

use crate::view::CodeBlock;

/// The fenced code blocks in `text`, in order. An unclosed block extends to the end.
///
/// ```
/// let text = "Try this:\n```rust\nfn main() {}\n```\nDone.";
/// let blocks = weir_transcript::code_blocks(text);
/// assert_eq!(blocks[0].language.as_deref(), Some("rust"));
/// assert_eq!(&text[blocks[0].start..blocks[0].end], "fn main() {}\n");
/// ```
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    // A single character is found much faster, and most texts have neither.
    let may_have = |mark: char, fence: &str| text.contains(mark) && text.contains(fence);
    if !may_have('`', "```") && !may_have('~', "~~~") {
        return blocks;
    }
    let mut open: Option<(Fence<'_>, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some(fence) = Fence::of(line) else { continue };
        match &open {
            None => open = Some((fence, at)),
            Some((opening, code)) if opening.is_closed_by(&fence) => {
                blocks.push(CodeBlock { language: opening.language(), start: *code, end: start });
                open = None;
            }
            Some(_) => {}
        }
    }
    if let Some((opening, code)) = open {
        blocks.push(CodeBlock { language: opening.language(), start: code, end: text.len() });
    }
    blocks
}

struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let trimmed = line.trim_start_matches(' ');
        // Four spaces make an indented block, in which a fence is ordinary text.
        if line.len() - trimmed.len() > 3 {
            return None;
        }
        let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = trimmed.trim_start_matches(mark);
        let length = trimmed.len() - rest.len();
        let info = rest.trim();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        Some(Self { mark, length, info })
    }

    fn is_closed_by(&self, other: &Fence<'_>) -> bool {
        self.mark == other.mark && other.length >= self.length && other.info.is_empty()
    }

    fn language(&self) -> Option<String> {
        self.info.split_whitespace().next().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::code_blocks;

    fn found(text: &str) -> Vec<(Option<String>, &str)> {
        code_blocks(text).into_iter().map(|b| (b.language, &text[b.start..b.end])).collect()
    }

    #[test]
    fn fences_close_only_by_their_own_kind() {
        assert_eq!(found("````md\n```\nin\n```\n````\n"), [(Some("md".into()), "```\nin\n```\n")]);
        assert_eq!(found("~~~\na\n```\nb\n~~~"), [(None, "a\n```\nb\n")]);
    }

    #[test]
    fn an_unclosed_fence_extends_to_the_end() {
        assert_eq!(found("x\n```py\nprint(1)"), [(Some("py".into()), "print(1)")]);
    }

    #[test]
    fn inline_code_and_indented_fences_are_text() {
        assert!(found("a ```b``` c").is_empty());
        assert!(found("```b``` c").is_empty());
        assert!(found("    ```\n    x\n").is_empty());
    }
}
