//! How a run ends: a result, a failure, or something that is missing on this machine; and the table of results.

/// The reason why there is no result, or a bad one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// This machine cannot run it: a program is missing, or Debian's archive is out of reach.
    Missing(String),
    /// It ran, and something is wrong.
    Failed(String),
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Stop::Failed(reason)
    }
}

/// The result of anything that a rig does.
pub(crate) type Result<T = ()> = std::result::Result<T, Stop>;

/// A failure, with its reason.
pub(crate) fn failed<T>(reason: impl Into<String>) -> Result<T> {
    Err(Stop::Failed(reason.into()))
}

/// Turns an error of the operating system into a failure that names `what` was used.
pub(crate) fn at(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Stop {
    move |error| Stop::Failed(format!("{what}: {error}"))
}

/// The result of a whole command. What is missing is printed as SKIPPED and is not a failure.
pub(crate) fn verdict(result: Result) -> std::result::Result<(), String> {
    match result {
        Ok(()) => Ok(()),
        Err(Stop::Missing(reason)) => {
            println!("SKIPPED: {reason}");
            Ok(())
        }
        Err(Stop::Failed(reason)) => Err(reason),
    }
}

/// Rows of: what ran, `ok` or `FAILED`, and a sentence.
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
    fn add(&mut self, what: impl Into<String>, is_ok: bool, note: impl Into<String>) {
        let status = if is_ok { "ok" } else { "FAILED" };
        let row = [what.into(), status.into(), note.into()];
        println!("{status} {}: {}", row[0], row[2]);
        self.rows.push(row);
        self.failures += usize::from(!is_ok);
    }

    /// Adds a result as a row. After a failure the run continues; after `Missing` it ends.
    pub(crate) fn add_outcome(
        &mut self,
        what: impl Into<String>,
        outcome: Result<String>,
    ) -> Result {
        match outcome {
            Ok(note) => self.add(what, true, note),
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
        let line = |[what, status, note]: &[String; 3]| {
            format!("{what:first$}  {status:second$}  {note}\n")
        };
        self.rows.iter().map(line).collect()
    }

    /// Prints the table. An error if a row failed, or if there are no rows.
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
