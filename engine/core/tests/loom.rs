//! The lock-free parts under every interleaving that the C++ memory model allows, for a few threads.
//!
//! Runs with `RUSTFLAGS="--cfg loom" cargo test --release -p wellspring-core --test loom`.

#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use wellspring_core::event::Event;
use wellspring_core::generation::Generation;
use wellspring_core::mailbox::Mailbox;
use wellspring_core::queue::Queue;
use wellspring_core::seed::Seed;

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

/// The poster stands for the owner of the pools, the reader for a tap: it reads the generation, then fetches a key
/// from its node, which empties the mailbox first.
#[test]
fn a_tap_of_a_generation_has_a_key_drawn_after_that_generations_seed() {
    loom::model(|| {
        let shared = Arc::new((Generation::new(), Mailbox::<1>::zero()));
        let first = shared.0.current();
        let owner = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                assert!(shared.1.post(&seed(&[7; 8], 1)));
                shared.0.bump();
            })
        };
        let generation = shared.0.current();
        let seeded = take(&shared.1).is_some();
        assert!(
            generation == first || seeded,
            "the tap would carry the new number and an old key"
        );
        owner.join().unwrap();
    });
}

/// Two threads fetch from one node under its lock. The second finds the mailbox emptied by the first,
/// and must still get a key that the seed went into.
#[test]
fn a_reader_that_finds_the_mailbox_emptied_reads_from_a_generator_that_took_the_seed() {
    // Three threads and a mutex: all interleavings with up to three preemptions.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let generation = Arc::new(Generation::new());
        let mailbox = Arc::new(Mailbox::<1>::zero());
        let node = Arc::new(loom::sync::Mutex::new(false));
        let first = generation.current();
        let fetch = || {
            let shared = (
                Arc::clone(&generation),
                Arc::clone(&mailbox),
                Arc::clone(&node),
            );
            thread::spawn(move || {
                let (generation, mailbox, node) = shared;
                let generation = generation.current();
                let mut seeded = node.lock().unwrap();
                *seeded |= take(&mailbox).is_some();
                assert!(generation == first || *seeded);
            })
        };
        let readers = [fetch(), fetch()];
        assert!(mailbox.post(&seed(&[7; 8], 1)));
        generation.bump();
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
    });
}

/// The mailbox is full. The owner of the pools tries the node's lock, lets the node take the old seed, and posts the new
/// one; a reader comes at any moment.
#[test]
fn an_owner_that_empties_a_full_mailbox_loses_no_seed_and_no_reader_gets_a_key_without_it() {
    // Two threads and a mutex: all interleavings with up to three preemptions.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let generation = Arc::new(Generation::new());
        let mailbox = Arc::new(Mailbox::<1>::zero());
        // The seeds that the node has taken, in their order.
        let node = Arc::new(loom::sync::Mutex::new(Vec::new()));
        let first = generation.current();
        assert!(mailbox.post(&seed(&[1; 8], 1)));
        let reader = {
            let (generation, mailbox, node) = (
                Arc::clone(&generation),
                Arc::clone(&mailbox),
                Arc::clone(&node),
            );
            thread::spawn(move || {
                let generation = generation.current();
                let mut taken = node.lock().unwrap();
                taken.extend(take(&mailbox).map(|seed| seed.bytes()[0]));
                assert!(taken.contains(&1));
                assert!(generation == first || taken.contains(&2));
            })
        };
        if let Ok(mut taken) = node.try_lock() {
            taken.extend(take(&mailbox).map(|seed| seed.bytes()[0]));
        }
        let posted = mailbox.is_empty() && mailbox.post(&seed(&[2; 8], 1));
        if posted {
            generation.bump();
        }
        reader.join().unwrap();
        let mut taken = node.lock().unwrap().clone();
        taken.extend(take(&mailbox).map(|seed| seed.bytes()[0]));
        let expected: &[u8] = if posted { &[1, 2] } else { &[1] };
        assert_eq!(taken, expected);
    });
}
