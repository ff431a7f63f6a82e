//! P6 for the library: which node gets which seed.
//!
//! A node low on credit is served out of its turn besides; which nodes are low, readers decide: any at any
//! reseed. From each state of the turns, each node but 0, which has every seed, has a new one after N - 1
//! reseeds, for N of 2 to 8. main() goes through all choices of nodes that are low at each reseed.

#[path = "source.rs"]
mod distribution;

use distribution::Distribution;
use node::Inlet;
use pool::{Event, Trigger};
use std::collections::BTreeSet;

pub mod event {
    pub struct Event;
    impl Event {
        pub fn counter(&self) -> u32 {
            0
        }
        pub fn data(&self) -> &[u8] {
            &[]
        }
    }
}

pub mod generator {
    pub const DIGEST_BYTES: usize = 32;
    pub struct Sha256;
    impl Sha256 {
        pub const ZERO: Self = Self;
        pub fn update(&mut self, _: &[u8]) {}
    }
    pub fn finish_twice(_: &mut Sha256, _: &mut [u8; DIGEST_BYTES]) {}
    pub fn for_node(_: &[u8], _: usize) -> Sha256 {
        Sha256
    }
}

pub mod node {
    use std::cell::Cell;
    pub const CAPACITY_BITS: u32 = 1024;
    pub struct Seed(pub [u8; 32]);
    impl Seed {
        pub const ZERO: Self = Self([0; 32]);
        pub fn credit_bits(&self) -> u32 {
            8
        }
        pub fn clear(&mut self) {}
        pub fn bytes(&self) -> &[u8] {
            &self.0
        }
        pub fn next_place(&mut self, _: u32) -> &mut [u8; 32] {
            &mut self.0
        }
    }
    #[derive(Default)]
    pub struct Inlet {
        pub credit_bits: Cell<u32>,
        pub seeds: Cell<u32>,
    }
    impl Inlet {
        pub fn is_empty(&self) -> bool {
            true
        }
        pub fn credit_bits(&self) -> u32 {
            self.credit_bits.get()
        }
        pub fn post(&self, _: &Seed) -> bool {
            self.seeds.set(self.seeds.get() + 1);
            true
        }
    }
}

pub mod pool {
    pub use super::event::Event;
    use super::node::Seed;
    #[derive(Clone, Copy)]
    pub enum Trigger {
        Scheduled,
    }
    pub struct Accumulator;
    impl Accumulator {
        pub const ZERO: Self = Self;
        pub fn absorb(&mut self, _: &Event) {}
        pub fn mix(&mut self, _: &Event) {}
        pub fn take_seed(&mut self, _: u64, _: Trigger, _: &mut Seed) -> bool {
            true
        }
    }
}

pub fn wipe<const N: usize>(_: &mut [u8; N]) {}

fn claim(holds: bool, what: &str) {
    if !holds {
        println!("{what}");
        std::process::exit(10);
    }
}

/// Whose turns were last, and a bit for each node that has a new seed.
type State = (u32, u32, u32);

/// The state after a reseed, where the nodes of `low` have little credit: as an engine delivers.
fn deliver(state: State, low: u32, inlets: &[Inlet]) -> State {
    let mut distribution = Distribution::ZERO;
    (distribution.last_node, distribution.last_out_of_turn) = (state.0, state.1);
    for (number, inlet) in inlets.iter().enumerate() {
        inlet.seeds.set(0);
        inlet.credit_bits.set(if low >> number & 1 == 1 { 767 } else { 768 });
    }
    let mut round = distribution.deliver(0, Trigger::Scheduled, inlets.len(), &inlets[0]).unwrap();
    while let Some(number) = distribution.next(&mut round) {
        if round.wants(number, &inlets[number]) {
            distribution.post(&mut round, number, &inlets[number]);
        }
    }
    let seeds = |number: usize| inlets[number].seeds.get();
    claim(seeds(0) == 1, "the root has every seed, once");
    let all: u32 = (1..inlets.len()).map(seeds).sum();
    claim((1..=2).contains(&all), "a reseed gives one or two other nodes a seed");
    claim((1..inlets.len()).all(|number| seeds(number) <= 1), "a node has a seed once");
    let served = (0..inlets.len()).map(|number| seeds(number).min(1) << number).sum::<u32>();
    (distribution.last_node, distribution.last_out_of_turn, state.2 | served)
}

fn main() {
    let mut cases = 0u64;
    for nodes in 2..=8u32 {
        let inlets: Vec<Inlet> = (0..nodes).map(|_| Inlet::default()).collect();
        for start in 0..nodes * nodes {
            let mut states = BTreeSet::from([(start / nodes, start % nodes, 1)]);
            for _ in 1..nodes {
                let mut after = BTreeSet::new();
                for &state in &states {
                    for low in 0..1 << (nodes - 1) {
                        after.insert(deliver(state, low << 1, &inlets));
                        cases += 1;
                    }
                }
                states = after;
            }
            let is_served = states.iter().all(|state| state.2 == (1 << nodes) - 1);
            claim(is_served, "each node has a new seed after N - 1 reseeds");
        }
    }
    println!("{cases} reseeds hold");
}
