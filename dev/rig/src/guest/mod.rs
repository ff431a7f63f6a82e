//! A Debian kernel in QEMU by software emulation, and small Debian systems of other suites.
//!
//! ```text
//! outcome     how a run ends: a result, a failure, or something missing; the table of results
//! cache       everything that is fetched or built once
//! packages    a private apt: Debian packages of any suite, unpacked and not installed; OpenSSL and language runtimes by it
//! chroot      a small Debian system of another suite, for its compilers
//! release     the kernels to choose from, and where they come from
//! compiler    gcc or clang
//! kernel      kernels, their headers, and modules built for them
//! modules     which of the distribution's modules a module needs
//! own         the kernels that we build: two check locks, memory and data races, one checks nothing
//! files       the files that every guest has: busybox, and a shell that takes commands
//! command     the programs of this project, linked statically for the guest
//! vm          the virtual machine: processor, CPUs, nodes, disks, and QEMU's arguments for them
//! running     fetches QEMU and starts a virtual machine: commands, snapshots, power off
//! console     which lines of the kernel's log report trouble
//! shell       commands for the guest, and their answers
//! uml         User Mode Linux: a kernel that is a process of this machine
//! ```
//!
//! Nothing is installed and nothing of the host system is changed. Emulation says nothing about speed. It has NUMA
//! nodes, CPUs, interrupts and snapshots, and these are what the tests need.
//!
//! Tried on 2026-11-24, and not used: virtme-ng needs kmod on the host and mounts the host's files by 9P or virtiofs.
//! Debian's cloud kernels have no 9P, and a machine with either cannot be saved. mmdebstrap makes the same systems as
//! debootstrap and apt, from as many lines.

mod cache;
mod chroot;
mod command;
mod compiler;
mod console;
mod files;
mod kernel;
mod modules;
mod outcome;
mod own;
mod packages;
mod release;
mod running;
mod shell;
mod uml;
mod vm;

pub(crate) use cache::{Cache, run};
pub(crate) use chroot::Chroot;
pub(crate) use command::{Guards, Programs, guards, kernel_test};
pub(crate) use compiler::Compiler;
pub(crate) use console::{Excuse, unless_half_patched};
pub(crate) use files::Files;
pub(crate) use kernel::{Kernel, arm64_kernel};
pub(crate) use outcome::{Result, Stop, Table, at, failed, verdict};
pub(crate) use packages::{Apt, debian_files, openssl, openssl_tests, runtimes};
pub(crate) use release::Release;
pub(crate) use running::{Event, Guest, MachineSetup, Qemu, qemu_user};
pub(crate) use shell::Answer;
pub(crate) use uml::Uml;
pub(crate) use vm::{Layout, Processor, Vm};
