//! The nodes: one generator for each NUMA node, in the memory of that node, behind its own lock; the phase, which says how far
//! they are seeded; and the taps that take their keys from them.

use crate::error::Error;
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wellspring_core::generator::Reservation;
use wellspring_core::node::{Inlet, Node, Seed};
use wellspring_core::tap::{FRESH_BYTES, KEY_LIMIT_BYTES, Refill, Tap, TapFields};
use wellspring_core::topology::Topology;
use wellspring_core::{Backend, wipe};
use wellspring_os::cpu::Instruction;
use wellspring_os::fork_stamp::ForkStamp;
use wellspring_os::lock::{Guard, Lock};
use wellspring_os::memory::{Wiped, Zeroed, try_vec};
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::thread_state::{OwnedState, State, ThreadStates};
use wellspring_os::vdso::VdsoRandom;
use wellspring_os::{cpu, os, sandbox};

/// How far an engine is seeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// No seed yet. Every read waits, or says [`Error::NotSeeded`](crate::Error::NotSeeded).
    Empty,
    /// Node 0 has a seed, but no seed had 128 bits of credit. Only [`Engine::fill_early`](crate::Engine::fill_early)
    /// reads, from node 0. An engine whose sources yield less than that at once gets here by its first `fill_early`.
    Early,
    /// One seed brought node 0 128 bits of credit or more, and every node has a seed of its own.
    Ready,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Empty => "empty",
            Phase::Early => "early",
            Phase::Ready => "ready",
        })
    }
}

/// The phase of an engine, in memory that a fork wipes: a child process begins as [`Phase::Empty`].
pub(super) struct PhaseWord(AtomicU32);

impl PhaseWord {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "zeroed memory holds it; nothing reads the constant itself"
    )]
    pub(super) const ZERO: Self = Self(AtomicU32::new(Phase::Empty as u32));

    pub(super) fn get(&self) -> Phase {
        match self.0.load(Ordering::Acquire) {
            0 => Phase::Empty,
            1 => Phase::Early,
            _ => Phase::Ready,
        }
    }

    /// Announces a phase, after everything that it promises was done.
    pub(super) fn set(&self, phase: Phase) {
        self.0.store(phase as u32, Ordering::Release);
    }
}

/// A node, in its own pages.
#[repr(C)]
struct NodeMemory {
    /// The harvest side writes here; readers use the words after it. They are on other cache lines.
    inlet: Inlet,
    _reserved: [u64; 8],
    /// The phase of the engine. Used in node 0 only.
    phase: PhaseWord,
    _reserved_too: u32,
    fetches: AtomicU64,
    /// The stamp of the engine. Used in node 0 only.
    fork_stamp: ForkStamp,
    _reserved_more: [u64; 2],
    node: Lock<LockedNode>,
}

/// The data behind the lock of a node.
#[repr(transparent)]
struct LockedNode(Node);

impl Zeroed for LockedNode {
    const ZERO: Self = Self(Node::ZERO);
}

impl Zeroed for NodeMemory {
    const ZERO: Self = Self {
        inlet: Inlet::ZERO,
        _reserved: [0; 8],
        phase: PhaseWord::ZERO,
        _reserved_too: 0,
        fetches: AtomicU64::new(0),
        fork_stamp: ForkStamp::ZERO,
        _reserved_more: [0; 2],
        node: Lock::ZERO,
    };
}

/// All nodes of an engine. Node 0 is Fortuna's generator, the root.
pub(super) struct Nodes {
    topology: Topology,
    backend: Backend,
    memory: Vec<Wiped<NodeMemory>>,
}

impl Nodes {
    pub(super) fn new(topology: Topology, backend: Backend) -> Result<Self, Error> {
        let mut memory = try_vec(topology.nodes())?;
        for node in 0..topology.nodes() {
            memory.push(Wiped::new(topology.system_node(node))?);
        }
        Ok(Self {
            memory,
            topology,
            backend,
        })
    }

    pub(super) fn backend(&self) -> Backend {
        self.backend
    }

    pub(super) fn count(&self) -> usize {
        self.memory.len()
    }

    pub(super) fn phase(&self) -> Phase {
        self.memory[0].phase.get()
    }

    /// A fork changes it, so that a reader notices one.
    #[inline(always)]
    pub(super) fn fork_stamp(&self) -> &ForkStamp {
        &self.memory[0].fork_stamp
    }

    /// The node that serves the CPU of this thread.
    pub(super) fn local(&self) -> usize {
        if self.memory.len() == 1 {
            return 0;
        }
        self.topology.node_of(os::current_cpu())
    }

    /// The mailbox and the remaining credit of a node.
    pub(super) fn inlet(&self, number: usize) -> &Inlet {
        &self.memory[number].inlet
    }

    /// Whether a read has emptied the mailbox of any node since the last seed was posted to that node.
    pub(super) fn are_read(&self) -> bool {
        let in_use = &self.memory[..self.in_use()];
        in_use.iter().any(|memory| memory.inlet.is_empty())
    }

    /// The number of nodes that serve readers: 1, node 0, before [`Phase::Ready`].
    pub(super) fn in_use(&self) -> usize {
        if self.phase() == Phase::Ready {
            self.count()
        } else {
            1
        }
    }

    /// Locks a node that has a seed, and returns its number too. `None` before the engine has reached the phase `need`.
    fn lock_seeded<'a>(
        &'a self,
        number: usize,
        need: Phase,
        signals: &'a SignalsBlocked,
    ) -> Option<(usize, Guard<'a, LockedNode>)> {
        let number = if number < self.in_use() { number } else { 0 };
        let memory = &self.memory[number];
        let mut node = memory.node.lock(signals);
        self.receive(number, &mut node.0);
        if self.phase() < need || !node.0.has_seed() {
            return None;
        }
        memory.fetches.fetch_add(1, Ordering::Relaxed);
        Some((number, node))
    }

    /// Sets `bytes` of output aside for one reader: the lock is held for that, not while the bytes are made. `None` before
    /// the engine has reached the phase `need`.
    ///
    /// Returns the number of the [`ForkStamp`]. If it is still the same after the bytes were made, no fork happened in
    /// between, in a signal handler for example. Otherwise parent and child would both return these bytes.
    pub(super) fn reserve(
        &self,
        number: usize,
        need: Phase,
        bytes: usize,
        signals: &SignalsBlocked,
        reservation: &mut Reservation,
    ) -> Option<u64> {
        let (number, mut node) = self.lock_seeded(number, need, signals)?;
        node.0.reserve(self.backend, bytes, reservation);
        if self.count() > 1 {
            // The credit decides which node gets the next seed. With one node there is no choice.
            self.memory[number].inlet.spend(bytes);
        }
        Some(self.fork_stamp().get_or_make())
    }

    /// Makes the next chunk of a canonical read, while the lock of node 0 is held, and leaves in `rest` what still lacks.
    /// Returns the number of the [`ForkStamp`]; `None` before the engine is ready.
    pub(super) fn make_chunk(&self, rest: &mut &mut [u8], signals: &SignalsBlocked) -> Option<u64> {
        let (_, mut node) = self.lock_seeded(0, Phase::Ready, signals)?;
        let destination = core::mem::take(rest);
        *rest = node.0.generator().read_chunk(self.backend, destination);
        Some(self.fork_stamp().get_or_make())
    }

    /// Lets node 0 take the seed that was posted for it, so that the phase is known.
    pub(super) fn receive_root(&self, signals: &SignalsBlocked) {
        let mut node = self.memory[0].node.lock(signals);
        self.receive(0, &mut node.0);
    }

    /// Lets a node take the seed in its mailbox, so that the next one has room. Returns whether it has.
    ///
    /// Does not wait for the lock of the node: a reader that holds it takes that seed as well.
    pub(super) fn make_room(&self, number: usize, signals: &SignalsBlocked) -> bool {
        let memory = &self.memory[number];
        if !memory.inlet.is_empty()
            && let Some(mut node) = memory.node.try_lock(signals)
        {
            self.receive(number, &mut node.0);
        }
        memory.inlet.is_empty()
    }

    /// Gives node 0 a seed, after any seed that was posted before.
    pub(super) fn mix_into_root(&self, seed: &Seed) {
        let signals = SignalsBlocked::new();
        self.receive_root(&signals);
        let _ = self.memory[0].inlet.post(seed);
        self.receive_root(&signals);
    }

    /// Lets every node take the seed in its mailbox and then hash `entropy` in, each in its own way. Afterwards every
    /// byte that a node gives depends on it; the caller then bumps the generation, and taps follow.
    ///
    /// For an order to reseed, and for a moment when a copy of these nodes may exist.
    pub(super) fn stir_all(&self, entropy: &[u8; 32], signals: &SignalsBlocked) {
        for (number, memory) in self.memory.iter().enumerate() {
            let mut node = memory.node.lock(signals);
            self.receive(number, &mut node.0);
            node.0.stir(number, entropy);
        }
    }

    /// Locks the pages in memory again: a child process does not inherit these locks.
    pub(super) fn lock_pages(&self) {
        self.memory.iter().for_each(Wiped::lock_pages);
    }

    /// How often readers took the locks of all nodes.
    pub(super) fn fetches(&self) -> u64 {
        let nodes = self.memory.iter();
        nodes
            .map(|memory| memory.fetches.load(Ordering::Relaxed))
            .sum()
    }

    pub(super) fn stats(&self) -> Vec<NodeStats> {
        let signals = SignalsBlocked::new();
        let stats = |memory: &Wiped<NodeMemory>| NodeStats {
            credit_bits: memory.inlet.credit_bits(),
            reseeds: memory.node.lock(&signals).0.reseeds(),
            fetches: memory.fetches.load(Ordering::Relaxed),
        };
        self.memory.iter().map(stats).collect()
    }

    /// Empties the mailbox of a node. When a seed has brought node 0 128 bits of credit, this initialises the other nodes.
    fn receive(&self, number: usize, node: &mut Node) {
        node.receive(&self.memory[number].inlet);
        if number != 0 || self.phase() == Phase::Ready || !node.has_seed() {
            return;
        }
        let phase = &self.memory[0].phase;
        if !node.is_ready() {
            return phase.set(Phase::Early);
        }
        for (number, memory) in self.memory.iter().enumerate().skip(1) {
            node.initialise(self.backend, number, &memory.inlet);
        }
        phase.set(Phase::Ready);
    }
}

/// The numbers of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStats {
    /// The credit left of its seeds, in bits. Below 768 the node gets seeds out of its turn too.
    pub credit_bits: u32,
    /// How often it was reseeded: by the seeds that it took, by each order to reseed, and by each notice of a copy. Node 0
    /// takes the seed of an order as well, so an order counts twice there.
    pub reseeds: u64,
    /// How often a reader took its lock: key fetches, or reads in the modes without taps (in `Canonical`, chunks).
    pub fetches: u64,
}

// The taps: a key and a buffer for each thread and nesting depth, and for each `LocalRng`.
//
// TapMemory  the memory of a tap: of the outermost read of a thread, of a nested one, of an owner
// Taps       the taps of an engine: their generation, and what they serve off the hot path

/// The memory of a tap.
#[repr(transparent)]
pub(crate) struct TapMemory<const BUFFER_BYTES: usize>(pub(super) Tap<BUFFER_BYTES>);

impl<const BUFFER_BYTES: usize> Zeroed for TapMemory<BUFFER_BYTES> {
    const ZERO: Self = Self(Tap::ZERO);
}

/// The tap of a read that interrupts no other read. Its buffer is as large as 8 KiB for all depths allow: so the
/// fixed cost of a refill, about 100 ns for a key and fresh entropy, is spread over 104 blocks of 64 bytes.
pub(super) type OutermostTap = TapMemory<6656>;

/// The tap of a read in a signal handler that interrupts another read. A handler draws few bytes, so the buffer is
/// small.
pub(super) type NestedTap = TapMemory<320>;

/// A tap that belongs to its owner, not to a thread. It allocates memory at its first read. With the tap's other fields and
/// the slot's header the buffer fills one page.
pub(crate) type OwnedTap = OwnedState<TapMemory<3840>>;

/// The tap of a thread's state.
pub(super) fn tap_of<'a>(state: State<'a, OutermostTap, NestedTap>) -> TapFields<'a> {
    match state {
        State::Outermost(state) => state.0.fields(),
        State::Nested(state) => state.0.fields(),
    }
}

/// The taps of an engine.
pub(crate) struct Taps {
    backend: Backend,
    /// Whether fresh entropy is mixed into every key. False in an engine without sources, which is deterministic.
    mixes_entropy: bool,
    /// How many generations there were, for people: no tap compares it. A child process goes on with its parent's count.
    generations: AtomicU64,
    pub(super) threads: ThreadStates<OutermostTap, NestedTap>,
}

impl Taps {
    pub(super) fn new(backend: Backend, mixes_entropy: bool) -> Self {
        Self {
            backend,
            mixes_entropy,
            generations: AtomicU64::new(1),
            threads: ThreadStates::new(),
        }
    }

    /// The generation as people count it: 1 at first.
    pub(super) fn generation(&self) -> u64 {
        self.generations.load(Ordering::Acquire)
    }

    /// Makes every tap fetch a fresh key at its next read. Returns the new generation. Call it when the nodes already
    /// give keys of the new seed: a key fetched before then would count as new.
    pub(super) fn announce(&self) -> u64 {
        self.threads.bump();
        self.generations.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Serves a read off the hot path from a tap that has a key.
    pub(super) fn serve(
        &self,
        mut tap: TapFields<'_>,
        mut vdso: VdsoRandom<'_>,
        refill: Refill,
        destination: &mut [u8],
    ) {
        let rest = tap.take_left(destination);
        if rest.is_empty() {
            return;
        }
        if tap.is_long(rest.len()) {
            for chunk in rest.chunks_mut(KEY_LIMIT_BYTES) {
                self.mix_fresh_entropy(&mut tap, &mut vdso);
                tap.make(self.backend, chunk);
            }
        } else {
            self.mix_fresh_entropy(&mut tap, &mut vdso);
            tap.refill(self.backend, refill, rest);
        }
    }

    /// Mixes bytes into the key that differ between copies of this machine: output of the system's generator, XORed with the
    /// cycle counter. In a sandbox it is output of the processor's generator, if there is one.
    ///
    /// A copy of the machine also copies the system's generator, whose output stays the same in both until the system
    /// learns of the copy or reseeds itself, up to a minute later. The cycle counter differs, unless both refill in the
    /// same cycle: it separates the keys, and the old key in them keeps the secret.
    #[inline(never)]
    fn mix_fresh_entropy(&self, tap: &mut TapFields<'_>, vdso: &mut VdsoRandom<'_>) {
        if !self.mixes_entropy {
            return;
        }
        let mut fresh = [0; FRESH_BYTES];
        let word = if sandbox::is_prepared() {
            Instruction::Number.draw().unwrap_or_else(cpu::cycles)
        } else {
            let _ = vdso.fill(&mut fresh);
            cpu::cycles()
        };
        for (byte, other) in fresh.iter_mut().zip(word.to_le_bytes()) {
            *byte ^= other;
        }
        tap.mix(&fresh);
        wipe(&mut fresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wellspring_core::Prf;

    #[test]
    fn phases_come_back_as_they_were_set() {
        let word = PhaseWord::ZERO;
        assert_eq!(word.get(), Phase::Empty);
        for phase in [Phase::Early, Phase::Ready, Phase::Empty] {
            word.set(phase);
            assert_eq!(word.get(), phase);
        }
    }

    fn nodes(count: usize) -> Nodes {
        let topology = Topology::even(count, count).unwrap();
        Nodes::new(topology, Backend::detect(Prf::ChaCha20)).unwrap()
    }

    fn seed(credit_bits: u32) -> Seed {
        let mut seed = Seed::ZERO;
        seed.set(&[7; 32], credit_bits);
        seed
    }

    fn first_bytes(nodes: &Nodes, number: usize, need: Phase) -> Option<[u8; 32]> {
        let (signals, mut reservation) = (SignalsBlocked::new(), Reservation::ZERO);
        nodes.reserve(number, need, 32, &signals, &mut reservation)?;
        let mut bytes = [0; 32];
        reservation.generate(nodes.backend(), &mut bytes);
        Some(bytes)
    }

    #[test]
    fn below_128_bits_node_0_serves_early_readers_and_no_others() {
        let nodes = nodes(2);
        assert_eq!(first_bytes(&nodes, 0, Phase::Early), None);
        nodes.mix_into_root(&seed(127));
        assert_eq!(nodes.phase(), Phase::Early);
        assert_eq!(first_bytes(&nodes, 1, Phase::Ready), None);
        assert!(first_bytes(&nodes, 1, Phase::Early).is_some());
        assert_eq!(nodes.stats()[1].fetches, 0, "node 0 served it");
        nodes.mix_into_root(&seed(128));
        assert_eq!(nodes.phase(), Phase::Ready);
        assert!(first_bytes(&nodes, 1, Phase::Ready).is_some());
        assert_eq!(nodes.stats()[1].fetches, 1);
    }

    #[test]
    fn seeds_with_less_than_128_bits_each_make_no_engine_ready() {
        for credit_bits in [0, 8, 127] {
            let nodes = nodes(1);
            for _ in 0..100 {
                nodes.mix_into_root(&seed(credit_bits));
            }
            assert_eq!(nodes.phase(), Phase::Early, "{credit_bits}");
        }
    }

    #[test]
    fn room_is_made_for_a_seed_of_an_idle_node_and_not_beside_a_reader() {
        let (nodes, signals) = (nodes(2), SignalsBlocked::new());
        nodes.mix_into_root(&seed(256));
        for number in 0..2 {
            let inlet = nodes.inlet(number);
            let _ = inlet.post(&seed(0));
            let reseeds = nodes.stats()[number].reseeds;
            let reader = nodes.memory[number].node.lock(&signals);
            assert!(!nodes.make_room(number, &signals));
            drop(reader);
            assert!(nodes.make_room(number, &signals));
            assert_eq!(nodes.stats()[number].reseeds, reseeds + 1);
            assert!(inlet.post(&seed(0)));
        }
    }

    #[test]
    fn copies_with_other_entropy_differ_on_every_node() {
        let make = |entropy: u8| {
            let nodes = nodes(3);
            nodes.mix_into_root(&seed(256));
            nodes.stir_all(&[entropy; 32], &SignalsBlocked::new());
            [0, 1, 2].map(|number| first_bytes(&nodes, number, Phase::Ready).unwrap())
        };
        let (one, same, other) = (make(1), make(1), make(2));
        assert_eq!(one, same);
        for number in 0..3 {
            assert_ne!(one[number], other[number]);
        }
    }
}
