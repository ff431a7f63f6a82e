//! Which node is seeded, and with what, under a clock that the test sets.

use crate::common::{Pipeline, event, ready};
use wellspring_core::Backend;
use wellspring_core::node::{CAPACITY_BITS, Inlet, Node};

#[test]
fn before_it_is_ready_only_node_0_is_seeded() {
    let mut pipeline = Pipeline::new(4);
    for _ in 0..5 {
        assert_eq!(pipeline.reseed(1), [0]);
    }
}

#[test]
fn a_node_without_a_seed_has_none_and_is_not_ready() {
    let (mut node, inlet) = (Node::ZERO, Inlet::ZERO);
    node.receive(&inlet);
    node.stir(0, b"entropy");
    assert!(!node.has_seed() && !node.is_ready());
}

#[test]
fn nodes_initialised_from_node_0_never_run_in_lock_step() {
    let backend = Backend::Aes256Portable;
    let mut pipeline = Pipeline::new(4);
    pipeline.reseed(1);
    for number in 1..4 {
        let inlet = &pipeline.inlets[number];
        pipeline.nodes[0]
            .get_mut()
            .initialise(backend, number, inlet);
    }
    assert_eq!(pipeline.receive(), [1, 2, 3]);
    let keys = pipeline.keys();
    for (i, key) in keys.iter().enumerate() {
        assert!(!keys[..i].contains(key), "node {i}");
        assert!(pipeline.nodes[i].borrow().has_seed());
    }
}

#[test]
fn seeds_go_round_and_node_0_gets_every_one() {
    let mut pipeline = Pipeline::new(4);
    let served: Vec<_> = (0..6).map(|_| pipeline.reseed(4)).collect();
    assert_eq!(served, [[0, 1], [0, 2], [0, 3], [0, 1], [0, 2], [0, 3]]);
}

#[test]
fn a_node_below_three_quarters_of_its_credit_is_served_out_of_its_turn_too() {
    let mut pipeline = Pipeline::new(4);
    // 64 events of 256 bits: 256 bits for each seed.
    while pipeline.inlets[1..]
        .iter()
        .any(|inlet| inlet.credit_bits() < CAPACITY_BITS)
    {
        pipeline.now_ms += 100;
        pipeline.gather(256);
        assert!(pipeline.deliver(4));
        pipeline.receive();
    }
    let spend_to = |inlet: &Inlet, credit_bits: u32| {
        inlet.spend((inlet.credit_bits() - credit_bits) as usize / 8)
    };
    while pipeline.reseed(4) != [0, 3] {}
    spend_to(&pipeline.inlets[2], CAPACITY_BITS / 4 * 3);
    assert_eq!(pipeline.reseed(4), [0, 1], "three quarters are not below");
    spend_to(&pipeline.inlets[2], 0);
    let served: Vec<_> = (0..4).map(|_| pipeline.reseed(4)).collect();
    let expected: [&[usize]; 4] = [&[0, 2], &[0, 2, 3], &[0, 1, 2], &[0, 2]];
    assert_eq!(served, expected, "and the turn goes round");
    spend_to(&pipeline.inlets[1], 0);
    while pipeline.reseed(4) != [0, 2] {}
    let served: Vec<_> = (0..3).map(|_| pipeline.reseed(4)).collect();
    let expected: [&[usize]; 3] = [&[0, 2, 3], &[0, 1], &[0, 2]];
    assert_eq!(served, expected);
}

#[test]
fn every_node_is_fed_in_its_turn_whichever_is_read() {
    for nodes in [2, 4, 8] {
        for read in 0..nodes {
            let mut pipeline = ready(nodes);
            let turns = 5;
            let first = pipeline.reseeds();
            for _ in 0..turns * (nodes - 1) {
                pipeline.now_ms += 100;
                pipeline.gather(8);
                assert!(pipeline.deliver(nodes));
                let inlets = &pipeline.inlets;
                pipeline.nodes[read].get_mut().receive(&inlets[read]);
                // As much as a tap's keys take.
                inlets[read].spend(128);
            }
            for (number, (first, last)) in first.iter().zip(pipeline.reseeds()).enumerate() {
                let fed = last - first;
                // A seed is still in the mailbox.
                let waits = u64::from(!pipeline.inlets[number].is_empty());
                let is_fed = fed + waits >= turns as u64;
                assert!(is_fed, "node {number} of {nodes}, read {read}: {fed}");
            }
        }
    }
}

/// An attacker has an image of all memory, and then the pools get entropy that the attacker does not know.
#[test]
fn an_old_image_of_an_idle_node_says_nothing_about_its_next_output() {
    let made = [1, 2].map(|unknown| {
        let mut pipeline = ready(4);
        pipeline
            .distribution
            .absorb(&event(1, 0, &[unknown; 32], 0));
        // Every node has its turn once. Nothing reads them.
        for _ in 0..3 {
            pipeline.now_ms += 100;
            pipeline.gather(8);
            assert!(pipeline.deliver(4));
        }
        // The next read takes the seeds in the mailbox.
        pipeline.receive();
        pipeline.keys()
    });
    let [one, other] = made;
    for (number, (one, other)) in one.iter().zip(&other).enumerate() {
        assert_ne!(one, other, "node {number}");
    }
}

#[test]
fn a_node_that_is_locked_keeps_no_other_waiting() {
    let mut pipeline = ready(3);
    pipeline.reseed(3);
    for _ in 0..6 {
        pipeline.now_ms += 100;
        pipeline.gather(8);
        // Its mailbox fills, and its reader does not come to look into it.
        assert!(pipeline.deliver_beside_reader_of(1, 3));
    }
    pipeline.receive();
    assert!(pipeline.reseeds()[2] >= 5);
}

/// Two pipelines differ in one event, in a pool that only the fourth reseed uses. Each node's next seed after
/// that reseed must differ, although reseeds 5, 6 and 7, which serve the nodes, use pool 0 (and 1) alone.
#[test]
fn what_recovers_the_root_recovers_every_node_within_a_round() {
    let mut pipelines = [Pipeline::new(4), Pipeline::new(4)];
    pipelines[1]
        .distribution
        .absorb(&event(1, 2, b"what the attacker does not know", 0));
    for pipeline in &mut pipelines {
        (0..3).for_each(|_| drop(pipeline.reseed(4)));
    }
    let [left, right] = &mut pipelines;
    assert_eq!(
        left.keys(),
        right.keys(),
        "pools 0 and 1 are all that was used"
    );
    for pipeline in [&mut *left, &mut *right] {
        (0..3).for_each(|_| drop(pipeline.reseed(4)));
    }
    for (node, (left, right)) in left.keys().iter().zip(right.keys()).enumerate() {
        assert_ne!(*left, right, "node {node}");
    }
}
