//! The last day of the service, for its picture: the bytes and requests of each door, the seeds, the notices of clones and the
//! worst state of each source in each quarter of an hour.
//!
//! The service notes its counters once a second. A slot has what they gained since, so a slot in which the machine slept is
//! empty. A day has at most [`SLOTS`] slots, whatever clients do.

use crate::doors::Door;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// The length of a slot, in seconds.
pub const SLOT_S: u64 = 900;

/// The slots that are kept: of 24 hours.
pub const SLOTS: usize = 96;

/// A quarter of an hour. As an argument of [`Day::note`] it has the counters since the start of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Bytes that each door handed out, in the order of [`Door::ALL`].
    pub bytes: [u64; Door::ALL.len()],
    /// Requests at each door.
    pub requests: [u64; Door::ALL.len()],
    /// Reseeds of node 0.
    pub reseeds: u64,
    /// Notices of clones.
    pub clone_notices: u64,
    /// The state of each source, a greater number is worse. Empty: the service did not look.
    pub sources: Vec<u8>,
}

impl Slot {
    /// Adds what the counters gained, and keeps the worse states.
    fn add(&mut self, before: &Self, now: &Self) {
        let gain = |sum: &mut u64, before: u64, now: u64| *sum += now.saturating_sub(before);
        for door in 0..Door::ALL.len() {
            gain(&mut self.bytes[door], before.bytes[door], now.bytes[door]);
            gain(
                &mut self.requests[door],
                before.requests[door],
                now.requests[door],
            );
        }
        gain(&mut self.reseeds, before.reseeds, now.reseeds);
        gain(
            &mut self.clone_notices,
            before.clone_notices,
            now.clone_notices,
        );
        self.sources.resize(now.sources.len(), 0);
        for (worst, now) in self.sources.iter_mut().zip(&now.sources) {
            *worst = (*worst).max(*now);
        }
    }
}

#[derive(Debug, Default)]
struct Kept {
    slots: VecDeque<Slot>,
    /// The number of the newest slot, counted since boot.
    number: u64,
    /// The counters at the last note.
    before: Slot,
}

/// The last day.
#[derive(Debug, Default)]
pub struct Day(Mutex<Kept>);

impl Day {
    /// Notes the counters at a time since boot, with the time for which the machine slept.
    pub fn note(&self, now_ns: u64, counters: Slot) {
        let number = now_ns / (SLOT_S * 1_000_000_000);
        let mut kept = self.0.lock();
        let new = match kept.slots.len() {
            0 => 1,
            _ => number.saturating_sub(kept.number).min(SLOTS as u64),
        };
        for _ in 0..new {
            if kept.slots.len() == SLOTS {
                kept.slots.pop_front();
            }
            kept.slots.push_back(Slot::default());
        }
        kept.number = kept.number.max(number);
        let Kept { slots, before, .. } = &mut *kept;
        if let Some(slot) = slots.back_mut() {
            slot.add(before, &counters);
        }
        *before = counters;
    }

    /// The slots, the oldest first. The last one is not over yet.
    pub fn slots(&self) -> Vec<Slot> {
        let kept = self.0.lock();
        kept.slots.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT_NS: u64 = SLOT_S * 1_000_000_000;

    fn counters(bytes: u64, source: u8) -> Slot {
        Slot {
            bytes: [bytes; Door::ALL.len()],
            reseeds: bytes / 2,
            sources: vec![source, 0],
            ..Slot::default()
        }
    }

    #[test]
    fn a_slot_has_what_the_counters_gained_and_the_worst_state() {
        let day = Day::default();
        for (at_ns, bytes, source) in [(7, 10, 0), (8, 30, 3), (9, 30, 1), (SLOT_NS, 36, 1)] {
            day.note(5 * SLOT_NS + at_ns, counters(bytes, source));
        }
        assert_eq!(day.slots(), [counters(30, 3), counters(6, 1)]);
    }

    #[test]
    fn slots_in_which_the_machine_slept_are_empty_and_a_clock_that_goes_back_opens_none() {
        let day = Day::default();
        day.note(9 * SLOT_NS, counters(2, 0));
        day.note(12 * SLOT_NS, counters(4, 0));
        day.note(3 * SLOT_NS, counters(6, 0));
        let empty = Slot::default();
        let slots = [counters(2, 0), empty.clone(), empty, counters(4, 0)];
        assert_eq!(day.slots(), slots);
    }

    #[test]
    fn a_day_has_at_most_96_slots() {
        let day = Day::default();
        for number in [0, 1, 2, 3, u64::MAX / SLOT_NS] {
            day.note(number * SLOT_NS, counters(number, 0));
            assert!(day.slots().len() <= SLOTS);
        }
        for number in 0..2 * SLOTS as u64 {
            let day = Day::default();
            (0..=number).for_each(|slot| day.note(slot * SLOT_NS, counters(slot + 1, 0)));
            let slots = day.slots();
            assert_eq!(slots.len() as u64, (number + 1).min(SLOTS as u64));
            assert!(slots.iter().all(|slot| slot.bytes[0] == 1));
        }
    }
}
