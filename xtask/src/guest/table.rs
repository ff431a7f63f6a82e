//! The end of it all.

use super::{Result, Stop, failed};

/// What was run, how it ended, and what there is to say of it.
pub(crate) struct Table {
    rows: Vec<[String; 3]>,
    failures: usize,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new() -> Self {
        Self {
            rows: Vec::new(),
            failures: 0,
        }
    }

    /// Adds a row, and shows it at once.
    fn add(&mut self, what: impl Into<String>, is_ok: bool, says: impl Into<String>) {
        let verdict = if is_ok { "ok" } else { "FAILED" };
        let row = [what.into(), verdict.into(), says.into()];
        println!("{verdict} {}: {}", row[0], row[2]);
        self.rows.push(row);
        self.failures += usize::from(!is_ok);
    }

    /// Adds an outcome as a row: a failure goes on to the next, what is missing ends the run.
    pub(crate) fn add_outcome(
        &mut self,
        what: impl Into<String>,
        outcome: Result<String>,
    ) -> Result {
        match outcome {
            Ok(says) => self.add(what, true, says),
            Err(Stop::Failed(reason)) => self.add(what, false, reason),
            Err(missing) => return Err(missing),
        }
        Ok(())
    }

    /// The rows in columns.
    fn text(&self) -> String {
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].len())
                .max()
                .unwrap_or(0)
        };
        let (first, second) = (width(0), width(1));
        let line = |[what, verdict, says]: &[String; 3]| {
            format!("{what:first$}  {verdict:second$}  {says}\n")
        };
        self.rows.iter().map(line).collect()
    }

    /// Shows all of it once more, in columns; an error if a row failed, or there is none.
    pub(crate) fn end(&self) -> Result {
        println!("\n{}", self.text());
        match (self.failures, self.rows.len()) {
            (0, 1..) => Ok(()),
            (failures, rows) => failed(format!("{failures} of {rows} failed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_spoils_a_table_and_so_does_emptiness() {
        let mut table = Table::new();
        assert!(table.end().is_err());
        table.add("a", true, "x");
        assert!(table.end().is_ok());
        table.add("long", false, "y");
        assert!(table.end().is_err());
        assert_eq!(table.text(), "a     ok      x\nlong  FAILED  y\n");
    }
}
