//! How an engine learns that its process or its machine was copied, restored or suspended.
//!
//! ```text
//! detector  watches for signs of a copy, and counts which of them the engine has handled
//! page      the generation page: one word for all processes of a host; and the page that a hypervisor changes before a
//!           clone runs
//! events    for a thread that waits: the kernel's log, which reports vmgenid, the hypervisor's page and the clocks
//! ```
//!
//! The generation page is a small file in a runtime directory, by default [`DEFAULT_PATH`]. Every engine maps it when the
//! engine is built, or within a minute after it appears, and compares a word of it on every read. A program that learns
//! of a clone changes the word once, for everyone: [`bump`], or `wellspring generation serve`.
//!
//! An engine believes the page only if it belongs to root or to the reader's own user and other users cannot write it.
//! Its writer replaces it and never truncates it: the system ends a process that reads a truncated page.
//!
//! The file has 4096 bytes in the layout of Linux's vmclock, and uses only its number of clones: a reader of vmclock pages
//! reads it too. `clones/generation-page.md` is its specification.

mod detector;
#[cfg(target_os = "linux")]
mod events;
mod page;

pub use detector::{CloneDetectionStats, PageState};
pub(crate) use detector::{CloneDetector, WatchedPaths};
#[cfg(target_os = "linux")]
pub use events::CloneEvents;
pub use page::{
    DEFAULT_PATH, GenerationPage, KernelReseed, PageError, VMCLOCK_PATH, bump, bump_after, current,
};

/// A sign that this machine may be a copy.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloneEvent {
    /// The kernel said that the machine was cloned or restored (vmgenid). It has reseeded its own generator.
    Cloned,
    /// The hypervisor's clock said so (vmclock). Linux' driver does not reseed the kernel's generator.
    ClonedByClock,
    /// The kernel said more than was read in time: some of its messages are lost, and a notice may be among them.
    Overflowed,
    /// The machine was suspended.
    Slept,
    /// The monotonic clock shows an earlier time than before: this process was restored from a checkpoint.
    ClockWentBack,
}

#[cfg(target_os = "linux")]
impl CloneEvent {
    /// Whether the kernel had the notice itself and has reseeded its generator.
    #[must_use]
    pub fn has_reseeded_kernel(self) -> bool {
        self == Self::Cloned
    }

    /// The event in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Cloned => "the machine was cloned or restored",
            Self::ClonedByClock => "the machine was cloned or restored, by its hypervisor's clock",
            Self::Overflowed => "the kernel's notices were lost",
            Self::Slept => "the machine was asleep",
            Self::ClockWentBack => "the clock went back",
        }
    }
}
