//! Runs programs under a configuration with the provider.

#![allow(dead_code, reason = "no file of tests uses all of this")]

#[path = "../../../wellspring-c/tests/helpers/counted.rs"]
mod counted;
#[path = "../../../wellspring-c/tests/helpers/programs.rs"]
mod programs;

pub(crate) use counted::Run;
pub(crate) use programs::is_success;

use programs::{is_installed, scratch};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const DOOR: &str = env!("CARGO_MANIFEST_DIR");

/// The installed configuration for the provider under test, with changes. A copy of the provider lies beside it.
pub(crate) fn configuration(change: impl FnOnce(String) -> String) -> PathBuf {
    configuration_in(&scratch("configuration"), change)
}

/// The same in another folder.
pub(crate) fn configuration_in(folder: &Path, change: impl FnOnce(String) -> String) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().join("libwellspring_openssl.so");
    let module = folder.join("wellspring.so");
    fs::copy(built, &module).unwrap();
    let text = fs::read_to_string(format!("{DOOR}/openssl.cnf.in")).unwrap();
    let text = text.replace(
        "module = @module@",
        &format!("module = {}", module.display()),
    );
    let path = folder.join("openssl.cnf");
    fs::write(&path, change(text)).unwrap();
    path
}

/// Runs a shell script under a configuration, in its folder.
pub(crate) fn run(script: &str, configuration: &Path) -> Run {
    Run::of(script, |command| {
        command
            .env("OPENSSL_CONF", configuration)
            .current_dir(configuration.parent().unwrap());
    })
}

/// Whether all programs are installed, and OpenSSL is version 3; says so if a test has to do without.
pub(crate) fn are_installed(programs: &[&str]) -> bool {
    let is_new = is_success("openssl version | grep -q 'OpenSSL 3'");
    if !is_new {
        eprintln!("SKIPPED: there is no OpenSSL 3");
    }
    is_new && programs.iter().all(|program| is_installed(program))
}
