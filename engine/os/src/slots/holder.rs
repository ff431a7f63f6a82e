//! Which thread or value has a slot. In ordinary memory, which a fork copies.

use crate::os::process_number;
use crate::sandbox;
use crate::system::threads;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The serial of a slot that is free.
pub(super) const FREE: u64 = 0;
/// The serial of a slot that is being erased.
pub(super) const LEAVING: u64 = u64::MAX;
/// The serial of a slot that is being acquired.
pub(super) const ACQUIRING: u64 = u64::MAX - 1;

/// 65,536: a thread that gets no slot reads without one, see
/// [`ThreadStates::begin_first`](crate::thread_state::ThreadStates::begin_first).
pub(super) const MAX_SLOTS: usize = 1 << 16;

/// The holder of a slot, also after a fork wiped the slot. 40 bytes.
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

static HOLDERS: [Holder; MAX_SLOTS] = [const {
    Holder {
        serial: AtomicU64::new(FREE),
        owner: AtomicU64::new(0),
        vdso_state: AtomicPtr::new(ptr::null_mut()),
        address: AtomicUsize::new(0),
        thread: AtomicU32::new(0),
        used_bytes: AtomicU16::new(0),
        chunk: AtomicU16::new(0),
    }
}; MAX_SLOTS];

/// How many holders belong to a chunk: the first ones.
static IN_CHUNKS: AtomicUsize = AtomicUsize::new(0);

/// Sets `count` holders aside for a chunk, which keeps them. Returns the number of the first.
pub(super) fn set_aside(count: usize) -> Option<usize> {
    let more = |before: usize| (before + count <= MAX_SLOTS).then_some(before + count);
    IN_CHUNKS
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
        .ok()
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

    /// The thread that has it, by the system's number: 0 for none, see [`Thread`].
    pub(super) fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// The address of what that thread knows of itself.
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
    /// The system's number of its process; 0 likewise.
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
