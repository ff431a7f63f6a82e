//! A Debian kernel in QEMU by software emulation, and small Debian systems of other suites.
//!
//! ```text
//! cache     how a run ends, the table of results, and everything that is fetched or built once
//! packages  a private apt: Debian packages of any suite, OpenSSL and language runtimes by it, a small Debian system
//! own       the kernels that we build: two check locks, memory and data races, one checks nothing; User Mode Linux
//! kernel    the kernels to choose from, their compilers and headers, modules built for them, and what these need
//! files     the files that every guest has: busybox, a shell that takes commands, the programs of this project
//! vm        the virtual machine: processor, CPUs, nodes, disks, QEMU; commands, answers, snapshots, power off
//! console   which lines of the kernel's log report trouble
//! ```
//!
//! Nothing is installed and nothing of the host system is changed. Emulation says nothing about speed. It has NUMA
//! nodes, CPUs, interrupts and snapshots, and these are what the tests need.
//!
//! Tried on 2026-11-24, and not used: virtme-ng needs kmod on the host and mounts the host's files by 9P or virtiofs.
//! Debian's cloud kernels have no 9P, and a machine with either cannot be saved. mmdebstrap makes the same systems as
//! debootstrap and apt, from as many lines.

mod cache;
mod console;
mod files;
mod kernel;
mod own;
mod packages;
mod vm;

pub(crate) use cache::{Cache, Result, Stop, Table, at, failed, run, verdict};
pub(crate) use console::{Excuse, unless_half_patched};
pub(crate) use files::{Files, Guards, Programs, guards, kernel_test};
pub(crate) use kernel::{Compiler, Kernel, Release, arm64_kernel};
pub(crate) use own::Uml;
pub(crate) use packages::{
    Apt, Chroot, Processor, criu, debian_files, openssl, openssl_tests, runtimes, systemd,
    vsock_device,
};
pub(crate) use vm::{Answer, Event, Guest, Layout, MachineSetup, Qemu, Vm, qemu_user};
