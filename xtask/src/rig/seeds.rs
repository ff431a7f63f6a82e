//! A seed file over a reboot, and in a copy of the disk.

use super::Rig;
use crate::guest::{Guest, Machine, Result, at, failed};
use std::fs::File;
use std::path::Path;

const DISK_BYTES: u64 = 16 << 20;

/// What a machine's firmware says it is.
const THIS: &str = "11111111-2222-4333-8444-555555555555";
const ANOTHER: &str = "99999999-8888-4777-a666-555555555555";

const MOUNT: &str = "mount -t ext4 /dev/nvme0n1 /mnt && cd /mnt";
const FILE: &str = "/mnt/private/seed";

/// A file written on four nodes is credited once, after a reboot of the machine that wrote it; and mixed, without
/// credit, by the same boot again and by another machine with a copy of the disk.
pub(super) fn over_a_reboot(rig: &Rig, kernel: &Path) -> Result<String> {
    let disk = rig.folder.join("disk");
    let file = File::create(&disk).map_err(at(disk.display()))?;
    file.set_len(DISK_BYTES).map_err(at(disk.display()))?;
    let boot = |nodes: usize, uuid| {
        let mut machine = Machine::new(kernel, &rig.initramfs, nodes, 2 * nodes);
        machine.disk = Some(&disk);
        machine.uuid = Some(uuid);
        rig.qemu.start(&machine)
    };
    let mut guest = boot(4, THIS)?;
    // Larger inodes than ext2's, which have no time of birth: it tells a file from its copies.
    guest.must("mke2fs -F -I 256 /dev/nvme0n1 >/dev/null 2>&1")?;
    guest.must(&format!(
        "{MOUNT} && mkdir -m 700 private && wellspring seed save {FILE}"
    ))?;
    says(&mut guest, "seed show", "sections  4")?;
    leave(guest)?;

    let copy = rig.folder.join("copied-disk");
    std::fs::copy(&disk, &copy).map_err(at(copy.display()))?;

    // With fewer nodes than wrote it: every section counts.
    let mut guest = boot(1, THIS)?;
    guest.must(MOUNT)?;
    says(&mut guest, "seed show", "last in another boot")?;
    says(&mut guest, "stats --seed-file", "a seed, credited")?;
    says(&mut guest, "stats --seed-file", "a seed, not credited")?;
    leave(guest)?;

    let mut machine = Machine::new(kernel, &rig.initramfs, 4, 8);
    (machine.disk, machine.uuid) = (Some(copy.as_path()), Some(ANOTHER));
    let mut guest = rig.qemu.start(&machine)?;
    guest.must(MOUNT)?;
    says(&mut guest, "stats --seed-file", "a seed, not credited")?;
    leave(guest)?;
    Ok("4 sections, credited after the reboot, once; not in a copy of the disk".into())
}

fn says(guest: &mut Guest, command: &str, words: &str) -> Result {
    let text = guest.must(&format!("wellspring {command} {FILE}"))?;
    match text.contains(words) {
        true => Ok(()),
        false => failed(format!("'{command}' does not say '{words}': {text}")),
    }
}

fn leave(mut guest: Guest) -> Result {
    guest.must("cd / && umount /mnt")?;
    guest.end()
}
