//! The machines, and what is tested in each.

use crate::guest::{Kernel, Layout, Release, Vm};
use std::path::Path;

/// A kind of machine.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) nodes: usize,
    pub(super) cpus: usize,
    pub(super) cpu: &'static str,
    /// Which nodes have the memory.
    pub(super) layout: Layout,
    pub(super) drill: Drill,
}

/// QEMU's fullest CPU model.
const MAX: &str = "max";

/// The same with page tables of 4 levels. With 5, KASAN reports `wild-memory-access` where an interrupt comes while the kernel
/// looks at its first CPU, and for a moment forgets that there are 5: in 1 of 3 boots of Linux 6.6.87.
const MAX_OF_4_LEVELS: &str = "max,la57=off";

impl Shape {
    /// The machine with this kernel and these files.
    pub(super) fn vm<'a>(&self, kernel: &'a Kernel, initramfs: &'a Path) -> Vm<'a> {
        let cpu = match self.cpu {
            MAX if kernel.release == Release::Debug => MAX_OF_4_LEVELS,
            cpu => cpu,
        };
        let mut vm = Vm::new(&kernel.image, initramfs, self.nodes, self.cpus).cpu(cpu);
        vm.layout = self.layout;
        vm
    }
}

/// The tests of a machine.
#[derive(Clone, Copy)]
pub(super) enum Drill {
    /// All tests of the module.
    Tests,
    /// Clones of the machine, and NMIs.
    Events,
    /// A resume from disk.
    Hibernation,
    /// Memory comes and goes.
    Memory,
    /// Its memory is searched for what reads left behind.
    Secrets,
    /// Instructions and cache lines of reads.
    Counts,
    /// Each allocation fails once.
    Failures,
}

pub(super) const SHAPES: [Shape; 10] = [
    Shape {
        name: "4 nodes, 8 CPUs",
        nodes: 4,
        cpus: 8,
        cpu: MAX,
        layout: Layout::Even,
        drill: Drill::Tests,
    },
    Shape {
        name: "1 node, 4 CPUs",
        nodes: 1,
        cpus: 4,
        cpu: MAX,
        layout: Layout::Even,
        drill: Drill::Tests,
    },
    // Neither AES nor AVX.
    Shape {
        name: "4 nodes, qemu64",
        nodes: 4,
        cpus: 8,
        cpu: "qemu64",
        layout: Layout::Even,
        drill: Drill::Tests,
    },
    Shape {
        name: "memory apart from CPUs",
        nodes: 2,
        cpus: 4,
        cpu: MAX,
        layout: Layout::Apart,
        drill: Drill::Tests,
    },
    Shape {
        name: "clones and NMIs",
        nodes: 2,
        cpus: 4,
        cpu: MAX,
        layout: Layout::Even,
        drill: Drill::Events,
    },
    Shape {
        name: "resume from disk",
        nodes: 2,
        cpus: 4,
        cpu: MAX,
        layout: Layout::Even,
        drill: Drill::Hibernation,
    },
    Shape {
        name: "memory comes and goes",
        nodes: 2,
        cpus: 4,
        cpu: MAX,
        layout: Layout::Plugged,
        drill: Drill::Memory,
    },
    Shape {
        name: "secrets left behind",
        nodes: 2,
        cpus: 4,
        cpu: MAX,
        layout: Layout::Even,
        drill: Drill::Secrets,
    },
    Shape {
        name: "instructions and cache lines",
        nodes: 2,
        cpus: 4,
        cpu: MAX,
        layout: Layout::Even,
        drill: Drill::Counts,
    },
    Shape {
        name: "failed allocations",
        nodes: 1,
        cpus: 2,
        cpu: MAX,
        layout: Layout::Even,
        drill: Drill::Failures,
    },
];
