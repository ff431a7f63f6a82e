//! `generation show`, `generation bump`, `generation serve`: the page that tells all processes to take new keys.

use crate::failure::{Failure, say};
use crate::input::make_folder;
use crate::output::Output;
use clap::{Args, Subcommand};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Read;
use std::os::fd::{AsFd, FromRawFd};
use std::path::{Path, PathBuf};
use wellspring::clone_detection::{
    CloneEvent, CloneEvents, DEFAULT_PATH, GenerationPage, PageError, VMCLOCK_PATH, bump, current,
};

/// The time between two looks at the clocks, which show that the machine was asleep, and at the page, which another
/// process may have bumped.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Make the engines of all processes take new keys
///
/// Every engine reads a number from this page on every read, if the page exists. When the number changes, an engine
/// takes new keys before it returns another byte. This is for machines that are cloned, restored from a snapshot, or
/// checkpointed: else two copies of a process would return the same bytes. Engines trust the page only if it belongs to
/// root or to their own user and no other user can write it.
#[derive(Args)]
#[command(
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring generation serve          as a service of the system
  wellspring generation bump           in the script that restores a checkpoint"
)]
pub(crate) struct GenerationRequest {
    #[command(subcommand)]
    action: Action,

    /// The file of the page
    #[arg(long, value_name = "FILE", default_value = DEFAULT_PATH, global = true)]
    page: PathBuf,
}

/// The operation on the page.
#[derive(Subcommand)]
enum Action {
    /// Print its number
    Show,
    /// Change its number; make the page if there is none
    ///
    /// Any process that may write the page can do so, whether another process serves it or not.
    Bump,
    /// Write the page until SIGTERM or SIGINT, in the foreground
    ///
    /// Changes the number when the kernel (vmgenid, Linux 6.10) or the hypervisor (vmclock, Linux 6.13) reports a clone,
    /// after the machine was asleep, and on SIGHUP. Each time a line on stderr gives the reason.
    Serve {
        /// The device of the hypervisor's clock
        #[arg(long, value_name = "DEVICE", default_value = VMCLOCK_PATH)]
        vmclock: PathBuf,
    },
}

/// A folder that is made for the page, which processes of all users read.
const FOLDER_MODE: u32 = 0o755;

/// Runs the command.
pub(crate) fn run(request: &GenerationRequest) -> Result<(), Failure> {
    let page = &request.page;
    match &request.action {
        Action::Show => {
            let number = current(page);
            let wrong = |error| Failure::input(format!("{}: {error}", page.display()));
            print(number.map_err(wrong)?)
        }
        Action::Bump => {
            make_folder(page, FOLDER_MODE)?;
            print(bump(page).map_err(|error| about(page, error))?)
        }
        Action::Serve { vmclock } => {
            make_folder(page, FOLDER_MODE)?;
            serve(page, vmclock)
        }
    }
}

fn about(page: &Path, error: PageError) -> Failure {
    let text = format!("{}: {error}", page.display());
    match error {
        PageError::NotAPage => Failure::input(text),
        PageError::File(fault) if fault.is_wrong_file() => Failure::input(text),
        _ => Failure::work(text),
    }
}

fn print(number: u64) -> Result<(), Failure> {
    Output::standard()?.print(&format!("{number:016x}\n"))
}

fn serve(path: &Path, vmclock: &Path) -> Result<(), Failure> {
    let mut signals = signals().map_err(Failure::work)?;
    let mut events = CloneEvents::with_vmclock(vmclock);
    let page = GenerationPage::create(path).map_err(|error| about(path, error))?;
    let mut last = page.current();
    say(&format!("wellspring: serving {}", path.display()));
    loop {
        if page.current() != last {
            last = page.current();
            say("wellspring: bumped: another process asked for it");
        }
        while let Some(event) = events.next_event() {
            page.bump();
            last = last.wrapping_add(1);
            say(match event {
                CloneEvent::Cloned => "wellspring: bumped: the machine was cloned or restored",
                CloneEvent::Slept => "wellspring: bumped: the machine was asleep",
                _ => "wellspring: bumped: the kernel's notices were lost",
            });
        }
        let mut polled = vec![PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
        polled.extend(
            events
                .wakes()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        let _ = poll(&mut polled, Some(&POLL_INTERVAL));
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
            last = last.wrapping_add(1);
            say("wellspring: bumped: SIGHUP");
        }
    }
}

/// A file from which SIGHUP, SIGTERM and SIGINT are read; they are blocked.
fn signals() -> std::io::Result<std::fs::File> {
    // SAFETY: sigemptyset fills the set before it is read; the descriptor is new and becomes one file.
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
