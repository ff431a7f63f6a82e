//! `openssl`: the provider's tests with newer versions of OpenSSL, or OpenSSL's own tests with the provider.

use crate::guest::{Cache, Result, Stop, failed, openssl, openssl_tests};
use std::env;
use std::path::Path;
use std::process::Command;

/// The test that runs OpenSSL's.
const OWN: &str = "all_pass_but_those_that_look_into_openssls_own_generator";

/// Runs ours, or OpenSSL's.
pub(crate) fn run(root: &Path, own: bool) -> Result {
    let cache = Cache::open(root)?;
    let (folders, tests) = if own {
        (openssl_tests(&cache)?, OWN)
    } else {
        (openssl(&cache)?, "newer::")
    };
    let folders = env::join_paths(folders).map_err(|error| Stop::Failed(error.to_string()))?;
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--locked", "--package", "wellspring-openssl"])
        .args(["--test", "provider", "--", tests])
        .env("WELLSPRING_OPENSSL", folders)
        .current_dir(root)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => failed("a test failed"),
    }
}
