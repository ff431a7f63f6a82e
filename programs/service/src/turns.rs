//! The order of turns: each user has one in its turn, however many connections or reads it has. Root waits for at most one
//! turn of another user, however many users there are.

use crate::users::Peer;
use core::ops::Bound::{Excluded, Unbounded};
use std::collections::{BTreeMap, VecDeque};

/// The connections or reads that have something to do.
#[derive(Debug)]
pub(crate) struct Turns<T> {
    /// Those of each user, in the order in which they came. No queue is empty.
    waiting: BTreeMap<Peer, VecDeque<T>>,
    /// The user, other than root, that had the last turn.
    last: Peer,
    /// Whether the very last turn was root's.
    was_root: bool,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            last: Peer::ROOT,
            was_root: false,
        }
    }
}

impl<T> Turns<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds one of a user.
    pub(crate) fn add(&mut self, peer: Peer, one: T) {
        self.waiting.entry(peer).or_default().push_back(one);
    }

    /// Takes the one whose turn it is.
    pub(crate) fn take(&mut self) -> Option<T> {
        let after = |peer| self.waiting.range((Excluded(peer), Unbounded)).next();
        // Root has the least number: after it come all others.
        let other = after(self.last).or_else(|| after(Peer::ROOT));
        let other = other.map(|(peer, _)| *peer);
        let is_roots =
            self.waiting.contains_key(&Peer::ROOT) && (!self.was_root || other.is_none());
        let peer = if is_roots { Peer::ROOT } else { other? };
        self.was_root = is_roots;
        if !is_roots {
            self.last = peer;
        }
        let queue = self.waiting.get_mut(&peer)?;
        let one = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&peer);
        }
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes this many, each of which is added again.
    fn took(turns: &mut Turns<usize>, peers: &[Peer], count: usize) -> Vec<usize> {
        let take = |_| {
            let place = turns.take().unwrap();
            turns.add(peers[place], place);
            place
        };
        (0..count).map(take).collect()
    }

    #[test]
    fn a_user_with_many_connections_has_one_turn_for_each_turn_of_another_user() {
        let [a, b, c] = [Peer::User(7), Peer::Loopback, Peer::Machine(3)];
        let peers = [a, a, a, a, b, c];
        let mut turns = Turns::default();
        for (place, peer) in peers.iter().enumerate() {
            turns.add(*peer, place);
        }
        assert_eq!(
            took(&mut turns, &peers, 12),
            [0, 4, 5, 1, 4, 5, 2, 4, 5, 3, 4, 5]
        );
        let mut left: Vec<_> = core::iter::from_fn(|| turns.take()).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 1, 2, 3, 4, 5]);
        assert!(turns.is_empty());
    }

    #[test]
    fn root_waits_for_one_turn_at_most_and_does_not_keep_others_from_theirs() {
        let mut peers = vec![Peer::ROOT; 2];
        peers.extend((2..1000).map(Peer::User));
        let mut turns = Turns::default();
        for (place, peer) in peers.iter().enumerate() {
            turns.add(*peer, place);
        }
        let places = took(&mut turns, &peers, 10);
        assert_eq!(places, [0, 2, 1, 3, 0, 4, 1, 5, 0, 6]);
        // The last turn was another's: root is next.
        assert_eq!(turns.take(), Some(1));
        assert_eq!(turns.take(), Some(7));
    }

    #[test]
    fn alone_each_user_has_every_turn_and_the_end_is_seen() {
        for peer in [Peer::ROOT, Peer::User(9)] {
            let mut turns = Turns::default();
            turns.add(peer, 0);
            assert_eq!(took(&mut turns, &[peer], 3), [0, 0, 0]);
            assert_eq!(turns.take(), Some(0));
            assert!(turns.is_empty());
            assert_eq!(turns.take(), None);
        }
    }
}
