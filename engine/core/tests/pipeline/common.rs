//! The pools and the nodes under a clock that a test sets.

use std::cell::RefCell;
use wellspring_core::Backend;
use wellspring_core::distribution::Distribution;
use wellspring_core::event::Event;
use wellspring_core::node::{Inlet, Node};
use wellspring_core::pool::Trigger;

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
