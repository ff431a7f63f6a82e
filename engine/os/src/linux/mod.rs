//! Linux 3.17 or later: the first one with getrandom(2). Before 4.14 no kernel wipes a child, and `wipe_at_fork` does.
//!
//! ```text
//! pages         memory that a child finds wiped
//! signal_mask   the signals that a thread blocks
//! futex         sleep until a word changes
//! threads       their numbers; whether one is gone
//! exit_key      calls a function when a thread ends
//! load          calls a function when the library is loaded, and another one when it is unloaded
//! fork          calls functions before and after fork(3)
//! users         of this process, and those without a number
//! decimal       numbers in the files of the system
//! vdso          getrandom and clocks without a system call
//! os            getrandom(2), clocks, the CPU this thread runs on
//! shared_page   a page of a file that another process or a device writes
//! waker         wakes a thread that sleeps
//! ```

mod decimal;
pub(crate) mod exit_key;
pub(crate) mod fork;
pub(crate) mod futex;
mod load;
pub mod os;
pub(crate) mod pages;
pub mod shared_page;
pub(crate) mod signal_mask;
pub(crate) mod threads;
pub mod users;
pub mod vdso;
pub mod waker;
