//! `windows`: tests of the crate and the command for Windows, by wine.

use crate::chores::{cargo, root, run, skip};
use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-pc-windows-gnu";
const LINKER: &str = "x86_64-w64-mingw32-gcc-posix";
/// Debian's package has it there, and a script in PATH that wants 32-bit wine too.
const WINE: &str = "/usr/lib/wine/wine64";
const FOLDER: &str = "target/windows";

/// Tests that need no Unix. The others fork, send signals, trace a process or read /proc.
const TESTS: &str = "test --no-fail-fast --package wellspring-os --package wellspring --package wellspring-pseudo \
                     --package wellspring-pseudo-thread --lib --test every_system --test vectors";

/// Runs of the command, which must succeed. Its own tests start a shell, send signals and read /proc.
const COMMANDS: [&str; 5] = [
    "bytes 32 --hex",
    "check",
    "replay --check vectors/fortuna-freebsd.txt",
    "bench --quick",
    "stats --json",
];

/// Rust's programs need bcryptprimitives.dll, which wine has from version 9 on. Its one function, from another library.
const PRNG: &str = "#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE start, SIZE_T bytes) { return SystemFunction036(start, bytes); }
";

/// Builds the tests and runs them.
pub(crate) fn windows() -> Result<(), String> {
    if !Path::new(WINE).exists() || Command::new(LINKER).arg("--version").output().is_err() {
        return skip("not installed: wine64 gcc-mingw-w64-x86-64-posix");
    }
    let folder = root().join(FOLDER);
    let library = library(&folder.join("dll"))?;
    let with_wine = |words: &str| {
        let mut cargo = cargo();
        cargo.args(words.split_whitespace());
        cargo.args(["--target", TARGET, "--target-dir", FOLDER, "--locked"]);
        with_environment(&mut cargo, &folder, &library);
        cargo
    };
    run(&mut with_wine(TESTS))?;
    run(&mut with_wine("build --package wellspring-cli"))?;
    for words in COMMANDS {
        println!("wellspring {words}");
        let program = folder.join(TARGET).join("debug/wellspring.exe");
        let mut wine = Command::new(WINE);
        wine.current_dir(root()).arg(program);
        wine.args(words.split_whitespace());
        run(with_environment(&mut wine, &folder, &library))?;
    }
    Ok(())
}

fn with_environment<'a>(command: &'a mut Command, folder: &Path, library: &str) -> &'a mut Command {
    command
        .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", LINKER)
        .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", WINE)
        .env("WINEPREFIX", folder.join("wine"))
        .env("WINEDEBUG", "-all")
        .env("WINEPATH", library)
}

/// Builds the library where wine has none. Returns its folder as wine names it.
fn library(folder: &Path) -> Result<String, String> {
    let has_one = Path::new("/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/bcryptprimitives.dll");
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if !has_one.exists() {
        let source = folder.join("prng.c");
        std::fs::write(&source, PRNG).map_err(|error| format!("{}: {error}", source.display()))?;
        let mut compiler = Command::new(LINKER);
        compiler
            .arg("-shared")
            .arg("-o")
            .arg(folder.join("bcryptprimitives.dll"));
        run(compiler.arg(&source).arg("-ladvapi32"))?;
    }
    Ok(format!("Z:{}", folder.display()))
}
