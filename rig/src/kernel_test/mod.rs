//! `kernel-test`: the kernel module on real kernels, in machines of several kinds.
//!
//! In each: load it, run its tests by `wellspring check --kernel`, load and unload it while programs read, look for
//! leaks, power off. Trouble in the kernel's log at any time is a failure.

mod memory;
mod request;
mod secrets;
mod shapes;
mod steps;

use crate::guest::{
    Cache, Files, Guest, Kernel, Qemu, Release, Result, Stop, Table, Vm, at, command, failed,
    unless_half_patched,
};
use shapes::{Drill, SHAPES};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use steps::{LOAD, LOAD_NEEDED, succeeded};

/// Tests in `kernel/tests` that load the module. The first runs the others.
const SCRIPTS: [&str; 5] = ["guest.sh", "early.sh", "trace.sh", "suspend.sh", "load.sh"];

/// How often the modules are unloaded and loaded while programs read.
const RELOADS: usize = 5;

/// Reloads before memory is looked at.
const WARM_UP: usize = 2;

/// How much more memory the kernel may hold after all reloads, in KiB: allocators keep some for later. What is
/// smaller is for kmemleak to find, in the debug kernel.
const MAX_GROWTH_KIB: usize = 1024;

/// All tests of the module. They take half a minute on an idle machine. On a busy one each waits for what it counts.
const CHECK: Duration = Duration::from_secs(1800);

/// Programs open the device, read, and close it. `rmmod` fails while one of them has the device open, so it is
/// repeated. During that time they read only 16 bytes, so that there is a moment without an open device, and the next
/// open races with the unload.
const RELOAD: &str = r#"#!/bin/sh
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

/// Runs the chore.
pub(crate) fn run(root: &Path, words: impl Iterator<Item = String>) -> Result {
    let request = request::parse(words)?;
    let source = root.join("kernel");
    if !source.join("Makefile").exists() && !source.join("Kbuild").exists() {
        return failed(format!("no module in {}", source.display()));
    }
    let cache = Cache::open(root)?;
    let qemu = Qemu::fetch(&cache)?;
    let command = command(root)?;
    let mut table = Table::new();
    for &release in &request.releases {
        let kernel = Kernel::fetch(&cache, release)?;
        let start = Instant::now();
        let modules = kernel
            .build(&cache, &source)
            .and_then(|folder| modules_below(&folder));
        let says =
            |modules: &Vec<PathBuf>| format!("{} modules, {:.0?}", modules.len(), start.elapsed());
        let outcome = modules.as_ref().map(says).map_err(Stop::clone);
        table.add_outcome(format!("{release} build"), outcome)?;
        let Ok(modules) = modules else { continue };
        let mut files = Files::fetch(&cache)?
            .copy("bin/wellspring", &command)?
            .collect("modules", &modules)?
            .contents("needed", &kernel.needed_by(&cache, &modules)?)
            .copy_folder("vectors", &root.join("vectors"))?
            .script("reload", RELOAD)
            .script("functions", memory::FUNCTIONS);
        for script in SCRIPTS {
            files = files.copy(&format!("bin/{script}"), &source.join("tests").join(script))?;
        }
        let initramfs = files.write(cache.fresh(&format!("guest-{release}"))?.join("initramfs"))?;
        for shape in SHAPES
            .iter()
            .filter(|shape| shape.name.contains(&request.machine))
        {
            for boot in 1..=request.boots {
                let name = match request.boots {
                    1 => format!("{release} {}", shape.name),
                    boots => format!("{release} {} {boot}/{boots}", shape.name),
                };
                let start = Instant::now();
                let outcome = unless_half_patched(|| {
                    let mut vm =
                        Vm::new(&kernel.image, &initramfs, shape.nodes, shape.cpus).cpu(shape.cpu);
                    vm.layout = shape.layout;
                    match shape.drill {
                        Drill::Tests => qemu.start(&vm).and_then(|guest| drill(guest, release)),
                        Drill::Memory => qemu.start(&vm).and_then(memory::drill),
                        Drill::Secrets => secrets::drill(&cache, &qemu, vm),
                    }
                });
                let outcome = outcome.map(|says| format!("{says}; {:.0?}", start.elapsed()));
                table.add_outcome(name, outcome)?;
            }
        }
    }
    table.end()
}

/// All tests in one machine. Returns the note for the table.
fn drill(mut guest: Guest, release: Release) -> Result<String> {
    let expected_taint = match release {
        // Not of the kernel's own source; and not signed, where the kernel knows signatures.
        Release::Debug => "4096",
        _ => "12288",
    };
    guest.must(LOAD_NEEDED)?;
    let scripts = guest.run_within("guest.sh /modules", CHECK)?;
    succeeded(&mut guest, &scripts)?;
    let suspend = guest.run_and_wake("suspend.sh /modules", CHECK)?;
    succeeded(&mut guest, &suspend)?;
    guest.must(LOAD)?;
    let check = guest.run_within("wellspring check --kernel", CHECK)?;
    let last = check.text.lines().last().unwrap_or_default().to_owned();
    succeeded(&mut guest, &check)?;
    // The first times fill the allocators' stores.
    reload(&mut guest, WARM_UP)?;
    let before = memory(&mut guest)?;
    reload(&mut guest, RELOADS)?;
    let grown = memory(&mut guest)?.saturating_sub(before);
    if grown > MAX_GROWTH_KIB {
        return failed(format!(
            "{grown} KiB of kernel memory are lost after {RELOADS} reloads"
        ));
    }
    let leaks = leaks(&mut guest)?;
    let taint = guest.must("cat /proc/sys/kernel/tainted")?;
    if taint.trim() != expected_taint {
        return failed(format!(
            "the kernel is tainted: {} and not {expected_taint}",
            taint.trim()
        ));
    }
    guest.end()?;
    Ok(format!(
        "{last}; {RELOADS} reloads under load, {grown} KiB left; {leaks}"
    ))
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

/// The report of kmemleak, if the kernel has it.
fn leaks(guest: &mut Guest) -> Result<String> {
    let has_it = guest.run("[ -e /sys/kernel/debug/kmemleak ]")?.status == 0;
    if !has_it {
        return Ok("no kmemleak in this kernel".into());
    }
    // Twice, with some seconds between: an object younger than 5 s is not reported.
    let scan =
        "cd /sys/kernel/debug && echo scan >kmemleak; sleep 6; echo scan >kmemleak; cat kmemleak";
    let found = guest.run_within(scan, CHECK)?.text;
    if found.contains("unreferenced object") {
        return failed(format!("kmemleak:\n{found}"));
    }
    Ok("kmemleak found nothing".into())
}

/// The modules that a build left.
fn modules_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)
        .map_err(at(folder.display()))?
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            found.extend(modules_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "ko") {
            found.push(path);
        }
    }
    Ok(found)
}
