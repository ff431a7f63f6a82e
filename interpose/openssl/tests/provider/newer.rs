//! OpenSSL 3.5, 3.6 and 4.0, where the provider answers RAND_bytes itself. `cargo xtask openssl` fetches them, and names their
//! folders in WELLSPRING_OPENSSL, with a colon between them. Then what OpenSSL's sources say: its header, and its own tests.

use crate::{DOOR, configuration, direct, is_success, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::programs::is_installed;
use wellspring_interpose::door_counters::Door;

/// An unpacked OpenSSL, with the C library that it needs.
struct OpenSsl {
    folder: PathBuf,
    libraries: PathBuf,
}

impl OpenSsl {
    /// Every unpacked OpenSSL. Says so if the list is empty.
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
        let shared = format!("-I{DOOR}/../../bindings/c/tests/c");
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
        let torture = openssl.compile("../../bindings/c/tests/c/torture.c");
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
            .args(["--test", "provider", "--", "header::"])
            .env("CPATH", [&first[2..], &second[2..]].join(":"))
            .status();
        assert!(status.unwrap().success());
        let header = openssl.folder.join("usr/include/openssl/core_dispatch.h");
        let command = format!("grep -q 'PROVIDER_RANDOM_BYTES 1032' {}", header.display());
        assert!(is_success(&command));
    }
}

/// The seeds that a script takes from the provider.
fn seeds(script: &str, configuration: &Path) -> u64 {
    run(script, configuration)
        .succeeds()
        .counts(Door::ProviderSeed)
        .calls
}

/// A line that a version does not know is an error, which is reported only if the configuration asks for that.
#[test]
fn every_line_of_both_configurations_is_known() {
    for openssl in OpenSsl::all() {
        let script = format!("{} rand 10 > random", openssl.command());
        let reported = |text: String| format!("config_diagnostics = 1\n{text}");
        let seeded = configuration(|text| reported(crate::seed_source(&text)));
        assert!(seeds(&script, &seeded) > 0);
        assert_eq!(drawn(&script, &configuration(reported)), 10);
        // As the template says. A version that knows the line takes it.
        let strict = configuration(|text| {
            reported(crate::seed_source(&text)).replace("# seed_strict =", "seed_strict =")
        });
        let strict = run(&script, &strict);
        let is_refused = strict.text().contains("unknown name in random section");
        let seeds = strict.counts(Door::ProviderSeed).calls;
        assert_ne!(is_refused, seeds > 0, "{}", strict.text());
    }
}

/// The table in docs/explanation/compliance.md: which draws have our seed under the FIPS provider, and which have the system's.
#[test]
fn the_fips_provider_takes_our_seed_where_the_documentation_says_so() {
    for openssl in OpenSsl::all() {
        let modules = openssl.libraries.join("ossl-modules");
        let fips = modules.join("fips.so");
        if !fips.is_file() {
            testkit::skipped(&format!("there is no {}", fips.display()));
            continue;
        }
        let command = format!(
            "OPENSSL_MODULES={} {}",
            modules.display(),
            openssl.command()
        );
        let folder = testkit::programs::scratch("fips");
        let install = format!(
            "cd {} && OPENSSL_CONF=/dev/null {command} fipsinstall -out fipsmodule.cnf -module {} 2>&1",
            folder.display(),
            fips.display()
        );
        assert!(is_success(&install), "{install}");
        let settings = |name: &str, properties: &str, more: &str| {
            let folder = folder.join(name);
            std::fs::create_dir(&folder).unwrap();
            crate::configuration_in(&folder, |text| {
                let text = crate::seed_source(&text)
                    .replace("provider=wellspring,-fips", properties)
                    .replace(
                        "default = wellspring_default",
                        "fips = fips_sect\nbase = wellspring_default",
                    )
                    .replace(
                        "providers = wellspring_providers",
                        "providers = wellspring_providers\nalg_section = algorithms",
                    );
                format!(
                    "{text}\n{more}\n[algorithms]\ndefault_properties = fips=yes\n.include {}/fipsmodule.cnf\n",
                    folder.parent().unwrap().display()
                )
            })
        };
        let key = format!("{command} genrsa -out k.pem 2048");
        let key_first = format!("{command} ecparam -name P-256 -genkey -noout -out k.pem");
        let best = settings(
            "best",
            "provider=wellspring,-fips",
            "random_provider = none",
        );
        let list = run(&format!("{command} list -providers"), &best)
            .succeeds()
            .text();
        assert!(list.contains("fips") && !list.contains("Default"), "{list}");
        assert!(
            seeds(&key, &best) > 0,
            "our seed, under the FIPS provider's generator"
        );
        assert_eq!(
            seeds(&key_first, &best),
            0,
            "a key as the first draw has our seed now"
        );
        let without_line = settings("without-line", "provider=wellspring,-fips", "");
        let draw = format!("{command} rand -hex -out r 16");
        assert_eq!(
            seeds(&draw, &without_line),
            0,
            "RAND_bytes has our seed now"
        );
        // Without `-fips` the query is for a validated seed source, and finds none.
        let not_found = settings("not-found", "provider=wellspring", "random_provider = none");
        for script in [&key, &key_first, &draw] {
            // OpenSSL 4.0 may fail then.
            let counts = run(script, &not_found).counts(Door::ProviderSeed);
            assert_eq!(counts.calls, 0, "{script}");
        }
    }
}

// ---- the header ----
// OpenSSL's own header has the numbers and layouts in src/abi.rs. OpenSSL says nothing about a wrong one.

/// Each constant of src/abi.rs that has a name in the header.
fn assertions() -> String {
    let source = include_str!("../../src/abi.rs");
    let mut lines = Vec::new();
    for line in source.lines() {
        let Some((name, value)) = line
            .strip_prefix("pub(crate) const ")
            .and_then(|rest| rest.split_once(": c_"))
            .and_then(|(name, rest)| Some((name, rest.split_once(" = ")?.1)))
        else {
            continue;
        };
        let value = value.trim_end_matches(';');
        let header_name = match name {
            "INTEGER" | "UNSIGNED_INTEGER" => format!("OSSL_PARAM_{name}"),
            "UTF8_POINTER" => "OSSL_PARAM_UTF8_PTR".into(),
            "OP_RAND" => "OSSL_OP_RAND".into(),
            "STATE_UNINITIALISED" | "STATE_READY" | "STATE_ERROR" => format!("EVP_RAND_{name}"),
            "TEARDOWN" | "GETTABLE_PARAMS" | "GET_PARAMS" | "QUERY_OPERATION" | "RANDOM_BYTES" => {
                format!("OSSL_FUNC_PROVIDER_{name}")
            }
            "YES" | "NO" => continue,
            _ => format!("OSSL_FUNC_{name}"),
        };
        // Headers of other versions have fewer.
        let guard = |name| match name {
            "RANDOM_BYTES" => ["#ifdef OSSL_FUNC_PROVIDER_RANDOM_BYTES\n", "\n#endif"],
            _ => [""; 2],
        };
        let [before, after] = guard(name);
        lines.push(format!(
            "{before}_Static_assert({header_name} == {value}, \"{name}\");{after}"
        ));
    }
    assert!(lines.len() > 25, "{lines:?}");
    lines.join("\n")
}

/// Sizes and places of the structs, as the Rust compiler lays out the same fields.
const LAYOUTS: &str = "
#include <stddef.h>
#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/evp.h>
#include <openssl/params.h>
_Static_assert(sizeof(OSSL_PARAM) == 40 && offsetof(OSSL_PARAM, return_size) == 32, \"Param\");
_Static_assert(offsetof(OSSL_PARAM, data) == 16 && offsetof(OSSL_PARAM, data_size) == 24, \"Param\");
_Static_assert(sizeof(OSSL_DISPATCH) == 16 && offsetof(OSSL_DISPATCH, function) == 8, \"Dispatch\");
_Static_assert(sizeof(OSSL_ALGORITHM) == 32 && offsetof(OSSL_ALGORITHM, implementation) == 16, \"Algorithm\");
";

fn compiles(source: &str) -> Result<(), String> {
    let mut compiler = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cc: {error}"))?;
    std::io::Write::write_all(&mut compiler.stdin.take().unwrap(), source.as_bytes()).unwrap();
    let output = compiler.wait_with_output().unwrap();
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn every_number_and_layout_is_that_of_the_header() {
    if compiles("#include <openssl/core_dispatch.h>\n").is_err() {
        eprintln!("SKIPPED: no C compiler, or no headers of OpenSSL 3");
        return;
    }
    let source = format!("{LAYOUTS}{}\n", assertions());
    compiles(&source).unwrap();
    // The test can fail: a wrong number does not compile.
    let wrong = source.replace(
        "OSSL_FUNC_RAND_GET_SEED == 18",
        "OSSL_FUNC_RAND_GET_SEED == 17",
    );
    assert_ne!(wrong, source);
    assert!(compiles(&wrong).is_err());
}

// ---- OpenSSL's own tests ----
// OpenSSL's own tests of random numbers and threads, with the provider. `cargo xtask openssl --own` builds them, and names
// their folders in WELLSPRING_OPENSSL, with a colon between them.

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
