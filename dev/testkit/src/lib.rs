//! Helpers that the tests of several crates share. No program has them: they are dev-dependencies alone, by path, which cargo
//! leaves out of published packages.
//!
//! ```text
//! programs   installed programs, folders, C programs, the output of programs; the long form of tests
//! process    children: made in two ways, answer through shared memory, never waited for without end
//! memory     searches the memory of a process for values, without holding one of them
//! repeats    bytes that were handed out twice, and zeros that were never random
//! timer      signals, as often as asked
//! faults     the system calls that can fail, and how
//! tracer     makes a chosen system call of a traced process fail
//! filter     seccomp filters: which system calls a thread may make
//! stepping   a signal handler at every instruction of a piece of code
//! ```

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub mod faults;
#[cfg(target_os = "linux")]
pub mod filter;
#[cfg(unix)]
pub mod memory;
#[cfg(unix)]
pub mod process;
#[cfg(unix)]
pub mod programs;
pub mod repeats;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod stepping;
#[cfg(target_os = "linux")]
pub mod timer;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub mod tracer;

/// Says that a test did not run, and why. Straight to standard error: the macros of the standard library would leave it in
/// the output of a test that passes, which it does not show.
pub fn skipped(reason: &str) {
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        format!("SKIPPED: {reason}\n").as_bytes(),
    );
}
