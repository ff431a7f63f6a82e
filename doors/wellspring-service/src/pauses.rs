//! The pauses of connections: at most one for each place.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// The pauses that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    /// The number of the connection, by the end of the pause and the place.
    by_end: BTreeMap<(Instant, usize), u64>,
    by_place: HashMap<usize, Instant>,
}

impl Pauses {
    /// Begins a pause. It replaces the one that this place has.
    pub(crate) fn begin(&mut self, until: Instant, place: usize, number: u64) {
        self.cancel(place);
        self.by_place.insert(place, until);
        self.by_end.insert((until, place), number);
    }

    /// Ends the pause of this place without a wake, if there is one.
    pub(crate) fn cancel(&mut self, place: usize) {
        if let Some(until) = self.by_place.remove(&place) {
            self.by_end.remove(&(until, place));
        }
    }

    /// The end of the pause that ends first.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.by_end.keys().next().map(|(until, _)| *until)
    }

    /// Takes a pause that has ended: its place, and the number of its connection.
    pub(crate) fn take_ended(&mut self, now: Instant) -> Option<(usize, u64)> {
        let first = self.by_end.first_entry();
        let first = first.filter(|first| first.key().0 <= now)?;
        let ((_, place), number) = first.remove_entry();
        self.by_place.remove(&place);
        Some((place, number))
    }

    /// The number of pauses.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        assert_eq!(self.by_end.len(), self.by_place.len());
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
        pauses.begin(at(30), 3, 103);
        pauses.begin(at(10), 1, 101);
        pauses.begin(at(20), 2, 102);
        // It begins again: its first end counts no more.
        pauses.begin(at(40), 1, 111);
        pauses.cancel(2);
        pauses.cancel(2);
        assert_eq!((pauses.count(), pauses.next_end()), (2, Some(at(30))));
        assert_eq!(pauses.take_ended(at(29)), None);
        assert_eq!(pauses.take_ended(at(50)), Some((3, 103)));
        assert_eq!(pauses.take_ended(at(50)), Some((1, 111)));
        assert_eq!(pauses.take_ended(at(50)), None);
        assert_eq!((pauses.count(), pauses.next_end()), (0, None));
    }
}
