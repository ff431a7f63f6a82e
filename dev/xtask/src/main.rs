//! The project's own chores: `cargo xtask CHORE`.
//!
//! ```text
//! chores    what calls cargo: tests, other toolchains, sanitizers, the dependency tree, packages
//! tidy      the house rules that a program can check
//! targets   where the library and the command compile, and what they say elsewhere
//! python    the Python package and its tests
//! ```

#![forbid(unsafe_code)]

mod chores;
mod python;
mod targets;
mod tidy;

use chores::root;
use std::env;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask CHORE
checks of the text:
  tidy               check the house rules that a program can check
tests:
  soak [MINUTES]     run clients at every door of the host service while it is troubled and killed (1 minute)
  loom               run the lock-free parts under every interleaving
  miri, asan, tsan   run tests under Miri, AddressSanitizer or ThreadSanitizer (nightly Rust)
  msrv               check the stated Rust version, by lint and by a build where that version is installed
  targets            check that the library and the command compile for Linux on other processors, and that other
                     systems get one clear error, where the target's standard library is installed
  python [--all] [--with PATH]..
                     install the Python package in a virtual environment and run its tests; --all adds those that take
                     minutes, the large cluster engines and the other installed versions of Python; --with adds an
                     interpreter; further words go to pytest
tests on other machines:
  rig                test the command in a machine of four nodes, over a reboot, in two clones, and the service for guests
  kernel-test [KERNEL|dkms|all].. [--boots N] [--reloads N] [--machine NAME] [--source FOLDER]
                     [--clang] [--build]
                     test the kernel module on these kernels (6.1 and 6.12 if none is named); CONTRIBUTING.md has more
  cross [aarch64|s390x|riscv64]..
                     run known answers, self-tests and vector tests for other processors, by emulation
packages:
  deny [--no-vulnerabilities]
                     check licences, sources and known vulnerabilities of all dependencies (needs cargo-deny)
  publish            build the packages that would be published; nothing is uploaded
measurement:
  bench              measure with other generators beside; further words go to it (--quick, ..)";

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let chore = words.next();
    let result = match chore.as_deref() {
        Some("tidy") => tidy::run(&root()),
        Some("loom") => chores::loom(),
        Some("miri") => chores::miri(),
        Some("asan") => chores::asan(),
        Some("tsan") => chores::tsan(),
        Some("python") => python::python(words),
        Some("msrv") => chores::msrv(),
        Some("targets") => targets::targets(),
        Some("rig") => chores::rig("machines", words),
        Some(command @ ("kernel-test" | "cross")) => chores::rig(command, words),
        Some("soak") => chores::soak(words),
        Some("deny") => chores::deny(words),
        Some("publish") => chores::publish(words),
        Some("bench") => chores::bench(words),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
