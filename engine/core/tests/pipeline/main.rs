//! The pipeline, part by part, under a clock that the test sets.
//!
//! ```text
//! pools         when the pools give a seed, and what it contains
//! distribution  which node is seeded, and with what
//! fortuna       the generator against a model
//! tap           what a tap hands out, and what it keeps
//! zeroed        zeroed memory is a value of every type
//! memory        no secret is left in memory after its use
//! ```

#![cfg(not(loom))]

mod fortuna;
#[cfg(target_os = "linux")]
mod memory;
mod tap;

mod common {
    //! The pools and the nodes under a clock that a test sets.

    use std::cell::RefCell;
    use wellspring_core::Backend;
    use wellspring_core::distribution::Distribution;
    use wellspring_core::node::{Inlet, Node};
    use wellspring_core::pool::{Event, Trigger};

    /// The pools and the nodes.
    pub(crate) struct Pipeline {
        pub(crate) distribution: Distribution,
        pub(crate) inlets: Vec<Inlet>,
        /// In cells, since a delivery lets nodes take their seeds.
        pub(crate) nodes: Vec<RefCell<Node>>,
        pub(crate) now_ms: u64,
        events: usize,
    }

    pub(crate) fn event(counter: u32, destination: usize, data: &[u8], credit_bits: u32) -> Event {
        let mut event = Event::ZERO;
        event.set(counter, destination, data, credit_bits);
        event
    }

    impl Pipeline {
        pub(crate) fn new(nodes: usize) -> Self {
            Self {
                distribution: Distribution::ZERO,
                inlets: (0..nodes).map(|_| Inlet::ZERO).collect(),
                nodes: (0..nodes).map(|_| RefCell::new(Node::ZERO)).collect(),
                now_ms: 5000,
                events: 0,
            }
        }

        /// A round of events through all pools, twice, so that pool 0 has its 64 bytes.
        pub(crate) fn gather(&mut self, credit_bits: u32) {
            for _ in 0..64 {
                let data = [self.events as u8; 32];
                self.distribution
                    .absorb(&event(1, self.events, &data, credit_bits));
                self.events += 1;
            }
        }

        pub(crate) fn deliver(&mut self, nodes: usize) -> bool {
            self.deliver_at(Trigger::Scheduled, nodes)
        }

        pub(crate) fn deliver_at(&mut self, pace: Trigger, nodes: usize) -> bool {
            self.deliver_unless_locked(pace, nodes, |_| false)
        }

        /// While a reader holds the lock of a node.
        pub(crate) fn deliver_beside_reader_of(&mut self, locked: usize, nodes: usize) -> bool {
            self.deliver_unless_locked(Trigger::Scheduled, nodes, |number| number == locked)
        }

        pub(crate) fn deliver_unless_locked(
            &mut self,
            pace: Trigger,
            nodes: usize,
            is_locked: impl Fn(usize) -> bool,
        ) -> bool {
            let inlet = |number: usize| &self.inlets[number];
            let make_room = |number: usize| {
                if !is_locked(number) {
                    self.nodes[number].borrow_mut().receive(inlet(number));
                }
                inlet(number).is_empty()
            };
            let distribution = &mut self.distribution;
            if !distribution.accumulator().is_due(self.now_ms, pace) || !make_room(0) {
                return false;
            }
            let Some(mut round) = distribution.deliver(self.now_ms, pace, nodes, inlet(0)) else {
                return false;
            };
            while let Some(number) = distribution.next(&mut round) {
                if round.wants(number, inlet(number)) && make_room(number) {
                    distribution.post(&mut round, number, inlet(number));
                }
            }
            true
        }

        /// An order, as an engine makes it: every node takes its seed and hashes in the chain.
        pub(crate) fn order(&mut self) -> bool {
            self.receive();
            let root = &self.inlets[0];
            let is_seeded = self.distribution.order(self.now_ms, Trigger::Forced, root);
            self.receive();
            for (number, node) in self.nodes.iter_mut().enumerate() {
                node.get_mut().stir(number, self.distribution.chain());
            }
            is_seeded
        }

        pub(crate) fn reseeds(&self) -> Vec<u64> {
            self.nodes
                .iter()
                .map(|node| node.borrow().reseeds())
                .collect()
        }

        /// Every node takes the seed in its mailbox. Returns the nodes that had one.
        pub(crate) fn receive(&mut self) -> Vec<usize> {
            let before = self.reseeds();
            for (node, inlet) in self.nodes.iter_mut().zip(&self.inlets) {
                node.get_mut().receive(inlet);
            }
            let after = self.reseeds();
            (0..self.nodes.len())
                .filter(|&n| after[n] > before[n])
                .collect()
        }

        /// A reseed, 100 ms after the last.
        pub(crate) fn reseed(&mut self, nodes: usize) -> Vec<usize> {
            self.now_ms += 100;
            self.gather(8);
            assert!(self.deliver(nodes));
            self.receive()
        }

        pub(crate) fn keys(&mut self) -> Vec<[u8; 32]> {
            self.nodes
                .iter_mut()
                .map(|node| *node.get_mut().generator().state().0)
                .collect()
        }
    }

    /// A pipeline whose node 0 is ready and has initialised the others.
    pub(crate) fn ready(nodes: usize) -> Pipeline {
        let mut pipeline = Pipeline::new(nodes);
        pipeline.gather(64);
        assert!(pipeline.deliver(1));
        pipeline.receive();
        let (root, _) = pipeline.nodes.split_first_mut().unwrap();
        assert!(root.get_mut().is_ready());
        for (number, inlet) in pipeline.inlets.iter().enumerate().skip(1) {
            let backend = Backend::Aes256Portable;
            root.get_mut().initialise(backend, number, inlet);
        }
        pipeline.receive();
        pipeline
    }
}

#[cfg(target_os = "linux")]
mod reading {
    //! Reads memory through `/proc/self/mem`, as a debugger or a core dump would see it.

    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// Reads memory of this process without going through a reference to it.
    pub(crate) fn read_memory(start: usize, bytes: &mut [u8]) {
        let memory = File::open("/proc/self/mem").unwrap();
        memory.read_exact_at(bytes, start as u64).unwrap();
    }

    /// The bytes of a value, padding included.
    pub(crate) fn bytes_of<T>(value: &T) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<T>()];
        read_memory(&raw const *value as usize, &mut bytes);
        bytes
    }
}

mod pools {
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
    fn before_it_is_ready_credit_below_128_bits_stays_in_the_pools_and_then_makes_one_seed_of_all()
    {
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
}

mod distribution {
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
}

#[cfg(target_os = "linux")]
mod zeroed {
    //! Zeroed memory is a value of every type, and no type has padding.

    use super::reading::bytes_of;
    use wellspring_cipher::sha256::Sha256;
    use wellspring_core::distribution::Distribution;
    use wellspring_core::generator::{Generator, Reservation};
    use wellspring_core::health::Health;
    use wellspring_core::node::{Inlet, Mailbox, Node, Seed};
    use wellspring_core::pool::{Accumulator, Event, Queue};
    use wellspring_core::tap::Tap;

    #[test]
    fn zeroed_memory_is_a_value_of_every_type() {
        /// `field_bytes` is the sum over all fields: a larger type has padding, which a wipe of the fields would miss.
        fn check<T>(value: T, field_bytes: usize) {
            let name = std::any::type_name::<T>();
            assert_eq!(size_of::<T>(), field_bytes, "{name} has padding");
            let value = Box::new(value);
            assert!(bytes_of(&*value).iter().all(|&byte| byte == 0), "{name}");
        }
        let (pool, generator) = (size_of::<Sha256>() + 4 + 4, 32 + 16);
        let (seed, mailbox) = (1024 + 4 + 4, 4 * 4 + 1024);
        let accumulator = 32 * pool + 8 + 4 + 4;
        check(Event::ZERO, 4 + 1 + 1 + 2 + 32);
        check(
            Queue::<64>::ZERO,
            4 + 4 + size_of::<usize>() + 64 * (4 * 4 + 32),
        );
        check(Seed::ZERO, seed);
        check(<Mailbox>::ZERO, mailbox);
        check(Inlet::ZERO, mailbox + 4 + 4);
        check(Accumulator::ZERO, accumulator);
        check(
            Distribution::ZERO,
            accumulator + 32 + size_of::<Sha256>() + 4 + 4 + seed,
        );
        check(Generator::ZERO, generator);
        check(Reservation::ZERO, generator);
        check(Node::ZERO, generator + 8 + 8 + seed + 8);
        let cutoffs = 8 + 4 + 2 + 2;
        check(
            Health::ZERO,
            8 + 8 + 4 + 2 + 2 + 4 + 4 + 1 + 1 + 1 + 5 + cutoffs,
        );
        check(Tap::<6656>::ZERO, 8 + 8 + 16 + 32 + 6656);
        check(Tap::<320>::ZERO, 8 + 8 + 16 + 32 + 320);
    }
}
