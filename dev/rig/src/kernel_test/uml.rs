//! The module's tests as KUnit suites in User Mode Linux.

use crate::guest::{Cache, Processor, Result, Uml, failed, kernel_test};
use std::path::{Path, PathBuf};

/// Mounts what programs expect, and goes to the modules.
const START: &str = r#"#!/bin/sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t debugfs none /sys/kernel/debug
dmesg -n 8
cd /modules
"#;

/// The crypto manager tests the ciphers when their module is loaded; KUnit runs the suites when their module is loaded. Then all
/// modules are unloaded, and with kmemleak nothing of theirs may be left.
const TESTS: &str = r#"insmod wellspring.ko && insmod wellspring_crypto.ko && insmod wellspring_test.ko &&
    rmmod wellspring_test wellspring_crypto wellspring && echo =unloaded
leaks=/sys/kernel/debug/kmemleak
if [ -e $leaks ]; then
    echo scan >$leaks; sleep 6; echo scan >$leaks
    cat $leaks
fi
poweroff -f
"#;

/// The figures are printed after this line.
const FIGURES: &str = "=figures";

/// The suites are left out.
const BENCH: &str = r#"echo none >/sys/module/kunit/parameters/filter_glob
insmod wellspring.ko && insmod wellspring_crypto.ko && insmod wellspring_test.ko &&
    echo =figures && ./kernel-test bench && echo =measured
poweroff -f
"#;

/// Builds the module, runs its suites, and returns the note for the table.
pub(super) fn drill(cache: &Cache, source: &Path, has_checks: bool) -> Result<String> {
    let uml = Uml::build(cache, has_checks)?;
    let modules = modules(&uml, cache, source)?;
    let lines = uml.run(cache, &modules, &[START, TESTS].concat())?;
    // The first report is of the suites in the kernel: none.
    let Some(first) = lines
        .iter()
        .rposition(|line| line.starts_with("KTAP version"))
    else {
        return failed("KUnit did not run");
    };
    for line in &lines[first..] {
        println!("{line}");
    }
    if !lines.iter().any(|line| line == "=unloaded") {
        return failed("the modules were not loaded and unloaded");
    }
    uml.parse(cache, &lines[first..])
}

/// Builds the module, measures it, and prints the figures.
pub(super) fn bench(cache: &Cache, root: &Path, has_checks: bool) -> Result<String> {
    let uml = Uml::build(cache, has_checks)?;
    let mut files = modules(&uml, cache, &root.join("kernel"))?;
    files.push(kernel_test(root, Processor::X86_64)?);
    let lines = uml.run(cache, &files, &[START, BENCH].concat())?;
    let figures = lines.iter().skip_while(|line| *line != FIGURES).skip(1);
    let figures: Vec<&String> = figures.take_while(|line| *line != "=measured").collect();
    for line in &figures {
        println!("{line}");
    }
    if !lines.iter().any(|line| line == "=measured") {
        return failed("nothing was measured");
    }
    Ok(format!("{} lines of figures", figures.len()))
}

fn modules(uml: &Uml, cache: &Cache, source: &Path) -> Result<Vec<PathBuf>> {
    let build = uml.build_module(cache, source)?;
    let names = [
        "wellspring.ko",
        "wellspring_crypto.ko",
        "tests/wellspring_test.ko",
    ];
    Ok(names.map(|name| build.join(name)).to_vec())
}
