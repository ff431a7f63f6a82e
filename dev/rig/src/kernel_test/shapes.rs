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

/// The oldest model of the processor.
const OLDEST: &str = "oldest";

/// The same as `max` with page tables of 4 levels. With 5, KASAN reports `wild-memory-access` where an interrupt comes while
/// the kernel looks at its first CPU, and for a moment forgets that there are 5: in 1 of 3 boots of Linux 6.6.87.
const MAX_OF_4_LEVELS: &str = "max,la57=off";

impl Shape {
    /// The machine with this kernel and these files.
    pub(super) fn vm<'a>(&self, kernel: &'a Kernel, initramfs: &'a Path) -> Vm<'a> {
        let processor = kernel.release.processor;
        let cpu = match self.cpu {
            OLDEST => processor.oldest_model(),
            MAX if kernel.release == Release::DEBUG => MAX_OF_4_LEVELS,
            cpu => cpu,
        };
        let mut vm = Vm::new(&kernel.image, initramfs, self.nodes, self.cpus).cpu(cpu);
        vm.processor = processor;
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

/// A machine with even memory and the fullest CPU.
const fn shape(name: &'static str, nodes: usize, cpus: usize, drill: Drill) -> Shape {
    Shape {
        name,
        nodes,
        cpus,
        cpu: MAX,
        layout: Layout::Even,
        drill,
    }
}

pub(super) const SHAPES: [Shape; 10] = [
    shape("4 nodes, 8 CPUs", 4, 8, Drill::Tests),
    shape("1 node, 4 CPUs", 1, 4, Drill::Tests),
    Shape {
        cpu: OLDEST,
        ..shape("4 nodes, old CPU", 4, 8, Drill::Tests)
    },
    Shape {
        layout: Layout::Apart,
        ..shape("memory apart from CPUs", 2, 4, Drill::Tests)
    },
    shape("clones and NMIs", 2, 4, Drill::Events),
    shape("resume from disk", 2, 4, Drill::Hibernation),
    Shape {
        layout: Layout::Plugged,
        ..shape("memory comes and goes", 2, 4, Drill::Memory)
    },
    shape("secrets left behind", 2, 4, Drill::Secrets),
    shape("instructions and cache lines", 2, 4, Drill::Counts),
    shape("failed allocations", 1, 2, Drill::Failures),
];
