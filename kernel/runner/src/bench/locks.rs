//! How often reads took the lock of a node, from the module's tables in debugfs. These are counts: they are as true in
//! an emulator as elsewhere.

use std::fs;

const TABLE: &str = "/sys/kernel/debug/wellspring/nodes";

/// Counts of all nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Locks {
    /// How often a reader took the lock of a node.
    pub(super) taken: u64,
    /// How often the lock was not free.
    pub(super) contended: u64,
}

impl Locks {
    /// The counts so far. `None` where debugfs cannot be read.
    pub(super) fn now() -> Option<Self> {
        parse(&fs::read_to_string(TABLE).ok()?)
    }

    /// The counts that came since.
    pub(super) fn since(self, before: Locks) -> Locks {
        Locks {
            taken: self.taken.saturating_sub(before.taken),
            contended: self.contended.saturating_sub(before.contended),
        }
    }
}

/// The sums over the rows of the table, whose first line names the columns.
fn parse(table: &str) -> Option<Locks> {
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next()?.split_whitespace().collect();
    let column = |name: &str| names.iter().position(|other| *other == name);
    let (taken, contended) = (column("reservations")?, column("contended")?);
    let mut sum = Locks::default();
    for line in lines {
        let cells: Vec<&str> = line.split_whitespace().collect();
        sum.taken += cells.get(taken)?.parse::<u64>().ok()?;
        sum.contended += cells.get(contended)?.parse::<u64>().ok()?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_all_nodes_are_added_up_by_their_names() {
        let table = "node contended reservations\n0 1 10\n1 2 20\n";
        let sum = Locks {
            taken: 30,
            contended: 3,
        };
        assert_eq!(parse(table), Some(sum));
        assert_eq!(parse("node reservations\n0 10\n"), None);
        assert_eq!(parse(""), None);
        assert_eq!(sum.since(sum), Locks::default());
    }
}
