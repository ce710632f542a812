//! A coloured diff, cut to a readable length.

use super::clean::clean;
use super::plural;
use super::style::Style;

/// The first `max_lines` lines of a unified diff, without the file names.
pub(crate) fn coloured(diff: &str, max_lines: usize, style: Style) -> Vec<String> {
    let is_name = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ");
    // File names are only in the first two lines; elsewhere such a line is content.
    let names = diff.lines().take(2).take_while(is_name).count();
    let all: Vec<&str> = diff.lines().skip(names).collect();
    let mut lines: Vec<String> = all.iter().take(max_lines).map(|line| one(line, style)).collect();
    if all.len() > max_lines {
        lines.push(style.faint(&format!("… {}", plural((all.len() - max_lines) as u64, "more line"))));
    }
    lines
}

fn one(line: &str, style: Style) -> String {
    let line = clean(line).replace('\t', "    ");
    match line.chars().next() {
        Some('+') => style.good(&line),
        Some('-') => style.bad(&line),
        Some('@') => style.accent(&line),
        Some('\\') => style.faint(&line),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_dropped_and_the_rest_is_coloured_and_cut() {
        let diff = "--- a\n+++ a\n@@ -1 +1,2 @@\n-old\n+new\n+--- not a name\n same\n";
        assert_eq!(
            coloured(diff, 4, Style::plain()),
            ["@@ -1 +1,2 @@", "-old", "+new", "+--- not a name", "… 1 more line"]
        );
        assert_eq!(coloured(diff, 9, Style::coloured())[1], "\x1b[31m-old\x1b[0m");
        assert_eq!(coloured("--- x\n", 9, Style::plain()), [""; 0]);
    }
}
