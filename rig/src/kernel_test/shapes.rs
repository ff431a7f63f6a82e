//! The machines, and what is tested in each.

use crate::guest::{Layout, Vm};
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

impl Shape {
    /// The machine with this kernel and these files.
    pub(super) fn vm<'a>(&self, kernel: &'a Path, initramfs: &'a Path) -> Vm<'a> {
        let mut vm = Vm::new(kernel, initramfs, self.nodes, self.cpus).cpu(self.cpu);
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
        cpu: "max",
        layout: Layout::Even,
        drill: Drill::Tests,
    },
    Shape {
        name: "1 node, 4 CPUs",
        nodes: 1,
        cpus: 4,
        cpu: "max",
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
        cpu: "max",
        layout: Layout::Apart,
        drill: Drill::Tests,
    },
    Shape {
        name: "clones and NMIs",
        nodes: 2,
        cpus: 4,
        cpu: "max",
        layout: Layout::Even,
        drill: Drill::Events,
    },
    Shape {
        name: "resume from disk",
        nodes: 2,
        cpus: 4,
        cpu: "max",
        layout: Layout::Even,
        drill: Drill::Hibernation,
    },
    Shape {
        name: "memory comes and goes",
        nodes: 2,
        cpus: 4,
        cpu: "max",
        layout: Layout::Plugged,
        drill: Drill::Memory,
    },
    Shape {
        name: "secrets left behind",
        nodes: 2,
        cpus: 4,
        cpu: "max",
        layout: Layout::Even,
        drill: Drill::Secrets,
    },
    Shape {
        name: "instructions and cache lines",
        nodes: 2,
        cpus: 4,
        cpu: "max",
        layout: Layout::Even,
        drill: Drill::Counts,
    },
    Shape {
        name: "failed allocations",
        nodes: 1,
        cpus: 2,
        cpu: "max",
        layout: Layout::Even,
        drill: Drill::Failures,
    },
];
