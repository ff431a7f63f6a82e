//! 8 KiB of secret memory for a thread, 4 KiB for an owned state, identified by a serial number.
//!
//! ```text
//! acquire  a slot is acquired
//! Slot     its memory, and the serial under which it is held
//! release  slots are given back, even if their thread ended without doing so
//! chunk    8 to 512 slots in one mapping, and which thread has which slot
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

pub(crate) use chunk::unlocked_bytes;

use crate::memory::erase_used;
use crate::os::process_number;
use crate::sandbox;
use crate::system::threads;
use chunk::{ACQUIRING, FREE, Holder, LEAVING, Thread, chunks, map_chunk, take_free};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

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
    if sweep(chunk::next_slots(kind, node) * 2, request.thread) > 0
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

/// The nesting depths that have a state of their own.
pub const DEPTHS: usize = 4;

/// The use of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The states of a thread at all depths.
    Thread,
    /// A state that a value owns.
    Owned,
}

impl Kind {
    pub(crate) const fn slot_bytes(self) -> usize {
        match self {
            Self::Thread => 8192,
            Self::Owned => 4096,
        }
    }

    /// The bytes of a slot for states: all but the header, which follows them.
    pub(crate) const fn states_bytes(self) -> usize {
        self.slot_bytes() - size_of::<Header>()
    }

    /// How many states of the vDSO's getrandom a slot has.
    const fn depths(self) -> usize {
        match self {
            Self::Thread => DEPTHS,
            Self::Owned => 1,
        }
    }
}

/// The end of a slot; the states end where it begins.
///
/// So a thread that reads little touches the last page of its slot alone, if its states use their last bytes first.
#[repr(C, align(64))]
pub(crate) struct Header {
    serial: AtomicU64,
    /// The process that acquired it; 0 if it did not ask for its number.
    process: AtomicU32,
    /// In a chunk's first slot: whether the chunk is locked in this process, which a child does not inherit.
    chunk_lock: AtomicU32,
}

/// The header of [`Slot::NONE`]. No slot has its serial. Never written.
static NO_HEADER: Header = Header {
    serial: AtomicU64::new(LEAVING),
    process: AtomicU32::new(0),
    chunk_lock: AtomicU32::new(0),
};

/// A slot and the serial it was acquired under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// `None` where there is no slot. Its provenance covers the whole slot.
    header: Option<NonNull<Header>>,
    /// Null where there is no slot.
    holder: *const Holder,
    serial: u64,
}

/// The part of a slot that the hot path needs. It fits into two registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotRef {
    /// Not null: the compiler writes `None` as null, and an `Option` of this needs no third register.
    header: NonNull<Header>,
    serial: u64,
}

impl SlotRef {
    /// Whether the slot is still held under this serial, and no fork wiped it.
    #[inline(always)]
    pub(crate) fn is_ours(self) -> bool {
        // SAFETY: within a mapping that is never unmapped, where all zeros is a valid header; or `NO_HEADER`.
        let header = unsafe { self.header.as_ref() };
        header.serial.load(Ordering::Relaxed) == self.serial
    }

    /// The address of the states, a `T` of at most [`Kind::states_bytes`] bytes, unless this is the place of
    /// [`Slot::NONE`].
    #[inline(always)]
    pub(crate) fn states<T>(self) -> *mut T {
        self.header.as_ptr().cast::<T>().wrapping_sub(1)
    }
}

impl Slot {
    /// No slot: never held.
    pub(crate) const NONE: Self = Self {
        // All zeros: so the data of a thread takes no space in a program's file.
        header: None,
        holder: ptr::null(),
        serial: FREE,
    };

    #[inline(always)]
    fn header(&self) -> &'static Header {
        // SAFETY: within a mapping that is never unmapped, where all zeros is a valid header; or `NO_HEADER`.
        unsafe { self.place().header.as_ref() }
    }

    fn holder(&self) -> Option<&'static Holder> {
        // SAFETY: null or a static.
        unsafe { self.holder.as_ref() }
    }

    /// Whether the slot is still held under this serial, and no fork wiped it.
    #[inline(always)]
    pub(crate) fn is_ours(&self) -> bool {
        self.place().is_ours()
    }

    #[inline(always)]
    pub(crate) fn place(&self) -> SlotRef {
        SlotRef {
            header: self.header.unwrap_or(NonNull::from_ref(&NO_HEADER)),
            serial: self.serial,
        }
    }

    /// Like [`place`](Self::place), without a comparison: for hot paths.
    ///
    /// # Safety
    ///
    /// This is not [`NONE`](Self::NONE).
    #[inline(always)]
    pub(crate) unsafe fn some_ref(&self) -> SlotRef {
        SlotRef {
            // SAFETY: the caller's promise.
            header: unsafe { self.header.unwrap_unchecked() },
            serial: self.serial,
        }
    }

    /// Whether the slot is held under this serial, or was when a fork wiped it.
    pub(crate) fn is_ours_or_lost(&self) -> bool {
        self.holder()
            .is_some_and(|holder| holder.serial() == self.serial)
    }

    fn is_of(&self, owner: u64) -> bool {
        self.holder().is_some_and(|holder| holder.owner() == owner)
    }

    fn is_of_thread(&self) -> bool {
        self.holder().is_some_and(|holder| holder.address() != 0)
    }

    /// Whether both are the same memory.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        self.header == other.header
    }

    /// The address of the states, a `T`, unless this is [`NONE`](Self::NONE).
    #[inline(always)]
    pub(crate) fn states<T>(&self) -> *mut T {
        self.place().states()
    }

    /// Takes a slot again that a fork wiped.
    fn retake(self) -> Option<Self> {
        self.holder()?.pass(self.serial, ACQUIRING).then_some(self)
    }

    /// Zeroes the states, as far as they were ever used.
    ///
    /// # Safety
    ///
    /// No other code uses the slot now.
    unsafe fn erase_states(&self) {
        let used_bytes = self.holder().map_or(0, Holder::used_bytes);
        let header = self.place().header.as_ptr().cast::<u8>();
        // SAFETY: the states are within the slot, and the caller's promise.
        unsafe { erase_used(header.wrapping_sub(used_bytes), used_bytes) };
    }
}

/// Erases a slot and gives it back, if it is still held under its serial, or was when a fork wiped it. Signals are
/// blocked. Not inlined: callers go through several slots, and speed does not matter in them.
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

/// How many slots `owner` has in this process, not counting slots that a fork took.
pub(crate) fn count(owner: u64) -> usize {
    let mut count = 0;
    chunk::for_each_held(&mut |slot| count += usize::from(slot.is_of(owner) && slot.is_ours()));
    count
}

/// Looks at the next `count` holders, and releases slots whose thread is gone. Returns how many it released. `own`
/// is the address of the calling thread's data.
///
/// A thread releases its slots when it ends, by a thread-specific key (see `thread_exit`). It does not where the C
/// library calls no destructor: for a read in a handler or destructor after the last call, for a raw clone(2), and
/// where the key could not be set without allocating. Those slots are found by asking the system whether their thread
/// is still there: a thread that is gone never touches its slot again.
fn sweep(count: usize, own: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    if sandbox::is_prepared() {
        return 0;
    }
    let (all, process) = (chunk::in_chunks(), process_number());
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
        let holder = chunk::range(number % all, 1).first();
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
    sweep(chunk::in_chunks(), own);
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
    // It is released only if its serial has not changed since it was read above.
    is_gone.then_some(slot)
}

fn held(holder: &'static Holder) -> Option<Slot> {
    let slot = holder.is_held().then(|| chunk::of(holder).slot(holder))?;
    (slot.serial == holder.serial() && holder.is_held()).then_some(slot)
}

/// Erases every slot, at the last moment: the library is unloaded, or the process ends.
///
/// In a process that ends, other threads may still read. A read whose slot is erased under it ends like a read whose
/// slot a fork wiped: it compares the serial last, finds it gone, and is made again with another slot. No thread
/// gets the erased slot: the hot path of the thread that had it would use it too.
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
