//! The setup of all machine tests: QEMU, the guest's files, and a folder.

use crate::guest::Qemu;
use std::path::PathBuf;

/// The same for all machines of a run.
pub(super) struct MachineSetup {
    pub(super) qemu: Qemu,
    pub(super) initramfs: PathBuf,
    /// The folder for files of this run.
    pub(super) folder: PathBuf,
}
