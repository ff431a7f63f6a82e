//! Versions of OpenSSL that Debian 12 does not have, each with the C library that it needs; and OpenSSL's own tests.

use super::cache::{Cache, run};
use super::outcome::Result;
use super::packages::Apt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fetches OpenSSL 3.5, of Debian 13, and 4.0, of experimental, each with its FIPS provider. Returns a folder for each, laid
/// out like a system's root.
pub(crate) fn openssl(cache: &Cache) -> Result<[PathBuf; 2]> {
    let fetch = |name: &str, suites: &[&str]| {
        cache.once(name, |folder| {
            let apt = Apt::new(folder, suites)?;
            let newest = suites.last().copied().unwrap_or_default();
            let packages = ["openssl", "libssl-dev", "openssl-provider-fips"];
            let words = [&["--target-release", newest], &packages[..]].concat();
            apt.unpack_whole(&words, folder)
        })
    };
    Ok([
        fetch("openssl-3.5-fips", &["trixie"])?,
        fetch("openssl-4.0-fips", &["sid", "experimental"])?,
    ])
}

/// The programs of OpenSSL's own tests that draw, or use many threads.
const TESTS: [&str; 5] = [
    "test/rand_test",
    "test/drbgtest",
    "test/rand_status_test",
    "test/evp_test",
    "test/threadstest",
];

/// Builds OpenSSL's own tests, of the sources of Debian 13 and experimental, in the folders that it returns.
pub(crate) fn openssl_tests(cache: &Cache) -> Result<[PathBuf; 2]> {
    let build = |name: &str, suite: &str| {
        cache.once(name, |folder| {
            Apt::new(folder, &[suite])?.unpack_source("openssl", folder)?;
            // Without what no test here uses.
            let configure = "./Configure linux-x86_64 no-shared no-docs no-legacy -O1";
            shell(configure, folder)?;
            shell("make -s -j2 build_generated", folder)?;
            shell(&format!("make -s -j2 {}", TESTS.join(" ")), folder)
        })
    };
    Ok([
        build("openssl-3.5-tests", "trixie")?,
        build("openssl-4.0-tests", "experimental")?,
    ])
}

fn shell(script: &str, folder: &Path) -> Result {
    run(Command::new("sh").args(["-c", script]).current_dir(folder)).map(|_| ())
}
