//! Events that come to a machine from outside: NMIs, and clones.

use super::steps::{CHECK, LOAD, LOAD_NEEDED, UNLOAD, succeeded};
use crate::guest::{Cache, Event, Qemu, Result, Vm, at, failed};
use std::collections::HashSet;
use std::fs;

/// Bytes that each clone reads.
const CLONE_BYTES: usize = 16384;

/// Bytes of a block that two clones must not have in common.
const BLOCK_BYTES: usize = 16;

/// The kernel's own worker tells the module of a new id of the machine, and the module changes the generation at once.
/// The other changes come from the thread of the module and from tasks.
pub(super) const WAIT_FOR_NOTICE: &str = r#"#!/bin/sh
since=$(date +%s)
until grep -q '^ *kworker.*wellspring_generation:' /sys/kernel/tracing/trace; do
    [ $(($(date +%s) - since)) -lt 300 ] || { cat /sys/kernel/tracing/trace; exit 1; }
    sleep 0.1
done
"#;

/// The bytes of a file as hexadecimal digits.
const DIGITS: &str = "od -An -v -tx1 | tr -d ' \\n'";

/// All of it. Returns the note for the table.
pub(super) fn drill(cache: &Cache, qemu: &Qemu, vm: Vm) -> Result<String> {
    let folder = cache.fresh("clones")?;
    let state = folder.join("state");
    let mut vm = vm;
    vm.notices = true;
    vm.memory_mib = 512;
    let mut guest = qemu.start(&vm)?;
    guest.must(LOAD_NEEDED)?;
    let answer = guest.run_under(Event::Nmi, "nmi.sh /modules", CHECK)?;
    succeeded(&mut guest, &answer)?;
    let mut lines = answer.text.lines();
    let Some(nmis) = lines.find(|line| line.starts_with("ok")) else {
        return failed(format!("no test of NMIs ran: {}", answer.text));
    };
    if guest.run("[ -d /sys/bus/*/drivers/vmgenid ]")?.status != 0 {
        guest.end()?;
        return Ok(format!("{nmis}; SKIPPED: this kernel has no vmgenid"));
    }
    guest.must(LOAD)?;
    guest.must("echo 1 >/sys/kernel/tracing/events/wellspring/wellspring_generation/enable")?;
    guest.must(&format!(
        "head -c {CLONE_BYTES} /dev/wellspring >/tmp/before"
    ))?;
    guest.save(&state)?;
    vm.state = Some(&state);
    let clones = [read_in_clone(qemu, &vm)?, read_in_clone(qemu, &vm)?];
    fs::remove_dir_all(&folder).map_err(at(folder.display()))?;
    Ok(format!("{nmis}; {}", compare(&clones)?))
}

/// The bytes that a clone has from before it was made, and the bytes that it reads after the kernel told the module.
struct Reads {
    before: String,
    after: String,
}

fn read_in_clone(qemu: &Qemu, vm: &Vm) -> Result<Reads> {
    let mut guest = qemu.start(vm)?;
    let told = guest.run_within("wait-for-notice", CHECK)?;
    succeeded(&mut guest, &told)?;
    let after = guest.must(&format!("head -c {CLONE_BYTES} /dev/wellspring | {DIGITS}"))?;
    let before = guest.must(&format!("cat /tmp/before | {DIGITS}"))?;
    guest.must(UNLOAD)?;
    guest.end()?;
    Ok(Reads { before, after })
}

/// Fails if the clones read a block twice, or both the same. They do know the same from before.
fn compare(clones: &[Reads; 2]) -> Result<String> {
    let blocks = |digits: &str| -> Result<HashSet<String>> {
        let blocks: HashSet<String> = digits
            .as_bytes()
            .chunks(2 * BLOCK_BYTES)
            .map(|block| String::from_utf8_lossy(block).into_owned())
            .collect();
        match blocks.len() {
            count if count == CLONE_BYTES / BLOCK_BYTES => Ok(blocks),
            count => failed(format!("a clone reads {count} different blocks")),
        }
    };
    let common = |one: &str, other: &str| -> Result<usize> {
        Ok(blocks(one)?.intersection(&blocks(other)?).count())
    };
    let [one, other] = clones;
    let (before, after) = (
        common(&one.before, &other.before)?,
        common(&one.after, &other.after)?,
    );
    if before != CLONE_BYTES / BLOCK_BYTES {
        return failed("the machines are not clones");
    }
    if after > 0 || common(&one.before, &one.after)? > 0 {
        return failed(format!(
            "after the notice two clones read {after} blocks alike"
        ));
    }
    Ok(format!(
        "two clones were told, and of {CLONE_BYTES} bytes then read none are the same"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that count up from a number, as digits.
    fn reads(before: usize, after: usize) -> Reads {
        let digits = |first: usize| -> String {
            let blocks = first..first + CLONE_BYTES / BLOCK_BYTES;
            blocks.map(|block| format!("{block:032x}")).collect()
        };
        Reads {
            before: digits(before),
            after: digits(after),
        }
    }

    #[test]
    fn one_block_in_common_fails_and_so_do_machines_that_are_no_clones() {
        assert!(compare(&[reads(0, 10_000), reads(0, 20_000)]).is_ok());
        let last_is_first = 10_000 + CLONE_BYTES / BLOCK_BYTES - 1;
        assert!(compare(&[reads(0, 10_000), reads(0, last_is_first)]).is_err());
        assert!(compare(&[reads(0, 10_000), reads(5, 20_000)]).is_err());
        assert!(compare(&[reads(0, 5), reads(0, 20_000)]).is_err());
    }
}
