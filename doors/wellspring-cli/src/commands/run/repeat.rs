//! `--repeat SEED`: the seed, on a page that the program and its children open.

use super::program::{Kind, kind};
use super::shared_file::SharedFile;
use crate::failure::{Failure, say};
use rustix::fs::ftruncate;
use std::ffi::OsStr;
use wellspring_os::repeat::{is_for_root, write_seed};

pub(super) use wellspring_os::repeat::VARIABLE;

/// Makes the page, and warns. Fails for root, and for a program that would not load the libraries.
pub(super) fn page(seed: u128, program: &OsStr) -> Result<SharedFile, Failure> {
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
    let page = SharedFile::new("wellspring-repeat")?;
    ftruncate(page.file(), 4096).map_err(Failure::work)?;
    write_seed(page.file(), seed).map_err(Failure::work)?;
    say(
        "wellspring: --repeat: ALL KEYS AND RANDOM BYTES OF THIS PROGRAM FOLLOW FROM THE SEED. FOR TESTS ALONE",
    );
    Ok(page)
}
