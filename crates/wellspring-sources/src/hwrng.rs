//! The kernel's hardware generator.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};

/// /dev/hwrng, without waiting: any device that the kernel drives there.
///
/// Opened for each sample, so that it has no state and a device may come and go. Slow: many devices yield some
/// kilobytes a second, and some drivers wait for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hwrng;

/// The bytes of one draw.
const SAMPLE_BYTES: usize = 32;

impl Source for Hwrng {
    fn name(&self) -> &'static str {
        "hwrng"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::per_byte_256ths(256)
    }

    fn reason(&self) -> &'static str {
        "an eighth of what such devices promise: which device it is cannot be known here"
    }

    fn speed(&self) -> Speed {
        Speed::Slow { interval_ms: 1000 }
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let length = destination.len().min(SAMPLE_BYTES);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let device = open("/dev/hwrng", flags, Mode::empty()).map_err(why)?;
        read(device, &mut destination[..length]).map_err(why)
    }
}

fn why(error: Errno) -> SourceError {
    match error {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => SourceError::Absent,
        Errno::AGAIN | Errno::INTR | Errno::BUSY => SourceError::Busy,
        error => SourceError::System(error.raw_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_device_says_so_and_one_with_it_yields_bytes() {
        match Hwrng.sample(&mut [0; 64]) {
            Ok(length) => assert!((1..=SAMPLE_BYTES).contains(&length)),
            Err(error) => println!("SKIPPED: {error}"),
        }
        assert_eq!(why(Errno::NODEV), SourceError::Absent);
        assert_eq!(why(Errno::AGAIN), SourceError::Busy);
        assert_eq!(why(Errno::ACCESS), SourceError::System(13));
    }
}
