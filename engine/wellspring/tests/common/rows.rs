//! The table that the proof P3 prints: at which steps of a read something may come, and what becomes of the read then. Tests
//! that step through reads see these rows and no other.

use std::collections::BTreeSet;
use wellspring_os::thread_state::CurrentThread;

const TABLE: &str = include_str!("../../../../proofs/protocol/taps.table");

/// A step of a read, as a handler sees it that interrupts the read there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    has_depth: bool,
    has_bytes: bool,
}

impl Step {
    /// The step of a read on this thread into `destination`, which had zeros before. `depth`: the thread's before that read.
    pub(crate) fn now<const N: usize>(depth: usize, destination: *const [u8; N]) -> Self {
        // SAFETY: the memory of the caller, initialised; what the interrupted read writes on this thread it writes later.
        let bytes = unsafe { destination.read_volatile() };
        Self {
            has_depth: CurrentThread::find().depth() > depth,
            has_bytes: bytes != [0; N],
        }
    }
}

/// The rows that a test sees.
pub(crate) struct Rows {
    /// The event and the reader.
    of: &'static str,
    seen: BTreeSet<String>,
}

impl Rows {
    /// Rows that begin with these two words.
    pub(crate) fn of(of: &'static str) -> Self {
        Self {
            of,
            seen: BTreeSet::new(),
        }
    }

    /// Notes what became of a read when it was interrupted at this step: the last word of the row.
    pub(crate) fn see(&mut self, step: Step, read: &str) {
        let depth = if step.has_depth { "taken" } else { "free" };
        let bytes = if step.has_bytes { "some" } else { "none" };
        self.seen
            .insert(format!("{} {depth} {bytes} {read}", self.of));
    }

    /// Asserts that the test saw the rows of the table, all of them and no other.
    pub(crate) fn check(&self, what: &str) {
        assert_eq!(
            self.seen,
            self.expected(),
            "{what}: proofs/protocol/taps.table"
        );
    }

    /// Whether the test saw all of them.
    pub(crate) fn are_all(&self) -> bool {
        self.seen.is_superset(&self.expected())
    }

    /// Asserts that the test saw no other row: for a read whose last steps it may not have reached.
    pub(crate) fn check_seen(&self, what: &str) {
        let (seen, expected) = (&self.seen, self.expected());
        assert!(
            seen.is_subset(&expected),
            "{what}: {seen:?}, but {expected:?}"
        );
    }

    fn expected(&self) -> BTreeSet<String> {
        let rows = TABLE.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.join(" ")
        });
        let expected: BTreeSet<String> = rows.filter(|row| row.starts_with(self.of)).collect();
        assert!(!expected.is_empty(), "no row of {}", self.of);
        expected
    }
}
