//! Where an engine's secrets live. All of it is wiped on fork, and all zeros is how everything starts.

use super::harvest::HarvestState;
use super::harvester::HarvesterMemory;
use bytemuck::Zeroable;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wellspring_core::node::{Inlet, Node};
use wellspring_core::tap::Tap;
use wellspring_sys::lock::Lock;
use wellspring_sys::nest::Nest;

/// A node, in that node's memory.
#[derive(Zeroable)]
#[repr(C, align(128))]
pub(super) struct NodeMemory {
    /// On cache lines of its own: the harvest side writes here, readers next door.
    pub(super) inlet: Inlet,
    pub(super) fetches: AtomicU64,
    incarnation: AtomicU64,
    pub(super) node: Lock<Node>,
}

impl NodeMemory {
    /// A number that changes when a fork wipes the node, and is nobody else's. Read it under the lock; who
    /// still reads the same after making its bytes has not been forked meanwhile.
    pub(super) fn incarnation(&self) -> u64 {
        // In ordinary memory: a child goes on from where its parent was.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        match self.incarnation.load(Ordering::Relaxed) {
            0 => {
                let new = NEXT.fetch_add(1, Ordering::Relaxed);
                self.incarnation.store(new, Ordering::Relaxed);
                new
            }
            incarnation => incarnation,
        }
    }

    /// Whether this is still the node that had the number.
    pub(super) fn is(&self, incarnation: u64) -> bool {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        self.incarnation.load(Ordering::Relaxed) == incarnation
    }
}

/// The pools, and what the engine knows about its seeding.
#[derive(Zeroable)]
#[repr(C)]
pub(super) struct PoolMemory {
    /// A [`Phase`](super::Phase).
    pub(super) phase: AtomicU32,
    /// 1 when this process has locked the engine's pages: a child does not inherit that.
    pub(super) locked: AtomicU32,
    /// From when on readers harvest on their own calls, by [`now_ms`](wellspring_sys::system::now_ms).
    pub(super) lazy_from_ms: AtomicU64,
    /// 1 when the fast sources did not suffice for a seed.
    pub(super) starves: AtomicU32,
    _reserved: AtomicU32,
    pub(super) harvester: HarvesterMemory,
    pub(super) harvest: Lock<HarvestState>,
    /// Held by whoever parts the engine from its copies.
    pub(super) parting: Lock<()>,
}

/// What a thread has at a nesting depth, with a tap that buffers `BUFFER_BYTES`.
#[derive(Zeroable)]
#[repr(C, align(64))]
pub(crate) struct ThreadState<const BUFFER_BYTES: usize> {
    pub(crate) tap: Tap<BUFFER_BYTES>,
    /// xoshiro256++ for [`pseudo`](crate::pseudo): all zeros is no state of it.
    pub(crate) pseudo: [u64; 4],
    _reserved: [u64; 4],
}

/// At the outermost depth the buffer is as large as 8 KiB for all depths allow: what a refill costs beside the
/// bytes (a key, fresh system output, about 100 ns) is spread over 80 blocks.
pub(crate) type OutermostState = ThreadState<5120>;

/// A signal handler draws little.
pub(crate) type NestedState = ThreadState<832>;

/// The states of all threads.
pub(crate) type ThreadStates = Nest<OutermostState, NestedState>;
