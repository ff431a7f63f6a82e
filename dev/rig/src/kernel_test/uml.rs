//! The module's tests as KUnit suites in User Mode Linux.

use crate::guest::{Cache, Result, Uml, failed};
use std::path::Path;

/// The crypto manager tests the ciphers when their module is loaded; KUnit runs the suites when their module is loaded. Then all
/// modules are unloaded, and with kmemleak nothing of theirs may be left.
const INIT: &str = r#"#!/bin/sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t debugfs none /sys/kernel/debug
dmesg -n 8
cd /modules
insmod wellspring.ko && insmod wellspring_crypto.ko && insmod wellspring_test.ko &&
    rmmod wellspring_test wellspring_crypto wellspring && echo =unloaded
leaks=/sys/kernel/debug/kmemleak
if [ -e $leaks ]; then
    echo scan >$leaks; sleep 6; echo scan >$leaks
    cat $leaks
fi
poweroff -f
"#;

/// Builds the module, runs its suites, and returns the note for the table.
pub(super) fn drill(cache: &Cache, source: &Path, has_checks: bool) -> Result<String> {
    let uml = Uml::build(cache, has_checks)?;
    let build = uml.build_module(cache, source)?;
    let modules = [
        "wellspring.ko",
        "wellspring_crypto.ko",
        "tests/wellspring_test.ko",
    ];
    let modules = modules.map(|name| build.join(name));
    let lines = uml.run(cache, &modules, INIT)?;
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
