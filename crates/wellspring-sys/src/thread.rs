//! What a thread knows of itself: how deep it is in reads, and which slots are its own.

use crate::signals::Blocked;
use crate::slots::{self, Slot};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

/// How many nests a thread uses at once; one more takes the place of another, which loses its states.
pub(crate) const ENTRIES: usize = 4;

/// What a thread knows: how deep it is, and which slots are its own.
pub(crate) struct Local {
    pub(crate) depth: Cell<usize>,
    pub(crate) entries: [Entry; ENTRIES],
}

/// A nest that the thread uses.
pub(crate) struct Entry {
    pub(crate) owner: Cell<u64>,
    pub(crate) slot: Cell<Slot>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            depth: Cell::new(0),
            entries: [const {
                Entry {
                    owner: Cell::new(0),
                    slot: Cell::new(Slot::NONE),
                }
            }; ENTRIES],
        }
    };
}

/// What the calling thread knows.
///
/// A reference that leaves the closure: the body of a hot path inside it would be left out of line.
#[inline(always)]
pub(crate) fn local<'a>() -> &'a Local {
    let local = LOCAL.with(ptr::from_ref);
    // SAFETY: it has no destructor and lasts as long as the thread, and this reference never leaves the thread:
    // a `Local` is not `Sync`, and nothing here keeps one.
    unsafe { &*local }
}

impl Entry {
    /// The slot, if it is still this thread's: one comparison.
    #[inline(always)]
    pub(crate) fn slot(&self) -> Option<Slot> {
        Some(self.slot.get()).filter(Slot::is_ours)
    }
}

/// One level of nesting, from its mark until it ends, by a panic too.
pub(crate) struct Depth<'a> {
    local: &'a Local,
    pub(crate) level: usize,
}

impl<'a> Depth<'a> {
    #[inline(always)]
    pub(crate) fn enter(local: &'a Local, level: usize) -> Self {
        local.depth.set(level + 1);
        compiler_fence(Ordering::SeqCst);
        Self { local, level }
    }
}

impl Drop for Depth<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.local.depth.set(self.level);
    }
}

/// Sees to it that this thread's slots are released when it ends.
///
/// By a pthread key: its destructor runs after those of `thread_local!` values, which may still draw, and
/// setting one of the first 32 keys of a process allocates nothing.
pub(crate) fn release_at_exit() {
    const NONE: u32 = u32::MAX;
    static KEY: AtomicU32 = AtomicU32::new(NONE);

    unsafe extern "C" fn release(_: *mut libc::c_void) {
        LOCAL.with(|local| {
            let _signals = Blocked::new();
            let slots = local.entries.iter().map(|entry| entry.slot.get());
            slots.for_each(slots::release);
        });
    }

    let mut key = KEY.load(Ordering::Acquire);
    if key == NONE {
        // SAFETY: the pointer is to the key, and `release` may be called with any argument.
        if unsafe { libc::pthread_key_create(&raw mut key, Some(release)) } != 0 {
            return;
        }
        if let Err(first) = KEY.compare_exchange(NONE, key, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the key is ours, and unused.
            unsafe { libc::pthread_key_delete(key) };
            key = first;
        }
    }
    // SAFETY: the key exists. Any value but null has the destructor called.
    unsafe { libc::pthread_setspecific(key, ptr::dangling()) };
}
