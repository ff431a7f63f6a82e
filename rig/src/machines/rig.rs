//! What all machine tests use: QEMU, the guest's files, and a folder.

use crate::guest::Qemu;
use std::path::PathBuf;

/// The rig.
pub(super) struct Rig {
    pub(super) qemu: Qemu,
    pub(super) initramfs: PathBuf,
    /// For files of this run.
    pub(super) folder: PathBuf,
}
