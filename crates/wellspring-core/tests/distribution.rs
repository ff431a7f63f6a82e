//! Which node is seeded, when, and with what, under a clock that the test sets.

#![cfg(not(loom))]

use wellspring_core::Backend;
use wellspring_core::distribution::Distribution;
use wellspring_core::event::Event;
use wellspring_core::inlet::{CAPACITY_BITS, Inlet};
use wellspring_core::node::Node;
use wellspring_core::pool::Pace;

/// The pools and the nodes.
struct Pipeline {
    distribution: Distribution,
    inlets: Vec<Inlet>,
    nodes: Vec<Node>,
    now_ms: u64,
    events: usize,
}

fn event(counter: u32, destination: usize, data: &[u8], credit_bits: u32) -> Event {
    let mut event = Event::ZERO;
    event.set(counter, destination, data, credit_bits);
    event
}

impl Pipeline {
    fn new(nodes: usize) -> Self {
        Self {
            distribution: Distribution::ZERO,
            inlets: (0..nodes).map(|_| Inlet::ZERO).collect(),
            nodes: (0..nodes).map(|_| Node::ZERO).collect(),
            now_ms: 5000,
            events: 0,
        }
    }

    /// A round of events through all pools, twice, so that pool 0 has its 64 bytes.
    fn gather(&mut self, credit_bits: u32) {
        for _ in 0..64 {
            let data = [self.events as u8; 32];
            self.distribution
                .absorb(&event(1, self.events, &data, credit_bits));
            self.events += 1;
        }
    }

    fn deliver(&mut self, nodes: usize) -> bool {
        let inlet = |number: usize| &self.inlets[number];
        self.distribution
            .deliver(self.now_ms, Pace::Fortuna, nodes, inlet)
    }

    /// Every node takes the seed in its mailbox. Returns the nodes that had one.
    fn receive(&mut self) -> Vec<usize> {
        let before: Vec<u64> = self.nodes.iter().map(Node::reseeds).collect();
        for (node, inlet) in self.nodes.iter_mut().zip(&self.inlets) {
            node.receive(inlet);
        }
        (0..self.nodes.len())
            .filter(|&n| self.nodes[n].reseeds() > before[n])
            .collect()
    }

    /// A reseed, 100 ms after the last.
    fn reseed(&mut self, nodes: usize) -> Vec<usize> {
        self.now_ms += 100;
        self.gather(8);
        assert!(self.deliver(nodes));
        self.receive()
    }

    fn keys(&mut self) -> Vec<[u8; 32]> {
        self.nodes
            .iter_mut()
            .map(|node| *node.generator().state().0)
            .collect()
    }
}

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
    pipeline.receive();
    let order = |pipeline: &mut Pipeline| {
        let inlet = |number: usize| &pipeline.inlets[number];
        pipeline
            .distribution
            .deliver(pipeline.now_ms, Pace::Ordered, 1, inlet)
    };
    assert!(!order(&mut pipeline), "nothing to reseed with");
    pipeline.gather(8);
    assert!(order(&mut pipeline));
}

#[test]
fn what_node_0_has_not_taken_stays_in_the_pools() {
    let mut pipeline = Pipeline::new(1);
    pipeline.gather(8);
    assert!(pipeline.deliver(1));
    pipeline.now_ms += 100;
    pipeline.gather(8);
    let gathered = pipeline.distribution.accumulator().first_pool_bytes();
    assert!(!pipeline.deliver(1), "the mailbox is full");
    assert_eq!(
        pipeline.distribution.accumulator().first_pool_bytes(),
        gathered
    );
    assert_eq!(pipeline.distribution.accumulator().reseeds(), 1);
    pipeline.receive();
    assert!(pipeline.deliver(1));
}

#[test]
fn before_it_is_ready_only_node_0_is_seeded() {
    let mut pipeline = Pipeline::new(4);
    for _ in 0..5 {
        assert_eq!(pipeline.reseed(1), [0]);
    }
}

#[test]
fn node_0_is_ready_with_128_credited_bits_and_not_with_127() {
    // Pool 0 gets two of the 64 events, so 2 * 63 bits; and one event more.
    for (last_bits, ready) in [(1, false), (2, true)] {
        let mut pipeline = Pipeline::new(1);
        pipeline.gather(63);
        pipeline
            .distribution
            .absorb(&event(1, 0, &[1; 8], last_bits));
        pipeline.deliver(1);
        pipeline.receive();
        assert!(pipeline.nodes[0].has_seed());
        assert_eq!(
            pipeline.nodes[0].credited_bits(),
            126 + u64::from(last_bits)
        );
        assert_eq!(pipeline.nodes[0].is_ready(), ready, "{last_bits}");
    }
}

#[test]
fn data_of_unknown_origin_makes_no_node_ready() {
    let mut pipeline = Pipeline::new(1);
    pipeline.gather(0);
    assert!(pipeline.deliver(1), "it is mixed all the same");
    pipeline.receive();
    let node = &pipeline.nodes[0];
    assert!(node.has_seed(), "for reads that ask for it by name");
    assert_eq!((node.credited_bits(), node.is_ready()), (0, false));
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
        pipeline.nodes[0].initialise(backend, number, &pipeline.inlets[number]);
    }
    assert_eq!(pipeline.receive(), [1, 2, 3]);
    let keys = pipeline.keys();
    for (i, key) in keys.iter().enumerate() {
        assert!(!keys[..i].contains(key), "node {i}");
        assert!(pipeline.nodes[i].has_seed());
    }
}

#[test]
fn seeds_go_round_and_node_0_gets_every_one() {
    let mut pipeline = Pipeline::new(4);
    let served: Vec<_> = (0..6).map(|_| pipeline.reseed(4)).collect();
    assert_eq!(served, [[0, 1], [0, 2], [0, 3], [0, 1], [0, 2], [0, 3]]);
}

#[test]
fn a_node_below_three_quarters_of_its_credit_comes_first() {
    let mut pipeline = Pipeline::new(4);
    // 64 events of 16 bits: 2 * 16 = 32 bits for each seed from pool 0 alone, more with other pools.
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
    spend_to(&pipeline.inlets[2], CAPACITY_BITS / 4 * 3);
    let next = pipeline.reseed(4);
    assert_ne!(next, [0, 2], "exactly three quarters is not below");
    let after_next = pipeline.reseed(4);
    assert_ne!(after_next, next, "so the turn goes round");
    spend_to(&pipeline.inlets[2], CAPACITY_BITS / 4 * 3 - 8);
    assert_eq!(pipeline.reseed(4), [0, 2]);
    spend_to(&pipeline.inlets[2], 0);
    assert_eq!(
        pipeline.reseed(4),
        [0, 2],
        "again, while it alone is below three quarters"
    );
    spend_to(&pipeline.inlets[1], 0);
    let both: Vec<_> = (0..4).map(|_| pipeline.reseed(4)).collect();
    assert_eq!(
        both,
        [[0, 1], [0, 2], [0, 1], [0, 2]],
        "those below three quarters take turns"
    );
}

#[test]
fn a_node_that_never_reads_keeps_no_other_waiting() {
    let mut pipeline = Pipeline::new(3);
    for turn in 0..6 {
        pipeline.now_ms += 100;
        pipeline.gather(8);
        assert!(pipeline.deliver(3));
        let inlets = &pipeline.inlets;
        pipeline.nodes[0].receive(&inlets[0]);
        pipeline.nodes[2].receive(&inlets[2]);
        assert_eq!(pipeline.nodes[0].reseeds(), turn + 1);
    }
    assert_eq!(
        pipeline.nodes[2].reseeds(),
        5,
        "all but the one that went to node 1"
    );
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
