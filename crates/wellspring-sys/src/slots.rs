//! 8 KiB of secret memory for whoever asks, found again by a serial number.
//!
//! A slot is claimed by writing a serial number into its header that was never used before, and whoever
//! claimed it keeps the number. As long as the two agree, the slot is theirs. A fork zeroes the header with
//! all the rest: one comparison notices a fork and a release.
//!
//! Who holds a slot is noted in ordinary memory too, which a fork copies. In the child a slot that the fork
//! took from its holder is not free: a read that the fork interrupted, in a signal handler, still writes to
//! it when the handler returns. Only the holder, who starts that read over, claims it again.
//!
//! Claiming and releasing take no lock and allocate nothing but mappings, so that a signal handler can do
//! both. Mappings are kept for ever and used again: their number is bounded by the most slots that were ever
//! in use at once.

use crate::memory::{self, Pages, erase};
use crate::vdso;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The size of a slot: what a thread's tap costs.
pub(crate) const SLOT_BYTES: usize = 8192;

/// What a slot leaves for its states.
pub(crate) const STATES_BYTES: usize = SLOT_BYTES - size_of::<Header>();

/// The nesting depths that have a state of their own.
pub const DEPTHS: usize = 4;

const SLOTS_PER_CHUNK: usize = 64;

/// 65,536 slots; who gets none is served without, see [`ThreadStates::try_with`](crate::thread_state::ThreadStates::with).
const MAX_CHUNKS: usize = 1024;

/// The serial of a slot that nobody has.
const FREE: u64 = 0;
/// The serial of a slot that is being erased.
const LEAVING: u64 = u64::MAX;

/// The beginning of a slot; the states follow.
#[repr(C, align(64))]
pub(crate) struct Header {
    serial: AtomicU64,
}

/// What serves as a slot where there is none: its serial is nobody's.
static NOWHERE: Header = Header {
    serial: AtomicU64::new(LEAVING),
};

/// Who holds a slot, or held it when a fork wiped it. In ordinary memory.
#[derive(Debug)]
struct Holder {
    serial: AtomicU64,
    owner: AtomicU64,
    /// From the beginning of the slot; the rest is never touched.
    used_bytes: AtomicUsize,
    /// The states of the vDSO's getrandom, one for each depth; or null.
    vdso_states: AtomicPtr<u8>,
}

impl Holder {
    const fn new(serial: u64) -> Self {
        Self {
            serial: AtomicU64::new(serial),
            owner: AtomicU64::new(0),
            used_bytes: AtomicUsize::new(0),
            vdso_states: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Passes the slot on, if `before` is who holds it.
    fn pass(&self, before: u64, after: u64) -> bool {
        self.serial
            .compare_exchange(before, after, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }
}

/// Who holds what serves as a slot.
static NOBODY: Holder = Holder::new(LEAVING);

impl Header {
    #[inline(always)]
    fn serial(&self) -> u64 {
        self.serial.load(Ordering::Relaxed)
    }
}

/// 64 slots of one node.
struct Chunk {
    taken: AtomicBool,
    node: AtomicU32,
    holders: [Holder; SLOTS_PER_CHUNK],
    /// Written last; null until the chunk can be used.
    start: AtomicPtr<u8>,
}

static CHUNKS: [Chunk; MAX_CHUNKS] = [const {
    Chunk {
        taken: AtomicBool::new(false),
        node: AtomicU32::new(0),
        holders: [const { Holder::new(FREE) }; SLOTS_PER_CHUNK],
        start: AtomicPtr::new(ptr::null_mut()),
    }
}; MAX_CHUNKS];

/// The next serial. In ordinary memory: a child goes on from where its parent was.
static NEXT_SERIAL: AtomicU64 = AtomicU64::new(FREE + 1);

/// Where a free slot was seen last.
static HINT: AtomicUsize = AtomicUsize::new(0);

/// A slot and the serial it was claimed under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// The beginning of a slot, or [`NOWHERE`]. With the right to all of the slot.
    start: *const Header,
    holder: &'static Holder,
    serial: u64,
}

impl Slot {
    /// No slot: never ours.
    pub(crate) const NONE: Self = Self {
        start: &raw const NOWHERE,
        holder: &NOBODY,
        serial: FREE,
    };

    #[inline(always)]
    pub(crate) fn header(&self) -> &'static Header {
        // SAFETY: a static, or within a mapping that is never unmapped and of which all zeros is a header.
        unsafe { &*self.start }
    }

    /// Whether the slot still belongs to whoever claimed it.
    #[inline(always)]
    pub(crate) fn is_ours(&self) -> bool {
        self.header().serial() == self.serial
    }

    /// Where the states are: [`STATES_BYTES`] bytes, unless this is [`NONE`](Self::NONE).
    #[inline(always)]
    pub(crate) fn states(&self) -> *mut u8 {
        self.start.wrapping_add(1).cast_mut().cast()
    }

    /// The state of the vDSO's getrandom for a depth, or null.
    pub(crate) fn vdso_state(&self, depth: usize) -> *mut u8 {
        let states = self.holder.vdso_states.load(Ordering::Relaxed);
        match states.is_null() {
            true => states,
            false => states.wrapping_add(depth * vdso::stride_bytes()),
        }
    }
}

/// Claims `lost` again, if a fork took it from its holder; else a free slot near `node`. Locks and zeroes its
/// first `used_bytes` (less the header). `None`: the limit is reached, or the system has no memory.
pub(crate) fn acquire(owner: u64, node: u32, used_bytes: usize, lost: Slot) -> Option<Slot> {
    let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
    let slot = match lost.holder.pass(lost.serial, serial) {
        true => Slot { serial, ..lost },
        false => acquire_free(node, serial)?,
    };
    let used_bytes = used_bytes.min(SLOT_BYTES);
    slot.holder.used_bytes.store(used_bytes, Ordering::Relaxed);
    slot.holder.owner.store(owner, Ordering::Relaxed);
    slot.header().serial.store(serial, Ordering::Relaxed);
    memory::lock(slot.start.cast_mut().cast(), used_bytes);
    // A read that a fork interrupted may have written to the slot after it was wiped.
    // SAFETY: the slot is ours alone; states follow the header.
    unsafe { erase(slot.states(), used_bytes - size_of::<Header>()) };
    Some(slot)
}

fn acquire_free(node: u32, serial: u64) -> Option<Slot> {
    let hint = HINT.load(Ordering::Relaxed);
    loop {
        let taken = taken_chunks().len();
        for step in 0..taken {
            let number = (hint / SLOTS_PER_CHUNK + step) % taken;
            if let Some(slot) = CHUNKS[number].acquire(number, hint, node, serial) {
                return Some(slot);
            }
        }
        let unused = |chunk: &&Chunk| !chunk.taken.swap(true, Ordering::Relaxed);
        CHUNKS[taken..].iter().find(unused)?.map(node)?;
    }
}

/// The chunks in use. They are taken in order, and looking no further keeps the others' pages, 1.5 MB in all,
/// untouched: going over them would cost a process 0.3 ms and 400 page faults at its first read.
fn taken_chunks() -> &'static [Chunk] {
    let untaken = |chunk: &Chunk| !chunk.taken.load(Ordering::Relaxed);
    let count = CHUNKS.iter().position(untaken).unwrap_or(MAX_CHUNKS);
    &CHUNKS[..count]
}

impl Chunk {
    fn acquire(&'static self, number: usize, hint: usize, node: u32, serial: u64) -> Option<Slot> {
        if self.node.load(Ordering::Relaxed) != node {
            return None;
        }
        let slots = self.slots()?;
        let mut indices = (0..SLOTS_PER_CHUNK).map(|step| (hint + step) % SLOTS_PER_CHUNK);
        let index = indices.find(|&index| self.holders[index].pass(FREE, serial))?;
        HINT.store(number * SLOTS_PER_CHUNK + index + 1, Ordering::Relaxed);
        Some(Slot {
            serial,
            ..slots(index)
        })
    }

    /// Maps the memory of a chunk that is ours to map.
    fn map(&self, node: u32) -> Option<()> {
        let pages = Pages::map(SLOTS_PER_CHUNK * SLOT_BYTES).ok()?;
        let states = vdso::map_states(SLOTS_PER_CHUNK * DEPTHS);
        if !states.is_null() {
            for (index, holder) in self.holders.iter().enumerate() {
                let states = states.wrapping_add(index * DEPTHS * vdso::stride_bytes());
                holder.vdso_states.store(states, Ordering::Relaxed);
            }
        }
        self.node.store(node, Ordering::Relaxed);
        self.start.store(pages.leak().as_ptr(), Ordering::Release);
        Some(())
    }

    /// The chunk's slots by their index, once it is mapped, with the serials of their holders.
    fn slots(&'static self) -> Option<impl Fn(usize) -> Slot> {
        let start = NonNull::new(self.start.load(Ordering::Acquire))?.as_ptr();
        Some(move |index: usize| {
            let holder = &self.holders[index];
            let start = start.wrapping_add(index * SLOT_BYTES).cast_const();
            Slot {
                start: start.cast(),
                holder,
                serial: holder.serial.load(Ordering::Relaxed),
            }
        })
    }
}

/// Erases a slot and gives it back, if it is still the one that was claimed, or was when a fork wiped it.
pub(crate) fn release(slot: Slot) {
    if slot.holder.pass(slot.serial, LEAVING) {
        slot.header().serial.store(FREE, Ordering::Relaxed);
        let used_bytes = slot.holder.used_bytes.load(Ordering::Relaxed);
        // SAFETY: the slot is a real one, since it had a holder, and now nobody's; states follow the header.
        unsafe { erase(slot.states(), used_bytes - size_of::<Header>()) };
        slot.holder.owner.store(0, Ordering::Relaxed);
        slot.holder.serial.store(FREE, Ordering::Release);
    }
}

/// Releases every slot of `owner`, on whatever thread. No thread may use one of them now or later.
pub(crate) fn release_all(owner: u64) {
    slots_of(owner).for_each(release);
}

/// How many slots `owner` has, without those that a fork took.
pub(crate) fn count(owner: u64) -> usize {
    slots_of(owner).filter(Slot::is_ours).count()
}

fn slots_of(owner: u64) -> impl Iterator<Item = Slot> {
    let chunks = taken_chunks().iter().filter_map(Chunk::slots);
    let slots = chunks.flat_map(|slots| (0..SLOTS_PER_CHUNK).map(slots));
    slots.filter(move |slot| {
        slot.holder.owner.load(Ordering::Relaxed) == owner
            && slot.serial != FREE
            && slot.serial != LEAVING
    })
}
