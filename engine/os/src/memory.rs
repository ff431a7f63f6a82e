//! Pages that are locked, left out of core dumps, and wiped in a child process; the types that they may hold; and the wipe of
//! the stack.

use crate::system::pages;
use crate::{system_calls, wipe_at_fork};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
    Ordering, compiler_fence,
};
use core::{fmt, ptr, slice};
use std::alloc::alloc;

/// The system gave no memory, or no memory that a child process finds wiped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryError;

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory")
    }
}

impl core::error::Error for MemoryError {}

/// Moves a value to the heap. `Box::new` would end the process where there is no memory.
///
/// # Errors
///
/// There is no memory.
pub fn try_box<T>(value: T) -> Result<Box<T>, MemoryError> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the size is not zero.
    let place: *mut T = unsafe { alloc(Layout::new::<T>()) }.cast();
    if place.is_null() {
        return Err(MemoryError);
    }
    // SAFETY: fresh memory of the right layout, allocated as a `Box` does.
    Ok(unsafe {
        place.write(value);
        Box::from_raw(place)
    })
}

/// An empty vector with room for `capacity` values.
///
/// # Errors
///
/// There is no memory.
pub fn try_vec<T>(capacity: usize) -> Result<Vec<T>, MemoryError> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(capacity)
        .map_err(|_| MemoryError)?;
    Ok(values)
}

/// Zeros `memory`, which may have no value yet, and returns it as bytes.
#[inline]
pub fn zeroed_bytes(memory: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    memory.fill(MaybeUninit::new(0));
    // SAFETY: each byte has a value now. The slice has the argument's pointer, length and lifetime, and the argument stays
    // borrowed exclusively as long.
    unsafe { slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), memory.len()) }
}

/// Whether a child finds secret memory wiped because the kernel wipes it, in every kind of fork; else a handler of fork(3)
/// does it. Known once the process has such memory.
#[must_use]
pub fn is_wiped_by_kernel() -> bool {
    !wipe_at_fork::is_in_use()
}

/// Bytes of [`Wiped`] memory that are not locked.
static UNLOCKED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// How many bytes of [`Wiped`] memory are not locked. [`unlocked_bytes`](crate::thread_state::unlocked_bytes) counts all secret
/// memory.
pub(crate) fn unlocked_bytes() -> usize {
    UNLOCKED_BYTES.load(Ordering::Relaxed)
}

/// A private mapping of zeroed pages, wiped on fork, not dumped, not yet locked.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    bytes: usize,
    /// Whether the pages are counted as not locked. In ordinary memory, as the count is.
    is_unlocked: AtomicBool,
}

impl Pages {
    pub(crate) fn map(bytes: usize) -> Result<Self, MemoryError> {
        let (start, is_wiped) = pages::map(bytes).ok_or(MemoryError)?;
        // SAFETY: the mapping is new, and ends here if it cannot be listed.
        unsafe {
            if !is_wiped && !wipe_at_fork::arm(start, bytes) {
                pages::unmap(start.as_ptr(), bytes);
                return Err(MemoryError);
            }
        }
        Ok(Self {
            start,
            bytes,
            is_unlocked: AtomicBool::new(false),
        })
    }

    /// Maps at least `bytes` bytes, preferably of NUMA node `node`, and locks them. Not generic, so compiled once.
    fn map_locked(bytes: usize, node: Option<u32>) -> Result<Self, MemoryError> {
        let pages = Self::map(bytes.next_multiple_of(4096).max(4096))?;
        if let Some(node) = node {
            // SAFETY: the range is ours.
            unsafe { pages::prefer_node(pages.start.as_ptr(), pages.bytes, node) };
        }
        lock_limit::add_wiped(pages.bytes);
        pages.lock();
        Ok(pages)
    }

    /// Locks the pages, or counts them as not locked.
    fn lock(&self) {
        let may_lock = !system_calls::are_forbidden() && lock_limit::allows_wiped();
        // SAFETY: the range is ours.
        let is_locked = may_lock && unsafe { pages::lock(self.start.as_ptr(), self.bytes) };
        self.count(!is_locked);
    }

    fn count(&self, is_unlocked: bool) {
        let was_unlocked = self.is_unlocked.swap(is_unlocked, Ordering::Relaxed);
        if is_unlocked && !was_unlocked {
            UNLOCKED_BYTES.fetch_add(self.bytes, Ordering::Relaxed);
        }
        if was_unlocked && !is_unlocked {
            UNLOCKED_BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Keeps the mapping until the process ends.
    pub(crate) fn leak(self) -> NonNull<u8> {
        let start = self.start;
        core::mem::forget(self);
        start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.count(false);
        // SAFETY: the mapping is ours alone and ends here.
        unsafe {
            erase(self.start.as_ptr(), self.bytes);
            wipe_at_fork::disarm(self.start.as_ptr());
            pages::unmap(self.start.as_ptr(), self.bytes);
        }
    }
}

/// Overwrites memory with zeros. The compiler cannot remove the writes.
///
/// # Safety
///
/// `bytes` bytes from `start` are writable, and no other code uses them now.
pub(crate) unsafe fn erase(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise. The mapping's address came from the kernel, so the compiler cannot know
    // that the zeros are never read; the fence keeps the writes before what follows.
    unsafe { ptr::write_bytes(start, 0, bytes) };
    compiler_fence(Ordering::SeqCst);
}

/// Like [`erase`], but writes to no line that is zeros already: memory that was never used stays unused.
///
/// # Safety
///
/// As for [`erase`].
pub(crate) unsafe fn erase_used(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    let memory = unsafe { core::slice::from_raw_parts_mut(start, bytes) };
    for line in memory.chunks_mut(64) {
        if line.iter().fold(0, |all, byte| all | byte) != 0 {
            // SAFETY: the line is within the memory.
            unsafe { erase(line.as_mut_ptr(), line.len()) };
        }
    }
}

/// A value in pages of its own, wiped on fork and erased on drop.
///
/// It starts as `T::ZERO`, and a child process finds `T::ZERO`. `T` is shared: it consists of
/// atomics and [locks](crate::lock::Lock).
#[derive(Debug)]
pub struct Wiped<T> {
    /// Erased when they are unmapped.
    pages: Pages,
    value: PhantomData<T>,
}

impl<T: Zeroed + Sync> Wiped<T> {
    /// Maps and locks the pages, preferably of NUMA node `node` (the system's number).
    ///
    /// # Errors
    ///
    /// When the system has no such memory.
    pub fn new(node: Option<u32>) -> Result<Self, MemoryError> {
        const {
            assert_zeroed::<T>();
            assert!(align_of::<T>() <= 4096);
        }
        let pages = Pages::map_locked(size_of::<T>(), node)?;
        Ok(Self {
            pages,
            value: PhantomData,
        })
    }

    /// Locks the pages in memory: to be called again in a child process, which does not inherit locks.
    pub fn lock_pages(&self) {
        self.pages.lock();
    }
}

impl<T> Drop for Wiped<T> {
    fn drop(&mut self) {
        lock_limit::remove_wiped(self.pages.bytes);
    }
}

impl<T: Zeroed + Sync> Deref for Wiped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the mapping is large enough and page-aligned, lives as long as `self`, and holds a valid
        // `T`: all zeros at first, and again in a child, where the kernel's wipe happens before the child
        // runs an instruction.
        unsafe { self.pages.start.cast().as_ref() }
    }
}

// SAFETY: the pages are owned, not tied to a thread.
unsafe impl<T: Send> Send for Wiped<T> {}
// SAFETY: a shared `Wiped<T>` gives `&T` and nothing else.
unsafe impl<T: Sync> Sync for Wiped<T> {}

// Types for which memory full of zeros is a valid value.

/// A type for which memory full of zeros is a valid value: [`ZERO`](Self::ZERO).
///
/// A fork zeroes our secret memory in the child, so every type in it implements this. The trait is
/// safe to implement: code that puts a `T` into such memory proves with [`assert_zeroed`], at compile time, that
/// every byte of `T::ZERO` is zero and that no byte of it is padding.
///
/// ```
/// use wellspring_os::memory::{Zeroed, assert_zeroed};
/// #[repr(C)]
/// struct Position { block: u64, byte: u32, _reserved: u32 }
/// impl Zeroed for Position {
///     const ZERO: Self = Self { block: 0, byte: 0, _reserved: 0 };
/// }
/// const { assert_zeroed::<Position>() };
/// ```
///
/// A value that is not zero is refused:
///
/// ```compile_fail,E0080
/// use wellspring_os::memory::{Zeroed, assert_zeroed};
/// struct Position(u64);
/// impl Zeroed for Position {
///     const ZERO: Self = Self(1);
/// }
/// const { assert_zeroed::<Position>() };
/// ```
///
/// So is padding, whose bytes are not a value:
///
/// ```compile_fail,E0080
/// use wellspring_os::memory::{Zeroed, assert_zeroed};
/// #[repr(C)]
/// struct Position { block: u64, byte: u32 }
/// impl Zeroed for Position {
///     const ZERO: Self = Self { block: 0, byte: 0 };
/// }
/// const { assert_zeroed::<Position>() };
/// ```
///
/// So is an `Option` whose `None` leaves bytes undefined:
///
/// ```compile_fail,E0080
/// use wellspring_os::memory::{Zeroed, assert_zeroed};
/// struct Position(Option<u64>);
/// impl Zeroed for Position {
///     const ZERO: Self = Self(None);
/// }
/// const { assert_zeroed::<Position>() };
/// ```
pub trait Zeroed: Sized {
    /// The value of zeroed memory.
    const ZERO: Self;
}

/// Fails to compile if zeroed memory is not `T::ZERO`, wherever it is called:
///
/// ```compile_fail,E0080
/// use wellspring_os::memory::{Zeroed, assert_zeroed};
/// #[repr(C)]
/// struct Position { block: u64, byte: u32 }
/// impl Zeroed for Position {
///     const ZERO: Self = Self { block: 0, byte: 0 };
/// }
/// assert_zeroed::<Position>();
/// ```
pub const fn assert_zeroed<T: Zeroed>() {
    // At run time a byte of padding would be read without an error.
    const { look_at::<T>() };
}

const fn look_at<T: Zeroed>() {
    let value = ManuallyDrop::new(T::ZERO);
    let bytes = (&raw const value).cast::<u8>();
    let mut offset = 0;
    while offset < size_of::<T>() {
        // SAFETY: within `value`. This runs at compile time only, where the compiler itself refuses to read a byte of
        // padding or of a pointer.
        let byte = unsafe { *bytes.add(offset) };
        assert!(byte == 0, "every byte of ZERO is zero");
        offset += 1;
    }
}

macro_rules! zeroed {
    ($($type:ty = $zero:expr),+ $(,)?) => {
        $(impl Zeroed for $type {
            const ZERO: Self = $zero;
        })+
    };
}

zeroed! {
    () = (),
    bool = false,
    u8 = 0, u16 = 0, u32 = 0, u64 = 0, u128 = 0, usize = 0,
    i8 = 0, i16 = 0, i32 = 0, i64 = 0, i128 = 0, isize = 0,
    AtomicBool = Self::new(false),
    AtomicU8 = Self::new(0), AtomicU16 = Self::new(0), AtomicU32 = Self::new(0), AtomicUsize = Self::new(0),
    AtomicI32 = Self::new(0),
}

#[cfg(target_has_atomic = "64")]
zeroed! {
    AtomicU64 = Self::new(0),
    AtomicI64 = Self::new(0),
}

impl<T: Zeroed, const N: usize> Zeroed for [T; N] {
    const ZERO: Self = [const { T::ZERO }; N];
}

// Wipes a call's bytes from the stack.

/// How much [`erase_below`] wipes: more than the calls before it take. In optimised code they take up to 1.4 KiB,
/// measured on x86-64; without optimisation more.
pub const ERASED_BYTES: usize = if cfg!(debug_assertions) { 4096 } else { 2048 };

/// Wipes [`ERASED_BYTES`] of stack below the caller's frame, where the functions that it called had theirs.
///
/// Those functions must not be inlined into the caller: mark them `#[inline(never)]`.
#[inline(never)]
pub fn erase_below() {
    let mut frame = core::mem::MaybeUninit::<[u8; ERASED_BYTES]>::uninit();
    // SAFETY: the array is ours to write.
    unsafe { core::ptr::write_bytes(frame.as_mut_ptr().cast::<u8>(), 0, ERASED_BYTES) };
    // The compiler must believe that the zeros are read.
    core::hint::black_box(frame.as_mut_ptr());
    compiler_fence(Ordering::SeqCst);
}

pub(crate) mod lock_limit {
    //! The part of `RLIMIT_MEMLOCK` that this crate takes: an eighth at most. The rest is the program's.

    use crate::system::os;
    use core::sync::atomic::{AtomicUsize, Ordering};

    const PARTS: u64 = 8;

    /// The bytes of wiped memory that are not slots, locked or not: a child has as many as its parent.
    static WIPED_BYTES: AtomicUsize = AtomicUsize::new(0);

    /// The bytes of locked slots. A child inherits no locks and counts anew when it locks its first slot.
    static SLOT_BYTES: AtomicUsize = AtomicUsize::new(0);

    /// Counts wiped memory.
    pub(crate) fn add_wiped(bytes: usize) {
        WIPED_BYTES.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts wiped memory that is gone.
    pub(crate) fn remove_wiped(bytes: usize) {
        WIPED_BYTES.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether wiped memory may be locked. All of it is counted.
    pub(crate) fn allows_wiped() -> bool {
        allows(SLOT_BYTES.load(Ordering::Relaxed))
    }

    /// Whether this number of bytes of slots may be locked, and counts them if so.
    pub(crate) fn allows_slots(bytes: usize) -> bool {
        let is_allowed = allows(bytes);
        if is_allowed {
            SLOT_BYTES.store(bytes, Ordering::Relaxed);
        }
        is_allowed
    }

    fn allows(slot_bytes: usize) -> bool {
        let all = WIPED_BYTES.load(Ordering::Relaxed) + slot_bytes;
        os::locked_memory_limit().is_none_or(|limit| all as u64 <= limit / PARTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves a marked frame on the stack and returns its address.
    #[inline(never)]
    fn leave_a_trace() -> *const u8 {
        let mut secret = [0x5a_u8; 1024];
        core::hint::black_box(secret.as_mut_ptr())
    }

    #[inline(never)]
    fn count_traces(address: *const u8) -> usize {
        // SAFETY: our own stack, below the present frame's caller; read one byte at a time and never kept.
        (0..1024)
            .filter(
                |&offset| unsafe { core::ptr::read_volatile(address.wrapping_add(offset)) } == 0x5a,
            )
            .count()
    }

    #[test]
    fn a_function_that_returned_leaves_no_trace() {
        let address = leave_a_trace();
        // Some of it may be overwritten by the counting itself.
        assert!(
            count_traces(address) > 256,
            "the trace was there to be erased"
        );
        let address = leave_a_trace();
        erase_below();
        assert_eq!(count_traces(address), 0);
    }
}
