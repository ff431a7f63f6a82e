//! `seed show FILE`, `seed save FILE`: the file that carries seeds over a reboot.

use crate::streams::{Failure, Output, check_folder, make_folder};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use wellspring::Engine;
use wellspring::seed_file::{Identity, SeedFileError, inspect};

/// Show or write a file that carries seeds over a reboot
///
/// An engine with a seed file (--seed-file of bytes and stats) reads it, replaces it and mixes it in before its first
/// use. At its end it writes the file again. The file has a section for each NUMA node, and only its owner can read it.
/// A seed is credited at most once, in a later boot of the machine that wrote it, and only from the file itself. A copy
/// is mixed in without credit.
#[derive(Args)]
#[command(
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring seed save /var/lib/wellspring/seed
  wellspring seed show /var/lib/wellspring/seed
  wellspring stats --seed-file /var/lib/wellspring/seed"
)]
pub(crate) struct SeedRequest {
    #[command(subcommand)]
    action: Action,
}

/// The operation on the file.
#[derive(Subcommand)]
enum Action {
    /// Show what is in the file, without a secret, and what credit it would get now; changes nothing
    Show {
        /// The seed file
        file: PathBuf,
    },
    /// Read the file, mix it in, and write it again from new output of every node
    ///
    /// Makes the file if it does not exist. Prints what was found.
    Save {
        /// The seed file
        file: PathBuf,
    },
}

/// A folder that is made for a seed file: other users cannot read it, as they cannot write it.
const FOLDER_MODE: u32 = 0o700;

/// Runs the command.
pub(crate) fn run(request: &SeedRequest) -> Result<(), Failure> {
    match &request.action {
        Action::Show { file } => show(file),
        Action::Save { file } => save(file),
    }
}

fn show(file: &Path) -> Result<(), Failure> {
    check_folder(file)?;
    let report = inspect(file, &Identity::system());
    let report = report.map_err(|found| Failure::input(format!("{}: {found}", file.display())))?;
    let written = if report.is_of_this_boot {
        "in this boot"
    } else {
        "in another boot"
    };
    let place = if report.has_file_id {
        "known"
    } else {
        "cannot be told from a copy"
    };
    let text = format!(
        "sections  {}\nwritten   {written}\nnumber    {}, one more with each write: a use of the file is two\n\
         place     {place}\nclaim     {} bits\nnow       {}\n",
        report.sections, report.counter, report.claimed_bits, report.found
    );
    Output::standard()?.print(&text)
}

fn save(file: &Path) -> Result<(), Failure> {
    let fault = |error: SeedFileError| {
        let text = format!("{}: {error}", file.display());
        match error {
            SeedFileError::NotASeedFile => Failure::input(text),
            SeedFileError::File(fault) if fault.is_wrong_file() => Failure::input(text),
            _ => Failure::work(text),
        }
    };
    make_folder(file, FOLDER_MODE)?;
    let engine = Engine::builder().seed_file(file).build();
    let engine = engine.map_err(Failure::work)?;
    // The first read seeds the engine; before it there is nothing to save.
    engine.try_fill(&mut [0; 32]).map_err(Failure::work)?;
    engine.save_seed().map_err(fault)?;
    let stats = engine.stats().seed_file;
    let found = stats.map_or("nothing".to_string(), |stats| stats.found.to_string());
    Output::standard()?.print(&format!(
        "found     {found}\nwritten   {}\n",
        file.display()
    ))
}
