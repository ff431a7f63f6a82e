//! The sources of noise, one file each.
//!
//! | source | what it is | claim, in bits a byte | speed |
//! |---|---|---|---|
//! | [`Os`] | getrandom(2) | 8: the kernel's generator, once seeded, is as good as its key | fast |
//! | [`Cpu`] | RDSEED, else RDRAND, behind a self-test | none: only its maker can assess it | fast |
//! | [`Jitter`] | how long walks through memory take | 1/4, assessed | slow |
//! | [`Wakeups`] | when the scheduler wakes a thread | 1/2, assessed | slow |
//! | [`Interrupts`] | how many interrupts there were | 1/16, assessed | slow |
//! | [`Hwrng`] | /dev/hwrng | 1: an eighth of what such devices promise | slow |
//! | [`NoiseFile`] | a device or a pipe that the operator names | the operator's | slow |
//! | [`NoiseCommand`] | a command that the operator names | the operator's | slow |
//!
//! Each keeps the contract of [`wellspring_core::source::Source`]: it never waits without a bound and never panics. A raw
//! sample is in the destination alone when a call returns; copies on the stack are wiped. How the claims were assessed
//! is in `docs/entropy.md`. Bytes that users mix in and seed files are no sources: an engine takes them as events.

#![forbid(unsafe_code)]

mod clock;
mod command;
mod cpu;
mod file;
mod hwrng;
mod interrupts;
mod jitter;
mod os;
mod wakeups;

pub use command::NoiseCommand;
pub use cpu::Cpu;
pub use file::NoiseFile;
pub use hwrng::Hwrng;
pub use interrupts::Interrupts;
pub use jitter::Jitter;
pub use os::Os;
pub use wakeups::Wakeups;

use std::sync::Arc;
use wellspring_core::source::Source;

/// Every source that needs no operator, the fast ones first.
#[must_use]
#[inline]
pub fn all() -> Vec<Arc<dyn Source>> {
    vec![
        Arc::new(Os),
        Arc::new(Cpu::default()),
        Arc::new(Jitter::default()),
        Arc::new(Wakeups::default()),
        Arc::new(Interrupts::default()),
        Arc::new(Hwrng::default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_takes_a_destination_of_any_length() {
        for source in all() {
            for length in [0, 1, 7, 8, 9, 300] {
                let mut destination = vec![0; length];
                if let Ok(written) = source.sample(&mut destination) {
                    assert!(written <= length, "{}", source.name());
                }
            }
        }
    }
}
