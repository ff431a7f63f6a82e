//! macOS and the BSDs. Tests build this on Linux too, by `--cfg wellspring_test_portable`.
//!
//! ```text
//! pages           memory that a child finds wiped
//! wipe_by_kernel  by the kernel, where it can; on macOS `wipe_at_fork` does it
//! signal_mask     the signals that a thread blocks
//! futex           sleep until a word changes
//! threads         they have no numbers here
//! exit_key        calls a function when a thread ends
//! load            calls a function when the library is loaded, and another one when it is unloaded
//! fork            calls functions before and after fork(3)
//! users           of this process
//! random          the system's generator
//! clock           clocks
//! limits          how long a file this process may write
//! process_groups  processes that are killed together
//! ```

pub(crate) mod clock;
pub(crate) mod exit_key;
pub(crate) mod fork;
pub(crate) mod futex;
pub(crate) mod limits;
#[cfg(not(target_vendor = "apple"))]
mod load;
pub(crate) mod pages;
pub(crate) mod process_groups;
pub(crate) mod random;
pub(crate) mod signal_mask;
pub(crate) mod threads;
pub mod users;

// A system is on one of the two lists: macOS, and in tests Linux, is on the second.
#[cfg(not(any(target_vendor = "apple", wellspring_test_at_fork)))]
mod wipe_by_kernel;
#[cfg(not(any(target_vendor = "apple", wellspring_test_at_fork)))]
use wipe_by_kernel as wipe;

#[cfg(any(target_vendor = "apple", wellspring_test_at_fork))]
use crate::wipe_at_fork as wipe;
