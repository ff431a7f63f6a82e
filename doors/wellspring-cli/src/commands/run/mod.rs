//! `run -- PROGRAM`: starts a program that draws on wellspring without being rebuilt.
//!
//! ```text
//! shared_file  a file in memory that the program can open
//! libraries    finds the preload library and the OpenSSL provider
//! private_dev  the service's files in place of devices
//! program      the kind of the program: static, set-user-ID or other
//! signals      waits for the program, and passes signals on to it                [unsafe: signals]
//! report       the calls, bytes and threads of each door
//! ```

mod libraries;
mod private_dev;
mod program;
mod report;
mod shared_file;
mod signals;

use crate::failure::{Failure, say};
use clap::Args;
use libraries::{PRELOAD, PROVIDER};
use report::Report;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
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

Signals that are sent to this command reach the program, apart from those that stop or kill a process.

Exit status of the program; 127 if it is not found, 126 if it cannot be started, 128 and the signal that ended it.")]
pub(crate) struct RunRequest {
    /// Put a library before the C library: getrandom, getentropy, arc4random, /dev/urandom
    ///
    /// The files /dev/random and /dev/urandom become those of the service, where it has mounted them.
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
    /// The program then does not read the system's openssl.cnf.
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

    /// Print at the end how the program drew its random bytes, to stderr
    ///
    /// One line for each function, file or provider that was used: its calls, bytes and threads, of the program and of
    /// all that it started.
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
    let mut command = Command::new(name);
    command.args(words);
    if request.preload || request.rand_bytes || both {
        command.env("LD_PRELOAD", with_present(&libraries::find(&PRELOAD)?));
    }
    if request.rand_bytes {
        command.env(RAND_BYTES_VARIABLE, "1");
    }
    let configuration = if request.openssl || both {
        let configuration = libraries::configuration(&libraries::find(&PROVIDER)?)?;
        command.env("OPENSSL_CONF", configuration.path());
        Some(configuration)
    } else {
        None
    };
    if request.private_dev {
        private_dev::replace_devices(&request.files)?;
    }
    let report = request.report.then(Report::start).transpose()?;
    if let Some(report) = &report {
        command.env(report.variable(), report.path());
    }
    let status = match signals::run(&mut command) {
        Ok(status) => status,
        Err(error) => {
            say(&format!("wellspring: {}: {error}", name.to_string_lossy()));
            let is_missing = error.kind() == ErrorKind::NotFound;
            return Ok(ExitCode::from(if is_missing { 127 } else { 126 }));
        }
    };
    drop(configuration);
    if let Some(report) = &report {
        report.print(name);
    }
    // An exit status has 8 bits, and signals have numbers up to 64: both fit into 8 bits.
    let number = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(number as u8))
}

/// Returns the value of LD_PRELOAD with the library before those that it has now.
fn with_present(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(present) = std::env::var_os("LD_PRELOAD").filter(|present| !present.is_empty()) {
        list.push(":");
        list.push(present);
    }
    list
}
