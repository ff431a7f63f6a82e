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
