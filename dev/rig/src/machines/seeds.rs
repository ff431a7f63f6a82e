//! A seed file over a reboot, and on a copy of the disk.

use crate::guest::{Guest, MachineSetup, Result, Vm, at, failed};
use std::fs::File;
use std::path::Path;

const DISK_BYTES: u64 = 16 << 20;

/// The identities that the firmware of the machines reports.
const FIRST: &str = "11111111-2222-4333-8444-555555555555";
const SECOND: &str = "99999999-8888-4777-a666-555555555555";

const MOUNT: &str = "mount -t ext4 /dev/nvme0n1 /mnt && cd /mnt";
const FILE: &str = "/mnt/private/seed";

/// A file written on four nodes is credited once, after a reboot of the machine that wrote it; and mixed, without
/// credit, by the same boot again and by another machine with a copy of the disk.
pub(super) fn over_a_reboot(setup: &MachineSetup, kernel: &Path) -> Result<String> {
    let disk = setup.folder.join("disk");
    let file = File::create(&disk).map_err(at(disk.display()))?;
    file.set_len(DISK_BYTES).map_err(at(disk.display()))?;
    let boot = |nodes: usize, uuid| {
        let mut vm = Vm::new(kernel, &setup.initramfs, nodes, 2 * nodes);
        vm.disk = Some(&disk);
        vm.uuid = Some(uuid);
        setup.qemu.start(&vm)
    };
    let mut guest = boot(4, FIRST)?;
    // Larger inodes than ext2's, which have no time of birth: it tells a file from its copies.
    guest.must("mke2fs -F -I 256 /dev/nvme0n1 >/dev/null 2>&1")?;
    guest.must(&format!(
        "{MOUNT} && mkdir -m 700 private && wellspring seed save {FILE}"
    ))?;
    expect(&mut guest, "seed show", "sections  4")?;
    power_off(guest)?;

    let copy = setup.folder.join("copied-disk");
    std::fs::copy(&disk, &copy).map_err(at(copy.display()))?;

    // With fewer nodes than wrote it: every section counts.
    let mut guest = boot(1, FIRST)?;
    guest.must(MOUNT)?;
    expect(&mut guest, "seed show", "written   in another boot")?;
    expect(&mut guest, "stats --seed-file", "a seed, credited")?;
    expect(&mut guest, "stats --seed-file", "a seed, not credited")?;
    power_off(guest)?;

    let mut vm = Vm::new(kernel, &setup.initramfs, 4, 8);
    (vm.disk, vm.uuid) = (Some(copy.as_path()), Some(SECOND));
    let mut guest = setup.qemu.start(&vm)?;
    guest.must(MOUNT)?;
    expect(&mut guest, "stats --seed-file", "a seed, not credited")?;
    power_off(guest)?;
    Ok("4 sections, credited after the reboot, once; not in a copy of the disk".into())
}

fn expect(guest: &mut Guest, command: &str, words: &str) -> Result {
    let text = guest.must(&format!("wellspring {command} {FILE}"))?;
    if text.contains(words) {
        Ok(())
    } else {
        failed(format!("'{command}' does not say '{words}': {text}"))
    }
}

fn power_off(mut guest: Guest) -> Result {
    guest.must("cd / && umount /mnt")?;
    guest.end()
}
