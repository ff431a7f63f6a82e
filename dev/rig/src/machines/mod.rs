//! `machines`: the command `wellspring` in virtual machines of several nodes, over a reboot, and in two clones; the service
//! for guests and in a guest.
//!
//! ```text
//! setup    QEMU, the files and the folder that all of these use
//! nodes    memory on its node, readers served by theirs, the first 128 bits, shares of seeds
//! seeds    a seed file over a reboot
//! clones   two machines that are resumed from one saved state
//! host     the service on this machine, for devices of guests
//! service  the service for guests, and in a guest
//! ```

mod clones;
mod host;
mod nodes;
mod seeds;
mod service;
mod setup;

use crate::guest::{Cache, Files, Kernel, Programs, Qemu, Release, Result, Table, Vm, failed};
use clones::Notice;
use setup::MachineSetup;
use std::path::Path;

/// Runs the chore.
pub(crate) fn run(root: &Path) -> Result {
    let cache = Cache::open(root)?;
    let qemu = Qemu::fetch(&cache)?;
    let kernel = Kernel::fetch(&cache, Release::V6_12)?;
    let (old, new) = (
        Kernel::fetch(&cache, Release::V6_1)?.image,
        kernel.image.clone(),
    );
    let folder = cache.fresh("rig")?;
    let programs = Programs::build(root)?;
    let files = Files::new(&cache, "machines")?.copy("bin/wellspring", &programs.wellspring)?;
    let initramfs = files.write(folder.join("initramfs"))?;
    let setup = MachineSetup {
        qemu,
        initramfs,
        folder,
    };
    let mut table = Table::new();
    let inputs = service::Inputs {
        cache: &cache,
        root,
        kernel: &kernel,
        programs: &programs,
    };
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
    let added = service::add_rows(&mut table, &setup, &inputs, files);
    // The rows so far count even if something is missing for the others.
    table.end()?;
    added
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
