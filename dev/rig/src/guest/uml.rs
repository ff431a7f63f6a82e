//! User Mode Linux: a kernel that is a process of this machine. It runs the module at the speed of the processor, on two
//! CPUs, and has KUnit. It has no FPU sections, NMIs, NUMA nodes or hotplug of its own: what needs them runs in QEMU.

use super::cache::{Cache, entry, run};
use super::console::no_trouble;
use super::files::Files;
use super::kernel::copy_folder;
use super::outcome::{Result, Stop, at, failed};
use super::packages::Apt;
use super::vm::Processor;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// The options of both kernels beside Kconfig's defaults. Linux has SMP for User Mode Linux since 6.19.
const OPTIONS: &str = "\
KUNIT SMP PREEMPT HIGH_RES_TIMERS MODULES MODULE_UNLOAD KALLSYMS_ALL BLK_DEV_INITRD BINFMT_ELF BINFMT_SCRIPT DEVTMPFS
TMPFS SYSFS DEBUG_KERNEL DEBUG_FS DEBUG_INFO_NONE FTRACE ENABLE_DEFAULT_TRACERS STDERR_CONSOLE NULL_CHAN NET UNIX CRYPTO
CRYPTO_RNG CRYPTO_AES CRYPTO_SKCIPHER CRYPTO_CHACHA20 CRYPTO_SHA256 CRYPTO_CTR CRYPTO_XTS CRYPTO_CRYPTD
EXPERT CRYPTO_SELFTESTS CRYPTO_SELFTESTS_FULL CRYPTO_USER_API_RNG CRYPTO_USER_API_SKCIPHER HW_RANDOM UML_RANDOM";

/// The options that check locks and memory.
const CHECKS: &str = "\
PROVE_LOCKING PROVE_RCU DEBUG_ATOMIC_SLEEP DEBUG_PREEMPT DEBUG_LIST KASAN KASAN_GENERIC KASAN_OUTLINE UBSAN UBSAN_BOUNDS
UBSAN_SHIFT UBSAN_BOOL DEBUG_KMEMLEAK";

/// Parts that no test needs and that take long to build are left out.
const SETTINGS: &str = "\
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

/// A machine that hangs ends after this.
const LONGEST_RUN_S: &str = "600";

/// A kernel that was built.
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
        let source = source(cache)?;
        // The build has its path in it: another folder says that it is done.
        let tree = cache.folder().join(format!("tree-{name}"));
        cache.once(&format!("built-{name}"), |_| {
            cache.fresh(&format!("tree-{name}"))?;
            let options = OPTIONS.split_whitespace().chain(checks.split_whitespace());
            let wanted: Vec<String> = options
                .map(|option| format!("CONFIG_{option}=y\n"))
                .collect();
            let config = tree.join(".config");
            fs::write(&config, wanted.concat() + SETTINGS).map_err(at(config.display()))?;
            run(make(&source, &tree).arg("olddefconfig"))?;
            let finished = fs::read_to_string(&config).map_err(at(config.display()))?;
            match wanted.iter().find(|line| !finished.contains(*line)) {
                None => run(make(&source, &tree).args(["linux", "modules"])).map(drop),
                Some(line) => failed(format!("{name} would not have {line}")),
            }
        })?;
        Ok(Self { source, tree })
    }

    /// Builds the module in `source` with its tests, and returns the folder with the result. A warning is a failure.
    pub(crate) fn build_module(&self, cache: &Cache, source: &Path) -> Result<PathBuf> {
        let build = cache.fresh("build-uml")?;
        copy_folder(source, &build)?;
        let mut make = make(&self.source, &self.tree);
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
        no_trouble(&lines, &[])?;
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
fn source(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.once("source-uml", |folder| {
        let apt = Apt::new(folder, &["trixie-backports"])?;
        let names = apt.closure("linux-source", |name| name.starts_with("linux-source-"))?;
        let newest = names.iter().filter(|name| *name != "linux-source");
        apt.unpack(newest.map(String::as_str), folder)?;
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

fn make(source: &Path, tree: &Path) -> Command {
    let jobs = thread::available_parallelism().map_or(2, usize::from);
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(source)
        .arg(format!("O={}", tree.display()));
    make.args(["ARCH=um", "CC=gcc-12", &format!("-j{jobs}")]);
    make
}
