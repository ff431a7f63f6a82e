//! Gives slots back: by their holders, and by an owner for all its threads; those of threads that are gone; and all, when
//! the process ends.

use super::chunk;
use super::holder::{self, FREE, Holder, LEAVING};
use super::slot::Slot;
use crate::os::process_number;
use crate::sandbox;
use crate::system::threads;
use core::sync::atomic::{AtomicUsize, Ordering, fence};

/// Erases a slot and gives it back, if it is still held under its serial, or was when a fork wiped it. Signals are
/// blocked. Not inlined: callers go through several slots, and none is in a hurry.
#[inline(never)]
pub(crate) fn release(slot: Slot) {
    if let Some(holder) = retire(slot) {
        holder.give_back();
        chunk::of(holder).count_free();
    }
}

/// The same, but the slot is not free afterwards.
fn retire(slot: Slot) -> Option<&'static Holder> {
    let holder = slot.holder()?;
    holder.pass(slot.serial, LEAVING).then(|| {
        slot.header().serial.store(FREE, Ordering::Relaxed);
        // SAFETY: the slot was ours, and no thread acquires it before it is free.
        unsafe { slot.erase_states() };
        holder
    })
}

/// Releases the slots of all threads for `owner`. No thread may use one of them now or later. The slots of values stay: a
/// value releases its own, and may be in use.
pub(crate) fn release_all(owner: u64) {
    chunk::for_each_held(&mut |slot| {
        if slot.is_of(owner) && slot.is_of_thread() {
            release(slot);
        }
    });
}

/// How many slots `owner` has in this process, without those that a fork took.
pub(crate) fn count(owner: u64) -> usize {
    let mut count = 0;
    chunk::for_each_held(&mut |slot| count += usize::from(slot.is_of(owner) && slot.is_ours()));
    count
}

/// Looks at `count` holders, after those that were looked at last, and releases slots whose thread is gone. Returns
/// how many it released. `own` is the address of the calling thread's data.
///
/// A thread releases its slots when it ends, by a thread-specific key (see `thread_exit`). It does not where the C
/// library calls no destructor: for a read in a handler or destructor after the last call, for a raw clone(2), and
/// where the key could not be set without allocating. Those slots are found by asking the system whether their thread
/// is still there: a thread that is gone never touches its slot again.
pub(super) fn sweep(count: usize, own: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    if sandbox::is_prepared() {
        return 0;
    }
    let (all, process) = (holder::in_chunks(), process_number());
    if process == 0 {
        return 0; // Every thread would look as if it were gone.
    }
    let count = count.min(all);
    let first = NEXT.fetch_add(count, Ordering::Relaxed);
    // In a child the thread that forked has all the slots it had, under another number: its first thread. Only that
    // knows which ones they are.
    let is_first = process == threads::number();
    let mut released = 0;
    for number in first..first + count {
        let holder = holder::range(number % all, 1).first();
        if let Some(slot) =
            holder.and_then(|holder| slot_of_the_gone(holder, process, is_first, own))
        {
            release(slot);
            released += 1;
        }
    }
    released
}

/// Releases all slots whose thread is gone.
pub(crate) fn reclaim(own: usize) {
    sweep(holder::in_chunks(), own);
}

fn slot_of_the_gone(
    holder: &'static Holder,
    process: u32,
    is_first: bool,
    own: usize,
) -> Option<Slot> {
    let slot = held(holder)?;
    let thread = holder.thread();
    if thread == 0 {
        return None;
    }
    let is_gone = if slot.is_ours() {
        // A process that shares our memory, as after vfork, does not know our threads.
        slot.header().process.load(Ordering::Relaxed) == process
            && threads::is_gone(process, thread)
    } else {
        // Wiped by a fork: the thread was the parent's.
        is_first && own != 0 && holder.address() != own
    };
    // It is released only if its serial is still the one that was read before all this.
    is_gone.then_some(slot)
}

fn held(holder: &'static Holder) -> Option<Slot> {
    let slot = holder.is_held().then(|| chunk::of(holder).slot(holder))?;
    (slot.serial == holder.serial() && holder.is_held()).then_some(slot)
}

/// Erases every slot, at the last moment: the library is unloaded, or the process ends.
///
/// In a process that ends, other threads may still read. A read whose slot is erased under it ends as one whose slot
/// a fork wiped: it compares the serial last, finds it gone, and is made again with another slot. No thread gets the
/// erased slot: the hot path of the thread that had it would use it too.
pub(crate) fn release_everything() {
    let mut last = 0;
    chunk::for_each_held(&mut |slot| last = last.max(slot.serial));
    chunk::for_each_held(&mut |slot| {
        if slot.serial <= last {
            slot.header().serial.store(FREE, Ordering::Relaxed);
        }
    });
    fence(Ordering::SeqCst);
    // No thread may see an erased byte and then, out of order, the serial from before. x86 keeps the order by itself.
    let ordered = cfg!(any(target_arch = "x86", target_arch = "x86_64"))
        || !sandbox::is_prepared() && threads::order_all();
    if ordered {
        chunk::for_each_held(&mut |slot| {
            if slot.serial <= last && !slot.is_ours() {
                retire(slot);
            }
        });
    }
}
