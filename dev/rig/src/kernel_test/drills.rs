//! All tests of the module in one machine: load it, run its tests by `kernel-test`, load and unload it
//! while programs read, look for leaks, power off. Then the tests that need the same steps alone: dm-crypt, a second boot, and
//! failing allocations.

use crate::guest::{
    Answer, Cache, Event, Excuse, Files, Guest, Kernel, Processor, Release, Result, debian_files,
    failed,
};
use std::time::Duration;

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

/// All of them. `caches` is how many last-level caches a machine has that has more of them than
/// nodes. Returns the note for the table.
pub(super) fn drill(
    mut guest: Guest,
    release: Release,
    reloads: usize,
    caches: Option<usize>,
) -> Result<String> {
    // Not of the kernel's own source; and not signed, where the kernel knows signatures.
    let expected_taint = if release.is_own { "4096" } else { "12288" };
    stop_scans(&mut guest)?;
    if release == Release::KCSAN {
        look_for_races(&mut guest)?;
    }
    guest.must(LOAD_NEEDED)?;
    let scripts = guest.run_within("guest.sh /modules", CHECK)?;
    succeeded(&mut guest, &scripts)?;
    if let Some(caches) = caches {
        let line = format!("ok caches: {caches} nodes for {caches} caches");
        if !scripts.text.contains(&line) {
            return failed(format!("not '{line}': {}", scripts.text));
        }
    }
    let suspend = guest.run_under(Event::WakeUp, "resume.sh memory /modules", CHECK)?;
    succeeded(&mut guest, &suspend)?;
    guest.must(LOAD)?;
    let check = guest.run_within("kernel-test", CHECK)?;
    let last = check.text.lines().last().unwrap_or_default();
    let last = last.trim_start_matches("# Totals: ").to_owned();
    succeeded(&mut guest, &check)?;
    let dm_crypt = drill_dm_crypt(&mut guest)?;
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

/// Runs both measurements where there are four nodes, and prints the one on nodes. The other must have measured everything. An
/// emulator's times say nothing, so the table gets the counts of locks alone.
fn bench(guest: &mut Guest) -> Result<String> {
    let has_4_nodes = guest.run("[ -d /sys/devices/system/node/node3 ]")?.status == 0;
    if !has_4_nodes {
        return Ok(String::new());
    }
    let nodes = guest.run_within("kernel-test bench --nodes --quick", CHECK)?;
    succeeded(guest, &nodes)?;
    println!("{}", nodes.text);
    if !nodes.text.contains("NUMA node 3: CPUs 6-7; distances") || !nodes.text.contains("4, waits")
    {
        return failed("the report on nodes lacks something");
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
        // Twelve rows for nodes, eight for sizes and for readers, seven or more for requests, and a note each.
        ([_, _, canonical, concurrent, per_node, per_cpu], [13, 9, 9], 8..) => Ok(format!(
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

// ---- steps ----

/// All tests of the module. They take half a minute on an idle machine. On a busy one each waits for what it counts.
pub(super) const CHECK: Duration = Duration::from_secs(1800);

/// Loads the distribution's modules that ours need. wellspring_crypto.ko refuses a processor without instructions for AES:
/// it is left out there.
pub(super) const LOAD_NEEDED: &str = "for file in /needed/*; do [ ! -e $file ] || insmod $file || break; done && \
     { grep -qw aes /proc/cpuinfo || rm -f /modules/wellspring_crypto.ko; }";

pub(super) const LOAD: &str = "insmod /modules/wellspring.ko && for file in /modules/*.ko; do \
                    [ $file = /modules/wellspring.ko ] || insmod $file || break; done";

pub(super) const UNLOAD: &str =
    r"rmmod $(ls /modules | grep -v '^wellspring\.ko$' | sed 's/\.ko$//') && rmmod wellspring";

/// Fails with the output of a command and the kernel's log if the command failed or the log shows trouble.
pub(super) fn succeeded(guest: &mut Guest, answer: &Answer) -> Result {
    match (answer.status, guest.judge()) {
        (0, verdict) => verdict,
        (status, verdict) => {
            let complaint = verdict
                .err()
                .map(|complaint| format!("\n{complaint:?}"))
                .unwrap_or_default();
            failed(format!(
                "ended with {status}: {}{complaint}",
                answer.text.trim_end()
            ))
        }
    }
}

/// Stops kmemleak's own scans. The first begins a minute after the start. In an emulator an `insmod` hung for 15 minutes,
/// probably since no grace period of RCU tasks ends before the scan does. The tests ask for their scans.
fn stop_scans(guest: &mut Guest) -> Result {
    let file = "/sys/kernel/debug/kmemleak";
    guest
        .must(&format!("[ ! -e {file} ] || echo scan=off >{file}"))
        .map(drop)
}

/// Fails if kmemleak finds a leak. Returns whether the kernel has kmemleak.
fn look_for_leaks(guest: &mut Guest) -> Result<bool> {
    let has_it = guest.run("[ -e /sys/kernel/debug/kmemleak ]")?.status == 0;
    if !has_it {
        return Ok(false);
    }
    // Twice, with some seconds between: an object younger than 5 s is not reported.
    let scan =
        "cd /sys/kernel/debug && echo scan >kmemleak; sleep 6; echo scan >kmemleak; cat kmemleak";
    let found = guest.run_within(scan, CHECK)?.text;
    if found.contains("unreferenced object") {
        return failed(format!("kmemleak:\n{found}"));
    }
    Ok(true)
}

/// Reports of KCSAN on the kernel's clock, whichever module reads it. The reader takes the values of a latch, and takes them
/// again if they changed meanwhile. Linux 6.12 does not tell KCSAN of latches.
const CLOCK: [Excuse; 4] = [
    race_in_clock("KCSAN: data-race in timekeeping_cycles_to_ns+"),
    race_in_clock("KCSAN: data-race in ktime_get_mono_fast_ns+"),
    race_in_clock(" / timekeeping_cycles_to_ns+"),
    race_in_clock(" / ktime_get_mono_fast_ns+"),
];

const fn race_in_clock(first: &'static str) -> Excuse {
    let last = "==========";
    Excuse { first, last }
}

/// Has KCSAN look for data races from now on. A report that names our module fails the run.
fn look_for_races(guest: &mut Guest) -> Result {
    guest.excuse(&CLOCK);
    guest.must("echo on >/sys/kernel/debug/kcsan").map(drop)
}

/// Fails if KCSAN looked at nothing. Returns what it looked at.
pub(super) fn races(guest: &mut Guest) -> Result<String> {
    let counters = guest.must("cat /sys/kernel/debug/kcsan")?;
    let count = |name: &str| -> u64 {
        let lines = counters.lines();
        let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        values
            .next()
            .and_then(|value| value.parse().ok())
            .unwrap_or(0)
    };
    let (watched, found) = (count("setup_watchpoints"), count("data_races"));
    if watched == 0 {
        return failed(format!("KCSAN did not look: {counters}"));
    }
    Ok(format!(
        "KCSAN watched {watched} accesses and found {found} races, none with our functions; {} excused in the kernel's clock",
        guest.count_excused()
    ))
}

/// Fails if lockdep checks no more, as after its first report, whether or not that was printed.
fn lockdep_still_checks(guest: &mut Guest) -> Result {
    let statistics = guest.must("cat /proc/lockdep_stats")?;
    let mut lines = statistics.lines();
    let is_on = lines.any(|line| line.split_whitespace().eq(["debug_locks:", "1"]));
    if is_on {
        return Ok(());
    }
    failed(format!("lockdep does not check: {statistics}"))
}

// ---- dm-crypt ----
// dm-crypt, a client of wellspring_crypto.ko.

/// The distribution's modules for it, for a disk in a file, and for the kernel's own cipher by instructions.
const MODULES: [&str; 3] = ["dm_crypt", "loop", "aesni_intel"];

/// The libraries of dmsetup.
const LIBRARIES: [&str; 6] = [
    "lib/x86_64-linux-gnu/libc.so.6",
    "lib/x86_64-linux-gnu/libdevmapper.so.1.02.1",
    "lib/x86_64-linux-gnu/libm.so.6",
    "lib/x86_64-linux-gnu/libselinux.so.1",
    "usr/lib/x86_64-linux-gnu/libpcre2-8.so.0",
    "usr/lib/x86_64-linux-gnu/libudev.so.1",
];

/// The program that loads libraries. Its name in the package is a link to a path of the guest.
const LOADER: &str = "ld-linux-x86-64.so.2";

/// Adds what the test needs to a guest.
pub(super) fn dm_crypt_files(cache: &Cache, kernel: &Kernel, files: Files) -> Result<Files> {
    let debian = debian_files(Processor::X86_64, cache, "dmsetup", &["dmsetup"])?;
    let libraries = LIBRARIES.map(|path| debian.join(path));
    files
        .copy("bin/dmsetup", &debian.join("sbin/dmsetup"))?
        .collect("lib", &libraries)?
        .copy(
            &format!("lib64/{LOADER}"),
            &debian.join("lib/x86_64-linux-gnu").join(LOADER),
        )?
        .contents("dm-crypt", &kernel.modules(cache, &[], &MODULES)?)
}

/// Runs it where our modules are loaded. Returns its line.
fn drill_dm_crypt(guest: &mut Guest) -> Result<String> {
    let answer = guest.run_within("dm-crypt.sh /dm-crypt", CHECK)?;
    succeeded(guest, &answer)?;
    Ok(answer.text.trim_end().to_owned())
}

// ---- later boots ----
// Boots after the first: load the module, read it on every CPU, unload it, power off.

/// A reader of 64 KiB on each CPU. Prints the bytes that each got.
const READ: &str = "for cpu in /sys/devices/system/cpu/cpu[0-9]*; do \
                    taskset -c ${cpu##*cpu} head -c 65536 /dev/wellspring | wc -c & done; wait";

pub(super) fn drill_boots(mut guest: Guest) -> Result {
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

// ---- failing allocations ----
// Each allocation of a load, of a read and of a write fails once, in the kernel that can do that. Then nothing may leak.

/// About 600 loads of the module.
const LIMIT: Duration = Duration::from_secs(7200);

/// Reports of the kernel itself if it has no memory: for the trace events of a module, for a large area, and for its
/// leak detector.
const EXCUSES: [Excuse; 4] = [
    Excuse {
        first: "at kernel/trace/trace_events.c:",
        last: "---[ end trace",
    },
    Excuse {
        first: ": vmalloc error: ",
        last: "Mem-Info:",
    },
    Excuse {
        first: ": page allocation failure: ",
        last: "Mem-Info:",
    },
    // One line. Kmemleak then scans the whole object.
    Excuse {
        first: "kmemleak: Cannot allocate a scan area",
        last: "",
    },
];

pub(super) fn drill_failures(mut guest: Guest) -> Result<String> {
    guest.excuse(&EXCUSES);
    stop_scans(&mut guest)?;
    let answer = guest.run_within("failslab.sh /modules", LIMIT)?;
    succeeded(&mut guest, &answer)?;
    if !look_for_leaks(&mut guest)? {
        return failed("this kernel has no kmemleak");
    }
    let excused = guest.count_excused();
    guest.end()?;
    let says = answer.text.trim_end().replace('\n', "; ");
    Ok(format!(
        "{says}; kmemleak: nothing found; {excused} reports of the kernel on memory excused"
    ))
}
