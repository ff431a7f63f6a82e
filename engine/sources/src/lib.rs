//! The sources of noise, a type each.
//!
//! | source | what it is | claim, in bits a byte | speed |
//! |---|---|---|---|
//! | [`Os`] | getrandom(2), getentropy(2), ProcessPrng | 8: the kernel's generator, once seeded, is as good as its key | fast |
//! | [`Cpu`] | RDSEED, else RDRAND, or RNDRRS, behind a self-test | none, or the operator's | fast |
//! | [`Jitter`] | how long walks through memory take | 1/4, assessed | slow |
//! | [`Wakeups`] | when the scheduler wakes a thread | 1/2, assessed | slow |
//! | [`Interrupts`] | how many interrupts there were | 1/16, assessed | slow |
//! | [`Hwrng`] | /dev/hwrng | 1: an eighth of what such devices promise; or the operator's | slow |
//! | [`NoiseFile`] | a device or a pipe that the operator names | the operator's | slow |
//! | [`NoiseCommand`] | a command that the operator names | the operator's | slow |
//!
//! Jitter, Wakeups, Interrupts and Hwrng exist on Linux alone, where they were assessed; NoiseFile and NoiseCommand everywhere
//! except on Windows.
//!
//! Each keeps the contract of [`wellspring_core::source::Source`]: it never waits without a bound and never panics. A raw
//! sample is in the destination alone when a call returns; copies on the stack are wiped. How the claims were assessed
//! is in `docs/explanation/entropy.md`. Bytes that users mix in and seed files are not sources: an engine takes them as events.

#![forbid(unsafe_code)]

mod cpu;
#[cfg(unix)]
mod operator;

pub use cpu::Cpu;
#[cfg(unix)]
pub use operator::{NoiseCommand, NoiseFile};
pub use os::Os;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::{Hwrng, Interrupts, Jitter, Wakeups};

use std::sync::Arc;
use wellspring_core::source::Source;

/// Every source that needs no operator, the fast ones first.
#[must_use]
#[inline]
pub fn all() -> Vec<Arc<dyn Source>> {
    #[allow(unused_mut)] // On Linux there are more.
    let mut all: Vec<Arc<dyn Source>> = vec![Arc::new(Os), Arc::new(Cpu::default())];
    #[cfg(target_os = "linux")]
    all.extend(linux::all());
    all
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

mod os {
    //! The operating system's generator.

    use wellspring_core::source::{MinEntropy, Source, SourceError};
    use wellspring_os::os::os_random;

    /// getrandom(2), called directly and without waiting. The kernel writes to the destination itself: no copy is left.
    ///
    /// Claims full entropy: the kernel answers only after its generator was seeded with 256 bits. It has no
    /// state of its own, so it works in every child process.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Os;

    impl Source for Os {
        fn name(&self) -> &'static str {
            "os"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::FULL
        }

        fn reason(&self) -> &'static str {
            "the kernel answers only when its generator has been seeded with 256 bits"
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            const EINTR: i32 = 4;
            const EAGAIN: i32 = 11;
            os_random(destination).map_err(|error| match error.number() {
                EINTR | EAGAIN => SourceError::Busy,
                number => SourceError::System(number),
            })
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn two_samples_of_the_system_differ() {
            let (mut first, mut second) = ([0; 64], [0; 64]);
            assert_eq!(Os.sample(&mut first), Ok(64));
            assert_eq!(Os.sample(&mut second), Ok(64));
            assert_ne!(first, second);
        }

        #[test]
        fn a_long_sample_is_cut_instead_of_waited_for() {
            assert_eq!(Os.sample(&mut [0; 1000]), Ok(256));
        }
    }
}
