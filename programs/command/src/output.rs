//! The output of a command, and the errors of writing.

use crate::failure::Failure;
use crate::standard_streams::{output_was_closed, own_output};
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

/// The capacity requested for a pipe on Linux, so that writer and reader switch less often. The system's limit for users
/// without privileges.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

fn refuse(name: &str, reason: impl Display) -> Failure {
    Failure::input(format!("{name}: {reason}"))
}

/// A file or the standard output, without a buffer in between.
pub(crate) struct Output {
    file: File,
    name: String,
    written_bytes: u64,
}

impl Output {
    /// The standard output itself: the standard library's would look for line breaks in all that is written.
    pub(crate) fn standard() -> Result<Self, Failure> {
        let name = "standard output".to_string();
        if output_was_closed() {
            return Err(Failure::work(format!("{name}: it is closed")));
        }
        let own = own_output().map_err(|error| Failure::work(format!("{name}: {error}")))?;
        // Fails if this is no pipe or the system does not allow it: then the pipe keeps its capacity.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&own, PIPE_BYTES);
        Ok(Self::new(own, name))
    }

    /// A new file, or a device or a pipe; `-` is the standard output. A new file is for its owner alone, since the bytes may be
    /// a key. A file that exists is emptied if `replaces`, else it is an error.
    pub(crate) fn create(path: &Path, replaces: bool) -> Result<Self, Failure> {
        if replaces || path == Path::new("-") {
            return Self::create_with_mode(path, 0o600);
        }
        let mut options = OpenOptions::new();
        options.write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let name = path.display().to_string();
        let made = options.clone().create_new(true).open(path);
        let exists = made
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::AlreadyExists);
        // What exists can be told of an open file alone: another one may have the name by now.
        let file = if exists { options.open(path) } else { made };
        let file = file.map_err(|error| refuse(&name, error))?;
        if !exists || file.metadata().is_ok_and(|status| !status.is_file()) {
            return Ok(Self::new(file, name));
        }
        Err(refuse(&name, "it exists: --force replaces it"))
    }

    /// The same for what is no secret: a new file has the mode that the user's umask allows.
    pub(crate) fn create_public(path: &Path) -> Result<Self, Failure> {
        Self::create_with_mode(path, 0o666)
    }

    fn create_with_mode(path: &Path, mode: u32) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Self::standard();
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        let name = path.display().to_string();
        match options.open(path) {
            Ok(file) => Ok(Self::new(file, name)),
            Err(error) => Err(refuse(&name, error)),
        }
    }

    /// Whether it is a file of a disk, which grows with all that is written.
    pub(crate) fn is_file(&self) -> bool {
        self.file.metadata().is_ok_and(|status| status.is_file())
    }

    fn new(file: File, name: String) -> Self {
        Self {
            file,
            name,
            written_bytes: 0,
        }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    /// How much has been written, also when a write failed half-way.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Writes all of it, or as much as possible before an error.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(length) => {
                    self.written_bytes += length as u64;
                    bytes = &bytes[length..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all of a text.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.write(text.as_bytes())
            .map_err(|error| self.failure(&error, ""))
    }

    /// The error of the command after a failed write; `how_far` ends the message with the amount that was written.
    pub(crate) fn failure(&self, error: &io::Error, how_far: &str) -> Failure {
        if error.kind() == ErrorKind::BrokenPipe {
            return Failure::ReaderGone;
        }
        Failure::work(format!("{}: {error}{how_far}", self.name))
    }

    /// Waits for room, if the caller made the output one that does not block.
    #[cfg(unix)]
    fn wait(&self) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut room = [PollFd::new(&self.file, PollFlags::OUT)];
        match poll(&mut room, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(unix))]
    #[allow(clippy::unused_self)]
    fn wait(&self) -> io::Result<()> {
        std::thread::yield_now();
        Ok(())
    }
}
