//! 8 KiB of secret memory for a thread, 4 KiB for an owned state, identified by a serial number.
//!
//! ```text
//! mod     a slot is acquired
//! slot    its memory, and the serial under which it is held
//! holder  which thread has a slot, in memory that a fork copies
//! chunk   8 to 512 slots in one mapping
//! freeing slots are given back, also those of threads that ended without doing so
//! ```
//!
//! To acquire a slot is to write a new serial number into its header and to keep a copy. As long as the two agree, the
//! slot is held. A fork zeroes the header with the rest of the slot. So one comparison notices a fork and a release.
//!
//! The serial is in the slot's [`Holder`] too, which a fork copies. In the child a slot that the fork wiped is
//! *lost*: it is not free, because a read that the fork interrupted (in a signal handler) still writes to it when the
//! handler returns. Only its holder, which starts that read over, takes it again.
//!
//! Acquiring and releasing take no lock and allocate nothing but mappings. Both run with signals blocked. Mappings
//! are never unmapped, and are used again: their number is bounded by the most slots that were ever in use at once.

mod chunk;
mod freeing;
mod holder;
mod slot;

pub(crate) use chunk::unlocked_bytes;
pub(crate) use freeing::{count, reclaim, release, release_all, release_everything};
pub use slot::DEPTHS;
pub(crate) use slot::{Header, Kind, Slot, SlotRef};

use crate::sandbox;
use chunk::{chunks, map_chunk, take_free};
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use holder::{FREE, Thread};

/// The owner, the use and the NUMA node of a slot to acquire.
pub(crate) struct Request {
    /// Its [`ThreadStates`](crate::thread_state::ThreadStates).
    pub(crate) owner: u64,
    pub(crate) kind: Kind,
    /// The NUMA node whose memory is wanted. `None`: no slot but `lost`.
    pub(crate) node: Option<u32>,
    /// How much of the slot is used, from its states on.
    pub(crate) used_bytes: usize,
    /// The address of the thread's data; 0 for an owned state.
    pub(crate) thread: usize,
}

/// Takes `lost` again, if a fork took it from its holder; else acquires a free slot. Its states are zeros. `None`: the
/// limit is reached, or the system has no memory. Signals are blocked.
pub(crate) fn acquire(request: &Request, lost: Slot) -> Option<Slot> {
    /// In ordinary memory: a child goes on from where its parent was.
    static NEXT_SERIAL: AtomicU64 = AtomicU64::new(FREE + 1);

    let retaken = lost.retake();
    let slot = match retaken {
        Some(slot) => slot,
        None => acquire_free(request)?,
    };
    let holder = slot.holder()?;
    let thread = Thread::current(request.thread);
    let process = thread.process;
    if retaken.is_some() {
        // A read that a fork interrupted may have written to the slot after it was wiped.
        // SAFETY: the slot is ours alone.
        unsafe { slot.erase_states() };
    }
    holder.fill(request.owner, request.used_bytes, &thread);
    chunk::of(holder).lock();
    let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
    slot.header().process.store(process, Ordering::Relaxed);
    slot.header().serial.store(serial, Ordering::Relaxed);
    holder.settle(serial);
    Some(Slot { serial, ..slot })
}

fn acquire_free(request: &Request) -> Option<Slot> {
    let (kind, node) = (request.kind, request.node?);
    if let Some(slot) = take_free(kind, node) {
        return Some(slot);
    }
    if sandbox::is_prepared() {
        return None;
    }
    // Before more memory is taken, the slots of threads that ended without releasing them.
    if freeing::sweep(chunk::next_slots(kind, node) * 2, request.thread) > 0
        && let Some(slot) = take_free(kind, node)
    {
        return Some(slot);
    }
    loop {
        map_chunk(kind, node)?;
        // Another thread may have taken them all.
        if let Some(slot) = take_free(kind, node) {
            return Some(slot);
        }
    }
}

/// The state of the vDSO's getrandom for a slot and a depth, or null.
#[inline]
pub(crate) fn vdso_state(slot: &Slot, depth: usize) -> *mut u8 {
    let Some(holder) = slot.holder() else {
        return ptr::null_mut();
    };
    let outermost = holder.vdso_state();
    if depth == 0 || outermost.is_null() {
        return outermost;
    }
    outermost.wrapping_add(depth * chunk::of(holder).vdso_depth_bytes())
}

/// Maps chunks until `count` slots are free on a node. Returns whether they are.
pub(crate) fn reserve(kind: Kind, node: u32, count: usize) -> bool {
    let free = || -> usize {
        let free = chunks().map(|chunk| chunk.free(kind, node));
        free.sum()
    };
    while free() < count {
        if map_chunk(kind, node).is_none() {
            return false;
        }
    }
    true
}
