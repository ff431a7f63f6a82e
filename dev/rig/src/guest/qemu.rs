//! Fetches QEMU and starts virtual machines.

use super::cache::Cache;
use super::outcome::{Result, Stop, at};
use super::packages::Apt;
use super::processor::Processor;
use super::running::Guest;
use super::vm::{Sockets, Vm, arguments};
use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How often a machine is started until it takes its first command. Nothing of this project runs before that. While
/// Linux boots, it patches its own instructions, and QEMU's threads ran a half-patched one: a kernel 6.12 ended with an
/// invalid opcode at the second byte of a NOP.
const MOST_BOOTS: usize = 4;

/// QEMU 10. The QEMU 7.2 of Debian 12 corrupts EFLAGS: 2 of 5 boots of Linux 6.12 failed with it.
pub(crate) struct Qemu {
    folder: PathBuf,
    program: PathBuf,
}

impl Qemu {
    /// Fetches QEMU for machines of this machine's kind.
    pub(crate) fn fetch(cache: &Cache) -> Result<Self> {
        Self::of(Processor::X86_64, cache, "qemu")
    }

    /// Fetches QEMU for arm64.
    pub(crate) fn fetch_for_arm64(cache: &Cache) -> Result<Self> {
        Self::of(Processor::Arm64, cache, "qemu-arm64")
    }

    fn of(processor: Processor, cache: &Cache, name: &str) -> Result<Self> {
        let (package, program) = processor.qemu();
        let folder = cache.once(name, |folder| {
            let apt = Apt::new(folder, &["bookworm", "bookworm-backports"])?;
            apt.unpack_missing(package, "bookworm-backports", folder)
        })?;
        let program = folder.join("usr/bin").join(program);
        if program.exists() {
            Ok(Self { folder, program })
        } else {
            Err(Stop::Missing(format!(
                "apt fetched no QEMU 10: another version of {package} is installed here"
            )))
        }
    }

    /// Starts a machine. The guest is ready for commands when this returns.
    pub(crate) fn start(&self, vm: &Vm) -> Result<Guest> {
        let mut boots = 1;
        loop {
            match self.boot(vm) {
                Err(Stop::Failed(reason)) if vm.state.is_none() && boots < MOST_BOOTS => {
                    println!(
                        "boot {boots} of at most {MOST_BOOTS} ended before a command: {reason}"
                    );
                    boots += 1;
                }
                result => return result,
            }
        }
    }

    fn boot(&self, vm: &Vm) -> Result<Guest> {
        let sockets = Sockets::new()?;
        let mut command = Command::new(&self.program);
        let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
        let libraries = libraries.map(|folder| self.folder.join(folder));
        let path = env::join_paths(libraries).map_err(|error| Stop::Failed(error.to_string()))?;
        command.env("LD_LIBRARY_PATH", path);
        for folder in ["usr/share/qemu", "usr/share/seabios"] {
            command.arg("-L").arg(self.folder.join(folder));
        }
        command.args(arguments(vm, &sockets));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().map_err(at("QEMU"))?;
        Guest::attach(child, sockets, vm.state.is_some())
    }
}

/// Fetches QEMU's programs for other processors, which are linked statically. Returns their folder.
pub(crate) fn qemu_user(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.once("qemu-user", |folder| {
        Apt::new(folder, &["bookworm-backports"])?.unpack(["qemu-user"], folder)
    })?;
    Ok(folder.join("usr/bin"))
}
