//! The turns of users: one read each, in a circle. A user with a hundred reads that wait delays another one by one read.

use std::collections::{BTreeMap, VecDeque};

/// The reads that wait for a turn.
#[derive(Debug)]
pub(super) struct Turns<R> {
    /// By user. No list is empty.
    reads: BTreeMap<u32, VecDeque<R>>,
    /// The users with reads, in the order of their turns.
    users: VecDeque<u32>,
}

impl<R> Default for Turns<R> {
    fn default() -> Self {
        Self {
            reads: BTreeMap::new(),
            users: VecDeque::new(),
        }
    }
}

impl<R> Turns<R> {
    /// Adds a read of a user.
    pub(super) fn add(&mut self, user: u32, read: R) {
        let reads = self.reads.entry(user).or_default();
        if reads.is_empty() {
            self.users.push_back(user);
        }
        reads.push_back(read);
    }

    /// The read whose turn it is.
    pub(super) fn next(&mut self) -> Option<R> {
        let user = self.users.pop_front()?;
        let reads = self.reads.get_mut(&user)?;
        let read = reads.pop_front();
        if reads.is_empty() {
            self.reads.remove(&user);
        } else {
            self.users.push_back(user);
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_waits_for_one_read_of_each_other_user_and_nothing_is_left_over() {
        let mut turns = Turns::default();
        for read in 0..100 {
            turns.add(1000, (1000, read));
        }
        assert_eq!(turns.next(), Some((1000, 0)));
        turns.add(0, (0, 0));
        turns.add(0, (0, 1));
        turns.add(1001, (1001, 0));
        let order: Vec<_> = (0..6).filter_map(|_| turns.next()).collect();
        let expected = [(1000, 1), (0, 0), (1001, 0), (1000, 2), (0, 1), (1000, 3)];
        assert_eq!(order, expected);
        let rest: Vec<_> = std::iter::from_fn(|| turns.next()).collect();
        assert!(rest.iter().copied().eq((4..100).map(|read| (1000, read))));
        assert!(turns.reads.is_empty() && turns.users.is_empty());
    }
}
