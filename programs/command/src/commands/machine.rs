//! The parts of a whole machine: the generation page, by which all processes take new keys (`generation show`, `bump`, `serve`),
//! the nodes of the kernel module over a reboot (`kernel save`, `restore`), and the program wellspringd (`serve`, `status`).

use crate::streams::{Failure, Output, make_folder, signal_file};
use clap::{Args, Subcommand};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use wellspring::Engine;
use wellspring::FileFault;
use wellspring::clone_detection::{
    CloneEvents, DEFAULT_PATH, GenerationPage, KernelReseed, PageError, VMCLOCK_PATH, bump_after,
    current,
};
use wellspring::seed_file::{Identity, SeedFound};
use wellspring_command_line::say;
use wellspring_module::{
    BY_CLOCKS_ALONE, KernelGenerators, ModuleSeeds, ModuleSeedsError, differs_by_clocks_alone,
    new_bytes,
};
use wellspring_os::os_error::OsError;
use zeroize::Zeroizing;

/// The time between two looks at the clocks, which show that the machine was asleep, and at the page, which another
/// process may have bumped.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Make the engines of all processes take new keys
///
/// If the page exists, every engine reads a number from it on every read. When the number changes, an engine takes new keys
/// before it returns another byte. Otherwise two copies of a process would return the same bytes after their machine was
/// cloned, restored from a snapshot, or checkpointed. Engines trust the page only if it belongs to root or to their own user
/// and no other user can write it.
#[derive(Args)]
#[command(
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring generation serve          as a service of the system
  wellspring generation bump           in the script that restores a checkpoint
  wellspring generation bump --kernel  in a machine that was restored and has no vmgenid
  wellspring generation bump --nonce - in a copy, with a secret on standard input that no other copy gets"
)]
pub(crate) struct GenerationRequest {
    #[command(subcommand)]
    action: GenerationAction,

    /// The file of the page
    #[arg(long, value_name = "FILE", default_value = DEFAULT_PATH, global = true)]
    page: PathBuf,
}

/// The operation on the page.
#[derive(Subcommand)]
enum GenerationAction {
    /// Print its number
    Show,
    /// Change its number; make the page if it does not exist
    ///
    /// Any process that may write the page can do so, whether another process serves it or not.
    Bump {
        /// First reseed the kernel's generator, for a machine that was cloned without a notice to its kernel
        ///
        /// Without a notice /dev/urandom and getrandom(2) return the same in both clones for up to a minute. It needs root
        /// (CAP_SYS_ADMIN).
        #[arg(long)]
        kernel: bool,

        /// A secret that no other copy of this machine gets, 32 bytes or more; - is standard input
        ///
        /// The secret goes into the kernel's generator before the page changes, as with --kernel, and from there into all
        /// engines and guards. On a machine without RDRAND or RNDR and without vmgenid, nothing else that is secret differs
        /// between two copies. At most 4096 bytes are read.
        #[arg(long, value_name = "FILE")]
        nonce: Option<PathBuf>,

        /// The credit that the kernel gives the secret, in bits
        ///
        /// A kernel that has no seed yet is ready with 256 bits. Give credit only if the secret is random, and known to
        /// this copy and its maker alone.
        #[arg(long, value_name = "BITS", default_value_t = 0, requires = "nonce",
              value_parser = clap::value_parser!(u32).range(..=256))]
        credit_bits: u32,
    },
    /// Write the page until SIGTERM or SIGINT, in the foreground
    ///
    /// Changes the number when the kernel (vmgenid, Linux 5.18) or the hypervisor (vmclock, Linux 6.13) reports a clone,
    /// after the machine was suspended, and on SIGUSR1 or SIGHUP. Each time a line on stderr gives the reason. vmgenid shows
    /// in the kernel's log, which needs root or CAP_SYSLOG to read. Before the number changes, the kernel's generator takes new
    /// keys, unless the kernel had the notice itself; this needs root (CAP_SYS_ADMIN).
    Serve {
        /// The device of the hypervisor's clock
        #[arg(long, value_name = "DEVICE", default_value = VMCLOCK_PATH)]
        vmclock: PathBuf,
    },
}

/// A folder that is made for the page, which processes of all users read.
const FOLDER_MODE: u32 = 0o755;

pub(crate) fn generation(request: &GenerationRequest) -> Result<(), Failure> {
    let page = &request.page;
    match &request.action {
        GenerationAction::Show => {
            let number = current(page);
            let wrong = |error| Failure::input(explained(page, error));
            print_number(number.map_err(wrong)?)
        }
        GenerationAction::Bump {
            kernel,
            nonce,
            credit_bits,
        } => {
            let secret = nonce.as_deref().map(read_nonce).transpose()?;
            make_folder_of(page)?;
            let nonce = secret.as_deref().map_or(&[][..], Vec::as_slice);
            let reseeded = if *kernel || secret.is_some() {
                Some(reseed(nonce, *credit_bits))
            } else {
                None
            };
            print_number(bump_after(page, state(reseeded)).map_err(|error| about(page, error))?)?;
            if reseeded.is_some() && differs_by_clocks_alone(nonce) {
                say(&format!("wellspring: {BY_CLOCKS_ALONE}"));
            }
            reseeded
                .unwrap_or(Ok(()))
                .map_err(|error| Failure::work(not_reseeded(error)))
        }
        GenerationAction::Serve { vmclock } => {
            make_folder_of(page)?;
            serve_page(page, vmclock)
        }
    }
}

/// Makes the folder of a page, or says who can.
fn make_folder_of(page: &Path) -> Result<(), Failure> {
    make_folder(page, FOLDER_MODE).map_err(|failure| match failure {
        Failure::Input(text) if !rustix::process::geteuid().is_root() => {
            Failure::Input(format!("{text}; {}", advice(page)))
        }
        other => other,
    })
}

fn about(page: &Path, error: PageError) -> Failure {
    let text = explained(page, error);
    match error {
        PageError::NotAPage => Failure::input(text),
        PageError::File(fault) if fault.is_wrong_file() => Failure::input(text),
        _ => Failure::work(text),
    }
}

/// The error, and what to do if the user has no right to the page.
fn explained(page: &Path, error: PageError) -> String {
    let text = format!("{}: {error}", page.display());
    let is_denied = match error {
        PageError::File(FileFault::System(error)) => {
            let error = Errno::from_raw_os_error(error.number());
            matches!(error, Errno::ACCESS | Errno::PERM)
        }
        _ => false,
    };
    if is_denied {
        format!("{text}; {}", advice(page))
    } else {
        text
    }
}

/// The owner of the page, or of the existing part of its path, and the page of this user's own service if there is one.
fn advice(page: &Path) -> String {
    let facts = |path: &Path| Some((path.to_owned(), path.symlink_metadata().ok()?.uid()));
    let (there, owner) = page.ancestors().find_map(facts).unwrap_or_default();
    let owner = match owner {
        0 => "root".into(),
        other => format!("user {other}"),
    };
    let name = Path::new("wellspring/generation");
    let own = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(
        || PathBuf::from(format!("/run/user/{}", rustix::process::geteuid().as_raw())),
        PathBuf::from,
    );
    let own = own.join(name);
    let which = if own != page && own.exists() {
        format!(
            "give --page {}, the page of your own service",
            own.display()
        )
    } else {
        "give --page and a file of your own".into()
    };
    format!(
        "{} is {owner}'s: run this as {owner}, or {which}",
        there.display()
    )
}

fn print_number(number: u64) -> Result<(), Failure> {
    Output::standard()?.print(&format!("{number:016x}\n"))
}

fn serve_page(path: &Path, vmclock: &Path) -> Result<(), Failure> {
    let signals = signal_file(&[libc::SIGUSR1, libc::SIGHUP, libc::SIGTERM, libc::SIGINT]);
    let mut signals = signals.map_err(Failure::work)?;
    let mut events = CloneEvents::with_vmclock(vmclock);
    let page = GenerationPage::create(path).map_err(|error| about(path, error))?;
    let mut server = Server {
        last: page.current(),
        page,
        kernel: KernelGenerators::open(),
    };
    // A copy may have been made while no process served the page.
    let outcome = server.make_up_for_kernel();
    say(&format!(
        "wellspring: serving {}; {outcome}",
        path.display()
    ));
    loop {
        server.look_at_page();
        while let Some(event) = events.next_event() {
            server.bump(event.words(), event.has_reseeded_kernel());
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
            let [first, second, third, fourth, ..] = signal;
            match i32::from_ne_bytes([first, second, third, fourth]) {
                libc::SIGUSR1 => server.bump("SIGUSR1", false),
                libc::SIGHUP => server.bump("SIGHUP", false),
                _ => return Ok(()),
            }
        }
    }
}

/// The page, and the number that this process saw or made last.
struct Server {
    page: GenerationPage,
    last: u64,
    kernel: Result<KernelGenerators, OsError>,
}

impl Server {
    /// Changes the number, after the kernel has taken new keys.
    fn bump(&mut self, reason: &str, kernel_knows: bool) {
        let reseeded = if kernel_knows { Ok(()) } else { self.reseed() };
        self.page.bump_after(state(Some(reseeded)));
        self.last = self.last.wrapping_add(1);
        say(&format!(
            "wellspring: bumped: {reason}; {}",
            outcome(reseeded)
        ));
    }

    /// Notices that another process has changed the number. It may not have reseeded the kernel.
    fn look_at_page(&mut self) {
        let now = self.page.current();
        let is_changed = now != self.last;
        self.last = now;
        if self.page.is_kernel_noted() {
            if is_changed {
                say("wellspring: bumped: another process asked for it");
            }
        } else {
            let outcome = self.make_up_for_kernel();
            say(&format!(
                "wellspring: bumped: another process asked for it; {outcome}"
            ));
        }
    }

    /// Reseeds the kernel for a number for which that was not tried. Engines that saw it may have taken old output of the
    /// kernel, so the page changes once more.
    fn make_up_for_kernel(&mut self) -> String {
        let number = self.page.current();
        let reseeded = self.reseed();
        if reseeded.is_ok() {
            self.page.bump_after(KernelReseed::Done);
            self.last = self.last.wrapping_add(1);
        } else {
            self.page.note_failure(number);
        }
        outcome(reseeded)
    }

    fn reseed(&self) -> Result<(), OsError> {
        let kernel = self.kernel.as_ref().map_err(|error| *error)?;
        kernel.reseed(&new_bytes(Engine::process(), &[]), 0)
    }
}

fn state(reseeded: Option<Result<(), OsError>>) -> KernelReseed {
    match reseeded {
        None => KernelReseed::NotTried,
        Some(Ok(())) => KernelReseed::Done,
        Some(Err(_)) => KernelReseed::Failed,
    }
}

fn outcome(reseeded: Result<(), OsError>) -> String {
    match reseeded {
        Ok(()) => "the kernel was reseeded".into(),
        Err(error) => not_reseeded(error),
    }
}

fn not_reseeded(error: OsError) -> String {
    format!("the kernel was not reseeded: {error}")
}

// `generation bump --kernel` and `--nonce`: new keys for the kernel's own generator.

fn reseed(nonce: &[u8], credit_bits: u32) -> Result<(), OsError> {
    KernelGenerators::open()?.reseed(&new_bytes(Engine::process(), nonce), credit_bits)
}

/// The fewest bytes of a secret, and the most that are read.
const NONCE_BYTES: core::ops::RangeInclusive<usize> = 32..=4096;

fn read_nonce(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let most = *NONCE_BYTES.end();
    // With all its room from the start: a vector that grows leaves a copy.
    let mut nonce = Zeroizing::new(Vec::with_capacity(most));
    let read = if path == Path::new("-") {
        read_all(io::stdin().lock(), &mut nonce)
    } else {
        File::open(path).and_then(|file| read_all(file, &mut nonce))
    };
    read.map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    if NONCE_BYTES.contains(&nonce.len()) {
        return Ok(nonce);
    }
    Err(Failure::input(format!(
        "{}: a secret has 32 bytes or more, and this one has {}",
        path.display(),
        nonce.len()
    )))
}

fn read_all(mut from: impl Read, nonce: &mut Vec<u8>) -> io::Result<()> {
    nonce.resize(*NONCE_BYTES.end(), 0);
    let mut length = 0;
    while length < nonce.len() {
        match from.read(&mut nonce[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    nonce.truncate(length);
    Ok(())
}

// ---- kernel ----
// `kernel save FILE`, `kernel restore FILE`: the module's nodes over a reboot.

/// Carry the kernel module's seeds over a reboot
///
/// The file has a section for each node of the module, only its owner can read it, and it is replaced in one step. The
/// command needs CAP_SYS_ADMIN. wellspringd does the same by itself if its configuration says so. Exit status 3: the
/// module is not loaded.
#[derive(Args)]
#[command(
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring kernel save /var/lib/wellspring/kernel-seed       at shutdown, and now and then
  wellspring kernel restore /var/lib/wellspring/kernel-seed    at boot"
)]
pub(crate) struct KernelRequest {
    #[command(subcommand)]
    action: KernelAction,
}

/// The operation on the file.
#[derive(Subcommand)]
enum KernelAction {
    /// Write FILE from fresh output of every node
    Save {
        /// The seed file
        file: PathBuf,
    },
    /// Give every node a seed from FILE, and replace FILE
    ///
    /// FILE is replaced before the module gets its seeds, so that no seed is credited twice. A file that was written in
    /// this boot, or is a copy, or comes from another machine, is mixed in without credit.
    Restore {
        /// The seed file
        file: PathBuf,
    },
}

pub(crate) fn kernel(request: &KernelRequest) -> Result<(), Failure> {
    let (KernelAction::Save { file } | KernelAction::Restore { file }) = &request.action;
    let seeds = ModuleSeeds::open(file, Identity::system()).map_err(|error| fault(file, error))?;
    match &request.action {
        KernelAction::Save { .. } => {
            let nodes = seeds.save().map_err(|error| fault(file, error))?;
            print(&format!("{}: {nodes} nodes saved\n", file.display()))
        }
        KernelAction::Restore { .. } => restore(seeds, file),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    Output::standard()?.print(text)
}

fn fault(path: &Path, error: ModuleSeedsError) -> Failure {
    match error {
        ModuleSeedsError::NotLoaded => Failure::NoModule(error.to_string()),
        ModuleSeedsError::File(reason) => in_file(path, reason),
        error => Failure::work(error),
    }
}

fn in_file(path: &Path, reason: impl Display) -> Failure {
    Failure::work(format!("{}: {reason}", path.display()))
}

fn restore(mut seeds: ModuleSeeds, path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Err(Failure::input(format!("{}: no file", path.display())));
    }
    let restored = seeds.restore().map_err(|error| fault(path, error))?;
    if let SeedFound::Refused(reason) = restored.found {
        return Err(in_file(path, reason));
    }
    let saved = match seeds.save() {
        Ok(_) => "",
        Err(ModuleSeedsError::NotSeeded) => "; the module has no seed to save yet",
        Err(error) => return Err(fault(path, error)),
    };
    print(&format!(
        "{}: {} nodes restored: {}{saved}\n",
        path.display(),
        restored.nodes,
        restored.found
    ))
}

// ---- serve, status ----
// `serve` and `status`: both are the work of `wellspringd`, another program, which this one finds and becomes.

const PROGRAM: &str = "wellspringd";

/// Run the host service: device files, sockets, metrics and a status page
///
/// It needs no configuration, shows what it opens, and ends at Ctrl-C. The program wellspringd does the work; it has
/// its own package.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring serve
  wellspring serve --config wellspring.toml
  wellspring serve --print-config")]
pub(crate) struct ServeRequest {
    /// Arguments of wellspringd
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

/// Show the state of the host service
///
/// --json prints one line for programs, --html a page for a browser. --watch prints again every second. --config FILE names
/// the configuration of the service, if it is not the default.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring status
  wellspring status --json
  wellspring status --html > status.html
  wellspring status --watch
  wellspring status --config wellspring.toml")]
pub(crate) struct StatusRequest {
    /// Arguments of wellspringd status
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

/// Becomes the service. Returns only if that fails.
pub(crate) fn serve(request: &ServeRequest) -> Result<(), Failure> {
    become_service(Command::new(find()?).args(&request.arguments))
}

/// Becomes `wellspringd status`. Returns only if that fails.
pub(crate) fn status(request: &StatusRequest) -> Result<(), Failure> {
    become_service(Command::new(find()?).arg("status").args(&request.arguments))
}

fn become_service(command: &mut Command) -> Result<(), Failure> {
    Err(Failure::work(format!("{PROGRAM}: {}", command.exec())))
}

/// Beside this program, or in PATH.
fn find() -> Result<PathBuf, Failure> {
    let beside = env::current_exe()
        .ok()
        .map(|path| path.with_file_name(PROGRAM));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = beside
        .into_iter()
        .chain(env::split_paths(&path).map(|folder| folder.join(PROGRAM)));
    places.find(|place| place.is_file()).ok_or_else(|| {
        Failure::work(format!(
            "{PROGRAM} is not installed beside this program or in PATH (in a clone: cargo install --locked --path \
             programs/service)"
        ))
    })
}
