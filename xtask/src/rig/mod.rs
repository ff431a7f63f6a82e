//! `rig`: the command in machines that are not here.
//!
//! ```text
//! nodes    memory on its node, readers served by theirs, the first 128 bits, shares of seeds
//! seeds    a seed file over a reboot
//! clones   one state of a machine, gone on from twice
//! ```

mod clones;
mod nodes;
mod seeds;

use crate::guest::{Cache, Files, Kernel, Machine, Qemu, Release, Result, Table, command, failed};
use clones::Notice;
use std::path::{Path, PathBuf};

/// What all parts use.
struct Rig {
    qemu: Qemu,
    initramfs: PathBuf,
    /// For files of this run.
    folder: PathBuf,
}

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
    let rig = Rig {
        qemu,
        initramfs,
        folder,
    };
    let mut table = Table::new();
    table.add_outcome("self-tests on 4 nodes", self_tests(&rig, &new))?;
    table.add_outcome("memory of 4 nodes", nodes::memory(&rig, &new))?;
    table.add_outcome("readers of 4 nodes", nodes::readers(&rig, &new))?;
    table.add_outcome("seed file, 3 boots", seeds::over_a_reboot(&rig, &new))?;
    for (name, kernel, notice) in [
        // No getrandom without a system call, and no vmgenid.
        ("copies, 6.1, no notice", &old, Notice::None),
        ("copies, 6.1, an order", &old, Notice::Order),
        ("copies, 6.12, no notice", &new, Notice::None),
        ("copies, 6.12, vmgenid", &new, Notice::Device),
        ("copies, 6.12, an order", &new, Notice::Order),
    ] {
        table.add_outcome(name, copies(&rig, kernel, notice))?;
    }
    table.end()
}

fn self_tests(rig: &Rig, kernel: &Path) -> Result<String> {
    let mut guest = rig
        .qemu
        .start(&Machine::new(kernel, &rig.initramfs, 4, 8))?;
    let check = guest.run("wellspring check")?;
    let last = check.text.lines().last().unwrap_or_default().to_owned();
    guest.end()?;
    match check.status {
        0 => Ok(last),
        _ => failed(check.text),
    }
}

/// Two copies of a machine, and how much both hand out.
fn copies(rig: &Rig, kernel: &Path, notice: Notice) -> Result<String> {
    let window = clones::window(rig, kernel, notice)?;
    let (bytes, most) = (window.repeated_bytes, notice.most_bytes());
    let says = match bytes {
        0 => format!("no byte of {} in common", clones::ASKED_BYTES),
        _ => format!(
            "{bytes} bytes of {} in common, in {} ms",
            clones::ASKED_BYTES,
            window.repeated_ms
        ),
    };
    match bytes <= most {
        true => Ok(says),
        false => failed(format!("{says}; the bound is {most}")),
    }
}
