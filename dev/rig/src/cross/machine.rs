//! An aarch64 machine with Debian's kernel, for what QEMU's user mode does not have: the vDSO's getrandom, tracing, seccomp(2),
//! the flags of mappings, signals, and four NUMA nodes. The service becomes its user there, closes its sandbox, and answers at a
//! socket and through its device files, which need the kernel's FUSE.

use super::step::{Step, count_passed};
use crate::guest::{
    Cache, Files, Guest, Kernel, MachineSetup, Processor, Qemu, Result, Table, arm64_kernel,
    failed, run,
};
use crate::machines::{READ_BYTES, check, door_bytes, hexadecimal, node_memory, start_service};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Left out is what takes more than 150 s.
const TESTS: &str = "test --no-run --quiet --message-format=json --package wellspring --package wellspring-os \
    --test copies --test engine --test faults --test fork --test memory --test sandbox --test shortage --test states \
    --test thread_exit --test traced";

/// Of these: a line of 200 forks takes minutes on an emulated machine, and the seed file needs a disk.
const LEFT_OUT: &str = "--skip a_line_of_two_hundred_children --skip ids:: --skip seed_file::";

/// The command, the service, and a client of it.
const SERVICE: &str = "build --package wellspring-cli --package wellspring-service --package wellspring-client \
    --bins --example draw";

/// The C library that the programs are linked with.
const LIBRARIES: [&str; 4] = [
    "ld-linux-aarch64.so.1",
    "libc.so.6",
    "libgcc_s.so.1",
    "libm.so.6",
];

/// The time for one test program: `memory` takes 45 s on an idle machine, and more than 400 s on one with a load of 30.
const TEST: Duration = Duration::from_secs(1200);

/// Adds the rows.
pub(super) fn add_rows(table: &mut Table, step: &Step, cache: &Cache) -> Result {
    let qemu = Qemu::fetch_for_arm64(cache)?;
    let kernel = arm64_kernel(cache)?;
    let programs = programs(&run(&mut step.command(TESTS, "true"))?);
    step.cargo(SERVICE)?;
    let built = step.built();
    let folder = cache.fresh("rig-arm64")?;
    let libraries = LIBRARIES.map(|name| Path::new("/usr/aarch64-linux-gnu/lib").join(name));
    let files = Files::of(Processor::Arm64, cache, "arm64")?
        .copy("bin/wellspring", &built.join("wellspring"))?
        .copy("bin/wellspringd", &built.join("wellspringd"))?
        .copy("bin/draw", &built.join("examples/draw"))?
        .contents("needed", &kernel.modules(cache, &[], &MODULES)?)?
        .collect("lib", &libraries)?
        .collect("tests", &programs)?;
    let setup = MachineSetup {
        qemu,
        processor: Processor::Arm64,
        cpus: 4,
        initramfs: files.write(folder.join("initramfs"))?,
        folder,
    };
    table.add_outcome("aarch64 service", answers(&setup, &kernel))?;
    table.add_outcome("aarch64 machine", tests(&setup, &kernel.image, &programs))?;
    table.add_outcome(
        "aarch64 memory of 4 nodes",
        node_memory(&setup, &kernel.image),
    )
}

fn tests(setup: &MachineSetup, kernel: &Path, programs: &[PathBuf]) -> Result<String> {
    let mut guest = setup.qemu.start(&setup.vm(kernel, 1, 2))?;
    let check = guest.run_within("wellspring check", TEST)?;
    if check.status != 0 {
        return failed(format!("wellspring check: {}", check.text));
    }
    let mut passed = 0;
    for program in programs {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let line = format!("/tests/{name} --quiet {LEFT_OUT}");
        let answer = guest.run_within(&line, TEST)?;
        if answer.status != 0 {
            return failed(format!("{name}: {}", answer.text));
        }
        passed += count_passed(&answer.text)?;
    }
    guest.end()?;
    let check = check.text.lines().last().unwrap_or_default();
    Ok(format!("{check}; {passed} tests passed"))
}

/// The test programs in what cargo prints of a build.
fn programs(json: &str) -> Vec<PathBuf> {
    let after = json.split("\"executable\":\"").skip(1);
    let paths = after.filter_map(|rest| rest.split('"').next());
    paths.map(PathBuf::from).collect()
}

/// The modules of the distribution that it needs.
pub(super) const MODULES: [&str; 1] = ["fuse"];

/// The commands that prepare the system: modules, folders, the user of the service, its configuration.
const PREPARE: [&str; 4] = [
    "for file in /needed/*; do [ ! -e $file ] || insmod $file || break; done",
    "mkdir /etc /run/files",
    "echo 'wellspring:x:500:500::/:/bin/false' >/etc/passwd",
    "printf '[files]\\nmount = \"/run/files\"\\n' >/etc-wellspring.toml",
];

/// A door, and what draws on it.
const DRAWS: [(&str, &str); 2] = [
    ("bulk", "draw /run/wellspring/bulk.sock BYTES"),
    (
        "urandom",
        "dd if=/run/files/urandom bs=BYTES count=1 2>/dev/null",
    ),
];

/// Ends the service by a signal. It must return 0, and unmount.
const END: &str = "kill -TERM $serving && wait $serving && ! grep /run/files /proc/mounts";

/// Starts it, draws on both doors, and asks it for its status and the kernel for what it may do.
pub(super) fn answers(setup: &MachineSetup, kernel: &Kernel) -> Result<String> {
    let mut guest = setup.qemu.start(&setup.vm(&kernel.image, 1, 2))?;
    for line in PREPARE {
        guest.must(line)?;
    }
    start_service(&mut guest, "ready: ")?;
    for (_, command) in DRAWS {
        let command = command.replace("BYTES", &READ_BYTES.to_string());
        check(&hexadecimal(&mut guest, &command)?)?;
    }
    let status = guest.must("wellspringd --config /etc-wellspring.toml status --json")?;
    for (door, _) in DRAWS {
        if door_bytes(&status, door) != Some(READ_BYTES as u64) {
            return failed(format!("not {READ_BYTES} bytes by {door}: {status}"));
        }
    }
    is_enclosed(&mut guest)?;
    guest.must(END)?;
    guest.end()?;
    Ok(format!(
        "{READ_BYTES} bytes by a socket and by a device file, as its own user with seccomp"
    ))
}

/// Whether it has lost root's rights and has a filter of system calls.
fn is_enclosed(guest: &mut Guest) -> Result {
    let says = guest.must("cat /proc/$serving/status")?;
    let fields: Vec<String> = says
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for wanted in ["Uid: 500 500 500 500", "Seccomp: 2"] {
        if !fields.iter().any(|field| field == wanted) {
            return failed(format!("the service has not '{wanted}': {says}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_libraries() {
        let json = r#"{"reason":"compiler-artifact","executable":null}
{"reason":"compiler-artifact","executable":"/target/fork-1","fresh":true}"#;
        assert_eq!(programs(json), [PathBuf::from("/target/fork-1")]);
    }
}
