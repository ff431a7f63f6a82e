//! The C library.
//!
//! ```text
//! api        as C and C++ programs see it, also harsh ones
//! interface  the header, the symbols, the baseline in `abi/`
//! ```

mod api;
mod interface;

pub(crate) use testkit::programs::{has_header, is_installed, is_long, scratch, succeeds, text};

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

pub(crate) const DOOR: &str = env!("CARGO_MANIFEST_DIR");

/// The header, behind its part for arrays: the brace at its end closes nothing that a test reads.
pub(crate) fn header() -> String {
    ["wellspring-elements.h", "wellspring.h"]
        .map(|name| fs::read_to_string(format!("{DOOR}/include/{name}")).unwrap())
        .concat()
}

/// The folder with `libwellspring.so.0`, its link for the linker, and `libwellspring.a`, under the names that they are
/// installed with.
pub(crate) fn library_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch("library");
        let test = std::env::current_exe().unwrap();
        let built = test.parent().unwrap();
        fs::copy(
            built.join("libwellspring_c.so"),
            folder.join("libwellspring.so.0"),
        )
        .unwrap();
        fs::copy(
            built.join("libwellspring_c.a"),
            folder.join("libwellspring.a"),
        )
        .unwrap();
        std::os::unix::fs::symlink("libwellspring.so.0", folder.join("libwellspring.so")).unwrap();
        folder
    })
}

/// Compiles `tests/c/SOURCE` with further words for the compiler. `None` where there is no compiler.
pub(crate) fn compile(source: &str, words: &[&str]) -> Option<PathBuf> {
    let compiler = if source.ends_with(".cpp") {
        "c++"
    } else {
        "cc"
    };
    if !is_installed(compiler) {
        return None;
    }
    let library = format!("-L{}", library_folder().display());
    let includes = ["include", "adapters"].map(|folder| format!("-I{DOOR}/{folder}"));
    let is_whole = words
        .iter()
        .any(|word| word.ends_with(".a") || *word == "-ldl");
    let linked: &[&str] = if is_whole { &[] } else { &["-lwellspring"] };
    let fixed = [includes[0].as_str(), &includes[1], &library];
    let source = Path::new(DOOR).join("tests/c").join(source);
    Some(testkit::programs::compile(
        &source,
        &[&fixed, linked, words].concat(),
    ))
}

/// Runs a program with the library in reach. It is ended after 120 seconds, long after any test is done.
pub(crate) fn run(program: &Path, words: &[&str]) -> Output {
    // By SIGKILL, and in the whole group: children that hang with signals blocked would keep the output open.
    Command::new("timeout")
        .args(["--signal=KILL", "300"])
        .arg(program)
        .args(words)
        .env("LD_LIBRARY_PATH", library_folder())
        .output()
        .unwrap()
}

/// Runs a shell script with `$PROGRAM` and the library in reach.
pub(crate) fn run_script(program: &Path, script: &str) -> Output {
    Command::new("sh")
        .args(["-c", script])
        .env("PROGRAM", program)
        .env("LD_LIBRARY_PATH", library_folder())
        .output()
        .unwrap()
}
