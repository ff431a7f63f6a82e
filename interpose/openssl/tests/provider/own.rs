//! OpenSSL's own tests of random numbers and threads, with the provider. `cargo xtask openssl --own` builds them, and names
//! their folders in WELLSPRING_OPENSSL, with a colon between them.

use crate::common::{configuration, direct, run};
use std::path::{Path, PathBuf};
use wellspring_interpose::door_counters::Door;

/// The tests that fail, since they ask for what OpenSSL's own generator is inside.
const DIFFERENT: [&str; 3] = [
    // Gives the generator TEST-RAND bytes, and wants them back. The configuration names another generator.
    "rand_test: test_rand",
    // Reads the private structure of OpenSSL's generators.
    "drbgtest: test_rand_reseed",
    // Asks for the parameter `reseed_time`. Forks are tested by `programs_torture_the_direct_entry`.
    "drbgtest: test_rand_fork_safety",
];

/// The programs, and their arguments.
const PROGRAMS: [(&str, &str); 5] = [
    ("rand_test", "default.cnf"),
    ("drbgtest", ""),
    ("rand_status_test", ""),
    ("evp_test", "recipes/30-test_evp_data/evprand.txt"),
    ("threadstest", "recipes/90-test_threads_data"),
];

/// All folders. Says so if the list is empty.
fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("WELLSPRING_OPENSSL").unwrap_or_default();
    let all = std::env::split_paths(&named).filter(|folder| folder.join("test/rand_test").exists());
    let all: Vec<PathBuf> = all.collect();
    if all.is_empty() {
        testkit::skipped("OpenSSL's own tests are not there: run `cargo xtask openssl --own`");
    }
    all
}

/// Runs all programs. Returns the tests that failed, and the bytes that the provider gave.
fn failed(folder: &Path, configuration: &Path) -> (Vec<String>, u64) {
    let (mut failed, mut bytes) = (Vec::new(), 0);
    for (program, argument) in PROGRAMS {
        let script = format!("cd {}/test && ./{program} {argument}", folder.display());
        let run = run(&script, configuration);
        let text = run.text();
        // Lines of one test's parts are indented.
        let tests = text
            .lines()
            .filter(|line| line.starts_with("ok ") || line.starts_with("not ok "));
        assert!(tests.clone().count() > 0, "{program}: {text}");
        let names = tests.filter_map(|line| line.strip_prefix("not ok "));
        let before = failed.len();
        failed.extend(
            names.filter_map(|line| Some(format!("{program}: {}", line.split_once(" - ")?.1))),
        );
        assert_eq!(
            run.output.status.success(),
            failed.len() == before,
            "{program}: {text}"
        );
        bytes += run.counts(Door::Provider).bytes;
    }
    (failed, bytes)
}

#[test]
fn all_pass_but_those_that_look_into_openssls_own_generator() {
    for folder in folders() {
        let own = configuration(|_| String::new());
        assert_eq!(
            failed(&folder, &own),
            (Vec::new(), 0),
            "without the provider"
        );
        for configuration in [configuration(|text| text), direct()] {
            let (failed, bytes) = failed(&folder, &configuration);
            assert_eq!(failed, DIFFERENT, "{}", folder.display());
            assert!(bytes > 10_000, "the provider gave {bytes} bytes");
        }
    }
}
