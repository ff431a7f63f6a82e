//! `--repeat SEED`: the seed, on a page that the program and its children open.

use super::files::Page;
use super::program::{Kind, kind};
use crate::failure::{Failure, say};
use std::ffi::OsStr;
use std::path::PathBuf;
use wellspring_interpose::repeat::{HeldSeed, is_for_root};

pub(super) use wellspring_interpose::repeat::VARIABLE;

/// The page with the seed. When this command has ended, also by SIGKILL, no process draws from it any more.
pub(super) struct Seed {
    _held: HeldSeed,
    page: Page,
}

impl Seed {
    pub(super) fn path(&self) -> PathBuf {
        self.page.path()
    }
}

/// Makes the page, and warns. Fails for root, and for a program that would not load the libraries.
pub(super) fn page(seed: u128, program: &OsStr) -> Result<Seed, Failure> {
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
