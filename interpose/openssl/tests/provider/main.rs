//! The provider in programs that use OpenSSL.
//!
//! ```text
//! programs  installed programs, servers, clients and a database draw on it
//! torture   forks, timers, cancelled threads, tight limits, sanitizers; system calls of a first draw that fail
//! newer     OpenSSL 3.5, 3.6 and 4.0: `cargo xtask openssl`; its own tests: `cargo xtask openssl --own`; its header
//! ```

mod newer;
mod programs;
mod torture;

#[path = "../../../common/tests/common/counted.rs"]
mod counted;

pub(crate) use counted::Run;
pub(crate) use testkit::programs::{UNDER_LIMITS, is_long, is_success, without_proc_and_sys};

use std::fs;
use std::path::{Path, PathBuf};
use testkit::programs::{has_header, is_installed, scratch};

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

/// The installed configuration with the line for OpenSSL 3.5.
pub(crate) fn direct() -> PathBuf {
    configuration(|text| {
        let changed = text.replace("# random_provider =", "random_provider =");
        assert_ne!(changed, text);
        changed
    })
}

/// The installed configuration with the seed source in place of the generator, as its comments say.
pub(crate) fn seed_source(text: &str) -> String {
    let changed = text
        .replace("\nrandom = WELLSPRING\n", "\n")
        .replace("\nproperties = provider=wellspring\n", "\n")
        .replace("# seed = ", "seed = ")
        .replace("# seed_properties = ", "seed_properties = ");
    assert_ne!(changed, text);
    changed
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
        testkit::skipped("there is no OpenSSL 3");
    }
    is_new && programs.iter().all(|program| is_installed(program))
}

/// Compiles a C program that draws on OpenSSL, with further words for the compiler. `None` where there is no compiler
/// or no header.
pub(crate) fn compile(source: &str, words: &[&str]) -> Option<PathBuf> {
    if !are_installed(&["cc", "openssl"]) || !has_header("openssl/rand.h") {
        return None;
    }
    let shared = format!("-I{DOOR}/../../bindings/c/tests/c");
    let fixed = ["-DDOOR_OPENSSL", &shared, "-lcrypto"];
    Some(testkit::programs::compile(
        &Path::new(DOOR).join(source),
        &[&fixed, words].concat(),
    ))
}
