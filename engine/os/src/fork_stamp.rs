//! A number that a fork of any kind changes: of this process, and in the memory of others.

use crate::memory::Pages;
use crate::system_calls;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering, compiler_fence};

/// No number yet. A fork wipes the number to this as well.
pub(crate) const NONE: u64 = 0;

/// A number in memory that a fork wipes. The child makes another one, which no process before it had.
#[repr(transparent)]
pub struct ForkStamp(AtomicU64);

impl ForkStamp {
    /// No number yet.
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "zeroed memory holds it; nothing reads the constant itself"
    )]
    pub const ZERO: Self = Self(AtomicU64::new(NONE));

    /// The number. Makes it if needed.
    pub fn get_or_make(&self) -> u64 {
        /// In ordinary memory: a child goes on from where its parent was.
        static NEXT: AtomicU64 = AtomicU64::new(NONE + 1);

        match self.0.load(Ordering::Acquire) {
            NONE => {
                let new = NEXT.fetch_add(1, Ordering::Relaxed);
                let made = self
                    .0
                    .compare_exchange(NONE, new, Ordering::AcqRel, Ordering::Acquire);
                made.map_or_else(|present| present, |_| new)
            }
            present => present,
        }
    }

    /// Whether it has this number still, after all before it in the program.
    #[inline(always)]
    pub fn is(&self, number: u64) -> bool {
        compiler_fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) == number
    }
}

/// The place of the process's stamp until a page is mapped.
static NO_PAGE: ForkStamp = ForkStamp::ZERO;

/// The stamp of the process, on a page that a fork wipes.
static PROCESS: AtomicPtr<ForkStamp> = AtomicPtr::new((&raw const NO_PAGE).cast_mut());

#[inline(always)]
fn process() -> &'static ForkStamp {
    // SAFETY: `NO_PAGE`, or a word of a page that is never unmapped; only shared references to either are made.
    unsafe { &*PROCESS.load(Ordering::Acquire) }
}

/// The number of the process; [`NONE`] if it has none yet.
#[inline(always)]
pub(crate) fn current() -> u64 {
    process().0.load(Ordering::Relaxed)
}

/// Whether the process has this number, after all before it in the program.
#[inline(always)]
pub(crate) fn is_current(number: u64) -> bool {
    process().is(number)
}

/// The number of the process. Makes it if needed; [`NONE`] if the system has no memory that a fork wipes.
pub(crate) fn get_or_make() -> u64 {
    if core::ptr::eq(process(), &raw const NO_PAGE) {
        if system_calls::are_forbidden() {
            return NONE;
        }
        let Ok(page) = Pages::map(4096) else {
            return NONE;
        };
        let (old, new) = ((&raw const NO_PAGE).cast_mut(), page.start().cast());
        let relaxed = Ordering::Relaxed;
        if PROCESS
            .compare_exchange(old, new.as_ptr(), Ordering::AcqRel, relaxed)
            .is_ok()
        {
            page.leak();
        }
    }
    process().get_or_make()
}
