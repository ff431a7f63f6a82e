//! dm-crypt, a client of wellspring_crypto.ko.

use super::steps::{CHECK, succeeded};
use crate::guest::{Cache, Files, Guest, Kernel, Processor, Result, debian_files};

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
pub(super) fn files(cache: &Cache, kernel: &Kernel, files: Files) -> Result<Files> {
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
pub(super) fn drill(guest: &mut Guest) -> Result<String> {
    let answer = guest.run_within("dm-crypt.sh /dm-crypt", CHECK)?;
    succeeded(guest, &answer)?;
    Ok(answer.text.trim_end().to_owned())
}
