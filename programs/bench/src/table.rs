//! Tables for a terminal.

/// Rows under a head, and notes below them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The title.
    pub title: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows; the first cell names the row.
    pub rows: Vec<Vec<String>>,
    /// Notes that explain the figures.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(title: impl Into<String>, head: &[&str]) -> Self {
        Self {
            title: title.into(),
            head: head.iter().map(ToString::to_string).collect(),
            ..Self::default()
        }
    }

    /// The same with one more note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// For a terminal: each column as wide as its widest cell, names to the left, figures to the right.
    #[must_use]
    pub fn text(&self) -> String {
        let lines: Vec<&Vec<String>> = [&self.head].into_iter().chain(&self.rows).collect();
        let columns = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for line in lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, width))| match column {
                0 => format!("  {cell:width$}"),
                _ => format!("  {cell:>width$}"),
            });
            text += cells.collect::<String>().trim_end();
            text.push('\n');
        }
        for note in &self.notes {
            text += &format!("  {note}\n");
        }
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("T", &["", "a", "bbbb"]);
        table.rows.push(vec!["x".into(), "10.0".into(), "1".into()]);
        table
    }

    #[test]
    fn columns_stand_under_their_heads() {
        assert_eq!(table().text(), "T\n        a  bbbb\n  x  10.0     1\n\n");
    }
}
