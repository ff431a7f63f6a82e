//! The compilers that a module is built with.

use super::cache::Cache;
use super::outcome::{Result, at};
use super::packages::Apt;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The compilers that a module is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compiler {
    /// The compiler that built the kernel.
    Gcc,
    /// For a kernel that gcc built.
    Clang,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => "clang",
        })
    }
}

/// Calls clang without the options that gcc alone knows. The headers of a kernel that gcc built pass them to every
/// compiler.
const WRAPPER: &str = r#"#!/bin/sh
for word; do
    shift
    case $word in
    -mpreferred-stack-boundary=*) set -- "$@" -mstack-alignment=8 ;;
    -mindirect-branch=thunk-extern) set -- "$@" -mretpoline-external-thunk ;;
    -mindirect-branch* | -mrecord-mcount) ;;
    -fconserve-stack | -fno-allow-store-data-races | -fno-ipa-* | -fsanitize=bounds-strict) ;;
    -falign-jumps=* | -falign-loops=* | -fmin-function-alignment=* | -fplugin*) ;;
    -Wimplicit-fallthrough=*) set -- "$@" -Wimplicit-fallthrough ;;
    -Wno-maybe-uninitialized | -Wno-alloc-size-larger-than) ;;
    *) set -- "$@" "$word" ;;
    esac
done
# Of the kernel's headers, where gcc alone knows address spaces.
set -- "$@" -Wno-duplicate-decl-specifier -Wno-gnu-variable-sized-type-not-at-end
"#;

/// The configuration of a kernel that gcc built says that memory operands of inline assembly get the prefix of a segment.
/// clang prints them without it: a module that it builds for 6.12 then adds to the preemption count of no CPU, and faults.
const UNDEFINED: &str = "\
#undef CONFIG_CC_HAS_NAMED_AS
#undef CONFIG_USE_X86_SEG_SUPPORT
";

/// A program that is called like gcc and runs the clang of Debian 12.
pub(super) fn clang(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.once("clang", |folder| {
        Apt::new(folder, &["bookworm"])?.unpack_missing("clang-16", "bookworm", folder)
    })?;
    let llvm = folder.join("usr/lib/llvm-16");
    let libraries = format!(
        "{}:{}",
        folder.join("usr/lib/x86_64-linux-gnu").display(),
        llvm.join("lib").display()
    );
    let header = cache.folder().join("clang-like-gcc.h");
    fs::write(&header, UNDEFINED).map_err(at(header.display()))?;
    // After the kernel's own `-include` of its configuration.
    let call = format!(
        "LD_LIBRARY_PATH={libraries} exec {} \"$@\" -include {}\n",
        llvm.join("bin/clang").display(),
        header.display()
    );
    let path = cache.folder().join("clang-like-gcc");
    fs::write(&path, format!("{WRAPPER}{call}")).map_err(at(path.display()))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&path, executable).map_err(at(path.display()))?;
    Ok(path)
}
