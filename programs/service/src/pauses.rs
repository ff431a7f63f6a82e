//! The pauses of connections: at most one for each.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// The pauses that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    by_end: BTreeSet<(Instant, u64)>,
    by_number: HashMap<u64, Instant>,
}

impl Pauses {
    /// Begins a pause. It replaces the one that this connection has.
    pub(crate) fn begin(&mut self, until: Instant, number: u64) {
        self.cancel(number);
        self.by_number.insert(number, until);
        self.by_end.insert((until, number));
    }

    /// Ends the pause of this connection without a wake, if there is one.
    pub(crate) fn cancel(&mut self, number: u64) {
        if let Some(until) = self.by_number.remove(&number) {
            self.by_end.remove(&(until, number));
        }
    }

    /// The end of the pause that ends first.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.by_end.first().map(|(until, _)| *until)
    }

    /// Takes a pause that has ended: the number of its connection.
    pub(crate) fn take_ended(&mut self, now: Instant) -> Option<u64> {
        let (until, number) = *self.by_end.first()?;
        (until <= now).then(|| self.cancel(number))?;
        Some(number)
    }

    /// The number of pauses.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        assert_eq!(self.by_end.len(), self.by_number.len());
        self.by_end.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_pause_ends_once_in_the_order_of_time_and_one_that_is_cancelled_never() {
        let now = Instant::now();
        let at = |ms| now + Duration::from_millis(ms);
        let mut pauses = Pauses::default();
        pauses.begin(at(30), 103);
        pauses.begin(at(10), 101);
        pauses.begin(at(20), 102);
        // It begins again: its first end counts no more.
        pauses.begin(at(40), 101);
        pauses.cancel(102);
        pauses.cancel(102);
        assert_eq!((pauses.count(), pauses.next_end()), (2, Some(at(30))));
        assert_eq!(pauses.take_ended(at(29)), None);
        assert_eq!(pauses.take_ended(at(50)), Some(103));
        assert_eq!(pauses.take_ended(at(50)), Some(101));
        assert_eq!(pauses.take_ended(at(50)), None);
        assert_eq!((pauses.count(), pauses.next_end()), (0, None));
    }
}
