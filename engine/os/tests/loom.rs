//! The generation under every interleaving that the C++ memory model allows, for a few threads: with the mailbox that
//! brings a node the seed that the generation announces.
//!
//! Runs with `RUSTFLAGS="--cfg loom" cargo test --release -p wellspring-os --features loom --test loom`.

#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use wellspring_core::node::{Mailbox, Seed};
use wellspring_os::thread_state::ThreadStates;

type States = ThreadStates<u64, u64>;

fn seed(bytes: &[u8], credit_bits: u32) -> Seed {
    let mut seed = Seed::ZERO;
    seed.set(bytes, credit_bits);
    seed
}

fn take<const WORDS: usize>(mailbox: &Mailbox<WORDS>) -> Option<Seed> {
    let mut seed = Seed::ZERO;
    mailbox.take_into(&mut seed).then_some(seed)
}

/// The poster stands for the owner of the pools, the reader for a tap: it reads the generation, then fetches a key
/// from its node, which empties the mailbox first.
#[test]
fn a_tap_of_a_generation_has_a_key_drawn_after_that_generations_seed() {
    loom::model(|| {
        let shared = Arc::new((States::new(), Mailbox::<1>::zero()));
        let first = shared.0.generation();
        let owner = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                assert!(shared.1.post(&seed(&[7; 8], 1)));
                shared.0.bump();
            })
        };
        let generation = shared.0.generation();
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
        let generation = Arc::new(States::new());
        let mailbox = Arc::new(Mailbox::<1>::zero());
        let node = Arc::new(loom::sync::Mutex::new(false));
        let first = generation.generation();
        let fetch = || {
            let shared = (
                Arc::clone(&generation),
                Arc::clone(&mailbox),
                Arc::clone(&node),
            );
            thread::spawn(move || {
                let (generation, mailbox, node) = shared;
                let generation = generation.generation();
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
        let generation = Arc::new(States::new());
        let mailbox = Arc::new(Mailbox::<1>::zero());
        // The seeds that the node has taken, in their order.
        let node = Arc::new(loom::sync::Mutex::new(Vec::new()));
        let first = generation.generation();
        assert!(mailbox.post(&seed(&[1; 8], 1)));
        let reader = {
            let (generation, mailbox, node) = (
                Arc::clone(&generation),
                Arc::clone(&mailbox),
                Arc::clone(&node),
            );
            thread::spawn(move || {
                let generation = generation.generation();
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

/// Two threads announce a seed each, at the same time. A reader comes at any moment: it loads the generation first, then
/// fetches a key, which has the seeds that it sees. If its number is the last one, its key must have both seeds.
#[test]
fn of_two_announcements_at_the_same_time_neither_is_hidden() {
    loom::model(|| {
        let shared = Arc::new((States::new(), [Mailbox::<1>::zero(), Mailbox::<1>::zero()]));
        let announce = |shared: &(States, [Mailbox<1>; 2]), number: usize| {
            assert!(shared.1[number].post(&seed(&[7; 8], 1)));
            shared.0.bump();
        };
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let generation = shared.0.generation();
                (generation, shared.1.each_ref().map(Mailbox::is_empty))
            })
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || announce(&shared, 1))
        };
        announce(&shared, 0);
        other.join().unwrap();
        let (generation, lacks) = reader.join().unwrap();
        // Both announcements are over.
        if shared.0.generation() == generation {
            assert_eq!(lacks, [false, false]);
        }
    });
}

/// The same for a reader that asks after one of the two announcements is over, while the other goes on.
#[test]
fn an_announcement_that_is_over_is_not_hidden_by_one_that_goes_on() {
    loom::model(|| {
        let shared = Arc::new((States::new(), [Mailbox::<1>::zero(), Mailbox::<1>::zero()]));
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                assert!(shared.1[1].post(&seed(&[7; 8], 1)));
                shared.0.bump();
            })
        };
        assert!(shared.1[0].post(&seed(&[7; 8], 1)));
        shared.0.bump();
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let generation = shared.0.generation();
                (generation, shared.1.each_ref().map(Mailbox::is_empty))
            })
        };
        other.join().unwrap();
        let (generation, lacks) = reader.join().unwrap();
        if shared.0.generation() == generation {
            assert_eq!(lacks, [false, false]);
        }
    });
}
