//! A slot: its memory, and the serial under which it is held.

use super::holder::{ACQUIRING, FREE, Holder, LEAVING};
use crate::memory::erase_used;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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

    /// The bytes of a slot for states: all but the header, which stands behind them.
    pub(crate) const fn states_bytes(self) -> usize {
        self.slot_bytes() - size_of::<Header>()
    }

    /// How many states of the vDSO's getrandom a slot has.
    pub(super) const fn depths(self) -> usize {
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
    pub(super) serial: AtomicU64,
    /// The process that acquired it; 0 if it did not ask for its number.
    pub(super) process: AtomicU32,
    /// In a chunk's first slot: whether the chunk is locked in this process, which a child does not inherit.
    pub(super) chunk_lock: AtomicU32,
}

/// The header of [`Slot::NONE`]: its serial is one that no slot has. Never written.
static NO_HEADER: Header = Header {
    serial: AtomicU64::new(LEAVING),
    process: AtomicU32::new(0),
    chunk_lock: AtomicU32::new(0),
};

/// A slot and the serial it was acquired under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// `None` where there is no slot. Its provenance covers the whole slot.
    pub(super) header: Option<NonNull<Header>>,
    /// Null where there is no slot.
    pub(super) holder: *const Holder,
    pub(super) serial: u64,
}

/// The part of a slot that the hot path needs. It fits into two registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotRef {
    /// Not null, so that the compiler tells "no slot" by a null here and needs no third register for it.
    header: NonNull<Header>,
    serial: u64,
}

impl SlotRef {
    /// Whether the slot is still held under this serial, and no fork wiped it.
    #[inline(always)]
    pub(crate) fn is_ours(self) -> bool {
        // SAFETY: within a mapping that is never unmapped, and of which all zeros is a header; or `NO_HEADER`.
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
    pub(super) fn header(&self) -> &'static Header {
        // SAFETY: within a mapping that is never unmapped, and of which all zeros is a header; or `NO_HEADER`.
        unsafe { self.place().header.as_ref() }
    }

    pub(super) fn holder(&self) -> Option<&'static Holder> {
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

    pub(super) fn is_of(&self, owner: u64) -> bool {
        self.holder().is_some_and(|holder| holder.owner() == owner)
    }

    pub(super) fn is_of_thread(&self) -> bool {
        self.holder().is_some_and(|holder| holder.address() != 0)
    }

    /// Whether this is not [`NONE`](Self::NONE).
    #[inline(always)]
    pub(crate) fn is_some(&self) -> bool {
        self.header.is_some()
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
    pub(super) fn retake(self) -> Option<Self> {
        self.holder()?.pass(self.serial, ACQUIRING).then_some(self)
    }

    /// Zeroes the states, as far as they were ever used.
    ///
    /// # Safety
    ///
    /// No other code uses the slot now.
    pub(super) unsafe fn erase_states(&self) {
        let used_bytes = self.holder().map_or(0, Holder::used_bytes);
        let header = self.place().header.as_ptr().cast::<u8>();
        // SAFETY: the states are within the slot, and the caller's promise.
        unsafe { erase_used(header.wrapping_sub(used_bytes), used_bytes) };
    }
}
