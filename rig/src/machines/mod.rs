//! `machines`: the command `wellspring` in virtual machines of several nodes, over a reboot, and in two clones.
//!
//! ```text
//! setup    QEMU, the files and the folder that all of these use
//! nodes    memory on its node, readers served by theirs, the first 128 bits, shares of seeds
//! seeds    a seed file over a reboot
//! clones   two machines that are resumed from one saved state
//! ```

mod clones;
mod nodes;
mod seeds;
mod setup;

use crate::guest::{Cache, Files, Kernel, Qemu, Release, Result, Table, Vm, command, failed};
use clones::Notice;
use setup::MachineSetup;
use std::path::Path;

/// Runs the chore.
pub(crate) fn run(root: &Path) -> Result {
    let cache = Cache::open(root)?;
    let qemu = Qemu::fetch(&cache)?;
    let (old, new) = (
        Kernel::fetch_image(&cache, Release::V6_1)?,
        Kernel::fetch_image(&cache, Release::V6_12)?,
    );
    let folder = cache.fresh("rig")?;
    let files = Files::fetch(&cache)?.copy("bin/wellspring", &command(root)?)?;
    let initramfs = files.write(folder.join("initramfs"))?;
    let setup = MachineSetup {
        qemu,
        initramfs,
        folder,
    };
    let mut table = Table::new();
    table.add_outcome("self-tests on 4 nodes", self_tests(&setup, &new))?;
    table.add_outcome("memory of 4 nodes", nodes::memory(&setup, &new))?;
    table.add_outcome("readers of 4 nodes", nodes::readers(&setup, &new))?;
    table.add_outcome("seed file, 3 boots", seeds::over_a_reboot(&setup, &new))?;
    for (name, kernel, notice) in [
        // Linux 6.1 has no vDSO getrandom, and Debian's has no vmgenid driver.
        ("clones, 6.1, no notice", &old, Notice::None),
        ("clones, 6.1, a command", &old, Notice::Command),
        ("clones, 6.12, no notice", &new, Notice::None),
        ("clones, 6.12, vmgenid", &new, Notice::Device),
        ("clones, 6.12, a command", &new, Notice::Command),
    ] {
        table.add_outcome(name, clone_window(&setup, kernel, notice))?;
    }
    table.end()
}

fn self_tests(setup: &MachineSetup, kernel: &Path) -> Result<String> {
    let mut guest = setup.qemu.start(&Vm::new(kernel, &setup.initramfs, 4, 8))?;
    let check = guest.run("wellspring check")?;
    let last = check.text.lines().last().unwrap_or_default().to_owned();
    guest.end()?;
    if check.status == 0 {
        Ok(last)
    } else {
        failed(check.text)
    }
}

/// Two clones of a machine, and how much output they have in common.
fn clone_window(setup: &MachineSetup, kernel: &Path, notice: Notice) -> Result<String> {
    let window = clones::window(setup, kernel, notice)?;
    let (bytes, most) = (window.repeated_bytes, notice.most_bytes());
    let note = if bytes == 0 {
        format!("no byte of {} in common", clones::ASKED_BYTES)
    } else {
        format!(
            "{bytes} bytes of {} in common, in {} ms",
            clones::ASKED_BYTES,
            window.repeated_ms
        )
    };
    if bytes <= most {
        Ok(note)
    } else {
        failed(format!("{note}; the bound is {most}"))
    }
}
