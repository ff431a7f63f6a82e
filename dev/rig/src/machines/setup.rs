//! The setup of all machine tests: QEMU, the guest's files, and a folder.

use crate::guest::{Processor, Qemu, Vm};
use std::path::{Path, PathBuf};

/// The same for all machines of a run.
pub(crate) struct MachineSetup {
    pub(crate) qemu: Qemu,
    pub(crate) processor: Processor,
    /// The CPUs of a machine with four nodes.
    pub(crate) cpus: usize,
    pub(crate) initramfs: PathBuf,
    /// The folder for files of this run.
    pub(crate) folder: PathBuf,
}

impl MachineSetup {
    /// A machine of this processor.
    pub(crate) fn vm<'a>(&'a self, kernel: &'a Path, nodes: usize, cpus: usize) -> Vm<'a> {
        let mut vm = Vm::new(kernel, &self.initramfs, nodes, cpus);
        vm.processor = self.processor;
        vm
    }
}
