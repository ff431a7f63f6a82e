//! All tests of the module in one machine: load it, run its tests by `kernel-test`, load and unload it
//! while programs read, look for leaks, power off.

use super::dm_crypt;
use super::steps::{
    CHECK, LOAD, LOAD_NEEDED, lockdep_still_checks, look_for_leaks, look_for_races, races,
    stop_scans, succeeded,
};
use crate::guest::{Event, Guest, Release, Result, failed};

/// Reloads before memory is looked at.
const WARM_UP: usize = 2;

/// How much more memory the kernel may hold after all reloads, in KiB: allocators keep some for later. The kernel that has
/// kmemleak has KASAN too, which keeps what was freed, up to a 32nd of all memory: there kmemleak decides.
const MAX_GROWTH_KIB: usize = 1024;

/// Programs open the device, read, and close it. `rmmod` fails while one of them has the device open, so it is
/// repeated. During that time they read only 16 bytes, so that there is a moment without an open device, and the next
/// open races with the unload.
pub(super) const RELOAD: &str = r#"#!/bin/sh
others=$(ls /modules | grep -v '^wellspring\.ko$' | sed 's/\.ko$//')
load() {
    while [ ! -e /tmp/over ]; do
        bytes=$1
        [ ! -e /tmp/leaving ] || bytes=16
        head -c $bytes /dev/wellspring >/dev/null 2>&1
    done
}
leave() {
    since=$(date +%s)
    until rmmod $1 2>/dev/null; do
        [ $(($(date +%s) - since)) -lt 300 ] || { echo "$1 does not go"; touch /tmp/over; exit 1; }
    done
}
enter() {
    insmod /modules/wellspring.ko || { touch /tmp/over; exit 1; }
    for name in $others; do
        insmod /modules/$name.ko || { touch /tmp/over; exit 1; }
    done
}
rm -f /tmp/over /tmp/leaving
for name in $others; do rmmod $name 2>/dev/null; done
rmmod wellspring 2>/dev/null
for bytes in 16 4096 100000; do
    load $bytes &
done
count=0
while [ $count -lt $1 ]; do
    enter
    sleep 0.1
    touch /tmp/leaving
    for name in $others; do leave $name; done
    leave wellspring
    rm -f /tmp/leaving
    count=$((count + 1))
done
touch /tmp/over
wait
"#;

/// All of them. Returns the note for the table.
pub(super) fn drill(mut guest: Guest, release: Release, reloads: usize) -> Result<String> {
    // Not of the kernel's own source; and not signed, where the kernel knows signatures.
    let expected_taint = if release.is_own { "4096" } else { "12288" };
    stop_scans(&mut guest)?;
    if release == Release::KCSAN {
        look_for_races(&mut guest)?;
    }
    guest.must(LOAD_NEEDED)?;
    let scripts = guest.run_within("guest.sh /modules", CHECK)?;
    succeeded(&mut guest, &scripts)?;
    let suspend = guest.run_under(Event::WakeUp, "suspend.sh /modules", CHECK)?;
    succeeded(&mut guest, &suspend)?;
    guest.must(LOAD)?;
    let check = guest.run_within("kernel-test", CHECK)?;
    let last = check.text.lines().last().unwrap_or_default();
    let last = last.trim_start_matches("# Totals: ").to_owned();
    succeeded(&mut guest, &check)?;
    let dm_crypt = dm_crypt::drill(&mut guest)?;
    let locks = bench(&mut guest)?;
    // The first times fill the allocators' stores.
    reload(&mut guest, WARM_UP)?;
    let before = memory(&mut guest)?;
    reload(&mut guest, reloads)?;
    let grown = memory(&mut guest)?.saturating_sub(before);
    let has_kmemleak = look_for_leaks(&mut guest)?;
    if grown > MAX_GROWTH_KIB && !has_kmemleak {
        return failed(format!(
            "{grown} KiB of kernel memory are lost after {reloads} reloads"
        ));
    }
    let taint = guest.must("cat /proc/sys/kernel/tainted")?;
    if taint.trim() != expected_taint {
        return failed(format!(
            "the kernel is tainted: {} and not {expected_taint}",
            taint.trim()
        ));
    }
    let races = if release == Release::KCSAN {
        format!("; {}", races(&mut guest)?)
    } else {
        String::new()
    };
    if release.has_checks() {
        lockdep_still_checks(&mut guest)?;
    }
    guest.end()?;
    let kmemleak = if has_kmemleak {
        "nothing found"
    } else {
        "not there"
    };
    Ok(format!(
        "{last}; {dm_crypt}; {reloads} reloads under load, {grown} KiB left; kmemleak: {kmemleak}{races}{locks}"
    ))
}

/// Runs the measurement where there are four nodes, and checks that it measured everything. An emulator's times say
/// nothing, so the table gets the counts of locks alone.
fn bench(guest: &mut Guest) -> Result<String> {
    let has_4_nodes = guest.run("[ -d /sys/devices/system/node/node3 ]")?.status == 0;
    if !has_4_nodes {
        return Ok(String::new());
    }
    let answer = guest.run_within("kernel-test bench --quick", CHECK)?;
    succeeded(guest, &answer)?;
    let mut tables = answer.text.split("\n\n");
    let mut rows_of = |title: &str| -> Vec<String> {
        let table = tables.find(|table| table.starts_with(title));
        let rows = table.unwrap_or_default().lines().skip(2);
        rows.map(|row| row.trim().to_owned()).collect()
    };
    let locks = rows_of("locks of nodes");
    let nodes = rows_of("reads of 32 bytes");
    let (sizes, readers) = (
        rows_of("ns of a read inside"),
        rows_of("MB/s of each reader inside"),
    );
    let requests = rows_of("inside the kernel");
    let eight = locks.get(7).map_or("", String::as_str);
    let cells = eight.split("  ").map(str::trim);
    let counts: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
    let rows = [&nodes, &sizes, &readers].map(Vec::len);
    match (&counts[..], rows, requests.len()) {
        // Eight rows for nodes, for sizes and for readers, seven or more for requests, and a note each.
        ([_, _, canonical, concurrent, per_node, per_cpu], [9, 9, 9], 8..) => Ok(format!(
            "; 8 readers took locks in 1000 reads of 16 KiB: {canonical} canonical, {concurrent} concurrent, \
             {per_node} per-node, {per_cpu} per-cpu (in brackets not free)"
        )),
        _ => failed(format!("the measurement lacks something: {}", answer.text)),
    }
}

/// Loads and unloads the modules while programs read; they are gone at the end.
fn reload(guest: &mut Guest, times: usize) -> Result {
    let answer = guest.run_within(&format!("reload {times}"), CHECK)?;
    succeeded(guest, &answer)
}

/// Kernel memory that cannot be reclaimed, in KiB.
fn memory(guest: &mut Guest) -> Result<usize> {
    let text = guest.must("echo 3 >/proc/sys/vm/drop_caches; grep -E '^(SUnreclaim|Percpu|VmallocUsed):' /proc/meminfo")?;
    Ok(text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok())
        .sum())
}
