//! The tests that need another machine: virtual machines in QEMU, kernels, and other processors by emulation.
//!
//! ```text
//! guest         Debian kernels in QEMU, and small Debian systems
//! machines      the command in machines of four nodes, over a reboot, and in two clones; the service for guests
//! kernel_test   the kernel module on real kernels
//! cross         known answers and self-tests on aarch64, s390x and riscv64
//! ```

#![forbid(unsafe_code)]

mod cross;
mod guest;
mod kernel_test;
mod machines;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: wellspring-rig COMMAND
  machines   test the command in a machine of four nodes, over a reboot, in two clones, and the service for guests
  kernel-test [KERNEL|dkms|all].. [--boots N] [--reloads N] [--machine NAME] [--source FOLDER] [--clang] [--build]
             test the kernel module on these kernels, the newest that apt offers: 6.1, 6.1-rt, 6.12, 6.12-rt,
             6.12-backports, 7.2, 7.3, debug, kcsan (6.1 and 6.12 if none is named), in all machines or only in those
             whose names contain NAME; boot each N times, all but the first only to load, read and unload; build it by
             clang, or build it alone; unload and load it N times while programs read (5); install and remove it by
             dkms; FOLDER has the source of a kernel to build, called plain, or debug and kcsan if they are named
  cross [aarch64|s390x|riscv64]..
             build and run known answers, self-tests and vector tests for these processors (all if none is named)
WELLSPRING_RIG names the folder for everything that is downloaded or built; otherwise it is target/rig.";

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let result = match words.next().as_deref() {
        Some("machines") => machines::run(&root()),
        Some("kernel-test") => kernel_test::run(&root(), words),
        Some("cross") => cross::run_all(&root(), words),
        _ => guest::failed(USAGE),
    };
    match guest::verdict(result) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}
