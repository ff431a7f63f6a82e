//! The cost of the library in a program that starts to use it, and the hints of the compiler. The tests run cargo.

mod weight {
    //! The weight of the library in a program that prints one random number: the bytes added, and the crates to build.
    //!
    //! The program is built as a user builds it, with the default release profile, and compared with a program that
    //! prints a number of the standard library. docs/start/rust.md has the figures, and says where the bytes are.

    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    /// The most bytes that the library may add. No user of a program notices less, so no code is bent to save some.
    const MOST_BYTES: u64 = 140_000;

    /// Another compiler makes other code from the same source.
    const MEASURED_WITH: &str = "rustc 1.95.0 ";

    /// The most crates that cargo builds for it, the library included.
    const MOST_CRATES: usize = 11;

    /// The most packages in that program's Cargo.lock, for all systems together. The models under `cfg(loom)` need 27 more, which
    /// an optional dependency keeps out.
    const MOST_PACKAGES: usize = 14;

    const WORKSPACE: &str = "[workspace]\nmembers = [\"random\", \"number\"]\nresolver = \"3\"\n";

    const PACKAGE: &str = "[package]\nname = \"NAME\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";

    const RANDOM: &str = "fn main() {\n    println!(\"{}\", wellspring::u64());\n}\n";

    const NUMBER: &str = "fn main() {\n    println!(\"{}\", std::process::id());\n}\n";

    fn cargo() -> Command {
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    fn library() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
    }

    /// Writes both programs. They have the versions that this workspace is locked to.
    fn programs(folder: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        let dependency = format!(
            "[dependencies]\nwellspring = {{ path = {:?} }}\n",
            library()
        );
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("Cargo.toml", WORKSPACE);
        write(
            "random/Cargo.toml",
            &(PACKAGE.replace("NAME", "random") + &dependency),
        );
        write("random/src/main.rs", RANDOM);
        write("number/Cargo.toml", &PACKAGE.replace("NAME", "number"));
        write("number/src/main.rs", NUMBER);
        std::fs::copy(
            library().join("../../Cargo.lock"),
            folder.join("Cargo.lock"),
        )
        .unwrap();
        folder
    }

    /// Builds both programs, without symbols, and with short names of source files: the messages of panics have them, and
    /// this folder may have a long name.
    fn build(folder: &Path) -> Output {
        let sources = library().parent().unwrap().display();
        let mut cargo = cargo();
        cargo
            .args(["build", "--release", "--quiet", "--offline", "--target-dir"])
            .arg(folder.join("target"))
            .current_dir(folder);
        // The caller of this test may have set these.
        for name in ["CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
            cargo.env_remove(name);
        }
        // RUSTFLAGS would split a path at its spaces.
        let flag = format!("--remap-path-prefix={sources}=crates");
        cargo
            .env("CARGO_ENCODED_RUSTFLAGS", flag)
            .env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
        cargo.output().expect("cargo starts")
    }

    /// Why the size cannot be measured, if it cannot.
    fn skipped(folder: &Path) -> Option<String> {
        if !testkit::programs::is_long("it builds two programs") {
            return Some("the short form of the tests".into());
        }
        if cfg!(not(all(target_arch = "x86_64", target_env = "gnu"))) {
            return Some("the figure is one of x86-64 and glibc".into());
        }
        let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let version = Command::new(compiler).arg("--version").output();
        let version = version.map_or(String::new(), |output| {
            String::from_utf8_lossy(&output.stdout).into_owned()
        });
        if !version.starts_with(MEASURED_WITH) {
            return Some(format!(
                "the figure is one of {MEASURED_WITH}, this is {version}"
            ));
        }
        // `cargo tree` asks for this platform's packages only, and fails offline if one is not on this machine.
        let tree = cargo()
            .args(["tree", "--offline"])
            .current_dir(folder)
            .output();
        let tree = tree.expect("cargo starts");
        let reason = String::from_utf8_lossy(&tree.stderr);
        (!tree.status.success()).then(|| format!("cargo cannot build offline: {reason}"))
    }

    #[test]
    fn a_program_that_draws_a_number_is_no_heavier_than_the_documents_say() {
        let folder = programs("weight");
        if let Some(reason) = skipped(&folder) {
            return println!("SKIPPED: {reason}");
        }
        let output = build(&folder);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let [random, number] = ["random", "number"].map(|name| {
            let program = folder.join("target/release").join(name);
            std::fs::metadata(program).unwrap().len()
        });
        let added = random - number;
        println!("{added} bytes added: {random} with the library, {number} without");
        assert!(
            added <= MOST_BYTES,
            "{added} bytes added, {MOST_BYTES} allowed"
        );
        assert!(
            added > MOST_BYTES / 2,
            "{added} bytes added: lower the bound"
        );
    }

    #[test]
    fn a_program_that_draws_a_number_builds_no_more_crates_than_the_documents_say() {
        let mut tree = cargo();
        tree.args([
            "tree",
            "--offline",
            "--edges=normal,build",
            "--prefix=none",
            "--no-dedupe",
        ])
        .arg("--manifest-path")
        .arg(library().join("Cargo.toml"));
        let output = tree.output().expect("cargo starts");
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return println!("SKIPPED: cargo tree: {reason}");
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut crates: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split(' ').next())
            .collect();
        crates.sort_unstable();
        crates.dedup();
        assert!(crates.contains(&"wellspring-core"), "{text}");
        assert!(crates.len() <= MOST_CRATES, "{}: {crates:?}", crates.len());
    }

    #[test]
    fn the_lock_file_of_a_program_has_no_more_packages_than_the_documents_say() {
        let folder = programs("packages");
        let mut tree = cargo();
        // Cargo takes out of the copied file what these two programs do not need.
        let output = tree
            .args(["tree", "--offline"])
            .current_dir(&folder)
            .output();
        let output = output.expect("cargo starts");
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return println!("SKIPPED: cargo tree: {reason}");
        }
        let lock = std::fs::read_to_string(folder.join("Cargo.lock")).unwrap();
        let own = ["random", "number"];
        let packages: Vec<&str> = lock
            .lines()
            .filter_map(|line| line.strip_prefix("name = "))
            .map(|name| name.trim_matches('"'))
            .filter(|name| !own.contains(name))
            .collect();
        assert!(packages.contains(&"wellspring-core"), "{lock}");
        assert!(
            packages.len() <= MOST_PACKAGES,
            "{}: {packages:?}",
            packages.len()
        );
    }
}

mod hints {
    //! The errors of the compiler say what a newcomer should write instead.

    use std::path::Path;
    use std::process::Command;

    /// rand_core 0.9 is what a user of rand 0.9 has.
    const MANIFEST: &str = r#"
[package]
name = "hints"
version = "0.0.0"
edition = "2024"

[dependencies]
rand_core = { version = "0.9.3", default-features = false }
wellspring = { path = "LIBRARY" }

[workspace]
"#;

    const MAIN: &str = "
use rand_core::RngCore;

fn main() {
    wellspring::range(0.5..2.0);
    wellspring::random::<String>();
    wellspring::rng().next_u32();
    wellspring::LocalRng::default().next_u32();
}
";

    #[test]
    fn a_mistake_of_a_newcomer_gets_an_error_with_the_right_call_or_feature() {
        let library = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hints");
        std::fs::create_dir_all(folder.join("src")).unwrap();
        let manifest = MANIFEST.replace("LIBRARY", library.to_str().unwrap());
        std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        std::fs::write(folder.join("src/main.rs"), MAIN).unwrap();
        std::fs::copy(library.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        let mut check = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        check.args(["check", "--offline", "--target-dir", "target"]);
        for name in ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "CARGO_BUILD_TARGET"] {
            check.env_remove(name);
        }
        let output = check.current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("no matching package") || said.contains("failed to download") {
            return eprintln!("SKIPPED: cargo has not all packages on this machine");
        }
        assert!(!output.status.success());
        for words in [
            "`below` and `range` draw integers, and `{float}` is no integer",
            "a fraction from low to high is `low + (high - low) * wellspring::f64()`",
            "`wellspring::random()` makes no `String`",
            "pub struct ThreadRng; // rand 0.9: feature \"rand_core_09\"",
            "pub struct LocalRng { // rand 0.9: feature \"rand_core_09\"",
        ] {
            assert!(said.contains(words), "no '{words}' in: {said}");
        }
    }
}
