//! Kernels that we build. Three are small and run in QEMU: two have lockdep and checks for sleeping in atomic context. One of
//! them checks memory too: KASAN, UBSAN, kmemleak, and injected allocation failures. The other has KCSAN, which excludes KASAN,
//! and finds data races. The third checks nothing, and runs in all machines. A fourth is User Mode Linux.

use super::cache::{Cache, Result, Stop, at, copy_folder, entry, failed, run};
use super::console::no_trouble;
use super::files::Files;
use super::packages::{Apt, Chroot, Processor};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, thread};

/// The options added to `tinyconfig`, for a kernel that boots and runs the module. A finished configuration must contain
/// the options with a mark, here and below: without them the kernel does not boot, or its checks find nothing.
const OPTIONS: &str = "\
64BIT SMP! NUMA! ACPI ACPI_NUMA X86_64_ACPI_NUMA NUMA_BALANCING HOTPLUG_CPU MEMORY_HOTPLUG MEMORY_HOTREMOVE PCI TTY
SERIAL_8250 SERIAL_8250_CONSOLE! PRINTK PRINTK_TIME BLK_DEV_INITRD BINFMT_ELF BINFMT_SCRIPT MULTIUSER SYSFS PROC_FS
PROC_SYSCTL DEVTMPFS TMPFS SHMEM FUTEX EPOLL EVENTFD SIGNALFD TIMERFD POSIX_TIMERS ADVISE_SYSCALLS MEMBARRIER RSEQ
HIGH_RES_TIMERS NO_HZ_IDLE MODULES! MODULE_UNLOAD! KALLSYMS KALLSYMS_ALL NET UNIX FILE_LOCKING AIO PM PM_SLEEP SUSPEND
CRYPTO CRYPTO_RNG! CRYPTO_RNG2 CRYPTO_AES CRYPTO_LIB_AES CRYPTO_CHACHA20 CRYPTO_CHACHA20_X86_64 CRYPTO_LIB_CHACHA
CRYPTO_SHA256 CRYPTO_LIB_SHA256 CRYPTO_USER_API CRYPTO_USER_API_RNG HW_RANDOM VIRT_DRIVERS VMGENID RANDOM_TRUST_CPU
HYPERVISOR_GUEST KPROBES! DEBUG_KERNEL DEBUG_FS DEBUG_INFO_NONE BUG DEBUG_BUGVERBOSE STACKTRACE FRAME_POINTER
UNWINDER_FRAME_POINTER FTRACE TRACEPOINTS EVENT_TRACING ENABLE_DEFAULT_TRACERS DEBUG_LIST PREEMPT DETECT_HUNG_TASK
WQ_WATCHDOG X86_DEBUG_FPU BLOCK";

/// The options of the kernel without checks: a disk, a resume from it, and memory that is plugged in.
const MACHINES: &str =
    "BLK_DEV BLK_DEV_NVME! SWAP HIBERNATION! MIGRATION ACPI_HOTPLUG_MEMORY! VMGENID!";

const LOCKS: &str = "\
PROVE_LOCKING! PROVE_RAW_LOCK_NESTING! PROVE_RCU DEBUG_ATOMIC_SLEEP! DEBUG_PREEMPT DEBUG_RT_MUTEXES DEBUG_SPINLOCK
DEBUG_MUTEXES DEBUG_LOCK_ALLOC";

const MEMORY: &str = "\
DEBUG_OBJECTS DEBUG_OBJECTS_FREE DEBUG_OBJECTS_TIMERS DEBUG_OBJECTS_WORK DEBUG_OBJECTS_PERCPU_COUNTER KASAN!
KASAN_GENERIC KASAN_OUTLINE KASAN_STACK UBSAN! UBSAN_BOUNDS! UBSAN_SHIFT UBSAN_BOOL UBSAN_ENUM DEBUG_KMEMLEAK!
FAULT_INJECTION FAULT_INJECTION_DEBUG_FS! FAILSLAB! FAIL_PAGE_ALLOC SLUB_DEBUG SLUB_DEBUG_ON DEBUG_NOTIFIERS DEBUG_SG";

/// The options that find data races, by the rules of the kernel's memory model: a plain write is one side of a race too,
/// and so is an interrupt on the same CPU.
const RACES: &str = "KCSAN! KCSAN_STRICT! KCSAN_VERBOSE KCSAN_INTERRUPT_WATCHER!";

/// SLUB_TINY excludes KASAN. Mitigations of processor bugs only cost time here. KCSAN starts when a test says so, and says
/// the same about the same two functions once in a minute.
const SETTINGS: &str = "\
# CONFIG_SLUB_TINY is not set
# CONFIG_CPU_MITIGATIONS is not set
# CONFIG_UBSAN_TRAP is not set
# CONFIG_KCSAN_EARLY_ENABLE is not set
CONFIG_KCSAN_REPORT_ONCE_IN_MS=60000
CONFIG_FRAME_WARN=4096
CONFIG_DEBUG_KMEMLEAK_MEM_POOL_SIZE=64000
CONFIG_DEFAULT_HUNG_TASK_TIMEOUT=240
CONFIG_NODES_SHIFT=6
CONFIG_NR_CPUS=64
";

/// Linux from 6.12 on allows its console a lock that this option forbids (`printk_legacy_allow_spinlock_enter()`). In an older
/// one each message of an interrupt is reported, so the option is left out there.
const NESTING: &str = "PROVE_RAW_LOCK_NESTING";

/// The packages that the build needs.
const PACKAGES: [&str; 9] = [
    "gcc",
    "make",
    "flex",
    "bison",
    "bc",
    "libelf-dev",
    "xz-utils",
    "perl",    // kernel-doc, which looks at comments where W=1 asks for it
    "python3", // kernel-doc of newer kernels
];

/// Gives the fair server no time, as an administrator can by writing 0 to /sys/kernel/debug/sched/fair_server. It keeps a part
/// of a CPU for the other tasks while real-time tasks fill it, and there are none here. Linux 6.12 counts it as a task that
/// runs, so the scheduler says of a CPU that goes: "Dying CPU not properly vacated!". It prints this under its own lock, and
/// lockdep reports that and checks nothing from then on.
fn without_fair_server(scheduler: &str) -> Result<String> {
    const GIVEN: &str = "u64 runtime =  50 * NSEC_PER_MSEC;";
    const NONE: &str = "u64 runtime = 0;";
    let count = |text: &str| scheduler.matches(text).count();
    match (count(GIVEN), count(NONE)) {
        (1, 0) => Ok(scheduler.replace(GIVEN, NONE)),
        (0, 1) => Ok(scheduler.to_owned()),
        _ => failed("this kernel gives the fair server its time in another place"),
    }
}

#[derive(Clone, Copy)]
pub(super) enum Checks {
    /// Locks and memory.
    Memory,
    /// Locks and data races.
    Races,
    Nothing,
}

pub(super) struct Own {
    /// Its name, with the version if the source is not Debian's.
    pub(super) name: String,
    /// The folder in which modules are built.
    pub(super) tree: PathBuf,
    /// The system with its compiler.
    pub(super) chroot: Chroot,
}

/// Builds a kernel, in ten to twenty minutes on two cores. From Debian's source this is done once. A folder that is given
/// may have changed since: there, what changed is built again. Nothing is written into it.
pub(super) fn build(
    cache: &Cache,
    release: &str,
    checks: Checks,
    given: Option<&Path>,
) -> Result<Own> {
    let mut chroot = Chroot::fetch(cache, "bookworm", &PACKAGES)?;
    let name = match given {
        Some(folder) => {
            let [version, level, sublevel] = version(folder)?;
            format!("{release}-{version}.{level}.{sublevel}")
        }
        None => release.to_owned(),
    };
    // The build has its path in it, so it cannot be renamed when it is done: another file says that it is.
    let tree = cache.folder().join(format!("tree-{name}"));
    match given {
        Some(folder) => {
            chroot = chroot.share(folder, &folder.to_string_lossy());
            fs::create_dir_all(&tree).map_err(at(tree.display()))?;
            make(&chroot, folder, &tree, checks)?;
        }
        None => {
            let source = source(cache, &chroot)?;
            cache.once(&format!("built-{name}"), |_| {
                let scheduler = source.join("kernel/sched/deadline.c");
                let text = fs::read_to_string(&scheduler).map_err(at(scheduler.display()))?;
                let text = without_fair_server(&text)?;
                fs::write(&scheduler, text).map_err(at(scheduler.display()))?;
                cache.fresh(&format!("tree-{name}"))?;
                make(&chroot, &source, &tree, checks)
            })?;
        }
    }
    Ok(Own { name, tree, chroot })
}

fn make(chroot: &Chroot, source: &Path, tree: &Path, checks: Checks) -> Result {
    let options = match checks {
        Checks::Races => [OPTIONS, LOCKS, RACES],
        Checks::Memory => [OPTIONS, LOCKS, MEMORY],
        Checks::Nothing => [OPTIONS, MACHINES, ""],
    };
    let has_nesting = version(source)? >= [6, 12, 0];
    let options = || {
        let all = options.iter().flat_map(|list| list.split_whitespace());
        all.map(|option| (option.trim_end_matches('!'), option.ends_with('!')))
            .filter(|(option, _)| *option != NESTING || has_nesting)
    };
    let make = || -> Command {
        let mut make = chroot.command("make");
        make.arg("-C").arg(source);
        make.arg(format!("O={}", tree.display()));
        make
    };
    run(make().arg("tinyconfig"))?;
    let config = tree.join(".config");
    configure(&config, options().map(|(option, _)| option))?;
    run(make().arg("olddefconfig"))?;
    let finished = fs::read_to_string(&config).map_err(at(config.display()))?;
    for (option, _) in options().filter(|(_, is_essential)| *is_essential) {
        let wanted = format!("CONFIG_{option}=y");
        if !finished.lines().any(|line| line == wanted) {
            return failed(format!("the kernel would have no {option}"));
        }
    }
    let jobs = thread::available_parallelism().map_or(2, usize::from);
    run(make().arg(format!("-j{jobs}")).args(["bzImage", "modules"])).map(drop)
}

/// The version of a kernel's source, as 6, 6, 87.
fn version(source: &Path) -> Result<[u32; 3]> {
    let makefile = source.join("Makefile");
    let text = fs::read_to_string(&makefile).map_err(at(makefile.display()))?;
    version_of(&text).ok_or(Stop::Failed(format!(
        "no kernel's source: {}",
        source.display()
    )))
}

/// The version in the text of its Makefile.
fn version_of(makefile: &str) -> Option<[u32; 3]> {
    let number = |name: &str| -> Option<u32> {
        let mut lines = makefile.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
        value.trim().parse().ok()
    };
    let [version, level, sublevel] = ["VERSION", "PATCHLEVEL", "SUBLEVEL"].map(number);
    Some([version?, level?, sublevel?])
}

/// Debian's source, unpacked once.
fn source(cache: &Cache, chroot: &Chroot) -> Result<PathBuf> {
    let folder = cache.once("source-6.12", |folder| {
        let apt = Apt::new(folder, &["bookworm-backports"])?;
        apt.unpack(["linux-source-6.12"], folder)?;
        let archive = entry(&folder.join("usr/src"), "linux-source-", ".tar.xz")?;
        let tree = folder.join("tree");
        fs::create_dir_all(&tree).map_err(at(tree.display()))?;
        let mut tar = chroot.command("tar");
        tar.arg("-xf").arg(&archive).arg("-C").arg(&tree);
        run(tar.arg("--strip-components=1"))?;
        fs::remove_file(&archive).map_err(at(archive.display()))
    })?;
    Ok(folder.join("tree"))
}

/// Adds the options to a configuration. The last setting of an option counts.
fn configure<'a>(path: &Path, options: impl Iterator<Item = &'a str>) -> Result {
    let mut config = fs::read_to_string(path).map_err(at(path.display()))?;
    for option in options {
        config += &format!("CONFIG_{option}=y\n");
    }
    config += SETTINGS;
    fs::write(path, config).map_err(at(path.display()))
}

// ---- User Mode Linux ----
// User Mode Linux: a kernel that is a process of this machine. It runs the module at the speed of the processor, on two
// CPUs, and has KUnit. It has no FPU sections, NMIs, NUMA nodes or hotplug of its own: what needs them runs in QEMU.

/// The options of both kernels beside Kconfig's defaults. Linux has SMP for User Mode Linux since 6.19.
const UML_OPTIONS: &str = "\
KUNIT SMP PREEMPT HIGH_RES_TIMERS MODULES MODULE_UNLOAD KALLSYMS_ALL BLK_DEV_INITRD BINFMT_ELF BINFMT_SCRIPT DEVTMPFS
TMPFS SYSFS DEBUG_KERNEL DEBUG_FS DEBUG_INFO_NONE FTRACE ENABLE_DEFAULT_TRACERS STDERR_CONSOLE NULL_CHAN NET UNIX CRYPTO
CRYPTO_RNG CRYPTO_AES CRYPTO_SKCIPHER CRYPTO_CHACHA20 CRYPTO_SHA256 CRYPTO_CTR CRYPTO_XTS CRYPTO_CRYPTD
EXPERT CRYPTO_SELFTESTS CRYPTO_SELFTESTS_FULL CRYPTO_USER_API_RNG CRYPTO_USER_API_SKCIPHER HW_RANDOM UML_RANDOM";

const CHECKS: &str = "\
PROVE_LOCKING PROVE_RCU DEBUG_ATOMIC_SLEEP DEBUG_PREEMPT DEBUG_LIST KASAN KASAN_GENERIC KASAN_OUTLINE UBSAN UBSAN_BOUNDS
UBSAN_SHIFT UBSAN_BOOL DEBUG_KMEMLEAK";

/// Parts that no test needs and that take long to build are left out.
const UML_SETTINGS: &str = "\
CONFIG_NR_CPUS=8
CONFIG_FRAME_WARN=4096
# CONFIG_UBSAN_TRAP is not set
# CONFIG_INPUT is not set
# CONFIG_WIRELESS is not set
# CONFIG_NETDEVICES is not set
# CONFIG_USB_SUPPORT is not set
# CONFIG_HID_SUPPORT is not set
# CONFIG_I2C is not set
";

/// The programs of this machine that build it.
const PROGRAMS: [&str; 6] = ["gcc-12", "make", "flex", "bison", "bc", "python3"];

const LONGEST_RUN_S: &str = "600";

pub(crate) struct Uml {
    source: PathBuf,
    tree: PathBuf,
}

impl Uml {
    /// Builds the kernel once, with or without checks. That takes six minutes of a processor's time.
    pub(crate) fn build(cache: &Cache, has_checks: bool) -> Result<Self> {
        for program in PROGRAMS {
            if Command::new(program).arg("--version").output().is_err() {
                let reason = format!("User Mode Linux is built by {program}, which is missing");
                return Err(Stop::Missing(reason));
            }
        }
        let (name, checks) = if has_checks {
            ("uml-debug", CHECKS)
        } else {
            ("uml", "")
        };
        let source = uml_source(cache)?;
        // The build has its path in it: another folder says that it is done.
        let tree = cache.folder().join(format!("tree-{name}"));
        cache.once(&format!("built-{name}"), |_| {
            cache.fresh(&format!("tree-{name}"))?;
            let options = UML_OPTIONS
                .split_whitespace()
                .chain(checks.split_whitespace());
            let wanted: Vec<String> = options
                .map(|option| format!("CONFIG_{option}=y\n"))
                .collect();
            let config = tree.join(".config");
            fs::write(&config, wanted.concat() + UML_SETTINGS).map_err(at(config.display()))?;
            run(uml_make(&source, &tree).arg("olddefconfig"))?;
            let finished = fs::read_to_string(&config).map_err(at(config.display()))?;
            match wanted.iter().find(|line| !finished.contains(*line)) {
                None => run(uml_make(&source, &tree).args(["linux", "modules"])).map(drop),
                Some(line) => failed(format!("{name} would not have {line}")),
            }
        })?;
        Ok(Self { source, tree })
    }

    /// Builds the module in `source` with its tests, and returns the folder with the result. A warning is a failure.
    pub(crate) fn build_module(&self, cache: &Cache, source: &Path) -> Result<PathBuf> {
        let build = cache.fresh("build-uml")?;
        copy_folder(source, &build)?;
        let mut make = uml_make(&self.source, &self.tree);
        make.arg(format!("M={}", build.display()));
        let flags = ["W=1", "WELLSPRING_TESTS=1", "KCFLAGS=-Werror", "modules"];
        run(make.args(flags)).map(|_| build)
    }

    /// Runs a script as the first program, with these modules in /modules, on two CPUs. Returns the lines of the console.
    /// Trouble in the kernel's log is a failure.
    pub(crate) fn run(
        &self,
        cache: &Cache,
        modules: &[PathBuf],
        script: &str,
    ) -> Result<Vec<String>> {
        let files = Files::with_init(Processor::X86_64, cache, "uml", script)?
            .collect("modules", modules)?;
        let initramfs = files.write(cache.fresh("guest-uml")?.join("initramfs"))?;
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", LONGEST_RUN_S])
            .arg(self.tree.join("linux"))
            .arg(format!("initrd={}", initramfs.display()))
            // SMP needs seccomp. The console is this process's output.
            .args(["mem=1G", "ncpus=2", "seccomp=on", "rdinit=/init", "panic=1"])
            .args(["con=null", "con0=null,fd:1"])
            // Where its memory is a file.
            .env("TMPDIR", "/dev/shm")
            .stdin(Stdio::null());
        let output = command.output().map_err(at("timeout"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<String> = text.lines().map(String::from).collect();
        // With lockdep User Mode Linux 7.3.4 reports its own start of the second CPU, which frees memory while it is offline.
        // No module is there before all CPUs are.
        let is_up = |line: &String| line.contains("smp: Brought up");
        let boot = lines.iter().position(is_up).unwrap_or(0);
        no_trouble(&lines[boot..], &[])?;
        if output.status.success() {
            return Ok(lines);
        }
        let last = lines.len().saturating_sub(40);
        failed(format!("{}\n{}", output.status, lines[last..].join("\n")))
    }

    /// Has the kernel's own parser judge KTAP lines. Returns how many tests passed; an error if one failed.
    pub(crate) fn parse(&self, cache: &Cache, ktap: &[String]) -> Result<String> {
        let file = cache.folder().join("uml.ktap");
        fs::write(&file, ktap.join("\n")).map_err(at(file.display()))?;
        let mut parser = Command::new("python3");
        parser.arg(self.source.join("tools/testing/kunit/kunit.py"));
        let says = run(parser.arg("parse").arg(&file))?;
        let count = says
            .lines()
            .find_map(|line| line.split_once("Testing complete. "));
        match count {
            Some((_, count)) => Ok(count.to_owned()),
            None => failed(says),
        }
    }
}

/// The newest source of Debian 13's backports, 7.3 or later, unpacked once.
fn uml_source(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.once("source-uml", |folder| {
        let apt = Apt::new(folder, &["trixie-backports"])?;
        let names = apt.closure("linux-source", |name| name.starts_with("linux-source-"))?;
        apt.unpack(names.iter().map(String::as_str), folder)?;
        let archive = entry(&folder.join("usr/src"), "linux-source-", ".tar.xz")?;
        let tree = folder.join("tree");
        fs::create_dir_all(&tree).map_err(at(tree.display()))?;
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(&archive).arg("-C").arg(&tree);
        run(tar.arg("--strip-components=1"))?;
        fs::remove_file(&archive).map_err(at(archive.display()))
    })?;
    Ok(folder.join("tree"))
}

fn uml_make(source: &Path, tree: &Path) -> Command {
    let jobs = thread::available_parallelism().map_or(2, usize::from);
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(source)
        .arg(format!("O={}", tree.display()));
    make.args(["ARCH=um", "CC=gcc-12", &format!("-j{jobs}")]);
    make
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines are of `dl_server_start()` in Linux 6.12.95.
    #[test]
    fn the_fair_server_has_no_time_however_often_the_source_is_changed() {
        let given =
            "\t\tu64 runtime =  50 * NSEC_PER_MSEC;\n\t\tu64 period = 1000 * NSEC_PER_MSEC;\n";
        let none = "\t\tu64 runtime = 0;\n\t\tu64 period = 1000 * NSEC_PER_MSEC;\n";
        assert_eq!(without_fair_server(given).as_deref(), Ok(none));
        assert_eq!(without_fair_server(none).as_deref(), Ok(none));
        for other in ["", &given.repeat(2), &[given, none].concat()] {
            assert!(without_fair_server(other).is_err(), "{other}");
        }
    }

    #[test]
    fn the_version_is_read_from_the_makefile_of_a_kernel_and_of_nothing_else() {
        let kernel = "# SPDX\nVERSION = 6\nPATCHLEVEL = 6\nSUBLEVEL = 87\nEXTRAVERSION =\n";
        assert_eq!(version_of(kernel), Some([6, 6, 87]));
        for other in ["", "VERSION = 6\nPATCHLEVEL = 6\n", "all:\n\tcc x.c\n"] {
            assert_eq!(version_of(other), None, "{other}");
        }
    }
}
