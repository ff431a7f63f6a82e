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
