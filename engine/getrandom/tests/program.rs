//! A program that installs the backend, built by cargo with the flag that getrandom needs, and the dependency tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MANIFEST: &str = r#"
[package]
name = "program"
version = "0.0.0"
edition = "2024"

[dependencies]
getrandom = "0.4"
getrandom_03 = { package = "getrandom", version = "0.3.4" }
rand = { version = "0.10", default-features = false, features = ["std", "thread_rng"] }
wellspring = { path = "CRATES/wellspring" }
wellspring-getrandom = { path = "CRATES/wellspring-getrandom" }

[workspace]
"#;

/// Prints how many threads have read from the engine: at the start, after a read of getrandom 0.4, while a second thread
/// has used rand's generator, and while a third has read from getrandom 0.3.
const MAIN: &str = r#"
use rand::Rng as _;

wellspring_getrandom::install!();

fn threads() -> usize {
    wellspring::stats().taps
}

fn main() {
    let before = threads();
    let mut key = [0; 32];
    getrandom::fill(&mut key).unwrap();
    assert_ne!(key, [0; 32]);
    let after_getrandom = threads();
    let second = std::thread::spawn(|| {
        assert_ne!(rand::rng().next_u64(), rand::rng().next_u64());
        threads()
    });
    let after_rand = second.join().unwrap();
    let third = std::thread::spawn(move || {
        getrandom_03::fill(&mut key).unwrap();
        threads()
    });
    println!("{before} {after_getrandom} {after_rand} {}", third.join().unwrap());
}
"#;

const CUSTOM: &str = "--cfg getrandom_backend=\"custom\"";

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn crates() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the crate is in a folder")
}

/// Writes the program. It has the versions that this workspace is locked to, and a target folder of its own.
fn program(name: &str, main: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = MANIFEST.replace("CRATES", crates().to_str().unwrap());
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("src/main.rs"), main).unwrap();
    std::fs::copy(crates().join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

fn run(folder: &Path, flags: &str) -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
    let mut cargo = cargo();
    cargo
        .args(["run", "--quiet", "--offline", "--target-dir"])
        .arg(target);
    cargo.current_dir(folder).env("RUSTFLAGS", flags);
    cargo
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo.output().expect("cargo starts")
}

/// Whether cargo has all packages of the program on this machine. `cargo tree` asks for this platform's packages only.
fn can_build_offline(folder: &Path) -> bool {
    let tree = cargo()
        .args(["tree", "--offline"])
        .current_dir(folder)
        .output();
    let output = tree.expect("cargo starts");
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        println!("SKIPPED: cargo cannot build offline: {reason}");
    }
    output.status.success()
}

#[test]
fn getrandom_and_rand_read_from_the_engine_and_a_program_without_the_flag_does_not_compile() {
    if !testkit::programs::is_long("cargo builds three programs here for half a minute") {
        return;
    }
    let folder = program("installed", MAIN);
    if !can_build_offline(&folder) {
        return;
    }
    let output = run(&folder, CUSTOM);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout.trim(), "0 1 2 2", "{stderr}");
    assert!(!stderr.contains("warning"), "{stderr}");

    let output = run(&folder, "");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}");
    let reason =
        "wellspring_getrandom::install!() needs the flag --cfg getrandom_backend=\"custom\"";
    assert!(stderr.contains(reason), "{stderr}");
}

#[test]
fn the_engine_depends_on_no_getrandom_so_that_the_backend_cannot_call_itself() {
    let manifest = crates().join("wellspring/Cargo.toml");
    let mut tree = cargo();
    tree.args([
        "tree",
        "--offline",
        "--edges=normal,build",
        "--prefix=none",
        "--all-features",
    ]);
    let output = tree
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .expect("cargo starts");
    let names = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        println!(
            "SKIPPED: cargo tree: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    assert!(
        names.lines().any(|line| line.starts_with("rustix ")),
        "{names}"
    );
    let own = names.lines().find(|line| line.starts_with("getrandom "));
    assert_eq!(own, None);
}
