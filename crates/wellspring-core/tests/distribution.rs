//! Who is seeded, when, and with what: the rules of the harvest side, under a clock that the test turns.

#![cfg(not(loom))]

use wellspring_core::Backend;
use wellspring_core::harvest::Event;
use wellspring_core::node::{CAPACITY_BITS, Harvest, Inlet, Node, Pace};

/// A harvest side and its nodes.
struct Machine {
    harvest: Harvest,
    inlets: Vec<Inlet>,
    nodes: Vec<Node>,
    now_ms: u64,
    events: usize,
}

impl Machine {
    fn new(nodes: usize) -> Self {
        Self {
            harvest: Harvest::default(),
            inlets: (0..nodes).map(|_| Inlet::default()).collect(),
            nodes: (0..nodes).map(|_| Node::default()).collect(),
            now_ms: 5000,
            events: 0,
        }
    }

    /// A round of events through all pools, twice, so that pool 0 has its 64 bytes.
    fn gather(&mut self, credit_bits: u32) {
        for _ in 0..64 {
            let data = [self.events as u8; 32];
            self.harvest
                .absorb(&Event::new(1, self.events, &data, credit_bits));
            self.events += 1;
        }
    }

    fn deliver(&mut self, nodes: usize) -> bool {
        let inlet = |number: usize| &self.inlets[number];
        self.harvest
            .deliver(self.now_ms, Pace::Fortuna, nodes, inlet)
    }

    /// Every node takes what is in its mailbox; says which had something.
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
    let mut machine = Machine::new(1);
    machine.harvest.absorb(&Event::new(1, 0, &[1; 32], 8));
    assert!(!machine.deliver(1), "36 bytes are less than 64");
    machine.gather(8);
    assert!(machine.deliver(1), "the first needs no time");
    machine.receive();
    machine.gather(8);
    machine.now_ms += 99;
    assert!(!machine.deliver(1));
    machine.now_ms += 1;
    assert!(machine.deliver(1));
}

#[test]
fn a_clock_that_goes_back_delays_a_reseed_and_does_no_harm() {
    let mut machine = Machine::new(1);
    machine.gather(8);
    assert!(machine.deliver(1));
    machine.receive();
    machine.gather(8);
    machine.now_ms -= 4000;
    assert!(!machine.deliver(1));
    machine.now_ms += 4100;
    assert!(machine.deliver(1));
}

#[test]
fn an_operators_order_does_not_wait_100_ms_but_needs_a_filled_pool() {
    let mut machine = Machine::new(1);
    machine.gather(8);
    assert!(machine.deliver(1));
    machine.receive();
    let order = |machine: &mut Machine| {
        let inlet = |number: usize| &machine.inlets[number];
        machine
            .harvest
            .deliver(machine.now_ms, Pace::Ordered, 1, inlet)
    };
    assert!(!order(&mut machine), "nothing to reseed with");
    machine.gather(8);
    assert!(order(&mut machine));
}

#[test]
fn what_node_0_has_not_taken_stays_in_the_pools() {
    let mut machine = Machine::new(1);
    machine.gather(8);
    assert!(machine.deliver(1));
    machine.now_ms += 100;
    machine.gather(8);
    let gathered = machine.harvest.accumulator().first_pool_bytes();
    assert!(!machine.deliver(1), "the mailbox is full");
    assert_eq!(machine.harvest.accumulator().first_pool_bytes(), gathered);
    assert_eq!(machine.harvest.accumulator().reseeds(), 1);
    machine.receive();
    assert!(machine.deliver(1));
}

#[test]
fn before_it_is_ready_only_node_0_is_seeded() {
    let mut machine = Machine::new(4);
    for _ in 0..5 {
        assert_eq!(machine.reseed(1), [0]);
    }
}

#[test]
fn node_0_is_ready_with_128_credited_bits_and_not_with_127() {
    // Pool 0 gets two of the 64 events, so 2 * 63 bits; and one event more.
    for (last_bits, ready) in [(1, false), (2, true)] {
        let mut machine = Machine::new(1);
        machine.gather(63);
        machine
            .harvest
            .absorb(&Event::new(1, 0, &[1; 8], last_bits));
        machine.deliver(1);
        machine.receive();
        assert!(machine.nodes[0].is_seeded());
        assert_eq!(machine.nodes[0].is_ready(), ready, "{last_bits}");
    }
}

#[test]
fn data_of_unknown_origin_seeds_nobody() {
    let mut machine = Machine::new(1);
    machine.gather(0);
    assert!(machine.deliver(1), "it is mixed all the same");
    machine.receive();
    assert!(!machine.nodes[0].is_seeded());
}

#[test]
fn nodes_initialised_from_node_0_never_run_in_lock_step() {
    let backend = Backend::Aes256Portable;
    let mut machine = Machine::new(4);
    machine.reseed(1);
    for number in 1..4 {
        machine.nodes[0].initialise(backend, number, &machine.inlets[number]);
    }
    assert_eq!(machine.receive(), [1, 2, 3]);
    let keys = machine.keys();
    for (i, key) in keys.iter().enumerate() {
        assert!(!keys[..i].contains(key), "node {i}");
        assert!(machine.nodes[i].is_seeded());
    }
}

#[test]
fn seeds_go_round_and_node_0_gets_every_one() {
    let mut machine = Machine::new(4);
    let served: Vec<_> = (0..6).map(|_| machine.reseed(4)).collect();
    assert_eq!(served, [[0, 1], [0, 2], [0, 3], [0, 1], [0, 2], [0, 3]]);
}

#[test]
fn a_node_below_three_quarters_of_its_credit_comes_first() {
    let mut machine = Machine::new(4);
    // 64 events of 16 bits: 2 * 16 = 32 bits for each seed from pool 0 alone, more with other pools.
    while machine.inlets[1..]
        .iter()
        .any(|inlet| inlet.credit_bits() < CAPACITY_BITS)
    {
        machine.now_ms += 100;
        machine.gather(256);
        assert!(machine.deliver(4));
        machine.receive();
    }
    let spend_to = |inlet: &Inlet, credit_bits: u32| {
        inlet.spend((inlet.credit_bits() - credit_bits) as usize / 8)
    };
    spend_to(&machine.inlets[2], CAPACITY_BITS / 4 * 3);
    let next = machine.reseed(4);
    assert_ne!(next, [0, 2], "exactly three quarters is not below");
    let after_next = machine.reseed(4);
    assert_ne!(after_next, next, "so the turn goes round");
    spend_to(&machine.inlets[2], CAPACITY_BITS / 4 * 3 - 8);
    assert_eq!(machine.reseed(4), [0, 2]);
    spend_to(&machine.inlets[2], 0);
    assert_eq!(
        machine.reseed(4),
        [0, 2],
        "again, while it is hungry and the others are not"
    );
    spend_to(&machine.inlets[1], 0);
    let both: Vec<_> = (0..4).map(|_| machine.reseed(4)).collect();
    assert_eq!(
        both,
        [[0, 1], [0, 2], [0, 1], [0, 2]],
        "the hungry ones take turns"
    );
}

#[test]
fn a_node_that_never_reads_holds_nobody_up() {
    let mut machine = Machine::new(3);
    for turn in 0..6 {
        machine.now_ms += 100;
        machine.gather(8);
        assert!(machine.deliver(3));
        let inlets = &machine.inlets;
        machine.nodes[0].receive(&inlets[0]);
        machine.nodes[2].receive(&inlets[2]);
        assert_eq!(machine.nodes[0].reseeds(), turn + 1);
    }
    assert_eq!(
        machine.nodes[2].reseeds(),
        5,
        "all but the one that went to node 1"
    );
}

/// Two machines differ in one event, in a pool that only the fourth reseed uses. Each node's next seed after
/// that reseed must differ, although reseeds 5, 6 and 7, which serve the nodes, use pool 0 (and 1) alone.
#[test]
fn what_recovers_the_root_recovers_every_node_within_a_round() {
    let mut machines = [Machine::new(4), Machine::new(4)];
    machines[1]
        .harvest
        .absorb(&Event::new(1, 2, b"what the attacker does not know", 0));
    for machine in &mut machines {
        (0..3).for_each(|_| drop(machine.reseed(4)));
    }
    let [left, right] = &mut machines;
    assert_eq!(
        left.keys(),
        right.keys(),
        "pools 0 and 1 are all that was used"
    );
    for machine in [&mut *left, &mut *right] {
        (0..3).for_each(|_| drop(machine.reseed(4)));
    }
    for (node, (left, right)) in left.keys().iter().zip(right.keys()).enumerate() {
        assert_ne!(*left, right, "node {node}");
    }
}
