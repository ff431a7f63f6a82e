//! `kernel save FILE`, `kernel restore FILE`: the module's nodes over a reboot.

use crate::streams::{Failure, Output};
use clap::{Args, Subcommand};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use wellspring::seed_file::{Identity, SeedFound};
use wellspring_module::{ModuleSeeds, ModuleSeedsError};

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
    action: Action,
}

/// The operation on the file.
#[derive(Subcommand)]
enum Action {
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

/// Runs the command.
pub(crate) fn run(request: &KernelRequest) -> Result<(), Failure> {
    let (Action::Save { file } | Action::Restore { file }) = &request.action;
    let seeds = ModuleSeeds::open(file, Identity::system()).map_err(|error| fault(file, error))?;
    match &request.action {
        Action::Save { .. } => {
            let nodes = seeds.save().map_err(|error| fault(file, error))?;
            print(&format!("{}: {nodes} nodes saved\n", file.display()))
        }
        Action::Restore { .. } => restore(seeds, file),
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
