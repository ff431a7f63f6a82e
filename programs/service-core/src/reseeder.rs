//! Has the kernel's generator take new keys before the generation page changes. That takes CAP_SYS_ADMIN, which is close to
//! root: so a process beside the service keeps it, and does nothing else.
//!
//! A message has [`NEW_BYTES`] bytes, whatever they are: they are mixed into the kernel without credit, and the kernel reseeds.
//! An answer has the number of the error, or 0. A service that was taken over can have the kernel reseed, and no more.

use crate::sandbox::{confine_reseeder, give_up_for_reseeder};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use wellspring_module::{KernelGenerators, NEW_BYTES};
use wellspring_os::os_error::OsError;
use zeroize::Zeroizing;

/// The option by which the service starts itself as this process.
const OPTION: &str = "--reseed-kernel";

/// The longest wait for an answer. Then the page changes all the same: a process that was stopped must not keep a notice back.
const PATIENCE: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};

/// The bytes of an answer.
const ANSWER_BYTES: usize = 4;

/// The process, and how it went. It ends with the service, which alone holds the other end of its input.
#[derive(Debug, Default)]
pub struct Reseeder {
    process: Mutex<Option<Child>>,
    reseeds: AtomicU64,
    fault: Mutex<Option<String>>,
}

impl Reseeder {
    /// Starts it. Call it before anything is opened, and with the privileges of the start.
    #[must_use]
    pub fn start() -> Self {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("wellspringd").arg(OPTION);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C in a terminal reaches the service alone.
        let started = command.process_group(0).spawn();
        let this = Self::default();
        match started {
            Ok(process) => *this.process.lock() = Some(process),
            Err(error) => *this.fault.lock() = Some(format!("no process for it: {error}")),
        }
        this
    }

    /// Has the kernel reseed, and waits for that.
    ///
    /// # Errors
    ///
    /// The reason why it was not done, in words.
    pub fn reseed(&self, new: &[u8; NEW_BYTES]) -> Result<(), String> {
        let mut process = self.process.lock();
        let asked = process.as_mut().map(|process| ask(process, new));
        let outcome = match asked {
            None => {
                let known = self.fault.lock().clone();
                Err(known.unwrap_or_else(|| "there is no process for it".into()))
            }
            Some(Ok(0)) => Ok(()),
            Some(Ok(error)) => Err(OsError::new(error).to_string()),
            Some(Err(error)) => {
                // A late answer would be taken for the answer to another message.
                end(&mut process);
                Err(format!("the process for it does not answer: {error}"))
            }
        };
        match &outcome {
            Ok(()) => {
                self.reseeds.fetch_add(1, Relaxed);
                *self.fault.lock() = None;
            }
            Err(words) => *self.fault.lock() = Some(words.clone()),
        }
        outcome
    }

    /// How often the kernel was reseeded.
    pub fn reseeds(&self) -> u64 {
        self.reseeds.load(Relaxed)
    }

    /// The reason why the last order failed, if it did.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().clone()
    }
}

impl Drop for Reseeder {
    fn drop(&mut self) {
        end(self.process.get_mut());
    }
}

/// It ends when its input does. If something has stopped it, the service does not wait for that.
fn end(process: &mut Option<Child>) {
    if let Some(mut process) = process.take() {
        drop(process.stdin.take());
        let _ = process.try_wait();
    }
}

fn ask(process: &mut Child, new: &[u8; NEW_BYTES]) -> io::Result<i32> {
    let (Some(message), Some(answers)) = (&mut process.stdin, &mut process.stdout) else {
        return Err(ErrorKind::BrokenPipe.into());
    };
    message.write_all(new)?;
    let mut polled = [PollFd::new(&*answers, PollFlags::IN)];
    if poll(&mut polled, Some(&PATIENCE))? == 0 {
        return Err(ErrorKind::TimedOut.into());
    }
    // The process writes an answer at once, or ends.
    let mut answer = [0; ANSWER_BYTES];
    answers.read_exact(&mut answer)?;
    Ok(i32::from_ne_bytes(answer))
}

/// Runs the process: reseeds the kernel for each message on standard input, until that ends.
///
/// # Errors
///
/// The reason why it is not confined, and errors of the pipes.
pub fn reseed_kernel() -> io::Result<()> {
    let generators = KernelGenerators::open();
    // Now: the first call of each of these takes memory, and with musl that is a system call.
    let (messages, answers) = (io::stdin(), io::stdout());
    give_up_for_reseeder();
    confine_reseeder().map_err(io::Error::other)?;
    let mut new = Zeroizing::new([0; NEW_BYTES]);
    while read_whole(messages.as_fd(), &mut new)? {
        let done = generators.as_ref().map_err(|error| *error);
        let done = done.and_then(|generators| generators.reseed(&new, 0));
        let number = done.map_or_else(OsError::number, |()| 0);
        write(answers.as_fd(), &number.to_ne_bytes())?;
    }
    Ok(())
}

/// Reads a whole message. `false` if the input has ended, also in the middle of one.
fn read_whole(messages: impl AsFd, new: &mut [u8; NEW_BYTES]) -> io::Result<bool> {
    let mut length = 0;
    while length < new.len() {
        match read(&messages, &mut new[length..]) {
            Ok(0) => return Ok(false),
            Ok(count) => length += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}
