//! A table of plain columns.

use super::style::Style;

/// A table with columns as wide as their texts. Lines are cut at the width of the terminal.
#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines. `width` is the width of the terminal, or `None` for no limit.
    pub(crate) fn lines(&self, style: Style, width: Option<usize>) -> Vec<String> {
        let length = |text: &str| text.chars().count();
        let mut widths: Vec<usize> = self.heads.iter().map(|head| length(head)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(length(cell));
            }
        }
        let heads: Vec<String> = self.heads.iter().map(ToString::to_string).collect();
        let head = style.bold(&line(&heads, &widths, width));
        std::iter::once(head).chain(self.rows.iter().map(|row| line(row, &widths, width))).collect()
    }
}

fn line(cells: &[String], widths: &[usize], max_width: Option<usize>) -> String {
    let mut line = String::new();
    for (place, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if place > 0 {
            line.push_str("  ");
        }
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
    }
    let line = line.trim_end();
    match max_width {
        Some(max_width) => weir_base::text::fit(line, max_width).into_owned(),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_texts_and_lines_are_cut() {
        let mut table = Table::new(&["ID", "TITLE"]);
        table.row(["abcdef".to_owned(), "a long title that does not fit".to_owned()]);
        table.row(["x".to_owned(), "y".to_owned()]);
        let lines = table.lines(Style::plain(), Some(20));
        assert_eq!(lines, ["ID      TITLE", "abcdef  a long titl…", "x       y"]);
        assert_eq!(table.lines(Style::plain(), None)[1], "abcdef  a long title that does not fit");
    }
}
