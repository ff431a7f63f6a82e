//! The figures as tables.

use super::modes::Subject;
use super::nodes;
use super::readers::{Grid, LocksPerRead};
use super::requests;

/// All figures.
pub(super) struct Figures {
    pub(super) readers: Grid,
    pub(super) nodes: Vec<nodes::Row>,
    pub(super) requests: Vec<requests::Row>,
}

/// Sentences and tables.
pub(super) fn text(figures: &Figures) -> String {
    let tables = [
        speeds(figures),
        ratios(figures),
        locks(figures),
        speeds_of_nodes(figures),
        costs_of_requests(figures),
    ];
    let tables: String = tables.iter().map(Table::text).collect();
    format!("{}\n\n{tables}", headline(figures))
}

fn headline(figures: &Figures) -> String {
    let Some((readers, cells)) = (1..).zip(&figures.readers).last() else {
        return String::new();
    };
    let of = |subject| {
        let place = Subject::ALL.iter().position(|other| *other == subject);
        place.map_or(f64::NAN, |place| cells[place].each_mb_s)
    };
    let (best, locked, system) = (
        of(Subject::Mode("per-cpu")),
        of(Subject::Mode("canonical")),
        of(Subject::Urandom),
    );
    format!(
        "{readers} readers get {} MB/s each in mode per-cpu, {} in mode canonical, {} from /dev/urandom.",
        digits(best),
        digits(locked),
        digits(system)
    )
}

/// A table with a column for each subject.
fn table_of_subjects(title: &str, first: &str) -> Table {
    let mut head = vec![first];
    head.extend(Subject::ALL.map(Subject::name));
    Table::new(title, &head)
}

fn speeds(figures: &Figures) -> Table {
    let title = "MB/s of each reader, reads of 16 KiB; in brackets fastest less slowest reader as a share of the mean";
    let mut table = table_of_subjects(title, "readers");
    for (readers, cells) in (1..).zip(&figures.readers) {
        let cells = cells
            .iter()
            .map(|cell| format!("{} ({:.2})", digits(cell.each_mb_s), cell.spread));
        table.rows.push(row(&readers.to_string(), cells));
    }
    table.note("FreeBSD published 55 with the lock and 197 without for 1 reader, 113 and 430 for 3, in MiB/s.")
}

fn ratios(figures: &Figures) -> Table {
    let mut table = table_of_subjects("times /dev/urandom", "readers");
    for (readers, cells) in (1..).zip(&figures.readers) {
        let system = cells[0].each_mb_s;
        let cells = cells
            .iter()
            .map(|cell| format!("{:.2}", cell.each_mb_s / system));
        table.rows.push(row(&readers.to_string(), cells));
    }
    table
}

fn locks(figures: &Figures) -> Table {
    let title = "locks of nodes taken in 1000 reads of 16 KiB; in brackets how many were not free";
    let mut table = table_of_subjects(title, "readers");
    for (readers, cells) in (1..).zip(&figures.readers) {
        let cells = cells.iter().map(|cell| per_thousand(cell.locks));
        table.rows.push(row(&readers.to_string(), cells));
    }
    table.note("How many are taken holds in an emulator too, where times say nothing.")
}

fn speeds_of_nodes(figures: &Figures) -> Table {
    let title = "reads of 32 bytes by a reader on each CPU, times those on one node (in brackets: thousands a second)";
    let mut table = table_of_subjects(title, "nodes");
    let first = figures.nodes.first();
    for node in &figures.nodes {
        let cells = node.cells.iter().enumerate().map(|(column, (reads, _))| {
            let base = first.map_or(f64::NAN, |first| first.cells[column].0);
            format!("{:.2} ({})", reads / base, digits(reads / 1e3))
        });
        let name = format!("{} ({} CPUs)", node.nodes, node.readers);
        table.rows.push(row(&name, cells));
    }
    for node in &figures.nodes {
        let cells = node.cells.iter().map(|(_, locks)| per_thousand(*locks));
        let name = format!("{}, locks in 1000 reads", node.nodes);
        table.rows.push(row(&name, cells));
    }
    table.note(
        "will-it-scale published 1, 0.75, 0.55, 0.42 with one lock, and 1, 2, 2.4, 3 without.",
    )
}

fn costs_of_requests(figures: &Figures) -> Table {
    let title = "inside the kernel, one CPU, one request at a time, mode per-cpu";
    let mut table = Table::new(
        title,
        &["", "ns", "MB/s", "context switches", "numbers' share"],
    );
    for request in &figures.requests {
        let speed = match request.share {
            None => digits(16e3 / request.each_ns),
            Some(_) => digits(4096e3 / request.each_ns),
        };
        let share = request.share;
        let share = share.map_or(String::new(), |share| format!("{:.2} %", 100.0 * share));
        let switches = format!("{:.2}", request.switches);
        let cells = [digits(request.each_ns), speed, switches, share];
        table.rows.push(row(request.name, cells.into_iter()));
    }
    table.note(
        "Published: 384 MB/s by a worker, 487 directly; numbers' share 3.16 % secret, 0.06 % pseudo.")
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> Vec<String> {
    [name.to_owned()].into_iter().chain(cells).collect()
}

fn per_thousand(locks: Option<LocksPerRead>) -> String {
    locks.map_or("-".into(), |locks| {
        let (taken, contended) = (1000.0 * locks.taken, 1000.0 * locks.contended);
        format!("{} ({})", digits(taken), digits(contended))
    })
}

/// Three digits that say something.
fn digits(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Rows under a head, and a note below them.
struct Table {
    title: String,
    rows: Vec<Vec<String>>,
    note: &'static str,
}

impl Table {
    fn new(title: &str, head: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            rows: vec![head.iter().map(ToString::to_string).collect()],
            note: "",
        }
    }

    fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// Each column as wide as its widest cell, names to the left, figures to the right.
    fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let mut text = format!("{}\n", self.title);
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let width = width(column);
                text += &match column {
                    0 => format!("  {cell:width$}"),
                    _ => format!("  {cell:>width$}"),
                };
            }
            text.push('\n');
        }
        text + if self.note.is_empty() { "" } else { "  " } + self.note + "\n\n"
    }
}

#[cfg(test)]
mod tests {
    use super::super::readers::Cell;
    use super::*;

    fn figures() -> Figures {
        let locks = Some(LocksPerRead {
            taken: 0.004,
            contended: 0.001,
        });
        let cell = |each_mb_s| Cell {
            each_mb_s,
            spread: 0.1,
            locks,
        };
        let cells = [100.0, 50.0, 60.0, 80.0, 400.0].map(cell).to_vec();
        Figures {
            readers: vec![cells.clone(), cells],
            nodes: vec![nodes::Row {
                nodes: 1,
                readers: 2,
                cells: vec![(1e6, None); 5],
            }],
            requests: vec![requests::Row {
                name: "blocks",
                each_ns: 100.0,
                switches: 0.0,
                share: Some(0.0316),
            }],
        }
    }

    #[test]
    fn the_text_begins_with_a_sentence_and_has_every_table() {
        let text = text(&figures());
        let first = "2 readers get 400 MB/s each in mode per-cpu, 50.0 in mode canonical, 100 from /dev/urandom.";
        assert_eq!(text.lines().next(), Some(first), "{text}");
        for part in ["400 (0.10)", "4.00", "4.00 (1.00)", "1 (2 CPUs)", "3.16 %"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
