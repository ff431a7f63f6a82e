//! The sources that the operator names: a command, a file.

use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, fstat, open};
use rustix::io::{Errno, read};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};
use wellspring_os::os::{kill_process_group, process_number};

/// The standard output of a command that the operator names, read without waiting.
///
/// The first draw starts it; when it ends, a later draw starts it again, ten seconds after the last start at the
/// earliest. A command that writes too much waits for its pipe; without a command that writes, the source yields nothing.
/// The command has its own process group, which is killed when the source is dropped; a child process made by `fork` does
/// not touch it.
#[derive(Debug)]
pub struct NoiseCommand {
    name: &'static str,
    words: Vec<OsString>,
    claim: MinEntropy,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    /// Killed, but still in the list of processes: later draws wait for it, since a process can take long to die.
    dying: Option<Child>,
    started: Option<Instant>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    owner: u32,
}

/// The bytes of one draw.
const SAMPLE_BYTES: usize = 64;

/// From one start to the next.
const RESTART_AFTER: Duration = Duration::from_secs(10);

/// How long a drop waits for the killed command.
const MAX_DROP_WAIT: Duration = Duration::from_millis(100);

impl NoiseCommand {
    /// A source that runs `words`, a program and its arguments. `claim` is the operator's claim. The name in
    /// reports, `command PROGRAM`, is never freed.
    ///
    /// # Errors
    ///
    /// [`SourceError::Absent`] without a program.
    pub fn new(words: Vec<OsString>, claim: MinEntropy) -> Result<Self, SourceError> {
        let program = words.first().ok_or(SourceError::Absent)?;
        let name = format!("command {}", program.display());
        Ok(Self {
            name: Box::leak(name.into_boxed_str()),
            words,
            claim,
            state: Mutex::default(),
        })
    }

    fn start(&self, state: &mut State) -> Result<(), SourceError> {
        let now = Instant::now();
        let too_soon = state.started.is_some_and(|last| now - last < RESTART_AFTER);
        if too_soon || state.dying.is_some() {
            return Err(SourceError::Ended);
        }
        state.started = Some(now);
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let child = command.spawn().map_err(|error| {
            SourceError::System(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()))
        })?;
        let owner = process_number();
        let output = child.stdout.as_ref();
        let not_waiting = output.map_or(Ok(()), |pipe| fcntl_setfl(pipe, OFlags::NONBLOCK));
        state.running = Some(Running { child, owner });
        if let Err(error) = not_waiting {
            // A read of its output would wait for it.
            state.end();
            return Err(system(error));
        }
        Ok(())
    }
}

impl State {
    /// Kills the running command, if this process started it, and waits for it without blocking.
    fn end(&mut self) {
        if let Some(Running { mut child, owner }) = self.running.take()
            && owner == process_number()
        {
            // Only while it is in the list of processes: after that its number may belong to another process.
            if matches!(child.try_wait(), Ok(None)) {
                kill_process_group(child.id());
                self.dying = Some(child);
            }
        }
        self.reap();
    }

    fn reap(&mut self) {
        let gone = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        if self.dying.as_mut().is_some_and(gone) {
            self.dying = None;
        }
    }
}

impl Source for NoiseCommand {
    fn name(&self) -> &'static str {
        self.name
    }

    fn min_entropy(&self) -> MinEntropy {
        self.claim
    }

    fn reason(&self) -> &'static str {
        "the operator's claim"
    }

    fn speed(&self) -> Speed {
        Speed::Slow { interval_ms: 1000 }
    }

    /// [`SourceError::Ended`] when the command has closed its output, and until it is started again.
    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let mut state = self.state.try_lock().map_err(|_| SourceError::Busy)?;
        state.reap();
        if state.running.is_none() {
            self.start(&mut state)?;
        }
        let Some(Running { child, owner }) = &state.running else {
            return Err(SourceError::Ended);
        };
        let Some(output) = child.stdout.as_ref().filter(|_| *owner == process_number()) else {
            return Err(SourceError::Absent);
        };
        let length = destination.len().min(SAMPLE_BYTES);
        match read(output, &mut destination[..length]) {
            Ok(0) if length > 0 => {
                state.end();
                Err(SourceError::Ended)
            }
            Ok(length) => Ok(length),
            Err(Errno::AGAIN | Errno::INTR) => Err(SourceError::Busy),
            Err(error) => Err(system(error)),
        }
    }
}

impl Drop for NoiseCommand {
    fn drop(&mut self) {
        let Ok(state) = self.state.get_mut() else {
            return;
        };
        state.end();
        let begin = Instant::now();
        while state.dying.is_some() && begin.elapsed() < MAX_DROP_WAIT {
            std::thread::sleep(Duration::from_millis(1));
            state.reap();
        }
    }
}

fn system(error: Errno) -> SourceError {
    SourceError::System(error.raw_os_error())
}

// A file given by the operator.

/// A device or a named pipe that the operator names, read without waiting.
///
/// A regular file is credited nothing, even if the operator claims more: it holds the same bytes at every start.
#[derive(Debug)]
pub struct NoiseFile {
    name: &'static str,
    claim: MinEntropy,
    file: OwnedFd,
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn shell(script: &str) -> NoiseCommand {
        let words = ["sh", "-c", script].map(OsString::from).to_vec();
        NoiseCommand::new(words, MinEntropy::per_byte_256ths(100)).unwrap()
    }

    /// Samples until something else than `Busy` comes.
    fn patiently(source: &NoiseCommand) -> Result<usize, SourceError> {
        let begin = Instant::now();
        loop {
            match source.sample(&mut [0; 256]) {
                Err(SourceError::Busy) if begin.elapsed() < Duration::from_secs(20) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                other => return other,
            }
        }
    }

    #[test]
    fn what_it_prints_is_taken_and_its_end_is_noticed() {
        let source = shell("echo noise");
        assert_eq!(patiently(&source), Ok(6));
        assert_eq!(patiently(&source), Err(SourceError::Ended));
        assert_eq!(
            patiently(&source),
            Err(SourceError::Ended),
            "not started again at once"
        );
        assert!(source.state.lock().unwrap().running.is_none());
    }

    #[test]
    fn one_that_hangs_or_floods_is_killed_with_its_children_on_drop() {
        for script in ["sleep 1000 & sleep 1000", "yes & yes"] {
            let source = shell(script);
            let begin = Instant::now();
            let _ = source.sample(&mut [0; 256]);
            assert!(begin.elapsed() < Duration::from_secs(5));
            let pid = source
                .state
                .lock()
                .unwrap()
                .running
                .as_ref()
                .map(|r| r.child.id());
            drop(source);
            let begin = Instant::now();
            while wellspring_os::os::process_group_exists(pid.unwrap()) {
                // Process 1 reaps the grandchildren.
                assert!(
                    begin.elapsed() < Duration::from_secs(10),
                    "{script}: still there"
                );
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_and_no_more() {
        let source = NoiseCommand::new(vec!["/nowhere".into()], MinEntropy::NONE).unwrap();
        assert_eq!(source.sample(&mut [0; 8]), Err(SourceError::System(2)));
        assert_eq!(source.sample(&mut [0; 8]), Err(SourceError::Ended));
        let none = NoiseCommand::new(Vec::new(), MinEntropy::NONE);
        assert_eq!(none.map(drop), Err(SourceError::Absent));
    }

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
