//! Boots after the first: load the module, read it on every CPU, unload it, power off.

use super::steps::{LOAD, LOAD_NEEDED, UNLOAD, succeeded};
use crate::guest::{Guest, Result, failed};

/// A reader of 64 KiB on each CPU. Prints the bytes that each got.
const READ: &str = "for cpu in /sys/devices/system/cpu/cpu[0-9]*; do \
                    taskset -c ${cpu##*cpu} head -c 65536 /dev/wellspring | wc -c & done; wait";

/// All of it.
pub(super) fn drill(mut guest: Guest) -> Result {
    guest.must(LOAD_NEEDED)?;
    guest.must(LOAD)?;
    let read = guest.must(READ)?;
    if read.lines().count() == 0 || read.lines().any(|line| line.trim() != "65536") {
        return failed(format!("readers got: {read}"));
    }
    let unload = guest.run(UNLOAD)?;
    succeeded(&mut guest, &unload)?;
    let left = guest.must(
        "ls /dev/wellspring /sys/kernel/debug/wellspring /sys/module/wellspring 2>/dev/null | cat",
    )?;
    if !left.trim().is_empty() {
        return failed(format!("unloading left {left}"));
    }
    guest.end()
}
