//! `serve` and `status`: both are the work of `wellspringd`, another program, which this one finds and becomes.

use crate::streams::Failure;
use clap::Args;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The program.
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
/// --json prints one line for programs. --watch prints again every second. --config FILE names the configuration of the
/// service, if it is not the default.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring status
  wellspring status --json
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
