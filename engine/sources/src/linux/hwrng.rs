//! The kernel's hardware generator.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};
use std::os::fd::OwnedFd;
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};

/// /dev/hwrng, without waiting: any device that the kernel drives there. Devices may come and go.
///
/// Slow: many devices yield some kilobytes a second, and some drivers wait for them.
#[derive(Debug, Default)]
pub struct Hwrng {
    /// Without it the file is opened for each sample.
    kept: Option<OwnedFd>,
}

impl Hwrng {
    /// The name of this source.
    pub const NAME: &str = "hwrng";

    /// Keeps the file open, for a process that may not open it later. If there is no such file now, each sample tries to
    /// open it.
    #[must_use]
    pub fn kept_open() -> Self {
        Self {
            kept: open_device().ok(),
        }
    }
}

fn open_device() -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open("/dev/hwrng", flags, Mode::empty())
}

/// The bytes of one draw.
const SAMPLE_BYTES: usize = 32;

impl Source for Hwrng {
    fn name(&self) -> &'static str {
        Self::NAME
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
        match &self.kept {
            Some(device) => read(device, &mut destination[..length]),
            None => open_device().and_then(|device| read(device, &mut destination[..length])),
        }
        .map_err(why)
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
        for source in [Hwrng::default(), Hwrng::kept_open()] {
            match source.sample(&mut [0; 64]) {
                Ok(length) => assert!((1..=SAMPLE_BYTES).contains(&length)),
                Err(error) => println!("SKIPPED: {error}"),
            }
        }
        assert_eq!(why(Errno::NODEV), SourceError::Absent);
        assert_eq!(why(Errno::AGAIN), SourceError::Busy);
        assert_eq!(why(Errno::ACCESS), SourceError::System(13));
    }
}
