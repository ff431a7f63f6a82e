//! The doors on aarch64: the C library, the preload library, OpenSSL's provider, `wellspring run`, and the programs that they
//! serve, which are Debian's for arm64.
//!
//! Nothing is installed. Only in a user namespace, which can have its own binfmt_misc since Linux 6.7, the kernel runs programs
//! for arm64 by QEMU's user mode. PATH has no program of this machine there except a C compiler for arm64. So a test that needs
//! another program says SKIPPED.

use super::python::package_tests;
use super::step::{Step, TEST_S, count_passed};
use crate::guest::{Cache, Processor, Result, Stop, Table, at, debian_files, run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The programs that the doors serve, and libraries to link with.
const PACKAGES: [&str; 15] = [
    "bash",
    "coreutils",
    "dash",
    "grep",
    "libgsl-dev",
    "libmbedtls-dev",
    "libsodium-dev",
    "libssl-dev",
    "libstdc++6",
    "openssh-client",
    "openssl",
    "procps",
    "python3",
    "sed",
    "util-linux",
];

/// The libraries that tests load.
const LIBRARIES: &str = "build --package wellspring-c --package wellspring-preload --package wellspring-openssl \
    --package wellspring-cli";

/// The tests leave out what QEMU's user mode does not have: ptrace(2) (`faults`), filters of seccomp(2) (`sandbox`), the
/// kernel's frame on a small signal stack (`stack`), a limit of memory, and the kernel's answer to a pointer whose end alone is
/// bad. One test reads the sources by cargo. In one, which sends a key to a terminal, every third run hung. Of the command's
/// tests, `run` and amounts of bytes are enough.
const TESTS: &str = "test --quiet --package wellspring-c --package wellspring-preload --package wellspring-openssl \
    --package wellspring-cli --test command --test library --test preload --test provider -- \
    --skip commands:: --skip faults:: --skip sandbox:: --skip stack:: --skip names:: --skip openssl:: \
    --skip repeat:: --skip host_programs:: --skip closed_output:: --skip each_line:: --skip residue:: --skip streams:: \
    --skip terminal:: --skip every_context_is_served --skip every_flag_length_and_pointer_gets_the_kernels_answer \
    --skip without_memory_there_is_an_error --skip no_function_ends_the_process_for_want_of_memory \
    --skip the_types_in_the_header_are_those_of_the_library \
    --skip a_key_of_the_terminal_interrupts_the_program_once";

/// Runs a test where all programs are for arm64. `CARGO` builds nothing: what a test would build is there. The magic number
/// marks ELF files for arm64, as in QEMU's own list.
const RUNNER: &str = r#"#!/bin/sh
export QEMU_LD_PREFIX=ROOT PATH=TOOLS:ROOT/usr/bin:ROOT/bin CARGO=ROOT/bin/true
exec /usr/bin/unshare --user --map-root-user --mount /bin/sh -ec '
/bin/mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
printf "%s" ":arm64:M::$magic:$mask:QEMU:F" >/proc/sys/fs/binfmt_misc/register
exec /usr/bin/timeout SECONDS "$@"' sh "$@"
"#;

/// The C compiler for arm64, with the unpacked headers and libraries.
const COMPILER: &str = r#"#!/bin/sh
exec /usr/bin/aarch64-linux-gnu-gcc -isystem ROOT/usr/include -isystem ROOT/usr/include/aarch64-linux-gnu "$@" \
    -LROOT/usr/lib/aarch64-linux-gnu
"#;

/// Adds the rows.
pub(super) fn add_rows(table: &mut Table, step: &Step, cache: &Cache) -> Result {
    let system = debian_files(Processor::Arm64, cache, "debian-arm64", &PACKAGES)?;
    let tools = cache.fresh("tools-arm64")?;
    let write = |name: &str, text: &str| {
        let text = text
            .replace("ROOT", &system.display().to_string())
            .replace("TOOLS", &tools.display().to_string())
            .replace(
                "QEMU:F",
                &format!("{}:F", step.qemu.join("qemu-aarch64").display()),
            )
            .replace("SECONDS", &TEST_S.to_string());
        script(&tools.join(name), &text)
    };
    write("cc", COMPILER)?;
    write(
        "readelf",
        "#!/bin/sh\nexec /usr/bin/aarch64-linux-gnu-readelf \"$@\"\n",
    )?;
    let runner = write("run", RUNNER)?;
    if let Err(Stop::Failed(reason)) = run(Command::new(&runner).arg("true")) {
        return Err(Stop::Missing(format!(
            "the doors on aarch64: no namespace with its own binfmt_misc: {reason}"
        )));
    }
    table.add_outcome("aarch64 doors", tests(step, &runner))?;
    table.add_outcome("aarch64 Python", package_tests(step, &runner, cache))
}

fn tests(step: &Step, runner: &Path) -> Result<String> {
    let start = Instant::now();
    step.cargo(LIBRARIES)?;
    let text = run(&mut step.command(TESTS, &runner.display().to_string()))?;
    let passed = count_passed(&text)?;
    Ok(format!("{passed} tests passed, {:.0?}", start.elapsed()))
}

/// Writes a file that can be run.
fn script(path: &Path, text: &str) -> Result<PathBuf> {
    fs::write(path, text).map_err(at(path.display()))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, executable).map_err(at(path.display()))?;
    Ok(path.to_owned())
}
