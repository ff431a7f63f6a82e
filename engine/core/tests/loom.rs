//! The lock-free parts under every interleaving that the C++ memory model allows, for a few threads.
//!
//! Runs with `RUSTFLAGS="--cfg loom" cargo test --release -p wellspring-core --features loom --test loom`.

#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use wellspring_core::node::{Mailbox, Seed};
use wellspring_core::pool::{Event, Queue};

fn event(number: u32) -> Event {
    let mut event = Event::ZERO;
    event.set(number, number as usize, &[number as u8; 32], number);
    event
}

fn pop(queue: &Queue<2>) -> Option<Event> {
    let mut event = Event::ZERO;
    queue.pop_into(&mut event).then_some(event)
}

fn seed(bytes: &[u8], credit_bits: u32) -> Seed {
    let mut seed = Seed::ZERO;
    seed.set(bytes, credit_bits);
    seed
}

fn take<const WORDS: usize>(mailbox: &Mailbox<WORDS>) -> Option<Seed> {
    let mut seed = Seed::ZERO;
    mailbox.take_into(&mut seed).then_some(seed)
}

// In each model the taker is a spawned thread and the giver is the first thread: loom remembers only the last
// load of an atomic, and explores too little if the taker is the first to look.

#[test]
fn no_event_is_torn_doubled_or_lost_without_being_counted() {
    loom::model(|| {
        let queue = Arc::new(Queue::<2>::zero());
        let owner = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || pop(&queue))
        };
        let feeder = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || u64::from(queue.push(&event(1))))
        };
        let pushed = u64::from(queue.push(&event(2))) + feeder.join().unwrap();
        let mut popped: Vec<Event> = owner.join().unwrap().into_iter().collect();
        popped.extend(std::iter::from_fn(|| pop(&queue)));

        assert_eq!(popped.len() as u64, pushed);
        assert_eq!(pushed + queue.dropped(), 2);
        assert!(
            popped
                .iter()
                .all(|popped| *popped == event(1) || *popped == event(2))
        );
        assert!(popped.len() < 2 || popped[0] != popped[1]);
    });
}

#[test]
fn a_slot_is_used_again_only_after_it_was_emptied() {
    loom::model(|| {
        let queue = Arc::new(Queue::<2>::zero());
        let owner = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || [pop(&queue), pop(&queue)])
        };
        let pushed = [1, 2, 3].map(|number| queue.push(&event(number)));
        let mut popped: Vec<Event> = owner.join().unwrap().into_iter().flatten().collect();
        popped.extend(std::iter::from_fn(|| pop(&queue)));

        assert!(
            pushed[0] && pushed[1],
            "a queue with room and one feeder drops nothing"
        );
        let expected = [1, 2, 3]
            .into_iter()
            .zip(pushed)
            .filter(|(_, pushed)| *pushed);
        let expected: Vec<Event> = expected.map(|(number, _)| event(number)).collect();
        assert_eq!(popped, expected);
    });
}

#[test]
fn a_seed_is_taken_whole_and_once() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::<2>::zero());
        let node = {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || [take(&mailbox), take(&mailbox)])
        };
        let posted = [1, 2].map(|n| mailbox.post(&seed(&[n; 16], u32::from(n))));
        let mut taken: Vec<Seed> = node.join().unwrap().into_iter().flatten().collect();
        taken.extend(take(&mailbox));

        assert!(posted[0]);
        assert_eq!(taken.len(), posted.iter().filter(|posted| **posted).count());
        for (seed, n) in taken.iter().zip([1u8, 2]) {
            assert_eq!(
                (seed.bytes(), seed.credit_bits()),
                (&[n; 16][..], u32::from(n))
            );
        }
    });
}
