//! The connections of one worker that have something to do, and the order of their turns: each user has one in its turn,
//! however many connections it has. Root waits for at most one turn of another user, however many users there are.

use crate::users::Peer;
use core::ops::Bound::{Excluded, Unbounded};
use std::collections::{BTreeMap, VecDeque};

pub(super) struct Turns {
    /// The places of the connections of each user, in the order in which they came. No queue is empty.
    waiting: BTreeMap<Peer, VecDeque<usize>>,
    /// The user, other than root, that had the last turn.
    last: Peer,
    /// Whether the very last turn was root's.
    was_root: bool,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            waiting: BTreeMap::new(),
            last: Peer::ROOT,
            was_root: false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds the connection at this place, which is not among them.
    pub(super) fn add(&mut self, peer: Peer, place: usize) {
        self.waiting.entry(peer).or_default().push_back(place);
    }

    /// Takes the connection whose turn it is.
    pub(super) fn take(&mut self) -> Option<usize> {
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
        let places = self.waiting.get_mut(&peer)?;
        let place = places.pop_front();
        if places.is_empty() {
            self.waiting.remove(&peer);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes this many, each of which is added again.
    fn took(turns: &mut Turns, peers: &[Peer], count: usize) -> Vec<usize> {
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
        let mut turns = Turns::new();
        for (place, peer) in peers.iter().enumerate() {
            turns.add(*peer, place);
        }
        assert_eq!(
            took(&mut turns, &peers, 12),
            [0, 4, 5, 1, 4, 5, 2, 4, 5, 3, 4, 5]
        );
    }

    #[test]
    fn root_waits_for_one_turn_at_most_and_does_not_keep_others_from_theirs() {
        let mut peers = vec![Peer::ROOT; 2];
        peers.extend((2..1000).map(Peer::User));
        let mut turns = Turns::new();
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
            let mut turns = Turns::new();
            turns.add(peer, 0);
            assert_eq!(took(&mut turns, &[peer], 3), [0, 0, 0]);
            assert_eq!(turns.take(), Some(0));
            assert!(turns.is_empty());
            assert_eq!(turns.take(), None);
        }
    }
}
