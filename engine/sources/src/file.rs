//! A file given by the operator.

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{Errno, read};
use std::os::fd::OwnedFd;
use std::path::Path;
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};

/// A device or a named pipe that the operator names, read without waiting.
///
/// A regular file is credited nothing, even if the operator claims more: it holds the same bytes at every start.
#[derive(Debug)]
pub struct NoiseFile {
    name: &'static str,
    claim: MinEntropy,
    file: OwnedFd,
}

/// The bytes of one draw.
const SAMPLE_BYTES: usize = 64;

impl NoiseFile {
    /// Opens the file. `claim` is the operator's claim. The name in reports, `file PATH`, is never freed.
    ///
    /// # Errors
    ///
    /// [`SourceError::System`] with the system's error number when it cannot be opened for reading.
    pub fn open(path: &Path, claim: MinEntropy) -> Result<Self, SourceError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty()).map_err(system)?;
        let kind = FileType::from_raw_mode(fstat(&file).map_err(system)?.st_mode);
        if kind == FileType::Directory {
            return Err(system(Errno::ISDIR));
        }
        Ok(Self {
            name: Box::leak(format!("file {}", path.display()).into_boxed_str()),
            claim: if kind == FileType::RegularFile {
                MinEntropy::NONE
            } else {
                claim
            },
            file,
        })
    }
}

impl Source for NoiseFile {
    fn name(&self) -> &'static str {
        self.name
    }

    fn min_entropy(&self) -> MinEntropy {
        self.claim
    }

    fn reason(&self) -> &'static str {
        "the operator's claim; a regular file gets no credit"
    }

    fn speed(&self) -> Speed {
        Speed::Slow { interval_ms: 1000 }
    }

    /// [`SourceError::Ended`] at the end of a file, and while no process has a pipe open for writing.
    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let length = destination.len().min(SAMPLE_BYTES);
        match read(&self.file, &mut destination[..length]) {
            Ok(0) if length > 0 => Err(SourceError::Ended),
            Ok(length) => Ok(length),
            Err(Errno::AGAIN | Errno::INTR) => Err(SourceError::Busy),
            Err(error) => Err(system(error)),
        }
    }
}

fn system(error: Errno) -> SourceError {
    SourceError::System(error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const CLAIM: MinEntropy = MinEntropy::per_byte_256ths(100);

    #[test]
    fn a_device_is_read_and_a_folder_and_a_missing_file_are_refused() {
        let zero = NoiseFile::open(Path::new("/dev/zero"), CLAIM).unwrap();
        assert_eq!(zero.min_entropy(), CLAIM);
        assert_eq!(zero.name(), "file /dev/zero");
        assert_eq!(zero.sample(&mut [1; 256]), Ok(SAMPLE_BYTES));
        let refused = |path: &str| NoiseFile::open(Path::new(path), CLAIM).map(drop);
        assert_eq!(refused("/"), Err(SourceError::System(21)));
        assert_eq!(refused("/nowhere"), Err(SourceError::System(2)));
    }

    #[test]
    fn a_regular_file_is_read_once_and_credited_nothing() {
        let path = std::env::temp_dir().join(format!("wellspring-noise-{}", std::process::id()));
        std::fs::write(&path, [7; 100]).unwrap();
        let file = NoiseFile::open(&path, CLAIM).unwrap();
        assert_eq!(file.min_entropy(), MinEntropy::NONE);
        assert_eq!(file.sample(&mut [0; 256]), Ok(64));
        assert_eq!(file.sample(&mut [0; 256]), Ok(36));
        assert_eq!(file.sample(&mut [0; 256]), Err(SourceError::Ended));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_pipe_is_never_waited_for() {
        let path = std::env::temp_dir().join(format!("wellspring-pipe-{}", std::process::id()));
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let pipe = NoiseFile::open(&path, CLAIM).unwrap();
        assert_eq!(
            pipe.sample(&mut [0; 8]),
            Err(SourceError::Ended),
            "no writer"
        );
        let mut writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(
            pipe.sample(&mut [0; 8]),
            Err(SourceError::Busy),
            "a silent writer"
        );
        std::io::Write::write_all(&mut writer, b"noise").unwrap();
        assert_eq!(pipe.sample(&mut [0; 8]), Ok(5));
        std::fs::remove_file(&path).unwrap();
    }
}
