//! A row, and what one is measured from.

use std::path::{Path, PathBuf};
use wellspring_bench::generators::Generator;

/// A door, and what it replaces.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) door_ns: f64,
    pub(super) other_ns: f64,
    /// The time of the other divided by the time of the door.
    pub(crate) ratio: f64,
}

/// A door and what it replaces, in this process.
pub(crate) struct Pair {
    pub(crate) what: &'static str,
    pub(crate) door: Generator,
    pub(super) other: Generator,
}

/// A file of `target/release`.
pub(super) fn built(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let path = root.join(target).join("release").join(name);
    path.canonicalize().ok()
}
