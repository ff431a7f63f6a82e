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

    let retakes = |holder: &Holder| holder.pass(lost.serial, ACQUIRING);
    let is_retaken = lost.holder().is_some_and(retakes);
    let slot = if is_retaken {
        lost
    } else {
        acquire_free(request)?
    };
    let holder = slot.holder()?;
    let thread = Thread::current(request.thread);
    let process = thread.process;
    if is_retaken {
        // A read that a fork interrupted may have written to the slot after it was wiped.
        // SAFETY: the slot is ours alone.
        unsafe { slot.erase_states() };
    }
    holder.fill(request.owner, request.used_bytes, &thread);
    chunk::of(holder).lock_with(holder);
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
    // Before more memory is taken, the slots of threads that ended without releasing them. A thread that finds all slots in
    // use comes here with each read.
    let next_slots = chunk::next_slots(kind, node);
    let looks = if chunk::has_room(next_slots) {
        next_slots * 2
    } else {
        4
    };
    if sweep(looks, request.thread) > 0
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

/// Maps chunks until `count` slots are free on a node, and locks them. Returns whether they are.
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
    chunks()
        .filter(|chunk| chunk.free(kind, node) > 0)
        .for_each(chunk::Chunk::lock_all);
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
    /// In a chunk's first slot: a bit for each group of its slots that this process has locked. A child does not inherit the
    /// lock, and finds 0.
    locked_groups: AtomicU64,
}

/// The header of [`Slot::NONE`]. No slot has its serial. Never written.
static NO_HEADER: Header = Header {
    serial: AtomicU64::new(LEAVING),
    process: AtomicU32::new(0),
    locked_groups: AtomicU64::new(0),
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

    /// Whether both are the same memory.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        self.header == other.header
    }

    /// The address of the states, a `T`, unless this is [`NONE`](Self::NONE).
    #[inline(always)]
    pub(crate) fn states<T>(&self) -> *mut T {
        self.place().states()
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
        chunk::of(holder).count_free(holder);
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
        let is_of_thread = slot.holder().is_some_and(|holder| holder.address() != 0);
        if slot.is_of(owner) && is_of_thread {
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

mod chunk {
    //! 8 to 512 slots of one kind and node, in one mapping that is locked in groups of 8 slots.
    //!
    //! Pages are locked when they are first touched (`MLOCK_ONFAULT`), so that slots that were never used cost no memory. But
    //! the limit of locked memory, `RLIMIT_MEMLOCK`, usually 8 MiB, counts them too: so the first of 8 threads locks a group,
    //! and the slot that is nearest to the start of the chunk is taken first. `lock_limit` takes an eighth of the usual limit
    //! at most: locked slots for 120 threads. A process has at most 65,530 mappings (`vm.max_map_count`); locked groups side by
    //! side are one.
    //!
    //! A [`Holder`] says which thread or value has a slot. It is in ordinary memory, which a fork copies.

    use super::{Header, Kind, Slot};
    use crate::memory::{Pages, lock_limit};
    use crate::os::process_number;
    use crate::system::{pages, threads};
    use crate::{sandbox, vdso};
    use core::ptr::{self, NonNull};
    use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

    const MIN_SLOTS: usize = 8;
    const MAX_SLOTS: usize = 512;
    const GROUP_SLOTS: usize = 8;
    const MAX_CHUNKS: usize = 1024;

    /// The values of [`Chunk::state`].
    const EMPTY: u32 = 0;
    const FILLING: u32 = 1;
    const READY: u32 = 2;

    /// A bit of [`Header::locked_groups`] for each.
    const _: () = assert!(MAX_SLOTS <= 64 * GROUP_SLOTS && MIN_SLOTS.is_multiple_of(GROUP_SLOTS));

    /// Slots of one kind and node.
    pub(super) struct Chunk {
        state: AtomicU32,
        is_owned: AtomicU32,
        node: AtomicU32,
        /// Its holders.
        first: AtomicU32,
        count: AtomicU32,
        /// How many slots are free, and the first that may be. A fork, and threads that acquire and release at the same
        /// time, may leave both wrong.
        free: AtomicU32,
        hint: AtomicU32,
        start: AtomicPtr<u8>,
    }

    /// In order: the first chunk that is [`EMPTY`] is the end. To look no further keeps the rest untouched.
    static CHUNKS: [Chunk; MAX_CHUNKS] = [const {
        Chunk {
            state: AtomicU32::new(EMPTY),
            is_owned: AtomicU32::new(0),
            node: AtomicU32::new(0),
            first: AtomicU32::new(0),
            count: AtomicU32::new(0),
            free: AtomicU32::new(0),
            hint: AtomicU32::new(0),
            start: AtomicPtr::new(core::ptr::null_mut()),
        }
    }; MAX_CHUNKS];

    /// The chunks in use.
    pub(super) fn chunks() -> impl Iterator<Item = &'static Chunk> {
        let state = |chunk: &Chunk| chunk.state.load(Ordering::Acquire);
        CHUNKS
            .iter()
            .take_while(move |chunk| state(chunk) != EMPTY)
            .filter(move |chunk| state(chunk) == READY)
    }

    /// The chunk that a holder is part of.
    pub(super) fn of(holder: &Holder) -> &'static Chunk {
        &CHUNKS[holder.chunk() % MAX_CHUNKS]
    }

    /// How many slots the next chunk will have.
    pub(super) fn next_slots(kind: Kind, node: u32) -> usize {
        slots_after(chunks().filter(|chunk| chunk.is(kind, node)).count())
    }

    /// How many slots a chunk has after `chunks` others.
    fn slots_after(chunks: usize) -> usize {
        let doublings = (MAX_SLOTS / MIN_SLOTS).ilog2() as usize;
        MIN_SLOTS << chunks.min(doublings)
    }

    /// Maps one more chunk. `None`: no memory, or the limit is reached; nothing has changed then.
    pub(super) fn map_chunk(kind: Kind, node: u32) -> Option<()> {
        if sandbox::is_prepared() {
            return None;
        }
        let count = next_slots(kind, node);
        if !has_room(count) {
            return None;
        }
        let pages = Pages::map(count * kind.slot_bytes()).ok()?;
        let states = vdso::map_states(count * kind.depths()).ok()?;
        let Some(first) = set_aside(count) else {
            states.unmap();
            return None;
        };
        // From here on nothing fails.
        let claims = |chunk: &Chunk| {
            chunk
                .state
                .compare_exchange(EMPTY, FILLING, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        let Some(number) = CHUNKS.iter().position(claims) else {
            states.unmap();
            return None;
        };
        let chunk = &CHUNKS[number];
        // The states for the outermost depth come first: a thread without reads in signal handlers touches one state alone.
        for (index, holder) in range(first, count).iter().enumerate() {
            holder.join(number, states.get(index));
        }
        chunk
            .is_owned
            .store(u32::from(kind == Kind::Owned), Ordering::Relaxed);
        chunk.node.store(node, Ordering::Relaxed);
        chunk.first.store(first as u32, Ordering::Relaxed);
        chunk.count.store(count as u32, Ordering::Relaxed);
        chunk.free.store(count as u32, Ordering::Relaxed);
        chunk.start.store(pages.leak().as_ptr(), Ordering::Relaxed);
        chunk.state.store(READY, Ordering::Release);
        Some(())
    }

    impl Chunk {
        fn kind(&self) -> Kind {
            if self.is_owned.load(Ordering::Relaxed) == 1 {
                Kind::Owned
            } else {
                Kind::Thread
            }
        }

        fn is(&self, kind: Kind, node: u32) -> bool {
            self.kind() == kind && self.node.load(Ordering::Relaxed) == node
        }

        fn holders(&self) -> &'static [Holder] {
            let first = self.first.load(Ordering::Relaxed) as usize;
            range(first, self.count.load(Ordering::Relaxed) as usize)
        }

        /// How many slots are free, if they are of that kind and node.
        pub(super) fn free(&self, kind: Kind, node: u32) -> usize {
            if self.is(kind, node) {
                self.free.load(Ordering::Relaxed) as usize
            } else {
                0
            }
        }

        /// Takes the first free slot, if it is of that kind and node.
        pub(super) fn take(&'static self, kind: Kind, node: u32) -> Option<Slot> {
            if self.free(kind, node) == 0 {
                return None;
            }
            let holders = self.holders();
            let hint = self.hint.load(Ordering::Relaxed) as usize;
            let mut indices = (0..holders.len()).map(|step| (hint + step) % holders.len());
            let index = indices.find(|&index| holders[index].pass(FREE, ACQUIRING))?;
            self.hint.store(index as u32 + 1, Ordering::Relaxed);
            let one_less = |free: u32| Some(free.saturating_sub(1));
            let _ = self
                .free
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
            Some(self.slot(&holders[index]))
        }

        /// The slot of a holder of this chunk is free.
        pub(super) fn count_free(&self, holder: &Holder) {
            self.free.fetch_add(1, Ordering::Relaxed);
            self.hint
                .fetch_min(self.index(holder) as u32, Ordering::Relaxed);
        }

        fn index(&self, holder: &Holder) -> usize {
            holder.number() - self.first.load(Ordering::Relaxed) as usize
        }

        /// The slot of a holder of this chunk, with the serial that it has now.
        pub(super) fn slot(&self, holder: &'static Holder) -> Slot {
            Slot {
                // Never null: a chunk has holders when it is mapped.
                header: NonNull::new(self.header(self.index(holder))),
                holder,
                serial: holder.serial(),
            }
        }

        /// How far the vDSO's state for a depth of a slot is from that for the depth before.
        pub(super) fn vdso_depth_bytes(&self) -> usize {
            self.count.load(Ordering::Relaxed) as usize * vdso::stride_bytes()
        }

        /// The header of a slot, which follows its states.
        fn header(&self, index: usize) -> *mut Header {
            let kind = self.kind();
            let slot = self
                .start
                .load(Ordering::Relaxed)
                .wrapping_add(index * kind.slot_bytes());
            slot.wrapping_add(kind.states_bytes()).cast()
        }

        fn group_bytes(&self) -> usize {
            GROUP_SLOTS * self.kind().slot_bytes()
        }

        /// See [`Header::locked_groups`].
        fn locked_groups(&self) -> &'static AtomicU64 {
            // SAFETY: the mapping is never unmapped; all zeros is a header.
            unsafe { &(*self.header(0)).locked_groups }
        }

        fn is_locked(&self, group: usize) -> bool {
            self.locked_groups().load(Ordering::Relaxed) >> group & 1 == 1
        }

        /// Locks the group of a holder's slot in memory, unless this process has: a child does not inherit it. Where it was
        /// refused, it is tried again with each slot: another part of the program may have unlocked memory since.
        pub(super) fn lock_with(&self, holder: &Holder) {
            self.lock(self.index(holder) / GROUP_SLOTS);
        }

        /// Locks all groups.
        pub(super) fn lock_all(&self) {
            let groups = self.count.load(Ordering::Relaxed) as usize / GROUP_SLOTS;
            (0..groups).for_each(|group| self.lock(group));
        }

        fn lock(&self, group: usize) {
            if self.is_locked(group) || sandbox::is_prepared() {
                return;
            }
            let bytes = self.group_bytes();
            let start = self.start.load(Ordering::Relaxed);
            let start = start.wrapping_add(group * bytes);
            let may_lock = lock_limit::allows_slots(locked_bytes() + bytes);
            // SAFETY: a group is a part of the chunk's mapping, which is never unmapped.
            if may_lock && unsafe { pages::lock_when_touched(start, bytes) } {
                self.locked_groups().fetch_or(1 << group, Ordering::Relaxed);
            }
        }
    }

    /// Runs `work` on all slots that are held, or were when a fork wiped them. Not generic: there are several such loops, and
    /// speed does not matter in them.
    #[inline(never)]
    pub(super) fn for_each_held(work: &mut dyn FnMut(Slot)) {
        for chunk in chunks() {
            let holders = chunk.holders().iter().filter(|holder| holder.is_held());
            holders.for_each(|holder| work(chunk.slot(holder)));
        }
    }

    /// Takes a free slot of that kind and node.
    #[inline(never)]
    pub(super) fn take_free(kind: Kind, node: u32) -> Option<Slot> {
        chunks().find_map(|chunk| chunk.take(kind, node))
    }

    /// The bytes of groups that this process has locked.
    fn locked_bytes() -> usize {
        let groups = |chunk: &Chunk| chunk.locked_groups().load(Ordering::Relaxed).count_ones();
        chunks()
            .map(|chunk| groups(chunk) as usize * chunk.group_bytes())
            .sum()
    }

    /// The bytes of slots in use that are not locked.
    pub(crate) fn unlocked_bytes() -> usize {
        let mut bytes = 0;
        // A child that has acquired no slot of a group has nothing to be locked.
        for_each_held(&mut |slot| {
            if let Some(holder) = slot.holder().filter(|_| slot.is_ours()) {
                let chunk = of(holder);
                let is_locked = chunk.is_locked(chunk.index(holder) / GROUP_SLOTS);
                bytes += usize::from(!is_locked) * chunk.kind().slot_bytes();
            }
        });
        bytes
    }

    /// The serial of a slot that is free.
    pub(super) const FREE: u64 = 0;
    /// The serial of a slot that is being erased.
    pub(super) const LEAVING: u64 = u64::MAX;
    /// The serial of a slot that is being acquired.
    pub(super) const ACQUIRING: u64 = u64::MAX - 1;

    /// 65,536: a thread that gets no slot reads without one, see
    /// [`ThreadStates::begin_first`](crate::thread_state::ThreadStates::begin_first).
    const MAX_HOLDERS: usize = 1 << 16;

    /// The holder of a slot, even after a fork wiped the slot. 40 bytes.
    #[derive(Debug)]
    pub(super) struct Holder {
        serial: AtomicU64,
        owner: AtomicU64,
        /// The state of the vDSO's getrandom for the outermost depth, or null.
        vdso_state: AtomicPtr<u8>,
        /// See [`Thread`].
        address: AtomicUsize,
        thread: AtomicU32,
        /// The bytes of the states; the rest of the slot is never touched.
        used_bytes: AtomicU16,
        /// The number of its chunk.
        chunk: AtomicU16,
    }

    static HOLDERS: [Holder; MAX_HOLDERS] = [const {
        Holder {
            serial: AtomicU64::new(FREE),
            owner: AtomicU64::new(0),
            vdso_state: AtomicPtr::new(ptr::null_mut()),
            address: AtomicUsize::new(0),
            thread: AtomicU32::new(0),
            used_bytes: AtomicU16::new(0),
            chunk: AtomicU16::new(0),
        }
    }; MAX_HOLDERS];

    /// How many holders belong to a chunk: the first ones.
    static IN_CHUNKS: AtomicUsize = AtomicUsize::new(0);

    /// Sets `count` holders aside for a chunk, which keeps them. Returns the number of the first.
    pub(super) fn set_aside(count: usize) -> Option<usize> {
        let more = |before: usize| (before + count <= MAX_HOLDERS).then_some(before + count);
        IN_CHUNKS
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .ok()
    }

    /// Whether there are holders for one more chunk.
    pub(super) fn has_room(count: usize) -> bool {
        in_chunks() + count <= MAX_HOLDERS
    }

    /// How many holders belong to a chunk.
    pub(super) fn in_chunks() -> usize {
        IN_CHUNKS.load(Ordering::Relaxed)
    }

    /// The holders from a number on.
    pub(super) fn range(first: usize, count: usize) -> &'static [Holder] {
        HOLDERS.get(first..first + count).unwrap_or(&[])
    }

    impl Holder {
        /// Its number among all holders.
        pub(super) fn number(&self) -> usize {
            (ptr::from_ref(self).addr() - HOLDERS.as_ptr().addr()) / size_of::<Self>()
        }

        /// Makes it part of a chunk.
        pub(super) fn join(&self, chunk: usize, vdso_state: *mut u8) {
            self.chunk.store(chunk as u16, Ordering::Relaxed);
            self.vdso_state.store(vdso_state, Ordering::Relaxed);
        }

        pub(super) fn chunk(&self) -> usize {
            usize::from(self.chunk.load(Ordering::Relaxed))
        }

        pub(super) fn vdso_state(&self) -> *mut u8 {
            self.vdso_state.load(Ordering::Relaxed)
        }

        pub(super) fn serial(&self) -> u64 {
            self.serial.load(Ordering::Acquire)
        }

        /// Whether the slot is held, or was when a fork wiped it.
        pub(super) fn is_held(&self) -> bool {
            ![FREE, LEAVING, ACQUIRING].contains(&self.serial())
        }

        /// Passes the slot on, if it is held under `before`.
        pub(super) fn pass(&self, before: u64, after: u64) -> bool {
            self.serial
                .compare_exchange(before, after, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        }

        /// Notes what acquires the slot.
        pub(super) fn fill(&self, owner: u64, used_bytes: usize, thread: &Thread) {
            self.owner.store(owner, Ordering::Relaxed);
            self.used_bytes.store(used_bytes as u16, Ordering::Relaxed);
            self.address.store(thread.address, Ordering::Relaxed);
            self.thread.store(thread.number, Ordering::Relaxed);
        }

        /// Ends the acquiring: the slot is held under `serial`.
        pub(super) fn settle(&self, serial: u64) {
            self.serial.store(serial, Ordering::Release);
        }

        /// Ends the leaving: the slot is free.
        pub(super) fn give_back(&self) {
            self.owner.store(0, Ordering::Relaxed);
            self.serial.store(FREE, Ordering::Release);
        }

        pub(super) fn owner(&self) -> u64 {
            self.owner.load(Ordering::Relaxed)
        }

        pub(super) fn used_bytes(&self) -> usize {
            usize::from(self.used_bytes.load(Ordering::Relaxed))
        }

        /// The system's number of the thread that has it; 0 without one, see [`Thread`].
        pub(super) fn thread(&self) -> u32 {
            self.thread.load(Ordering::Relaxed)
        }

        /// The address of that thread's data.
        pub(super) fn address(&self) -> usize {
            self.address.load(Ordering::Relaxed)
        }
    }

    /// A thread that holds a slot.
    pub(super) struct Thread {
        /// The address of the thread's data; 0 for an owned state.
        pub(super) address: usize,
        /// The system's number; 0 for an owned state, and where the system may not be asked.
        pub(super) number: u32,
        /// The system's number of its process, or 0 as for `number`.
        pub(super) process: u32,
    }

    impl Thread {
        /// The calling thread, or an owned state.
        pub(super) fn current(address: usize) -> Self {
            let asked = address != 0 && !sandbox::is_prepared();
            Self {
                address,
                number: if asked { threads::number() } else { 0 },
                process: if asked { process_number() } else { 0 },
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn chunks_grow_and_all_slots_fit_into_them() {
            let sizes: Vec<usize> = (0..MAX_CHUNKS).map(slots_after).collect();
            assert_eq!(sizes[..8], [8, 16, 32, 64, 128, 256, 512, 512]);
            assert!(sizes.is_sorted());
            let all = sizes.iter().scan(0, |sum, size| {
                *sum += size;
                Some(*sum)
            });
            let needed = all.take_while(|&sum| sum <= MAX_HOLDERS).count();
            assert!(
                needed < 140,
                "{needed} chunks for all slots of one kind and node"
            );
        }
    }
}
