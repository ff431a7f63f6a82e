//! `machines`: the command `wellspring` in virtual machines of several nodes, over a reboot, and in two clones; the service
//! for guests and in a guest.
//!
//! ```text
//! nodes    memory on its node, readers served by theirs, the first 128 bits, shares of seeds
//! seeds    a seed file over a reboot
//! clones   two machines that are resumed from one saved state
//! host     the service on this machine, for devices of guests
//! service  the service for guests, and in a guest
//! image    the guest image with systemd: its unit, its hooks, the host's order by vsock
//! runtimes other runtimes in eight clones, with their guards and without, and restored twice by CRIU
//! ```

mod clones;
mod host;
mod image;
mod nodes;
mod runtimes;
mod seeds;
mod service;

use crate::guest::{
    Cache, Files, Kernel, MachineSetup, Processor, Programs, Qemu, Release, Result, Table, Vm,
    failed,
};
use clones::Notice;
pub(crate) use host::door_bytes;
pub(crate) use nodes::memory as node_memory;
use runtimes::Order;
pub(crate) use service::{READ_BYTES, check, hexadecimal, start_service};
use std::path::Path;

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
        processor: Processor::X86_64,
        cpus: nodes::CPUS,
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
        // Linux 6.1 has no vDSO getrandom, and Debian's has no vmgenid driver. vmclock came with Linux 6.13.
        ("clones, 6.1, no notice", &old, Notice::None),
        ("clones, 6.1, a command", &old, Notice::Command),
        ("clones, 6.12, no notice", &new, Notice::None),
        ("clones, 6.12, vmgenid", &new, Notice::Device),
        ("clones, 6.12, a command", &new, Notice::Command),
    ] {
        table.add_outcome(name, clone_window(&setup, kernel, notice))?;
    }
    let clock = clones_with_a_clock(&setup, &cache, &programs);
    let added = table.add_outcome("clones, 7.3, vmclock", clock);
    let added = added.and_then(|()| service::add_rows(&mut table, &setup, &inputs, files));
    let added = added.and_then(|()| add_image(&mut table, &setup, &inputs));
    // The rows so far count even if something is missing for the others.
    table.end()?;
    added
}

/// Runs the rows of the chore `runtimes` whose names contain `part`.
pub(crate) fn run_runtimes(root: &Path, part: &str) -> Result {
    let cache = Cache::open(root)?;
    let mut table = Table::new();
    let added = add_clones(&mut table, &cache, root, part);
    // The rows so far count even if something is missing for the others.
    table.end()?;
    added
}

fn add_clones(table: &mut Table, cache: &Cache, root: &Path, part: &str) -> Result {
    let folder = cache.fresh("rig-clones")?;
    let mut files = runtimes::files(cache, root)?;
    let rows = [
        (
            "two restores by CRIU",
            Release::V6_12,
            &runtimes::NEEDED_BY_CRIU[..],
            None,
        ),
        (
            "8 clones, 6.12, vmgenid",
            Release::V6_12,
            &[],
            Some(Order::Device),
        ),
        (
            "8 clones, 6.12, a command",
            Release::V6_12,
            &[],
            Some(Order::Command),
        ),
        (
            "8 clones, old CPU and fixed clocks, vmclock alone",
            Release::V7_3,
            &["ptp_vmclock"],
            Some(Order::Clock),
        ),
        (
            "8 clones, old CPU and fixed clocks, an order with a secret",
            Release::V6_12,
            &[],
            Some(Order::Secret),
        ),
    ];
    for (name, release, modules, order) in rows.into_iter().filter(|row| row.0.contains(part)) {
        let kernel = Kernel::fetch(cache, release)?;
        let modules = kernel.modules(cache, &[], modules)?;
        files = files.contents("modules", &modules)?;
        let setup = MachineSetup {
            qemu: Qemu::fetch(cache)?,
            processor: Processor::X86_64,
            cpus: nodes::CPUS,
            initramfs: files.write(folder.join("initramfs"))?,
            folder: folder.clone(),
        };
        let outcome = match order {
            Some(order) => runtimes::clones(&setup, &kernel.image, order),
            None => runtimes::restores(&setup, &kernel.image),
        };
        table.add_outcome(name, outcome)?;
    }
    Ok(())
}

fn add_image(table: &mut Table, setup: &MachineSetup, inputs: &service::Inputs<'_>) -> Result {
    let service::Inputs {
        cache,
        root,
        kernel,
        programs,
    } = *inputs;
    let initramfs = image::initramfs(setup, cache, root, kernel, programs)?;
    let image = &kernel.image;
    let clones = image::clones(setup, image, &initramfs);
    table.add_outcome("the guest image: vmgenid and hooks", clones)?;
    let order = image::order(setup, cache, image, &initramfs);
    table.add_outcome("the guest image: an order by vsock", order)
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

/// Two clones of a machine whose hypervisor has a clock, which needs a newer kernel and its module.
fn clones_with_a_clock(setup: &MachineSetup, cache: &Cache, programs: &Programs) -> Result<String> {
    let kernel = Kernel::fetch(cache, Release::V7_3)?;
    let modules = kernel.modules(cache, &[], &["ptp_vmclock"])?;
    let files = Files::new(cache, "clock")?.copy("bin/wellspring", &programs.wellspring)?;
    let files = files.contents("modules", &modules)?;
    let setup = MachineSetup {
        qemu: Qemu::fetch(cache)?,
        processor: Processor::X86_64,
        cpus: nodes::CPUS,
        initramfs: files.write(setup.folder.join("initramfs-clock"))?,
        folder: setup.folder.clone(),
    };
    clone_window(&setup, &kernel.image, Notice::Clock)
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
