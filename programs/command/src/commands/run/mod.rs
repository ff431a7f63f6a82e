//! `run -- PROGRAM`: starts a program that draws on wellspring without being rebuilt.
//!
//! ```text
//! files        files and pages that the environment names, in a folder that no other user can change
//! libraries    finds the preload library and the OpenSSL provider
//! openssl      the configuration of OpenSSL: what was there, and ours
//! libcrypto    OpenSSL's own reader of configurations                                [unsafe: dlopen]
//! private_dev  the service's files in place of devices
//! program      the kind of the program: static, set-user-ID or other
//! signals      waits for the program, and passes signals on to it                [unsafe: signals]
//! repeat       the seed of a program that is to draw the same bytes in every run
//! report       the calls, bytes and threads of each door
//! audit        which generators it draws on, and what is wrong with that        [unsafe: ptrace]
//! ```

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod audit;
mod files;
mod libcrypto;
mod libraries;
mod openssl;
mod private_dev;
mod program;
mod repeat;
mod report;
mod signals;

use crate::failure::{Failure, say};
use clap::Args;
use libraries::PROVIDER;
use openssl::Setting;
use program::Kind;
use report::Report;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use wellspring::clone_detection::DEFAULT_PATH;
use wellspring_os::door_counters::RAND_BYTES_VARIABLE;

/// Start a program that draws on wellspring, without rebuilding it
///
/// Without --preload, --openssl and --private-dev the first two are set up: a library that the loader puts before the C
/// library, and a provider for OpenSSL 3. A program with more rights than its caller (set-user-ID) ignores both.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring run --report -- python3 -c 'import os; os.urandom(32)'
  wellspring run --openssl -- nginx
  wellspring run --preload --rand-bytes -- python3 -c 'import ssl; ssl.RAND_bytes(32)'
  wellspring run --private-dev -- java -jar program.jar
  wellspring run --audit -- ./server

Signals that are sent to this command reach the program, apart from those that stop or kill a process.
With --audit none does; SIGTERM and SIGHUP end both, without a report.

Exit status of the program; 127 if it is not found, 126 if it cannot be started, 128 and the signal that ended it.")]
pub(crate) struct RunRequest {
    /// Put a library before the C library: getrandom, getentropy, arc4random, /dev/urandom
    ///
    /// By LD_PRELOAD; and by ASAN_OPTIONS, without which a program built with AddressSanitizer does not start then. The files
    /// /dev/random and /dev/urandom become those of the service, where it has mounted them.
    #[arg(long)]
    preload: bool,

    /// Let that library replace RAND_bytes and RAND_priv_bytes of OpenSSL too
    ///
    /// For programs whose OpenSSL reads no configuration, or is older than version 3. Only calls of these two functions from
    /// outside of OpenSSL are replaced; OpenSSL's own keys and nonces come from its generator.
    #[arg(long)]
    rand_bytes: bool,

    /// Set up the provider for OpenSSL 3, by OPENSSL_CONF
    ///
    /// The new configuration includes the file that the program would read, the one of OPENSSL_CONF or the system's, and adds the
    /// provider to its sections. Refused if that file demands FIPS or another generator.
    #[arg(long)]
    openssl: bool,

    /// Put the files of the host service in place of /dev/random and /dev/urandom
    ///
    /// The program gets a mount namespace of its own: all others keep their devices. It needs root, and a service with the
    /// section `files` in its configuration.
    #[arg(long)]
    private_dev: bool,

    /// The folder where the service has its files, for --private-dev
    ///
    /// Not with --preload and --rand-bytes: their library knows the default folder alone.
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "/run/wellspring/files",
        requires = "private_dev",
        conflicts_with_all = ["preload", "rand_bytes"]
    )]
    files: PathBuf,

    /// Draw the same bytes in every run with this seed: for tests and reproducible builds alone
    ///
    /// Every byte that goes through the library and the provider, keys too, follows from the seed: from a stream for each
    /// process and each thread, in the order in which they begin to draw, and for children of fork in the order of the forks.
    /// Refused for root, for programs with more rights than their caller, and for static ones, which load no library.
    #[arg(long, value_name = "SEED", value_parser = crate::commands::bytes::seed, conflicts_with = "private_dev")]
    repeat: Option<u128>,

    /// Print at the end how the program drew its random bytes, to stderr
    ///
    /// One line for each function, file or provider that was used: its calls, bytes and threads, of the program and of
    /// all that it started.
    #[arg(long)]
    report: bool,

    /// Say which generators the program draws on, and which of its draws others can repeat
    ///
    /// Nothing is set up: the program runs as it is, slower, and under ptrace(2). For the kernel's generator, rand, random,
    /// drand48, arc4random and RAND_bytes, the generators of Python, Perl and PHP, and the Mersenne Twister of C++. It names
    /// processes that draw from copies of one state after a fork, seeds that are the time, generators that nothing seeded,
    /// and draws after the generation page changed. It sees functions that have a symbol, and those of Python and PHP without.
    #[arg(long, conflicts_with_all = ["preload", "rand_bytes", "openssl", "private_dev", "report", "repeat"])]
    audit: bool,

    /// The generation page, whose change tells --audit that the machine was cloned
    #[arg(long, value_name = "FILE", default_value = DEFAULT_PATH, requires = "audit")]
    page: PathBuf,

    /// Also write what --audit finds to a file, as JSON
    #[arg(long, value_name = "FILE", requires = "audit")]
    audit_json: Option<PathBuf>,

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
    let mut command = Command::new(name);
    command.args(words);
    if request.audit {
        let status = audit(&mut command, request)?;
        if status.is_ok() && program::kind(name) == Kind::Privileged {
            let name = name.to_string_lossy();
            say(&format!(
                "wellspring: {name} has more rights than its caller when nothing traces it, and had the caller's here: root's \
                 --audit sees it with its own"
            ));
        }
        return Ok(exit_code(name, status, true));
    }
    signals::outlive_size_limit(&mut command);
    let seed = request.repeat.map(|seed| repeat::page(seed, name));
    let seed = seed.transpose()?;
    if let Some(seed) = &seed {
        command.env(repeat::VARIABLE, seed.path());
    }
    if request.preload || request.rand_bytes || both {
        libraries::preload(&mut command)?;
    }
    if request.rand_bytes {
        command.env(RAND_BYTES_VARIABLE, "1");
    }
    if request.openssl || both {
        match openssl::configuration(&libraries::find(&PROVIDER)?)? {
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
        private_dev::replace_devices(&request.files)?;
    }
    let report = request.report.then(Report::start).transpose()?;
    if let Some(report) = &report {
        command.env(report.variable(), report.path());
    }
    let status = signals::run(&mut command);
    drop(seed);
    if let (Some(report), Ok(_)) = (&report, &status) {
        let sets_up = [
            request.preload || request.rand_bytes || both,
            request.openssl || both,
        ];
        report.print(name, sets_up);
    }
    Ok(exit_code(name, status, false))
}

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
fn audit(command: &mut Command, request: &RunRequest) -> Result<io::Result<ExitStatus>, Failure> {
    audit::run(command, &request.page, request.audit_json.as_deref())
}

#[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
fn audit(_: &mut Command, request: &RunRequest) -> Result<io::Result<ExitStatus>, Failure> {
    let _ = (&request.page, &request.audit_json);
    Err(Failure::input(
        "this build of the command has no --audit: it needs x86-64 and glibc",
    ))
}

/// The status of the program, or why it did not start.
fn exit_code(name: &OsStr, status: io::Result<ExitStatus>, is_audit: bool) -> ExitCode {
    match status {
        // An exit status has 8 bits, and signals have numbers up to 64: both fit into 8 bits.
        Ok(status) => {
            let number = status.code();
            let number = number.unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            ExitCode::from(number as u8)
        }
        Err(error) => {
            let reason = program::why_not_started(name, &error, is_audit);
            say(&format!("wellspring: {reason}"));
            let is_missing = error.kind() == ErrorKind::NotFound;
            ExitCode::from(if is_missing { 127 } else { 126 })
        }
    }
}
