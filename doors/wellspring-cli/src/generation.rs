//! `generation show`, `generation bump`, `generation serve`: the page by which all taps of all processes part.

use crate::failure::{Failure, say};
use crate::output::Output;
use clap::{Args, Subcommand};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Display;
use std::io::Read;
use std::os::fd::{AsFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wellspring::generation_page::{DEFAULT_PATH, GenerationPage, PageError, current};
use wellspring::{CloneEvent, CloneEvents};

/// How often the clocks are looked at: the machine may have slept.
const PACE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Have all processes part from their copies
///
/// Every engine looks at this page on every read, if it is there: when its number changes, each takes fresh keys before
/// it returns another byte. For machines that are cloned, restored from snapshots, or checkpointed. The page is
/// believed if it belongs to root, or to the reader's own user, and nobody else can write it.
#[derive(Args)]
#[command(
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring generation serve          as a service of the system
  wellspring generation bump           from the script that restored a checkpoint"
)]
pub(crate) struct GenerationRequest {
    #[command(subcommand)]
    action: Action,

    /// The page
    #[arg(long, value_name = "FILE", default_value = DEFAULT_PATH, global = true)]
    page: PathBuf,
}

/// What to do with it.
#[derive(Subcommand)]
enum Action {
    /// Print its number
    Show,
    /// Change its number; make the page if there is none
    ///
    /// If a process serves the page, that is told to (SIGHUP).
    Bump,
    /// Be its writer until SIGTERM or SIGINT, in the foreground
    ///
    /// Changes the number when the kernel gives notice of a clone (vmgenid, Linux 6.10), after the machine was asleep, and
    /// on SIGHUP. Writes a line for each reason.
    Serve,
}

/// Runs the command.
pub(crate) fn run(request: &GenerationRequest) -> Result<(), Failure> {
    let page = &request.page;
    match &request.action {
        Action::Show => print(current(page).map_err(|error| about(page, error))?),
        Action::Bump => print(bump(page)?),
        Action::Serve => serve(page),
    }
}

fn about(page: &Path, reason: impl Display) -> Failure {
    Failure::work(format!("{}: {reason}", page.display()))
}

fn print(number: u64) -> Result<(), Failure> {
    Output::standard()?.print(&format!("{number:016x}\n"))
}

fn bump(path: &Path) -> Result<u64, Failure> {
    let writer = match GenerationPage::create(path) {
        Ok(page) => return Ok(page.current()),
        Err(PageError::Held(writer)) => Pid::from_raw(writer as i32),
        Err(error) => return Err(about(path, error)),
    };
    let number = || current(path).map_err(|error| about(path, error));
    let before = number()?;
    let told = writer.map_or(Err(rustix::io::Errno::SRCH), |writer| {
        kill_process(writer, Signal::HUP)
    });
    told.map_err(|error| about(path, format!("its writer cannot be told: {error}")))?;
    let end = Instant::now() + Duration::from_secs(5);
    while number()? == before {
        if Instant::now() > end {
            return Err(about(path, "its writer does not answer"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    number()
}

fn serve(path: &Path) -> Result<(), Failure> {
    let mut signals = signals().map_err(Failure::work)?;
    let mut notices = CloneEvents::new();
    let page = GenerationPage::create(path).map_err(|error| about(path, error))?;
    say(&format!("wellspring: serving {}", path.display()));
    loop {
        while let Some(notice) = notices.next_event() {
            page.bump();
            say(match notice {
                CloneEvent::Cloned => "wellspring: bumped: the machine was cloned or restored",
                CloneEvent::Slept => "wellspring: bumped: the machine was asleep",
                _ => "wellspring: bumped: notices were lost",
            });
        }
        let mut polled = vec![PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
        polled.extend(
            notices
                .wakes()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        let _ = poll(&mut polled, Some(&PACE));
        let signalled = !polled[0].revents().is_empty();
        let mut signal = [0; size_of::<libc::signalfd_siginfo>()];
        if signalled && signals.read_exact(&mut signal).is_ok() {
            // The first field is the signal's number.
            if u32::from_ne_bytes([signal[0], signal[1], signal[2], signal[3]])
                != libc::SIGHUP as u32
            {
                return Ok(());
            }
            page.bump();
            say("wellspring: bumped: an order");
        }
    }
}

/// A descriptor that yields SIGHUP, SIGTERM and SIGINT.
fn signals() -> std::io::Result<std::fs::File> {
    // SAFETY: the set is made by sigemptyset before it is read; the descriptor is new, and becomes one file.
    unsafe {
        let mut set = core::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGHUP, libc::SIGTERM, libc::SIGINT] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, core::ptr::null_mut());
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) {
            -1 => Err(std::io::Error::last_os_error()),
            descriptor => Ok(std::fs::File::from_raw_fd(descriptor)),
        }
    }
}
