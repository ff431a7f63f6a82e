//! Finds the preload library and the OpenSSL provider, and writes the configuration for OpenSSL.

use super::shared_file::SharedFile;
use crate::failure::Failure;
use std::env;
use std::path::{Path, PathBuf};

/// A library that `run` sets up.
pub(super) struct Library {
    /// Its path below the prefix of the installation.
    installed: &'static str,
    /// Its name beside the command, in the folder where cargo builds both.
    built: &'static str,
    package: &'static str,
}

/// The library for LD_PRELOAD.
pub(super) const PRELOAD: Library = Library {
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

/// Finds a library: below the prefix where the command is installed, or beside the command.
pub(super) fn find(library: &Library) -> Result<PathBuf, Failure> {
    let command = env::current_exe().map_err(Failure::work)?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let prefix = folder.parent().unwrap_or(Path::new("/"));
    let places = [prefix.join(library.installed), folder.join(library.built)];
    let found = places.iter().find(|place| place.is_file());
    found.cloned().ok_or_else(|| {
        Failure::work(format!(
            "there is no {}. In a clone, run `make` and `make install PREFIX={}`, or run: cargo build --release \
             --package {}, and target/release/wellspring",
            places[0].display(),
            prefix.display(),
            library.package
        ))
    })
}

/// Makes the configuration for OpenSSL, the same as the installed one but with the path of this provider.
pub(super) fn configuration(provider: &Path) -> Result<SharedFile, Failure> {
    let text = include_str!("../../../openssl.cnf.in");
    let text = text.replace("@module@", &provider.to_string_lossy());
    let file = SharedFile::new("wellspring-openssl.cnf")?;
    let write = |bytes| rustix::io::write(file.file(), bytes).map_err(Failure::work);
    let written = write(text.as_bytes())?;
    if written < text.len() {
        return Err(Failure::work("no memory for the configuration of OpenSSL"));
    }
    Ok(file)
}
