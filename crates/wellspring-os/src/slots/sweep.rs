//! Slots of threads that ended without releasing them.
//!
//! A thread releases its slots when it ends, by a thread-specific key (see `thread_exit`). It does not where the C
//! library calls no destructor: for a read in a handler or destructor after the last call, for a raw clone(2), and
//! where the key could not be set without allocating. Those slots are found by asking the system whether their thread
//! is still there: a thread that is gone never touches its slot again.

use super::chunk;
use super::holder::{self, FREE, Holder, thread_number};
use super::release::{release, retire};
use super::slot::Slot;
use crate::os::process_number;
use crate::os_error::{OsError, raw_call};
use crate::sandbox;
use core::sync::atomic::{AtomicUsize, Ordering, fence};
use rustix::thread::{MembarrierCommand, membarrier};

/// Looks at `count` holders, after those that were looked at last, and releases slots whose thread is gone. Returns
/// how many it released. `own` is the address of the calling thread's data.
pub(super) fn sweep(count: usize, own: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    if sandbox::is_prepared() {
        return 0;
    }
    let (all, process) = (holder::in_chunks(), process_number());
    let count = count.min(all);
    let first = NEXT.fetch_add(count, Ordering::Relaxed);
    // In a child the thread that forked has all the slots it had, under another number: its first thread. Only that
    // knows which ones they are.
    let is_first = process == thread_number();
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
        slot.header().process.load(Ordering::Relaxed) == process && is_gone(process, thread)
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

/// Whether the process has no thread of that number.
fn is_gone(process: u32, thread: u32) -> bool {
    // SAFETY: signal 0 is never sent; the numbers are looked up and nothing else.
    let answer = raw_call(|| unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) });
    answer == Err(OsError::new(libc::ESRCH))
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
        || !sandbox::is_prepared()
            && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
            && membarrier(MembarrierCommand::PrivateExpedited).is_ok();
    if ordered {
        chunk::for_each_held(&mut |slot| {
            if slot.serial <= last && !slot.is_ours() {
                retire(slot);
            }
        });
    }
}
