//! Windows, by the functions of its libraries. It has no fork and no signals.
//!
//! ```text
//! pages         memory that is locked
//! signal_mask   nothing to block
//! futex         sleep until a word changes
//! threads       no numbers: a thread calls its destructors when it ends
//! exit_key      calls a function when a thread ends
//! fork          a stand-in: nothing forks
//! random        the system's generator
//! clock         clocks
//! descriptor    no file is read
//! trusted_file  no file is trusted
//! ```

pub(crate) mod clock;
pub mod descriptor;
pub(crate) mod exit_key;
pub(crate) mod fork;
pub(crate) mod futex;
pub(crate) mod pages;
pub(crate) mod random;
pub(crate) mod signal_mask;
pub(crate) mod threads;
pub mod trusted_file;

#[cfg(target_arch = "x86")]
compile_error!("wellspring runs on 64-bit Windows; 32-bit Windows is not supported");
