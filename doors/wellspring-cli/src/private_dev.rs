//! `run --private-dev -- PROGRAM`: a program that finds the service's files where /dev/random and /dev/urandom were.

use crate::failure::Failure;
use clap::Args;
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is replaced.
const NAMES: [&str; 2] = ["random", "urandom"];

/// Run a program with the files of the host service in place of /dev/random and /dev/urandom
///
/// The program gets a mount namespace of its own: all others keep their devices. It needs root, and a service with
/// [files] in its configuration.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring run --private-dev -- python3 program.py
  wellspring run --private-dev --files /srv/random -- java -jar program.jar")]
pub(crate) struct RunRequest {
    /// Replace the devices, for the program alone
    #[arg(long, required = true)]
    private_dev: bool,

    /// The folder where the service has its files
    #[arg(long, value_name = "FOLDER", default_value = "/run/wellspring/files")]
    files: PathBuf,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Becomes the program. Returns only if that fails.
pub(crate) fn run(request: &RunRequest) -> Result<(), Failure> {
    for name in NAMES {
        let file = request.files.join(name);
        let found = rustix::fs::accessat(
            CWD,
            &file,
            rustix::fs::Access::READ_OK,
            rustix::fs::AtFlags::empty(),
        );
        found.map_err(|error| {
            Failure::input(format!(
                "{}: {error} (does the service run?)",
                file.display()
            ))
        })?;
    }
    replace(&request.files).map_err(|error| match error {
        Errno::PERM => Failure::work("--private-dev needs root (CAP_SYS_ADMIN)"),
        error => Failure::work(format!("--private-dev: {error}")),
    })?;
    let [program, arguments @ ..] = request.program.as_slice() else {
        return Err(Failure::input("there is no program"));
    };
    let error = Command::new(program).args(arguments).exec();
    Err(Failure::work(format!(
        "{}: {error}",
        program.to_string_lossy()
    )))
}

/// Puts the files over the devices, in a namespace that only this process is in.
fn replace(files: &Path) -> Result<(), Errno> {
    // SAFETY: no other thread runs in this command, and none of its files or directories is looked up again before it
    // becomes the program.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    NAMES
        .into_iter()
        .try_for_each(|name| mount_bind(files.join(name), Path::new("/dev").join(name)))
}
