//! Tables drawn with characters, for chats without tables.

/// A table while it is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    cell: String,
}

impl Table {
    /// Adds text to the open cell.
    pub(super) fn text(&mut self, text: &str) {
        self.cell.push_str(text);
    }

    /// Ends the open cell.
    pub(super) fn end_cell(&mut self) {
        self.row.push(std::mem::take(&mut self.cell));
    }

    /// Ends the open row.
    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Draws the table with aligned columns and a line below the header.
    pub(super) fn draw(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| {
                    let missing = width.saturating_sub(cell.chars().count());
                    format!("{cell}{}", " ".repeat(missing))
                })
                .collect();
            lines.push(cells.join(" | ").trim_end().to_owned());
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                lines.push(rules.join("-+-"));
            }
        }
        lines.join("\n")
    }
}
