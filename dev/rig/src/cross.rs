//! `cross`: known answers, self-tests and vector tests on other processors, and the engine's tests on aarch64, by QEMU's
//! user-mode emulation.
//!
//! It needs the standard library of a target (rustup target add), and a C compiler and C library of Debian for it, which the
//! gate installs. A processor without them is skipped. QEMU comes from Debian's backports: Debian 12's QEMU 7.2 accepts
//! MADV_WIPEONFORK and does nothing, so that a child has its parent's bytes.

use crate::guest::{
    Cache, Files, Guest, Kernel, MachineSetup, Processor, Qemu, Result, Stop, Table, arm64_kernel,
    at, debian_files, failed, qemu_user, run,
};
use crate::machines::{READ_BYTES, check, door_bytes, hexadecimal, node_memory, start_service};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

pub(crate) const AARCH64: Target = ("aarch64", "aarch64-unknown-linux-gnu");

/// aarch64 is the most common one after x86-64; s390x is big-endian; riscv64 has neither AES nor vectors in its base.
const TARGETS: [Target; 3] = [
    AARCH64,
    ("s390x", "s390x-unknown-linux-gnu"),
    ("riscv64", "riscv64gc-unknown-linux-gnu"),
];

/// The packages whose tests compare with known answers, search the stack, and run under emulation without exception.
/// Statistics are left out.
const TESTS: &str = "test --quiet --lib --package wellspring-cipher --package wellspring-core \
    --package wellspring-pseudo --test answers --test pipeline --test residue --test statistics --test vectors \
    -- --skip families:: --skip memory:: --skip zeroed::";

/// Tests that search registers and stack, in optimised code, on aarch64: the compiler keeps other values there.
const OPTIMISED: &str =
    "test --quiet --release --package wellspring-cipher --test answers --test residue";

/// Tests of the engine, on aarch64: fork, copies of a machine, reseeds, seed files, modes, sources. QEMU's user mode cannot run
/// the others. It has no vDSO getrandom, no ptrace(2) (`traced`), and no VmFlags in smaps
/// (`memory`), gives no limit to memory (`shortage`, `many`), and keeps signals for itself (the test that is skipped). It
/// refuses filters of seccomp(2), so that `sandbox` tests little. `churn`, `limits`, `past_reads`, `secrets` and `stack_use`
/// take more than 150 s there, and `unload` hung once in a child. `nested` and `raw_clones` use the trap flag of x86-64.
const ENGINE: &str = "test --quiet --package wellspring --package wellspring-os --package wellspring-pseudo-thread \
    --package wellspring-interpose --lib \
    --test copies --test core_dump --test engine --test every_system --test fork --test harvester --test inheritance \
    --test sandbox --test states --test surroundings --test thread_exit \
    -- --skip a_thread_without_signals_still_answers_libc --skip limits::";

/// A processor without RNDR, and with the instructions for AES, which every processor that QEMU knows has.
const WITHOUT_RNDR: &str = "neoverse-n1";

/// Runs the command for these processors, or for all if no name is given; all parts, or one.
pub(crate) fn run_all(root: &Path, names: &[String], part: Option<&str>) -> Result {
    let is_named = |(name, _): &Target| names.is_empty() || names.iter().any(|word| word == name);
    let named = TARGETS.into_iter().filter(is_named);
    let (here, missing): (Vec<Target>, Vec<Target>) = named.partition(is_here);
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
        let reason = format!(
            "{}: no standard library (rustup target add), or no gcc-NAME-linux-gnu with its C library",
            names.join(", ")
        );
        if here.is_empty() {
            return Err(Stop::Missing(reason));
        }
        println!("SKIPPED: {reason}");
    }
    let is_wanted = |name| part.is_none_or(|part| part == name);
    let cache = Cache::open(root)?;
    let qemu = qemu_user(&cache)?;
    let mut table = Table::new();
    for target in here {
        let step = Step {
            root,
            qemu: &qemu,
            target,
            model: "max",
        };
        if is_wanted("answers") {
            add_answers(&mut table, &step)?;
        }
        let step = Step {
            model: WITHOUT_RNDR,
            ..step
        };
        // They need more of this machine than the others do.
        if target == AARCH64 && is_wanted("doors") {
            skip_missing(add_door_rows(&mut table, &step, &cache))?;
        }
        if target == AARCH64 && is_wanted("machine") {
            skip_missing(add_machine_rows(&mut table, &step, &cache))?;
        }
    }
    table.end()
}

/// Known answers, self-tests and vector tests; on aarch64 the engine's tests too.
fn add_answers(table: &mut Table, step: &Step) -> Result {
    let name = step.target.0;
    let built = step.cargo("build --package wellspring-cli");
    let is_built = built.is_ok();
    table.add_outcome(format!("{name} build"), built)?;
    if is_built {
        let replay = step.wellspring("replay --check vectors/fortuna-freebsd.txt");
        table.add_outcome(format!("{name} replay"), replay)?;
        table.add_outcome(format!("{name} check"), step.wellspring("check"))?;
    }
    table.add_outcome(format!("{name} tests"), step.cargo(TESTS))?;
    if step.target == AARCH64 {
        table.add_outcome(format!("{name} optimised"), step.cargo(OPTIMISED))?;
        table.add_outcome(format!("{name} engine"), step.cargo(ENGINE))?;
        let step = Step {
            model: WITHOUT_RNDR,
            ..*step
        };
        let check = step.wellspring("check");
        table.add_outcome(format!("{name} check, {WITHOUT_RNDR}"), check)?;
    }
    Ok(())
}

/// Says what is missing for a part, and goes on.
fn skip_missing(result: Result) -> Result {
    match result {
        Err(Stop::Missing(reason)) => {
            println!("SKIPPED: {reason}");
            Ok(())
        }
        result => result,
    }
}

/// Whether this machine can build for a target.
pub(crate) fn is_here((name, target): &Target) -> bool {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let library = run(rustc.args(["--print", "target-libdir", "--target", target]));
    let library = library.is_ok_and(|folder| Path::new(folder.trim()).is_dir());
    let files = [
        format!("/usr/bin/{name}-linux-gnu-gcc"),
        format!("/usr/{name}-linux-gnu/lib/libc.so"),
    ];
    library && files.iter().all(|file| Path::new(file).exists())
}

// ---- a command for another processor ----

/// A processor to test on: its name in QEMU's and in the compiler's names, and Rust's target.
type Target = (&'static str, &'static str);

/// The time for one test program: a child of QEMU's user mode can hang.
const TEST_S: u32 = 900;

/// The arguments that every step for a target needs.
struct Step<'a> {
    pub(super) root: &'a Path,
    /// The folder with QEMU's programs.
    pub(super) qemu: &'a Path,
    pub(super) target: Target,
    /// The processor, as QEMU names it.
    pub(super) model: &'static str,
}

impl Step<'_> {
    /// QEMU, and the folder with the target's C library.
    fn emulator(&self) -> [String; 5] {
        let name = self.target.0;
        let program = self.qemu.join(format!("qemu-{name}"));
        let (program, library) = (
            program.display().to_string(),
            format!("/usr/{name}-linux-gnu"),
        );
        [&program, "-cpu", self.model, "-L", &library].map(str::to_owned)
    }

    /// Runs cargo for the target. Returns the duration as a note.
    pub(super) fn cargo(&self, words: &str) -> Result<String> {
        let runner = format!("timeout {TEST_S} {}", self.emulator().join(" "));
        let start = Instant::now();
        let text = run(&mut self.command(words, &runner))?;
        let took = start.elapsed();
        match count_passed(&text)? {
            0 => Ok(format!("{took:.0?}")),
            passed => Ok(format!("{passed} tests passed, {took:.0?}")),
        }
    }

    /// Cargo for the target, with a program that runs the tests.
    pub(super) fn command(&self, words: &str, runner: &str) -> Command {
        let (name, target) = self.target;
        let variable = target.to_uppercase().replace('-', "_");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // Optimised dependencies take twice as long to build, and the tests are short.
        cargo.args(["--config", "profile.dev.package.'*'.opt-level=1"]);
        cargo.arg("--locked");
        cargo.args(words.split_whitespace()).current_dir(self.root);
        cargo
            .env("CARGO_BUILD_TARGET", target)
            .env("CARGO_TARGET_DIR", "target/cross")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("PROPTEST_CASES", "32")
            .env(
                format!("CARGO_TARGET_{variable}_LINKER"),
                format!("{name}-linux-gnu-gcc"),
            )
            .env(format!("CARGO_TARGET_{variable}_RUNNER"), runner);
        cargo
    }

    /// The folder with the command.
    pub(super) fn built(&self) -> PathBuf {
        self.root
            .join("target/cross")
            .join(self.target.1)
            .join("debug")
    }

    /// Runs the command `wellspring` of the target. Returns its last line as a note.
    pub(super) fn wellspring(&self, words: &str) -> Result<String> {
        let emulator = self.emulator();
        let mut command = Command::new(&emulator[0]);
        command
            .args(&emulator[1..])
            .arg(self.built().join("wellspring"));
        let start = Instant::now();
        let text = run(command.args(words.split(' ')).current_dir(self.root))?;
        let last = text.lines().last().unwrap_or_default();
        Ok(format!("{last}; {:.0?}", start.elapsed()))
    }
}

/// Adds up the lines `test result: ok. N passed; ..`.
fn count_passed(text: &str) -> Result<usize> {
    let counts = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("test result: ok. "));
    let counts = counts.map(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    counts
        .sum::<Option<usize>>()
        .ok_or_else(|| Stop::Failed(format!("cargo test printed no counts: {text}")))
}

// ---- the doors on aarch64 ----
// The doors on aarch64: the C library, the preload library, OpenSSL's provider, `wellspring run`, and the programs that they
// serve, which are Debian's for arm64.
//
// Nothing is installed. Only in a user namespace, which can have its own binfmt_misc since Linux 6.7, the kernel runs programs
// for arm64 by QEMU's user mode. PATH has no program of this machine there except a C compiler for arm64. So a test that needs
// another program says SKIPPED.

/// The programs that the doors serve, and libraries to link with.
const DEBIAN_PACKAGES: [&str; 15] = [
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

/// The tests leave out what QEMU's user mode does not have: ptrace(2) (`faults` and `sandbox`), filters of seccomp(2) and the
/// kernel's frame on a small signal stack (`sandbox`), a limit of memory, and the kernel's answer to a pointer whose end alone is
/// bad. One test reads the sources by cargo. In one, which sends a key to a terminal, every third run hung. Of the command's
/// tests, `run` and amounts of bytes are enough.
const DOOR_TESTS: &str = "test --quiet --package wellspring-c --package wellspring-preload --package wellspring-openssl \
    --package wellspring-cli --test command --test library --test preload --test provider -- \
    --skip commands:: --skip faults:: --skip sandbox:: --skip names:: --skip openssl:: \
    --skip host_programs:: --skip output:: --skip every_context_is_served \
    --skip every_flag_length_and_pointer_gets_the_kernels_answer --skip without_memory_there_is_an_error \
    --skip no_function_ends_the_process_for_want_of_memory \
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

fn add_door_rows(table: &mut Table, step: &Step, cache: &Cache) -> Result {
    let system = debian_files(Processor::Arm64, cache, "debian-arm64", &DEBIAN_PACKAGES)?;
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
    table.add_outcome("aarch64 doors", door_tests(step, &runner))?;
    table.add_outcome("aarch64 Python", package_tests(step, &runner, cache))
}

fn door_tests(step: &Step, runner: &Path) -> Result<String> {
    let start = Instant::now();
    step.cargo(LIBRARIES)?;
    let text = run(&mut step.command(DOOR_TESTS, &runner.display().to_string()))?;
    let passed = count_passed(&text)?;
    Ok(format!("{passed} tests passed, {:.0?}", start.elapsed()))
}

fn script(path: &Path, text: &str) -> Result<PathBuf> {
    fs::write(path, text).map_err(at(path.display()))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, executable).map_err(at(path.display()))?;
    Ok(path.to_owned())
}

// ---- the Python package ----
// The Python package on aarch64: its extension in Debian's Python for arm64, with PyPI's NumPy and pytest.

const PYTHON_FOLDER: &str = "bindings/python";

/// The version of Debian's Python, and a C library that is older than Debian's: NumPy's builds need no newer one.
const FOR: [&str; 6] = [
    "--python-version",
    "3.11",
    "--platform",
    "manylinux_2_28_aarch64",
    "--only-binary",
    ":all:",
];

const PYPI_PACKAGES: [&str; 2] = ["numpy", "pytest"];

/// Known answers, secrets and identifiers, NumPy's generators, arrays. The others start many processes, need further packages,
/// or draw for minutes.
const PYTHON_TESTS: [&str; 4] = ["vectors", "secrets", "bit_generators", "elements"];

/// Left out: tests of these files that take a minute.
const PYTHON_LEFT_OUT: [&str; 2] = ["-k", "not number_of_threads and not 5000001"];

fn package_tests(step: &Step, runner: &Path, cache: &Cache) -> Result<String> {
    let packages = packages(step, cache)?;
    step.cargo(&format!("build --manifest-path {PYTHON_FOLDER}/Cargo.toml"))?;
    let source = step.root.join(PYTHON_FOLDER);
    let folder = cache.fresh("python-arm64")?;
    let python = source.join("python/wellspring");
    run(Command::new("cp").arg("-r").arg(python).arg(&folder))?;
    let module = folder.join("wellspring/_native.abi3.so");
    fs::copy(step.built().join("lib_native.so"), &module).map_err(at(module.display()))?;

    let start = Instant::now();
    let path = format!("{}:{}", folder.display(), packages.display());
    for name in PYTHON_TESTS {
        let mut pytest = Command::new(runner);
        pytest.env("PYTHONPATH", &path).current_dir(&folder);
        pytest.args(["python3", "-B", "-m", "pytest", "--config-file"]);
        pytest
            .arg(source.join("pyproject.toml"))
            .args(PYTHON_LEFT_OUT);
        run(pytest.arg(source.join(format!("tests/test_{name}.py"))))?;
    }
    let took = start.elapsed();
    Ok(format!(
        "{} files of tests passed, {took:.0?}",
        PYTHON_TESTS.len()
    ))
}

/// PyPI's packages for arm64, unpacked by this machine's pip, at the versions that the package is tested with.
fn packages(step: &Step, cache: &Cache) -> Result<PathBuf> {
    let list = step.root.join(PYTHON_FOLDER).join("tests/requirements.txt");
    let list = fs::read_to_string(&list).map_err(at(list.display()))?;
    let wanted = wanted(&list);
    let name = format!("pypi-arm64-{}", wanted.join("-"));
    let folder = cache.once(&name, |folder| {
        let venv = folder.join("venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args(["install", "--quiet", "--target"])
            .arg(folder.join("packages"));
        run(pip.args(FOR).args(wanted)).map(drop)
    });
    let missing = |error| match error {
        Stop::Failed(reason) => Stop::Missing(format!("the Python package on aarch64: {reason}")),
        missing => missing,
    };
    Ok(folder.map_err(missing)?.join("packages"))
}

/// The lines of a list of requirements for these packages.
fn wanted(list: &str) -> Vec<&str> {
    let is_wanted = |line: &&str| {
        let name = line.split_once("==").map(|(name, _)| name);
        name.is_some_and(|name| PYPI_PACKAGES.contains(&name))
    };
    list.lines().filter(is_wanted).collect()
}

// ---- an aarch64 machine ----
// An aarch64 machine with Debian's kernel, for what QEMU's user mode does not have: the vDSO's getrandom, tracing, seccomp(2),
// the flags of mappings, signals, and four NUMA nodes. The service becomes its user there, closes its sandbox, and answers at a
// socket and through its device files, which need the kernel's FUSE.

/// Left out is what takes more than 150 s.
const MACHINE_TESTS: &str = "test --no-run --quiet --message-format=json --package wellspring --package wellspring-os \
    --test copies --test engine --test fork --test memory --test sandbox --test shortage --test states \
    --test thread_exit --test traced";

/// Of these: a line of 200 forks takes minutes on an emulated machine, and the seed file needs a disk.
const MACHINE_LEFT_OUT: &str =
    "--skip a_line_of_two_hundred_children --skip ids:: --skip seed_file::";

/// The command, the service, and a client of it.
const SERVICE: &str = "build --package wellspring-cli --package wellspring-service --package wellspring-client \
    --bins --example draw";

/// The C library that the programs are linked with.
const MACHINE_LIBRARIES: [&str; 4] = [
    "ld-linux-aarch64.so.1",
    "libc.so.6",
    "libgcc_s.so.1",
    "libm.so.6",
];

/// The time for one test program: `memory` takes 45 s on an idle machine, and more than 400 s on one with a load of 30.
const TEST: Duration = Duration::from_secs(1200);

fn add_machine_rows(table: &mut Table, step: &Step, cache: &Cache) -> Result {
    let qemu = Qemu::fetch_for_arm64(cache)?;
    let kernel = arm64_kernel(cache)?;
    let programs = programs(&run(&mut step.command(MACHINE_TESTS, "true"))?);
    step.cargo(SERVICE)?;
    let built = step.built();
    let folder = cache.fresh("rig-arm64")?;
    let libraries =
        MACHINE_LIBRARIES.map(|name| Path::new("/usr/aarch64-linux-gnu/lib").join(name));
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
    table.add_outcome(
        "aarch64 machine",
        machine_tests(&setup, &kernel.image, &programs),
    )?;
    table.add_outcome(
        "aarch64 memory of 4 nodes",
        node_memory(&setup, &kernel.image),
    )
}

fn machine_tests(setup: &MachineSetup, kernel: &Path, programs: &[PathBuf]) -> Result<String> {
    let mut guest = setup.qemu.start(&setup.vm(kernel, 1, 2))?;
    let check = guest.run_within("wellspring check", TEST)?;
    if check.status != 0 {
        return failed(format!("wellspring check: {}", check.text));
    }
    let mut passed = 0;
    for program in programs {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let line = format!("/tests/{name} --quiet {MACHINE_LEFT_OUT}");
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
    fn the_counts_of_all_test_programs_are_added() {
        let text =
            "test result: ok. 3 passed; 0 failed;\n.\ntest result: ok. 14 passed; 0 failed;\n";
        assert_eq!(count_passed(text), Ok(17));
        assert_eq!(count_passed("Compiling"), Ok(0));
    }

    #[test]
    fn every_package_has_its_version_and_no_other_is_fetched() {
        let list = "# numpy and others\ncffi==2.1.1\nnumpy==2.4.6\npytest==9.2.0\npytest-x==1\n";
        assert_eq!(wanted(list), ["numpy==2.4.6", "pytest==9.2.0"]);
    }

    #[test]
    fn test_programs_are_told_from_libraries() {
        let json = r#"{"reason":"compiler-artifact","executable":null}
{"reason":"compiler-artifact","executable":"/target/fork-1","fresh":true}"#;
        assert_eq!(programs(json), [PathBuf::from("/target/fork-1")]);
    }
}
