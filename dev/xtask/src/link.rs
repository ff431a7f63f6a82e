//! `link`: the command for macOS and FreeBSD, linked by zig, which has the symbols of their libraries. Nothing is run.

use crate::chores::{cargo, root, run, skip};
use crate::targets::has_library;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A target, zig's name for it, and how its programs begin.
const TARGETS: [(&str, &str, &[u8]); 2] = [
    ("aarch64-apple-darwin", "aarch64-macos", b"\xcf\xfa\xed\xfe"),
    ("x86_64-unknown-freebsd", "x86_64-freebsd", b"\x7fELF"),
];

/// A Python with PyPI's `ziglang`.
const PYTHON: &str = "target/zig/bin/python";

/// The libraries that are left out: the crate libc names them, zig has none of them, and no function of them is
/// called, or the linker would say so.
const LINKER: &str = r#"#!/bin/sh
for word; do
    shift
    case $word in -liconv | -lkvm | -lmemstat | -lprocstat | -ldevstat) ;; *) set -- "$@" "$word" ;; esac
done
export ZIG_GLOBAL_CACHE_DIR=FOLDER/cache ZIG_LOCAL_CACHE_DIR=FOLDER/cache
exec FOLDER/bin/python -m ziglang cc -target SYSTEM "$@"
"#;

/// Links the command for each target that has a standard library here.
pub(crate) fn link() -> Result<(), String> {
    if !root().join(PYTHON).exists() {
        return skip(
            "no zig: python3 -m venv target/zig && target/zig/bin/pip install ziglang==0.17.1",
        );
    }
    let (here, missing): (Vec<_>, Vec<_>) = TARGETS.into_iter().partition(|one| has_library(one.0));
    for (target, ..) in missing {
        skip(&format!("rustup target add {target}"))?;
    }
    for (target, system, magic) in here {
        let mut cargo = cargo();
        // Nothing is run.
        cargo.args(["--config", "profile.dev.package.'*'.opt-level=0"]);
        let variable = target.to_uppercase().replace('-', "_");
        cargo
            .args(
                "build --locked --target-dir target/link --package wellspring-cli --target"
                    .split(' '),
            )
            .arg(target)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env(format!("CARGO_TARGET_{variable}_LINKER"), linker(system)?);
        run(&mut cargo)?;
        let program = root()
            .join("target/link")
            .join(target)
            .join("debug/wellspring");
        let bytes =
            fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?;
        if !bytes.starts_with(magic) {
            return Err(format!("{} is no program for {target}", program.display()));
        }
        println!("ok {target}: the command, {} bytes", bytes.len());
    }
    Ok(())
}

/// Writes the linker of a system.
fn linker(system: &str) -> Result<PathBuf, String> {
    let folder = root().join("target/zig");
    let path = folder.join(format!("link-{system}"));
    let text = LINKER.replace("FOLDER", &folder.display().to_string());
    let write = |path: &Path| {
        fs::write(path, text.replace("SYSTEM", system))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    };
    write(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
