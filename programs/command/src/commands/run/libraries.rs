//! Finds the preload library and the OpenSSL provider, and puts the first into LD_PRELOAD.

use super::files::lasting_library;
use crate::failure::Failure;
use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library that `run` sets up.
pub(super) struct Library {
    /// Its path below the prefix of the installation.
    installed: &'static str,
    /// Its name beside the command, in the folder where cargo builds both.
    built: &'static str,
    package: &'static str,
}

/// The library for LD_PRELOAD.
const PRELOAD: Library = Library {
    installed: "lib/wellspring/libwellspring-preload.so",
    built: "libwellspring_preload.so",
    package: "wellspring-preload",
};

/// The OpenSSL provider.
pub(super) const PROVIDER: Library = Library {
    installed: "lib/wellspring/ossl-modules/wellspring.so",
    built: "libwellspring_openssl.so",
    package: "wellspring-openssl",
};

/// Finds a library: below the prefix where the command is installed, or beside the command. Where another user can come to own
/// its path, or a list cannot have it, it is a copy.
pub(super) fn find(library: &Library) -> Result<PathBuf, Failure> {
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

/// Puts the preload library before the C library of the program. AddressSanitizer's own wants to be the first, and ends a program
/// in which it is not: but this one replaces nothing that AddressSanitizer must replace.
pub(super) fn preload(command: &mut Command) -> Result<(), Failure> {
    command.env("LD_PRELOAD", with_present(&find(&PRELOAD)?));
    let mut options = OsString::from("verify_asan_link_order=0");
    if let Some(present) = env::var_os("ASAN_OPTIONS").filter(|present| !present.is_empty()) {
        options.push(":");
        options.push(present);
    }
    command.env("ASAN_OPTIONS", options);
    Ok(())
}

/// Returns the value of LD_PRELOAD with the library before those that it has now.
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
