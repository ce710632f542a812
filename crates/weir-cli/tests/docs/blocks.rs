//! Finds the commands in Markdown.

use std::path::PathBuf;

/// Fences that would hide commands from this test.
const OTHER_SHELLS: &[&str] = &["bash", "shell", "zsh", "shell-session", "terminal"];
/// Beginnings of lines that look like commands.
const PROGRAMS: &[&str] = &["weir ", "make ", "cargo ", "scripts/", "docker ", "$ "];

/// The commands of one fenced block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) commands: Vec<String>,
}

/// The readers of a chapter of the book.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Part {
    Users,
    Contributors,
}

/// The path of a file of the repository.
pub(crate) fn path(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(file)
}

pub(crate) fn text(file: &str) -> String {
    std::fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The chapters of a part, as listed in `docs/SUMMARY.md`. The README is for users.
pub(crate) fn chapters(wanted: Part) -> Vec<String> {
    let mut part = Part::Users;
    let mut found = Vec::new();
    for line in text("docs/SUMMARY.md").lines() {
        match line.strip_prefix("# ") {
            Some("Working on Weir") => part = Part::Contributors,
            Some("Summary" | "Using Weir") => part = Part::Users,
            Some(other) => panic!("docs/SUMMARY.md has a new part, {other}: who are its readers?"),
            None => {}
        }
        let link = line.split_once("](").and_then(|(_, rest)| rest.strip_suffix(')'));
        if let Some(link) = link.filter(|_| part == wanted) {
            found.push(link.strip_prefix("../").map_or_else(|| format!("docs/{link}"), str::to_owned));
        }
    }
    found
}

/// The blocks of a file with commands.
pub(crate) fn read(file: &str) -> Vec<Block> {
    parse(file, &text(file))
}

fn parse(file: &str, text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else { continue };
        let body: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim_start() != "```").collect();
        let place = format!("{file}:{}", at + 1);
        assert!(
            !OTHER_SHELLS.contains(&language),
            "{place}: write `sh` or `console` instead of `{language}`"
        );
        let commands = match language {
            "sh" => commands(&body),
            "console" => commands(&typed(&body)),
            _ => {
                let looks = |line: &&str| PROGRAMS.iter().any(|program| line.starts_with(program));
                let line = body.iter().find(|line| looks(line));
                assert!(line.is_none(), "{place}: commands belong in a block of `sh` or `console`: {line:?}");
                continue;
            }
        };
        assert!(!commands.is_empty(), "{place}: no commands; in `console` they begin with `$ `");
        found.push(Block { file: file.to_owned(), line: at + 1, commands });
    }
    found
}

/// The typed lines of a `console` block; the others are output.
fn typed<'a>(body: &[&'a str]) -> Vec<&'a str> {
    let mut continues = false;
    let mut typed = Vec::new();
    for line in body {
        if let Some(command) = line.strip_prefix("$ ").or(continues.then_some(*line)) {
            continues = command.ends_with('\\');
            typed.push(command);
        }
    }
    typed
}

fn commands(lines: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = String::new();
    for line in lines {
        let line = without_comment(line).trim();
        open.push_str(line.strip_suffix('\\').unwrap_or(line));
        if !line.ends_with('\\') && !open.is_empty() {
            found.push(std::mem::take(&mut open));
        }
    }
    assert!(open.is_empty(), "the last line ends with a backslash: {open}");
    found
}

/// The line up to a `#` that begins a word outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') if before.is_whitespace() => return &line[..at],
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        before = letter;
    }
    line
}

#[test]
fn commands_are_found() {
    let text = "# A\n```sh\nweir run \"a # b\"   # says so\n\nenv A=1 \\\n  weir run\n```\n```console\n$ weir chat\n> hello\n```\n```text\nnothing\n```\n";
    let blocks = parse("x.md", text);
    assert_eq!(blocks.len(), 2, "{blocks:?}");
    assert_eq!(blocks[0].commands, ["weir run \"a # b\"", "env A=1 weir run"]);
    assert_eq!((blocks[0].line, blocks[1].commands.as_slice()), (2, &["weir chat".to_owned()][..]));
}

#[test]
#[should_panic(expected = "belong in a block")]
fn commands_cannot_hide_in_other_blocks() {
    parse("x.md", "```text\nweir run\n```\n");
}
