//! `run -- PROGRAM`: installed programs draw on wellspring without being rebuilt.
//!
//! ```text
//! files    files and pages that the environment names, in a folder that no other user can change
//! openssl  the configuration of OpenSSL: what was there, and ours                     [unsafe: dlopen]
//! program  the kind of the program; waits for it, and passes signals on to it       [unsafe: signals]
//! ```

mod files;
mod openssl;
mod program;

use crate::streams::Failure;
use clap::Args;
use files::{Page, lasting_library};
use openssl::Setting;
use program::{Kind, kind};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use wellspring_command_line::say;
use wellspring_interpose::door_counters::{self, Door, DoorCounters, RAND_BYTES_VARIABLE};
use wellspring_interpose::repeat::{self, HeldSeed, is_for_root};

/// Start a program that draws on wellspring, without rebuilding it
///
/// Without --preload, --openssl and --private-dev the command sets up the first two: a library that the loader puts before the
/// C library, and a provider for OpenSSL 3. A program with more rights than its caller (set-user-ID) ignores both.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring run --report -- python3 -c 'import os; os.urandom(32)'
  wellspring run --openssl -- nginx
  wellspring run --preload --rand-bytes -- python3 -c 'import ssl; ssl.RAND_bytes(32)'
  wellspring run --private-dev -- java -jar program.jar

Signals that are sent to this command reach the program, apart from those that stop or kill a process.

Exit status of the program; 127 if it is not found, 126 if it cannot be started, 128 and the signal that ended it.")]
pub(crate) struct RunRequest {
    /// Put a library before the C library: getrandom, getentropy, arc4random, /dev/urandom
    ///
    /// LD_PRELOAD names the library. ASAN_OPTIONS lets a program that was built with AddressSanitizer start with it. If the
    /// service has mounted its files, /dev/random and /dev/urandom are those files.
    #[arg(long)]
    preload: bool,

    /// Let that library replace RAND_bytes and RAND_priv_bytes of OpenSSL too
    ///
    /// For programs whose OpenSSL reads no configuration, or is older than version 3. Only calls of these two functions from
    /// outside OpenSSL are replaced; OpenSSL's own keys and nonces come from its generator.
    #[arg(long)]
    rand_bytes: bool,

    /// Set up the provider for OpenSSL 3, by OPENSSL_CONF
    ///
    /// The new configuration includes the file that the program would read, OPENSSL_CONF's or the system's, and adds the
    /// provider to its sections. Refused if that file demands FIPS or another generator.
    #[arg(long)]
    openssl: bool,

    /// Put the files of the host service in place of /dev/random and /dev/urandom
    ///
    /// The program gets its own mount namespace: all others keep their devices. This needs root, and a service with the section
    /// `files` in its configuration.
    #[arg(long)]
    private_dev: bool,

    /// The folder where the service has its files, for --private-dev
    ///
    /// Not with --preload and --rand-bytes: their library knows only the default folder.
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "/run/wellspring/files",
        requires = "private_dev",
        conflicts_with_all = ["preload", "rand_bytes"]
    )]
    files: PathBuf,

    /// Draw the same bytes in every run with this seed: only for tests and reproducible builds
    ///
    /// Every byte that goes through the library and the provider, keys too, follows from the seed. Each process and each thread
    /// has a stream: processes and threads are counted as they begin to draw, and children of fork as they are forked. Root,
    /// programs with more rights than their caller, and static programs, which load no library, are refused.
    #[arg(long, value_name = "SEED", value_parser = crate::commands::bytes::seed, conflicts_with = "private_dev")]
    repeat: Option<u128>,

    /// Print at the end how the program drew its random bytes, to stderr
    ///
    /// One line for each function, file or provider that was used, with its calls, bytes and threads in the program and in all
    /// programs that it started.
    #[arg(long)]
    report: bool,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    words: Vec<OsString>,
}

/// Runs the command. Returns the program's status.
pub(crate) fn run(request: &RunRequest) -> Result<ExitCode, Failure> {
    let both = !request.preload && !request.openssl && !request.private_dev;
    let (name, words) = request
        .words
        .split_first()
        .ok_or_else(|| Failure::input("no program is named"))?;
    if name.is_empty() {
        return Err(Failure::input("the name of the program is empty"));
    }
    if name.as_encoded_bytes().starts_with(b"-") {
        let name = name.display();
        return Err(Failure::input(format!(
            "there is no option {name}; a program of that name is ./{name}"
        )));
    }
    let mut command = Command::new(name);
    command.args(words);
    program::outlive_size_limit(&mut command);
    let seed = request.repeat.map(|seed| seed_page(seed, name));
    let seed = seed.transpose()?;
    if let Some(seed) = &seed {
        command.env(repeat::VARIABLE, seed.path());
    }
    if request.preload || request.rand_bytes || both {
        preload(&mut command)?;
    }
    if request.rand_bytes {
        command.env(RAND_BYTES_VARIABLE, "1");
    }
    if request.openssl || both {
        match openssl::configuration(&find_library(&PROVIDER)?)? {
            Setting::File(path) => {
                command.env("OPENSSL_CONF", path);
            }
            Setting::AsItIs => {}
            Setting::NoLibrary if request.openssl => {
                let reason = "--openssl: there is no libcrypto.so.3 here. For a program with an OpenSSL of its own, name the \
                              configuration of the installation by OPENSSL_CONF";
                return Err(Failure::work(reason));
            }
            Setting::NoLibrary => {
                say("wellspring: OpenSSL is left as it is: there is no libcrypto.so.3 here");
            }
        }
    }
    if request.private_dev {
        replace_devices(&request.files)?;
    }
    let report = request.report.then(Report::start).transpose()?;
    if let Some(report) = &report {
        command.env(door_counters::VARIABLE, report.path());
    }
    let status = program::run(&mut command);
    drop(seed);
    if let (Some(report), Ok(_)) = (&report, &status) {
        let sets_up = [
            request.preload || request.rand_bytes || both,
            request.openssl || both,
        ];
        report.print(name, sets_up);
    }
    Ok(exit_code(name, status))
}

/// The status of the program, or why it did not start.
fn exit_code(name: &OsStr, status: io::Result<ExitStatus>) -> ExitCode {
    match status {
        // An exit status has 8 bits, and signals have numbers up to 64: both fit into 8 bits.
        Ok(status) => {
            let number = status.code();
            let number = number.unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            ExitCode::from(number as u8)
        }
        Err(error) => {
            let reason = program::why_not_started(name, &error);
            say(&format!("wellspring: {reason}"));
            let is_missing = error.kind() == ErrorKind::NotFound;
            ExitCode::from(if is_missing { 127 } else { 126 })
        }
    }
}

// Finds the preload library and the OpenSSL provider, and puts the first into LD_PRELOAD.

/// A library that `run` sets up.
struct Library {
    /// Its path below the prefix of the installation.
    installed: &'static str,
    /// Its name beside the command, in the folder where cargo builds both.
    built: &'static str,
    package: &'static str,
}

const PRELOAD: Library = Library {
    installed: "lib/wellspring/libwellspring-preload.so",
    built: "libwellspring_preload.so",
    package: "wellspring-preload",
};

const PROVIDER: Library = Library {
    installed: "lib/wellspring/ossl-modules/wellspring.so",
    built: "libwellspring_openssl.so",
    package: "wellspring-openssl",
};

/// Finds a library: below the prefix where the command is installed, or beside the command. Where another user can come to own
/// its path, or a list cannot have it, it is a copy.
fn find_library(library: &Library) -> Result<PathBuf, Failure> {
    let command = env::current_exe().map_err(Failure::work)?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let prefix = folder.parent().unwrap_or(Path::new("/"));
    let places = [prefix.join(library.installed), folder.join(library.built)];
    let found = places.iter().find(|place| place.is_file());
    let found = found.ok_or_else(|| {
        Failure::work(format!(
            "there is no {}. In a clone, run `make` and `make install PREFIX={}`, or run: cargo build --release \
             --package {}, and target/release/wellspring",
            places[0].display(),
            prefix.display(),
            library.package
        ))
    })?;
    lasting_library(found)
}

pub(crate) fn provider_path() -> Result<PathBuf, Failure> {
    find_library(&PROVIDER)
}

/// Puts the preload library before the C library of the program. AddressSanitizer ends a program whose first library is not its
/// own. The option turns this check off: the preload library replaces nothing that AddressSanitizer must replace.
pub(crate) fn preload(command: &mut Command) -> Result<(), Failure> {
    command.env("LD_PRELOAD", with_present(&find_library(&PRELOAD)?));
    let mut options = OsString::from("verify_asan_link_order=0");
    if let Some(present) = env::var_os("ASAN_OPTIONS").filter(|present| !present.is_empty()) {
        options.push(":");
        options.push(present);
    }
    command.env("ASAN_OPTIONS", options);
    Ok(())
}

/// Returns the value of LD_PRELOAD with the library before the libraries that it has now.
fn with_present(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(present) = env::var_os("LD_PRELOAD").filter(|present| !present.is_empty()) {
        let mut entries = present.as_bytes().split(|byte| b": ".contains(byte));
        if entries.any(|entry| entry == library.as_os_str().as_bytes()) {
            return present;
        }
        list.push(":");
        list.push(present);
    }
    list
}

// `--private-dev`: the service's files in place of /dev/random and /dev/urandom, for one program.

const DEVICES: [&str; 2] = ["random", "urandom"];

/// Moves this process, and so the program that it starts, to a mount namespace in which the files replace the devices.
fn replace_devices(files: &Path) -> Result<(), Failure> {
    for name in DEVICES {
        let file = files.join(name);
        let found = accessat(CWD, &file, Access::READ_OK, AtFlags::empty());
        found.map_err(|error| {
            let file = file.display();
            Failure::input(format!("{file}: {error} (does the service run?)"))
        })?;
    }
    mount_over_devices(files).map_err(|error| match error {
        Errno::PERM => Failure::work("--private-dev needs root (CAP_SYS_ADMIN)"),
        error => Failure::work(format!("--private-dev: {error}")),
    })
}

fn mount_over_devices(files: &Path) -> Result<(), Errno> {
    // SAFETY: no other thread runs in this command, and it uses no file that it found before, apart from the libraries
    // of the doors, which are outside /dev.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    DEVICES
        .into_iter()
        .try_for_each(|name| mount_bind(files.join(name), Path::new("/dev").join(name)))
}

// `--repeat SEED`: the seed, on a page that the program and its children open.

/// The page with the seed. When this command has ended, also by SIGKILL, no process draws from it any more.
struct Seed {
    _held: HeldSeed,
    page: Page,
}

impl Seed {
    fn path(&self) -> PathBuf {
        self.page.path()
    }
}

/// Makes the page, and warns. Fails for root, and for a program that would not load the libraries.
fn seed_page(seed: u128, program: &OsStr) -> Result<Seed, Failure> {
    if is_for_root() {
        let reason = "--repeat is not for root, whose keys protect others: run it as another user";
        return Err(Failure::input(reason));
    }
    let reason = match kind(program) {
        Kind::Privileged => Some("has more rights than its caller"),
        Kind::Static => {
            Some("is static: it loads no library, so nothing that it draws would repeat")
        }
        Kind::Other => None,
    };
    if let Some(reason) = reason {
        let name = program.to_string_lossy();
        return Err(Failure::Input(format!("--repeat: {name} {reason}")));
    }
    let page = Page::new()?;
    let _held = HeldSeed::new(&page, seed).map_err(|error| {
        Failure::work(format!(
            "--repeat: {error}: this kernel would not tell the program that this command was killed"
        ))
    })?;
    say(
        "wellspring: --repeat: ALL KEYS AND RANDOM BYTES OF THIS PROGRAM FOLLOW FROM THE SEED. FOR TESTS ALONE",
    );
    Ok(Seed { _held, page })
}

// `--report`: the calls, bytes and threads of each door, counted in the program and printed at its end.

/// The counters, on a page that the program and its children open.
pub(crate) struct Report {
    page: Page,
    counters: DoorCounters,
}

impl Report {
    pub(crate) fn start() -> Result<Self, Failure> {
        let page = Page::new()?;
        let counters = DoorCounters::map(&page);
        let counters = counters.map_err(|error| Failure::work(format!("no report: {error}")))?;
        Ok(Self { page, counters })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.page.path()
    }

    pub(crate) fn counters(&self) -> &DoorCounters {
        &self.counters
    }

    /// Prints a line for each door that was used, each fault, and the reason if the program cannot use any door. `sets_up` is
    /// true for the preload library, and for the provider, if the command set it up.
    fn print(&self, program: &OsStr, sets_up: [bool; 2]) {
        let counts = [self.counters.programs(), self.counters.providers()];
        let names = ["the preload library", "the OpenSSL provider"];
        for index in 0..2 {
            let programs = match counts[index] {
                1 => "1 program".to_string(),
                count => format!("{count} programs"),
            };
            if sets_up[index] || counts[index] > 0 {
                say(&format!("wellspring: {programs} loaded {}", names[index]));
            }
        }
        let mut is_used = false;
        for door in Door::ALL {
            let counts = self.counters.counts(door);
            if counts.calls > 0 {
                is_used = true;
                say(&format!(
                    "wellspring: {:<24} calls {:>10}  bytes {:>14}  threads {:>5}",
                    door.name(),
                    counts.calls,
                    counts.bytes,
                    counts.threads
                ));
            }
            if counts.failures > 0 {
                let instead = match door {
                    Door::Getrandom | Door::Getentropy | Door::Arc4random => "the kernel answered",
                    Door::RandBytes => "OpenSSL answered",
                    _ => "the program got an error",
                };
                say(&format!(
                    "wellspring: {:<24} could not serve {:>10}: {instead}. `wellspring check` in the \
                     program's place says why",
                    door.name(),
                    counts.failures
                ));
            }
        }
        // With the provider loaded, it is most likely OpenSSL that asks.
        let systems = self.counters.counts(Door::Getentropy).calls;
        if counts[1] > 0 && systems > 0 && self.counters.counts(Door::Provider).calls == 0 {
            say(&format!(
                "wellspring: OpenSSL took {systems} seeds from getentropy, past its provider: see `wellspring openssl check`"
            ));
        }
        if !is_used {
            say("wellspring: the program drew no random bytes from wellspring");
        }
        if let Some(reason) = match kind(program) {
            Kind::Static => Some(
                "is static, so it loads no library and makes its system calls itself: run it with --private-dev if it reads \
                 /dev/urandom, or link it with the C library of wellspring",
            ),
            Kind::Privileged => Some(
                "has more rights than its caller (set-user-ID, set-group-ID or capabilities), so it ignores what this command \
                 sets up: run it as the user that it becomes, or with --private-dev if it reads /dev/urandom",
            ),
            Kind::Other => None,
        } {
            say(&format!(
                "wellspring: {} {reason}",
                program.to_string_lossy()
            ));
        }
    }
}
