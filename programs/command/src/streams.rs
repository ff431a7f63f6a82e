//! The streams of a command, and its failures: errors and exit codes, the input, the output, and a file from which signals
//! are read.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use wellspring_command_line::{input_was_closed, output_was_closed, own_input, own_output, say};

/// The reason why a command stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments or an input file are wrong: status 2.
    Input(String),
    /// The command needs the kernel module, which is not loaded: status 3.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    NoModule(String),
    /// An error while the command worked: status 1.
    Work(String),
    /// Status 1; the output has said why.
    Reported,
    /// The reader of our pipe has closed it, as `head` does: status 0.
    ReaderGone,
}

impl Failure {
    pub(crate) fn input(reason: impl Display) -> Self {
        Self::Input(reason.to_string())
    }

    pub(crate) fn work(reason: impl Display) -> Self {
        Self::Work(reason.to_string())
    }

    /// Writes the reason as one line to stderr, and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        let (status, reason) = match self {
            Failure::Input(reason) => (2, reason),
            Failure::NoModule(reason) => (3, reason),
            Failure::Work(reason) => (1, reason),
            Failure::Reported => return ExitCode::FAILURE,
            Failure::ReaderGone => return ExitCode::SUCCESS,
        };
        say(&format!("wellspring: {reason}"));
        ExitCode::from(status)
    }
}

// The input of a command: a file, or the standard input for `-`.

/// A file or the standard input, without a buffer.
pub(crate) struct Input {
    file: File,
    name: String,
}

impl Input {
    /// Opens a file; `-` is the standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Self::standard();
        }
        let name = path.display().to_string();
        match open_file(path) {
            Ok(file) => Ok(Self { file, name }),
            Err(error) => Err(Self::refuse(&name, error)),
        }
    }

    /// The standard input itself: the standard library's would take an error for its end.
    pub(crate) fn standard() -> Result<Self, Failure> {
        let name = "standard input".to_string();
        if input_was_closed() {
            return Err(Failure::input(format!("{name}: it is closed")));
        }
        match own_input() {
            Ok(file) => Ok(Self { file, name }),
            Err(error) => Err(Failure::input(format!("{name}: {error}"))),
        }
    }

    /// How messages name it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The error for bytes that were read and are invalid.
    pub(crate) fn refuse(name: &str, reason: impl Display) -> Failure {
        Failure::input(format!("{name}: {reason}"))
    }
}

/// The longest line that is read. The longest that has a meaning, a sample of 1 MiB in hexadecimal digits, has half of it.
const MAX_LINE_BYTES: u64 = 4 << 20;

/// The lines of a text, each with what messages name it: the input and the number. A line without an end does not fill the
/// memory.
pub(crate) fn lines(input: Input) -> impl Iterator<Item = Result<(String, String), Failure>> {
    let name = input.name.clone();
    let mut input = BufReader::new(input);
    (1..).map_while(move |number: u64| {
        let place = format!("{name}:{number}");
        let mut line = Vec::new();
        let mut rest = Read::take(&mut input, MAX_LINE_BYTES + 1);
        match rest.read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(Input::refuse(&name, error))),
        }
        if line.len() as u64 > MAX_LINE_BYTES {
            let reason = format!("a line is longer than {MAX_LINE_BYTES} bytes");
            return Some(Err(Input::refuse(&place, reason)));
        }
        if line.pop_if(|byte| *byte == b'\n').is_some() {
            line.pop_if(|byte| *byte == b'\r');
        }
        let line = String::from_utf8(line).map_err(|_| Input::refuse(&place, "is not text"));
        Some(line.map(|line| (place, line)))
    })
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

/// Opens a file to read it. A folder would open too, and fail at the first read.
fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        #[cfg(unix)]
        return Err(rustix::io::Errno::ISDIR.into());
        #[cfg(not(unix))]
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}

/// Refuses a path whose folder does not exist: the argument is wrong, not the work.
pub(crate) fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    match std::fs::metadata(Path::new(".").join(folder).join(".")) {
        Ok(_) => Ok(()),
        Err(error) => Err(Input::refuse(&path.display().to_string(), error)),
    }
}

/// Makes the folder of a file that is to be written, if only this last folder is missing. Refuses a path whose folder
/// does not exist and cannot be made.
pub(crate) fn make_folder(path: &Path, mode: u32) -> Result<(), Failure> {
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        // `check_folder` gives the reason for a failure.
        #[allow(unused_mut)] // Windows has no modes.
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        #[cfg(not(unix))]
        let _ = mode;
        let _ = builder.create(folder);
    }
    check_folder(path)
}

// The output of a command, and the errors of writing.

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
        // Fails if this is not a pipe or the system does not allow it: then the pipe keeps its capacity.
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
        // Only an open file tells what exists: another file may have the name by now.
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

    /// Waits for room: the caller may have made the output non-blocking.
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

// A file from which signals are read.

/// Blocks these signals, for this thread and for all threads that it starts from now on. They are read from the file.
#[cfg(target_os = "linux")]
pub(crate) fn signal_file(signals: &[i32]) -> io::Result<File> {
    // SAFETY: sigemptyset fills the set before it is read; the descriptor is new and becomes one file.
    unsafe {
        let mut set = core::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, core::ptr::null_mut());
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(std::os::fd::FromRawFd::from_raw_fd(descriptor)),
        }
    }
}
