//! When the pools give a seed, and what it contains, under a clock that the test sets.

use crate::common::{Pipeline, event, ready};
use wellspring_core::pool::Trigger;

#[test]
fn no_reseed_comes_within_100_ms_of_the_last_or_from_a_short_pool() {
    let mut pipeline = Pipeline::new(1);
    pipeline.distribution.absorb(&event(1, 0, &[1; 32], 8));
    assert!(!pipeline.deliver(1), "36 bytes are less than 64");
    pipeline.gather(8);
    assert!(pipeline.deliver(1), "the first needs no time");
    pipeline.receive();
    pipeline.gather(8);
    pipeline.now_ms += 99;
    assert!(!pipeline.deliver(1));
    pipeline.now_ms += 1;
    assert!(pipeline.deliver(1));
}

#[test]
fn a_clock_that_goes_back_makes_a_reseed_due_at_once() {
    let mut pipeline = Pipeline::new(1);
    pipeline.gather(8);
    assert!(pipeline.deliver(1));
    pipeline.receive();
    for back_ms in [1, 50, 4000] {
        pipeline.gather(8);
        assert!(!pipeline.deliver(1), "100 ms have not passed");
        pipeline.now_ms -= back_ms;
        assert!(pipeline.deliver(1), "{back_ms} ms back");
        assert_eq!(pipeline.receive(), [0]);
        pipeline.gather(8);
        assert!(!pipeline.deliver(1), "the pace goes on from the new time");
        pipeline.now_ms += 100;
        assert!(pipeline.deliver(1));
        pipeline.receive();
    }
}

#[test]
fn a_clock_that_goes_back_needs_a_filled_pool_too() {
    let mut pipeline = Pipeline::new(1);
    pipeline.gather(8);
    assert!(pipeline.deliver(1));
    pipeline.receive();
    pipeline.now_ms -= 4000;
    assert!(!pipeline.deliver(1));
}

#[test]
fn an_operators_order_does_not_wait_100_ms_but_needs_a_filled_pool() {
    let mut pipeline = Pipeline::new(1);
    pipeline.gather(8);
    assert!(pipeline.deliver(1));
    assert!(!pipeline.order(), "nothing to reseed with");
    pipeline.gather(8);
    assert!(pipeline.order());
}

#[test]
fn after_an_order_every_node_depends_on_its_seed_and_on_what_was_mixed_before() {
    for nodes in [1, 4, 8] {
        let made = [None, Some(b"seed"), Some(b"data")].map(|differs| {
            let mut pipeline = ready(nodes);
            for number in 0..40 {
                // Reseeds in between: mixed data may have gone to a pool that the order does not use.
                let mixed = if differs == Some(b"data") { 1 } else { 2 };
                pipeline.distribution.mix(&event(1, 0, &[mixed; 32], 0));
                let noise = if differs == Some(b"seed") { 3 } else { 4 };
                pipeline.gather(8);
                pipeline.distribution.absorb(&event(1, 0, &[noise; 32], 0));
                if number % 3 == 0 {
                    pipeline.now_ms += 100;
                    assert!(pipeline.deliver(nodes));
                }
            }
            pipeline.gather(8);
            assert!(pipeline.order());
            pipeline.keys()
        });
        let [keys, other_seed, other_data] = &made;
        for (number, key) in keys.iter().enumerate() {
            let others = (&other_seed[number], &other_data[number]);
            assert_ne!(key, others.0, "node {number} of {nodes}: the seed");
            assert_ne!(key, others.1, "node {number} of {nodes}: the data");
        }
        assert!((0..nodes).all(|n| !keys[..n].contains(&keys[n])), "apart");
    }
}

#[test]
fn an_order_without_a_seed_takes_in_what_was_mixed_all_the_same() {
    let made = [1, 2].map(|data| {
        let mut pipeline = ready(2);
        pipeline.distribution.mix(&event(1, 0, &[data; 32], 0));
        assert!(!pipeline.order());
        pipeline.keys()
    });
    assert_ne!(made[0][0], made[1][0]);
    assert_ne!(made[0][1], made[1][1]);
}

#[test]
fn mixing_alone_never_makes_a_reseed_and_is_taken_in_by_the_next() {
    let made = [1, 2].map(|data| {
        let mut pipeline = ready(1);
        for _ in 0..10_000 {
            pipeline.now_ms += 100;
            pipeline.distribution.mix(&event(1, 0, &[data; 32], 0));
            assert!(!pipeline.deliver(1));
        }
        assert_eq!(pipeline.distribution.accumulator().fill_of(0), (0, 0));
        assert!(!pipeline.order(), "not by order either");
        pipeline.distribution.mix(&event(1, 0, &[data; 32], 0));
        pipeline.reseed(1);
        (
            pipeline.keys()[0],
            pipeline.distribution.accumulator().reseeds(),
        )
    });
    assert_ne!(made[0].0, made[1].0, "it adds to the seed");
    assert_eq!(made[0].1, 2, "the two seeds are those of events");
}

#[test]
fn what_node_0_has_no_room_for_stays_in_the_pools() {
    let mut pipeline = Pipeline::new(1);
    pipeline.gather(8);
    assert!(pipeline.deliver(1));
    pipeline.now_ms += 100;
    pipeline.gather(8);
    let gathered = pipeline.distribution.accumulator().first_pool_bytes();
    // A reader has the lock, and has not looked into the mailbox yet.
    assert!(!pipeline.deliver_beside_reader_of(0, 1));
    let pools = pipeline.distribution.accumulator();
    assert_eq!((pools.first_pool_bytes(), pools.reseeds()), (gathered, 1));
    assert!(pipeline.deliver(1), "node 0 takes its old seed first");
    assert_eq!(pipeline.reseeds(), [1]);
    assert_eq!(pipeline.receive(), [0]);
}

#[test]
fn node_0_is_ready_with_128_bits_in_one_seed_and_not_with_127() {
    // Pool 0 gets two of the 64 events, so 2 * 63 bits; and one event more.
    for (last_bits, ready) in [(1, false), (2, true)] {
        let mut pipeline = Pipeline::new(1);
        pipeline.gather(63);
        pipeline
            .distribution
            .absorb(&event(1, 0, &[1; 8], last_bits));
        pipeline.deliver(1);
        pipeline.receive();
        let node = pipeline.nodes[0].borrow();
        assert!(node.has_seed());
        assert_eq!(node.credited_bits(), 126 + u64::from(last_bits));
        assert_eq!(node.is_ready(), ready, "{last_bits}");
    }
}

#[test]
fn credits_of_several_seeds_are_not_added() {
    let mut pipeline = Pipeline::new(1);
    for _ in 0..100 {
        // Two events of 4 bits in pool 0.
        pipeline.now_ms += 100;
        pipeline.gather(0);
        pipeline.distribution.absorb(&event(1, 0, &[1; 8], 8));
        assert!(pipeline.deliver(1));
        assert_eq!(pipeline.receive(), [0]);
        assert!(!pipeline.nodes[0].borrow().is_ready());
    }
    assert_eq!(pipeline.nodes[0].borrow().credited_bits(), 8);
}

#[test]
fn before_it_is_ready_credit_below_128_bits_stays_in_the_pools_and_then_makes_one_seed_of_all() {
    let mut pipeline = Pipeline::new(1);
    for number in 0..16 {
        assert!(!pipeline.deliver_at(Trigger::Pooled, 1), "{number} of 16");
        // More bytes than a reseed takes, without credit.
        pipeline.gather(0);
        pipeline.distribution.absorb(&event(1, number, &[1; 8], 8));
    }
    assert_eq!(pipeline.distribution.accumulator().reseeds(), 0);
    assert!(pipeline.deliver_at(Trigger::Pooled, 1), "128 bits");
    assert_eq!(pipeline.receive(), [0]);
    let node = pipeline.nodes[0].borrow();
    assert_eq!((node.credited_bits(), node.is_ready()), (128, true));
    let pools = pipeline.distribution.accumulator();
    assert!((0..32).all(|pool| pools.fill_of(pool) == (0, 0)));
}

#[test]
fn the_first_seed_is_fortunas_if_pool_0_alone_has_128_bits() {
    let mut pipeline = Pipeline::new(1);
    pipeline.gather(64);
    assert!(pipeline.deliver_at(Trigger::Pooled, 1));
    let pools = pipeline.distribution.accumulator();
    assert_eq!(pools.fill_of(0), (0, 0));
    assert!((1..32).all(|pool| pools.fill_of(pool) == (2 * 36, 128)));
}

#[test]
fn credit_that_an_early_seed_took_does_not_count() {
    let mut pipeline = Pipeline::new(1);
    pipeline.gather(0);
    pipeline.distribution.absorb(&event(1, 0, &[1; 16], 120));
    assert!(!pipeline.deliver_at(Trigger::Pooled, 1));
    assert!(pipeline.deliver(1), "a seed for early readers");
    pipeline.receive();
    pipeline.distribution.absorb(&event(1, 1, &[1; 16], 127));
    assert!(!pipeline.deliver_at(Trigger::Pooled, 1));
    pipeline.distribution.absorb(&event(1, 31, &[1; 16], 1));
    assert!(pipeline.deliver_at(Trigger::Pooled, 1));
    pipeline.receive();
    assert!(pipeline.nodes[0].borrow().is_ready());
}

#[test]
fn data_of_unknown_origin_makes_no_node_ready() {
    let mut pipeline = Pipeline::new(1);
    pipeline.gather(0);
    assert!(pipeline.deliver(1), "it is mixed all the same");
    pipeline.receive();
    let node = pipeline.nodes[0].borrow();
    assert!(node.has_seed(), "for reads that ask for it by name");
    assert_eq!((node.credited_bits(), node.is_ready()), (0, false));
}
