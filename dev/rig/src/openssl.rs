//! `openssl`: the provider's tests with newer versions of OpenSSL, or OpenSSL's own tests with the provider.

use crate::guest::{Cache, Result, Stop, failed, openssl, openssl_tests};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The test that runs OpenSSL's.
const OWN: &str = "all_pass_but_those_that_look_into_openssls_own_generator";

/// The tests that run with newer versions: of the provider, and of the command that says who seeds them.
const OURS: [[&str; 3]; 2] = [
    ["wellspring-openssl", "provider", "newer::"],
    ["wellspring-cli", "command", "newer_versions"],
];

pub(crate) fn run(root: &Path, own: bool) -> Result {
    let cache = Cache::open(root)?;
    if own {
        return test(
            root,
            &openssl_tests(&cache)?,
            ["wellspring-openssl", "provider", OWN],
        );
    }
    let folders = openssl(&cache)?;
    OURS.into_iter()
        .try_for_each(|tests| test(root, &folders, tests))
}

fn test(root: &Path, folders: &[PathBuf], [package, program, tests]: [&str; 3]) -> Result {
    let folders = env::join_paths(folders).map_err(|error| Stop::Failed(error.to_string()))?;
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--locked", "--package", package])
        .args(["--test", program, "--", tests])
        .env("WELLSPRING_OPENSSL", folders)
        .current_dir(root)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => failed("a test failed"),
    }
}
