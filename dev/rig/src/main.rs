//! The tests that need another machine: virtual machines in QEMU, kernels, and other processors by emulation.
//!
//! ```text
//! guest         Debian kernels in QEMU, and small Debian systems
//! machines      the command in machines of four nodes, over a reboot, and in two clones; the service for guests
//! kernel_test   the kernel module on real kernels
//! openssl       the provider's tests with OpenSSL 3.5, 3.6 and 4.0
//! cross         known answers and self-tests on aarch64, s390x and riscv64
//! prove         the proofs of the code and of its models
//! ```

#![forbid(unsafe_code)]

mod cross;
mod guest;
mod kernel_test;
mod machines;
mod openssl;
mod prove;

use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit status of proofs that could not be run.
const SKIPPED: u8 = 77;

/// The tests of wellspring that need another machine
#[derive(Parser)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
WELLSPRING_RIG names the folder for everything that is downloaded or built; otherwise it is target/rig."
)]
enum Command {
    /// Test the command in a machine of four nodes, over a reboot, in two clones, the service for guests, and the guest image
    Machines,
    /// Test the guards of other runtimes in eight clones of a machine, and in two restores by CRIU
    Runtimes {
        /// Only the rows whose names contain this
        #[arg(default_value = "")]
        part: String,
    },
    KernelTest(kernel_test::Request),
    /// Test the provider with OpenSSL 3.5, 3.6 and 4.0
    Openssl {
        /// Run OpenSSL's own tests of random numbers and threads, which are built first
        #[arg(long)]
        own: bool,
    },
    /// Build and run known answers, self-tests and vector tests for other processors
    Cross {
        /// The processors [default: all]
        #[arg(value_parser = ["aarch64", "s390x", "riscv64"])]
        processors: Vec<String>,
        /// Only this part: known answers and the engine, the doors, or a machine (the last two on aarch64 alone)
        #[arg(long, value_parser = ["answers", "doors", "machine"])]
        part: Option<String>,
    },
    /// Run the proofs, and the mutants that they must refute. Exit status 77: what they need is missing
    Prove {
        /// How their names begin [default: all]
        names: Vec<String>,
    },
}

fn main() -> ExitCode {
    let command = Command::parse();
    let is_proof = matches!(command, Command::Prove { .. });
    let result = match command {
        Command::Machines => machines::run(&root()),
        Command::Runtimes { part } => machines::run_runtimes(&root(), &part),
        Command::KernelTest(request) => kernel_test::run(&root(), request),
        Command::Openssl { own } => openssl::run(&root(), own),
        Command::Cross { processors, part } => {
            cross::run_all(&root(), &processors, part.as_deref())
        }
        Command::Prove { names } => prove::run(&root(), &names),
    };
    if let (true, Err(guest::Stop::Missing(reason))) = (is_proof, &result) {
        println!("SKIPPED: {reason}");
        return ExitCode::from(SKIPPED);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn an_unknown_processor_is_refused_and_none_stands_for_all() {
        Command::command().debug_assert();
        let parse = |words: &str| Command::try_parse_from(words.split(' '));
        assert!(parse("rig cross s390x vax").is_err());
        assert!(parse("rig cross aarch64 --part wheels").is_err());
        for (line, count) in [("rig cross", 0), ("rig cross s390x riscv64", 2)] {
            let Ok(Command::Cross { processors, .. }) = parse(line) else {
                panic!("{line}");
            };
            assert_eq!(processors.len(), count);
        }
    }
}
