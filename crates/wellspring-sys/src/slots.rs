//! 8 KiB of secret memory for whoever asks, found again by a serial number.
//!
//! A slot is claimed by writing a serial number into its header that was never used before, and whoever
//! claimed it keeps the number. As long as the two agree, the slot is theirs. A fork zeroes the header with
//! all the rest, and the child can claim the slot again, for any thread, under a number that the old owner
//! does not have: one comparison notices a fork, a release, and a second owner.
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

/// 65,536 slots; who gets none is served without, see [`Nest::with`](crate::nest::Nest::with).
const MAX_CHUNKS: usize = 1024;

/// The serial of a slot that nobody has.
const FREE: u64 = 0;
/// The serial of a slot that is being erased.
const LEAVING: u64 = u64::MAX;

/// The beginning of a slot; the states follow.
#[repr(C, align(64))]
pub(crate) struct Header {
    serial: AtomicU64,
    owner: AtomicU64,
    vdso_states: AtomicPtr<u8>,
    vdso_stride_bytes: AtomicUsize,
}

/// What serves as a slot where there is none: its serial is nobody's.
static NOWHERE: Header = Header {
    serial: AtomicU64::new(LEAVING),
    owner: AtomicU64::new(0),
    vdso_states: AtomicPtr::new(ptr::null_mut()),
    vdso_stride_bytes: AtomicUsize::new(0),
};

impl Header {
    #[inline(always)]
    fn serial(&self) -> u64 {
        self.serial.load(Ordering::Relaxed)
    }

    /// The state of the vDSO's getrandom for a depth, or null.
    pub(crate) fn vdso_state(&self, depth: usize) -> *mut u8 {
        let states = self.vdso_states.load(Ordering::Relaxed);
        match states.is_null() {
            true => states,
            false => states.wrapping_add(depth * self.vdso_stride_bytes.load(Ordering::Relaxed)),
        }
    }
}

/// 64 slots of one node.
struct Chunk {
    taken: AtomicBool,
    node: AtomicU32,
    vdso_states: AtomicPtr<u8>,
    vdso_stride_bytes: AtomicUsize,
    /// Written last; null until the chunk can be used.
    start: AtomicPtr<u8>,
}

static CHUNKS: [Chunk; MAX_CHUNKS] = [const {
    Chunk {
        taken: AtomicBool::new(false),
        node: AtomicU32::new(0),
        vdso_states: AtomicPtr::new(ptr::null_mut()),
        vdso_stride_bytes: AtomicUsize::new(0),
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
    serial: u64,
}

impl Slot {
    /// No slot: never ours.
    pub(crate) const NONE: Self = Self {
        start: &raw const NOWHERE,
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
}

/// Claims a slot near `node`, and locks and zeroes its first `used_bytes` (less the header). `None`: the limit is reached, or the
/// system has no memory.
pub(crate) fn claim(owner: u64, node: u32, used_bytes: usize) -> Option<Slot> {
    let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
    let hint = HINT.load(Ordering::Relaxed);
    loop {
        for step in 0..MAX_CHUNKS {
            let number = (hint / SLOTS_PER_CHUNK + step) % MAX_CHUNKS;
            if let Some(slot) = CHUNKS[number].claim(number, hint, owner, node, serial) {
                let used_bytes = used_bytes.min(SLOT_BYTES);
                memory::lock(slot.start.cast_mut().cast(), used_bytes);
                // A read that a fork interrupted may have written to the slot after it was wiped.
                // SAFETY: the slot is ours alone; states follow the header.
                unsafe { erase(slot.states(), used_bytes - size_of::<Header>()) };
                return Some(slot);
            }
        }
        let unused = |chunk: &&Chunk| !chunk.taken.swap(true, Ordering::Relaxed);
        CHUNKS.iter().find(unused)?.map(node)?;
    }
}

impl Chunk {
    fn claim(
        &self,
        number: usize,
        hint: usize,
        owner: u64,
        node: u32,
        serial: u64,
    ) -> Option<Slot> {
        if self.node.load(Ordering::Relaxed) != node {
            return None;
        }
        let slots = self.slots()?;
        for step in 0..SLOTS_PER_CHUNK {
            let index = (hint + step) % SLOTS_PER_CHUNK;
            let start = slots(index);
            let slot = Slot { start, serial };
            let header = slot.header();
            let relaxed = Ordering::Relaxed;
            if header
                .serial
                .compare_exchange(FREE, serial, Ordering::Acquire, relaxed)
                .is_ok()
            {
                let stride_bytes = self.vdso_stride_bytes.load(relaxed);
                let states = self.vdso_states.load(relaxed);
                if !states.is_null() {
                    let states = states.wrapping_add(index * DEPTHS * stride_bytes);
                    header.vdso_stride_bytes.store(stride_bytes, relaxed);
                    header.vdso_states.store(states, relaxed);
                }
                header.owner.store(owner, relaxed);
                HINT.store(number * SLOTS_PER_CHUNK + index + 1, relaxed);
                return Some(slot);
            }
        }
        None
    }

    /// Maps the memory of a chunk that is ours to map.
    fn map(&self, node: u32) -> Option<()> {
        let pages = Pages::map(SLOTS_PER_CHUNK * SLOT_BYTES).ok()?;
        let (states, stride_bytes) = vdso::map_states(SLOTS_PER_CHUNK * DEPTHS);
        self.vdso_states.store(states, Ordering::Relaxed);
        self.vdso_stride_bytes
            .store(stride_bytes, Ordering::Relaxed);
        self.node.store(node, Ordering::Relaxed);
        self.start.store(pages.leak().as_ptr(), Ordering::Release);
        Some(())
    }

    /// The chunk's slots by their index, once it is mapped.
    fn slots(&self) -> Option<impl Fn(usize) -> *const Header> {
        let start = NonNull::new(self.start.load(Ordering::Acquire))?.as_ptr();
        Some(move |index: usize| {
            start
                .wrapping_add(index * SLOT_BYTES)
                .cast::<Header>()
                .cast_const()
        })
    }
}

/// Erases a slot and gives it back, if it is still the one that was claimed.
pub(crate) fn release(slot: Slot) {
    let (header, relaxed) = (slot.header(), Ordering::Relaxed);
    if header
        .serial
        .compare_exchange(slot.serial, LEAVING, Ordering::Acquire, relaxed)
        .is_ok()
    {
        // SAFETY: the slot is a real one, since its serial was in it, and now nobody's; states follow the header.
        unsafe { erase(slot.states(), STATES_BYTES) };
        header.owner.store(0, relaxed);
        header.vdso_states.store(ptr::null_mut(), relaxed);
        header.serial.store(FREE, Ordering::Release);
    }
}

/// Releases every slot of `owner`, on whatever thread. No thread may use one of them now or later.
pub(crate) fn release_all(owner: u64) {
    slots_of(owner).for_each(release);
}

/// How many slots `owner` has.
pub(crate) fn count(owner: u64) -> usize {
    slots_of(owner).count()
}

fn slots_of(owner: u64) -> impl Iterator<Item = Slot> {
    let chunks = CHUNKS.iter().filter_map(Chunk::slots);
    let starts = chunks.flat_map(|slots| (0..SLOTS_PER_CHUNK).map(slots));
    let all = starts.map(|start| {
        let header = Slot {
            start,
            ..Slot::NONE
        }
        .header();
        (
            header.owner.load(Ordering::Relaxed),
            Slot {
                start,
                serial: header.serial(),
            },
        )
    });
    let is_owned = move |(slot_owner, slot): &(u64, Slot)| {
        *slot_owner == owner && slot.serial != FREE && slot.serial != LEAVING
    };
    all.filter(is_owned).map(|(_, slot)| slot)
}
