//! OpenSSL 3.5 and 4.0, where the provider answers RAND_bytes itself. `cargo xtask openssl` fetches them, and names their
//! folders in WELLSPRING_OPENSSL, with a colon between them.

mod common;

use common::{DOOR, configuration, direct, is_success, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::programs::is_installed;
use wellspring_os::door_counters::Door;

/// An unpacked OpenSSL, with the C library that it needs.
struct OpenSsl {
    folder: PathBuf,
    libraries: PathBuf,
}

impl OpenSsl {
    /// All that are there. Says so if there is none.
    fn all() -> Vec<Self> {
        let folders = std::env::var_os("WELLSPRING_OPENSSL").unwrap_or_default();
        let all: Vec<Self> = std::env::split_paths(&folders)
            .filter(|folder| folder.is_dir() && is_installed("cc"))
            .map(|folder| Self {
                libraries: folder.join("usr/lib/x86_64-linux-gnu"),
                folder,
            })
            .collect();
        if all.is_empty() {
            testkit::skipped("WELLSPRING_OPENSSL names no folder: run `cargo xtask openssl`");
        }
        all
    }

    /// The words that run a program with these libraries.
    fn loader(&self) -> String {
        let libraries = self.libraries.display();
        format!("{libraries}/ld-linux-x86-64.so.2 --library-path {libraries}")
    }

    fn command(&self) -> String {
        format!(
            "{} {}/usr/bin/openssl",
            self.loader(),
            self.folder.display()
        )
    }

    fn includes(&self) -> [String; 2] {
        let include = self.folder.join("usr/include");
        [include.clone(), include.join("x86_64-linux-gnu")]
            .map(|folder| format!("-I{}", folder.display()))
    }

    /// Compiles a C program, which draws by RAND_bytes.
    fn compile(&self, source: &str) -> PathBuf {
        let library = self.libraries.join("libcrypto.so");
        let shared = format!("-I{DOOR}/../wellspring-c/tests/c");
        let [first, second] = self.includes();
        let words = [
            "-DDOOR_OPENSSL",
            "-DDOOR_RAND_BYTES",
            &shared,
            &first,
            &second,
            library.to_str().unwrap(),
            // They need the newer C library, which the linker does not see.
            "-Wl,--allow-shlib-undefined",
        ];
        testkit::programs::compile(&Path::new(DOOR).join(source), &words)
    }
}

/// Runs a script, and returns the bytes that it drew through the provider.
fn drawn(script: &str, configuration: &Path) -> u64 {
    let run = run(script, configuration).succeeds();
    run.counts(Door::Provider).bytes
}

#[test]
fn both_configurations_serve_every_byte() {
    for openssl in OpenSsl::all() {
        let script = format!("{} rand -hex 5000 | wc -c", openssl.command());
        for configuration in [configuration(|text| text), direct()] {
            assert_eq!(drawn(&script, &configuration), 5000);
        }
        let key = format!("{} genpkey -algorithm X25519 -out x.pem", openssl.command());
        assert!(drawn(&key, &direct()) >= 32);
        let list = format!("{} list -random-instances -verbose", openssl.command());
        let text = run(&list, &direct()).succeeds().text();
        assert_eq!(text.matches("state = ready").count(), 3, "{text}");
    }
}

/// OpenSSL finds the provider for the line `random_provider`, gives back a use that it did not take, and so puts a provider
/// out of action that is active already. The section must come first, as in the installed configuration.
#[test]
fn the_section_random_comes_before_the_providers() {
    let text = std::fs::read_to_string(format!("{DOOR}/openssl.cnf.in")).unwrap();
    let place = |line| text.find(line).unwrap();
    assert!(place("\nrandom = wellspring_random\n") < place("\nproviders = "));
    for openssl in OpenSsl::all() {
        let wrong = configuration(|text| {
            text.replace("random = wellspring_random\n", "")
                .replace(
                    "providers = wellspring_providers\n",
                    "providers = wellspring_providers\nrandom = wellspring_random\n",
                )
                .replace("# random_provider =", "random_provider =")
        });
        let script = format!("{} rand 10 > random; true", openssl.command());
        assert_eq!(
            drawn(&script, &wrong),
            0,
            "the order does not matter any more"
        );
    }
}

#[test]
fn programs_torture_the_direct_entry() {
    for openssl in OpenSsl::all() {
        let torture = openssl.compile("../wellspring-c/tests/c/torture.c");
        for (step, threads) in [
            ("forks", 9),
            ("spawns", 1),
            ("cancels", 9),
            ("small_stacks", 50),
            ("no_descriptors", 8),
        ] {
            let script = format!("{} {} {step}", openssl.loader(), torture.display());
            let run = run(&script, &direct()).succeeds();
            let counts = run.counts(Door::Provider);
            assert!(counts.threads >= threads, "{step}: {counts:?}");
        }
    }
}

#[test]
fn a_program_sets_the_provider_and_unloads_it() {
    for openssl in OpenSsl::all() {
        let program = openssl.compile("tests/c/direct.c");
        let configuration = configuration(|text| text);
        let script = format!("{} {} .", openssl.loader(), program.display());
        // What the program says that it drew through the provider; more would be a use of the pointer that OpenSSL keeps.
        assert_eq!(drawn(&script, &configuration), 1_048_576 + 16 + 16);
    }
}

#[test]
fn every_number_is_that_of_the_headers() {
    for openssl in OpenSsl::all() {
        let [first, second] = openssl.includes();
        let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args([
                "test",
                "--quiet",
                "--locked",
                "--package",
                "wellspring-openssl",
            ])
            .args(["--test", "header"])
            .env("CPATH", [&first[2..], &second[2..]].join(":"))
            .status();
        assert!(status.unwrap().success());
        let header = openssl.folder.join("usr/include/openssl/core_dispatch.h");
        let command = format!("grep -q 'PROVIDER_RANDOM_BYTES 1032' {}", header.display());
        assert!(is_success(&command));
    }
}
