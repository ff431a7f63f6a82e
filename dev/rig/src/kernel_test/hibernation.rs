//! A resume from disk: the machine writes its memory to a disk and switches itself off; another machine with that disk
//! reads it and goes on. This needs no firmware. A resume from memory does, and in QEMU Linux 6.1 does not come back from
//! it reliably.

use super::steps::{CHECK, LOAD_NEEDED, succeeded};
use crate::guest::{Cache, Qemu, Result, Vm, at, failed};
use std::fs::{self, File};

/// The disk, in bytes. Nothing is stored for what is never written.
const DISK_BYTES: u64 = 1 << 30;

/// Loads the disk's driver, which kernels with PREEMPT_RT do not have built in, and waits for the disk.
const FIND_DISK: &str = "for file in /disk-driver/*; do [ ! -e $file ] || insmod $file || break; done && \
    (count=0; until [ -b /dev/nvme0n1 ]; do [ $count -lt 600 ] || exit 1; count=$((count + 1)); sleep 0.1; done)";

/// Does what a boot script does with `resume=/dev/nvme0n1`. What follows is the answer of the machine that went to sleep:
/// the rest of the test.
const RESUME: &str = "cat /sys/block/nvme0n1/dev >/sys/power/resume";

/// All of it. Returns the note for the table.
pub(super) fn drill(cache: &Cache, qemu: &Qemu, vm: Vm) -> Result<String> {
    let folder = cache.fresh("hibernation")?;
    let disk = folder.join("disk");
    File::create(&disk)
        .and_then(|file| file.set_len(DISK_BYTES))
        .map_err(at(disk.display()))?;
    let mut vm = vm;
    vm.disk = Some(&disk);
    vm.memory_mib = 512;
    let mut guest = qemu.start(&vm)?;
    if guest.run("hibernate.sh can")?.status != 0 {
        guest.end()?;
        return Ok("SKIPPED: this kernel cannot resume from disk, and trace that".into());
    }
    guest.must(LOAD_NEEDED)?;
    guest.must(FIND_DISK)?;
    guest.end_by("hibernate.sh /modules /dev/nvme0n1")?;
    let mut guest = qemu.start(&vm)?;
    guest.must(FIND_DISK)?;
    let answer = guest.run_within(RESUME, CHECK)?;
    succeeded(&mut guest, &answer)?;
    guest.end()?;
    fs::remove_dir_all(&folder).map_err(at(folder.display()))?;
    match answer.text.lines().find(|line| line.starts_with("ok")) {
        Some(line) => Ok(line.to_owned()),
        None => failed(format!("it did not go on: {}", answer.text)),
    }
}
