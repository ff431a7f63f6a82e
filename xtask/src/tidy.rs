//! The house rules that a program can check.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The longest source file, in lines.
const MAX_LINES: usize = 450;

/// The longest line of a text or source, in characters.
const MAX_COLUMNS: usize = 130;

/// Where `unsafe` may stand; and this folder, which forbids it to itself and only writes about it.
const UNSAFE_ADDRESSES: [&str; 5] = [
    "crates/wellspring-cipher/",
    "crates/wellspring-sys/",
    "doors/",
    "bench/",
    "xtask/",
];

/// Promises that someone would have to keep. Split, so that this file holds none.
const MARKS: [&str; 5] = [
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("dbg", "!("),
];

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut faults = Vec::new();
    for path in files(root)? {
        let Ok(text) = fs::read_to_string(root.join(&path)) else {
            continue;
        };
        let is_data = ["vectors/", "fuzz/seeds/", "LICENSE"];
        if is_data.iter().any(|start| path.starts_with(start)) || path.ends_with(".lock") {
            continue;
        }
        check(&path, &text, &mut faults);
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults.join("\n")),
    }
}

/// The files that git tracks.
fn files(root: &Path) -> Result<Vec<String>, String> {
    let git = env::var_os("GIT").unwrap_or_else(|| "git".into());
    let listed = Command::new(git)
        .args(["ls-files"])
        .current_dir(root)
        .output();
    let listed = listed.map_err(|error| format!("git ls-files: {error}"))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    match text.is_empty() {
        true => Err("git ls-files lists nothing".into()),
        false => Ok(text.lines().map(str::to_owned).collect()),
    }
}

fn check(path: &str, text: &str, faults: &mut Vec<String>) {
    let is_rust = path.ends_with(".rs");
    let lines = text.lines().count();
    if is_rust && lines > MAX_LINES {
        faults.push(format!(
            "{path}: {lines} lines, more than {MAX_LINES}: one idea a file"
        ));
    }
    let may_be_unsafe = UNSAFE_ADDRESSES
        .iter()
        .any(|address| path.starts_with(address))
        || path.contains("/tests/")
        || path.contains("/benches/");
    for (number, line) in (1..).zip(text.lines()) {
        let mut fault = |what: &str| faults.push(format!("{path}:{number}: {what}"));
        let may_be_long = path.ends_with(".toml") || line.starts_with('|');
        if line.chars().count() > MAX_COLUMNS && !may_be_long {
            fault("a line too long to read");
        }
        if line.ends_with([' ', '\t']) {
            fault("white space at the end");
        }
        if is_rust && MARKS.iter().any(|mark| line.contains(mark)) {
            fault("a promise someone must keep");
        }
        let is_unsafe = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
            .iter()
            .any(|form| line.trim_start().starts_with(form) || line.contains(&format!(" {form}")));
        if is_rust && is_unsafe && !may_be_unsafe && !line.trim_start().starts_with("//") {
            fault("unsafe outside its address");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> usize {
        let mut faults = Vec::new();
        check(path, text, &mut faults);
        faults.len()
    }

    #[test]
    fn each_rule_notices_its_breach() {
        assert_eq!(
            faults("crates/wellspring-core/src/x.rs", "fn good() {}\n"),
            0
        );
        assert_eq!(
            faults(
                "crates/wellspring-core/src/x.rs",
                &"\n".repeat(MAX_LINES + 1)
            ),
            1
        );
        assert_eq!(
            faults(
                "crates/wellspring-core/src/x.rs",
                "    let x = unsafe { y() };\n"
            ),
            1
        );
        assert_eq!(
            faults(
                "crates/wellspring-sys/src/x.rs",
                "    let x = unsafe { y() };\n"
            ),
            0
        );
        assert_eq!(
            faults(
                "crates/wellspring/src/x.rs",
                &format!("    {}x)\n", MARKS[0])
            ),
            1
        );
        assert_eq!(faults("README.md", "white \n"), 1);
        assert_eq!(faults("README.md", &"x".repeat(MAX_COLUMNS + 1)), 1);
    }
}
