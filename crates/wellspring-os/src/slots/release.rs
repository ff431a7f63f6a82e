//! Gives slots back.

use super::chunk;
use super::holder::{FREE, Holder, LEAVING};
use super::slot::Slot;
use core::sync::atomic::Ordering;

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
pub(super) fn retire(slot: Slot) -> Option<&'static Holder> {
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
