//! Reads the configuration again, in a process beside the service. The service itself cannot: after its start it is another
//! user, and the sandbox keeps it out of the folder of the configuration. A rule of the sandbox for the file alone would
//! not do, since editors replace a file by a new one.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::CapabilitySet;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use wellspring_service_core::config::{Config, load};
use wellspring_service_core::sandbox::{Reach, User, give_up, restrict_calls, restrict_files};

/// The option by which the service starts itself as a reader.
const OPTION: &str = "--read-config-again";

/// The longest wait for the answer.
const PATIENCE: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// The longest answer in bytes: a configuration has some thousands.
const MAX_BYTES: u64 = 1 << 22;

/// An answer, in a line of JSON: the configuration with all keys, or the mistake in it.
type Answer = Result<Config, String>;

/// The process that reads the configuration. It ends with the service.
#[derive(Debug)]
pub struct ConfigReader(Child);

impl ConfigReader {
    /// Starts it for the configuration at `path`. Call it before anything is opened, and with the privileges of the start.
    ///
    /// # Errors
    ///
    /// When the process cannot be started.
    pub fn start(path: Option<&Path>) -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.arg(OPTION);
        if let Some(path) = path {
            command.arg("--config").arg(path);
        }
        // Its input ends when the service ends.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C in a terminal reaches the service alone.
        command.process_group(0).spawn().map(Self)
    }

    /// The configuration as it is now.
    ///
    /// # Errors
    ///
    /// The mistake in it, or the reason why the process does not answer.
    pub fn read(&mut self) -> Result<Config, String> {
        self.ask().unwrap_or_else(|error| {
            // The rest of an answer could come later, as that to another question.
            drop(self.0.stdin.take());
            Err(format!(
                "the process that reads it does not answer: {error}"
            ))
        })
    }

    fn ask(&mut self) -> io::Result<Answer> {
        let (Some(question), Some(answer)) = (&mut self.0.stdin, &mut self.0.stdout) else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        question.write_all(b"\n")?;
        let mut polled = [PollFd::new(&*answer, PollFlags::IN)];
        if poll(&mut polled, Some(&PATIENCE))? == 0 {
            return Err(ErrorKind::TimedOut.into());
        }
        let mut line = String::new();
        BufReader::new(answer.take(MAX_BYTES)).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for ConfigReader {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends at once; if something has stopped it, the end of the service does not wait for that.
        let _ = self.0.try_wait();
    }
}

/// Runs the reader: answers each byte of standard input, until that ends.
///
/// # Errors
///
/// The errors of the pipes.
pub fn read_again(path: Option<&Path>) -> io::Result<()> {
    let (mut questions, mut answers) = (io::stdin().lock(), io::stdout().lock());
    // It reads what the user that started the service reads, and does nothing else. systemd may have taken the capabilities
    // already, and forbidden the call.
    let _ = User::named("root").and_then(|user| give_up(user, CapabilitySet::empty()));
    let reach = Reach {
        reads: vec!["/".into()],
        ..Reach::default()
    };
    let _ = restrict_files(&reach);
    restrict_calls().map_err(io::Error::other)?;
    while questions.read(&mut [0])? == 1 {
        let answer: Answer = load(path).map_err(|fault| fault.to_string());
        writeln!(answers, "{}", serde_json::to_string(&answer)?)?;
        answers.flush()?;
    }
    Ok(())
}
