//! `kernel-test`: the kernel module on real kernels, in machines of several kinds.
//!
//! ```text
//! drills   all tests of the module in one machine; dm-crypt; a second boot; each allocation fails once; the steps of all these
//! events   clones of the machine, NMIs, a resume from disk, memory that comes and goes; dkms; User Mode Linux
//! secrets  what used secrets leave behind; instructions and cache lines of reads
//! ```
//!
//! Trouble in the kernel's log at any time is a failure.

mod drills;
mod events;
mod secrets;

use crate::cross::{AARCH64, is_here};
use crate::guest::{
    Cache, Compiler, Files, Kernel, Layout, Processor, Qemu, Release, Result, Stop, Table, Vm, at,
    failed, kernel_test, unless_half_patched,
};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Tests in `kernel/tests` that load the module. The first runs the second.
const SCRIPTS: [&str; 5] = [
    "guest.sh",
    "load.sh",
    "failslab.sh",
    "dm-crypt.sh",
    "resume.sh",
];

struct Rig<'a> {
    root: &'a Path,
    processor: Processor,
    cache: &'a Cache,
    qemu: Qemu,
    /// The program that runs the tests. No file if no machine is started.
    program: PathBuf,
    request: &'a Request,
}

pub(crate) fn run(root: &Path, request: Request) -> Result {
    let releases = request.releases()?;
    let source = root.join("kernel");
    if !source.join("Makefile").exists() && !source.join("Kbuild").exists() {
        return failed(format!("no module in {}", source.display()));
    }
    let cache = Cache::open(root)?;
    let mut table = Table::new();
    for (name, has_checks) in request.user_modes() {
        let outcome = if request.is_bench {
            events::bench(&cache, root, has_checks)
        } else {
            events::drill_uml(&cache, &source, has_checks)
        };
        table.add_outcome(name, outcome)?;
    }
    if request.has_dkms() {
        table.add_outcome("dkms", events::test_dkms(&cache, &source))?;
    }
    for processor in [Processor::X86_64, Processor::Arm64] {
        let of_it = |release: &Release| release.processor == processor;
        let releases: Vec<Release> = releases.iter().copied().filter(of_it).collect();
        if !releases.is_empty() {
            let rig = Rig::new(root, processor, &cache, &request)?;
            rig.test_all(releases, &mut table)?;
        }
    }
    table.end()
}

impl<'a> Rig<'a> {
    fn new(
        root: &'a Path,
        processor: Processor,
        cache: &'a Cache,
        request: &'a Request,
    ) -> Result<Self> {
        let qemu = match processor {
            Processor::X86_64 => Qemu::fetch(cache)?,
            Processor::Arm64 if is_here(&AARCH64) => Qemu::fetch_for_arm64(cache)?,
            Processor::Arm64 => {
                return Err(Stop::Missing(
                    "no compiler, C library or Rust target for aarch64".into(),
                ));
            }
        };
        let program = if request.is_build_only {
            PathBuf::new()
        } else {
            kernel_test(root, processor)?
        };
        Ok(Self {
            root,
            processor,
            cache,
            qemu,
            program,
            request,
        })
    }

    fn test_all(&self, releases: Vec<Release>, table: &mut Table) -> Result {
        for release in releases {
            let kernel = match &self.request.source {
                Some(folder) if release.is_own => {
                    Kernel::from_source(self.cache, release, Some(folder))?
                }
                _ => Kernel::fetch(self.cache, release)?,
            };
            for (number, &compiler) in self.request.compilers().iter().enumerate() {
                if compiler == Compiler::Clang && !release.is_for_debian_12() {
                    println!("SKIPPED {release} by clang: Debian 12's clang does not fit");
                    continue;
                }
                let count = if number == 0 { SHAPES.len() } else { 1 };
                let shapes = SHAPES[..count]
                    .iter()
                    .filter(|shape| self.has(release, shape));
                self.test(&kernel, compiler, shapes, table)?;
            }
        }
        Ok(())
    }

    /// Whether a machine was asked for. The resume from disk and the counts are, by their names or by `all`. A kernel with
    /// checks takes several times as long: it runs where all tests do, and `debug` where allocations fail.
    fn has(&self, release: Release, shape: &Shape) -> bool {
        let request = &self.request;
        match shape.drill {
            _ if !shape.name.contains(&request.machine) => false,
            Drill::Tests => true,
            Drill::Failures => release == Release::DEBUG,
            _ if release.has_checks() => false,
            // They use x86's NMIs, plugged memory and names of registers.
            Drill::Events | Drill::Memory | Drill::Hibernation | Drill::Secrets
                if self.processor == Processor::Arm64 =>
            {
                false
            }
            Drill::Hibernation | Drill::Counts => request.is_all() || !request.machine.is_empty(),
            _ => true,
        }
    }

    /// Builds the module and runs it in these machines.
    fn test<'s>(
        &self,
        kernel: &Kernel,
        compiler: Compiler,
        shapes: impl Iterator<Item = &'s Shape>,
        table: &mut Table,
    ) -> Result {
        let start = Instant::now();
        let modules = kernel
            .build(self.cache, &self.root.join("kernel"), compiler)
            .and_then(|folder| modules_below(&folder));
        let says =
            |modules: &Vec<PathBuf>| format!("{} modules, {:.0?}", modules.len(), start.elapsed());
        let outcome = modules.as_ref().map(says).map_err(Stop::clone);
        let name = match compiler {
            Compiler::Gcc => kernel.name.clone(),
            Compiler::Clang => format!("{} by clang", kernel.name),
        };
        table.add_outcome(format!("{name} build"), outcome)?;
        let Ok(modules) = modules else { return Ok(()) };
        let stepped = match compiler {
            Compiler::Gcc => kernel.step(&self.root.join("kernel/tests/stepping.sh")),
            Compiler::Clang => None,
        };
        if let Some(outcome) = stepped {
            table.add_outcome(format!("{name} stepping"), outcome)?;
        }
        if self.request.is_build_only {
            return Ok(());
        }
        let initramfs = self.initramfs(kernel, &modules)?;
        for shape in shapes {
            let start = Instant::now();
            let outcome = self.boot(kernel, &initramfs, shape);
            let outcome = outcome.map(|says| format!("{says}; {:.0?}", start.elapsed()));
            table.add_outcome(format!("{name} {}", shape.name), outcome)?;
            let boots = self.request.boots.get();
            if boots > 1 {
                let outcome = self.boot_again(boots, kernel, &initramfs, shape);
                table.add_outcome(format!("{name} {}, again", shape.name), outcome)?;
            }
        }
        Ok(())
    }

    fn initramfs(&self, kernel: &Kernel, modules: &[PathBuf]) -> Result<PathBuf> {
        let Self { cache, root, .. } = self;
        let mut files = Files::of(self.processor, cache, &kernel.name)?
            .copy("bin/kernel-test", &self.program)?
            .collect("modules", modules)?
            .contents("needed", &kernel.modules(cache, modules, &[])?)?
            .contents("disk-driver", &kernel.modules(cache, &[], &["nvme"])?)?
            .script("reload", drills::RELOAD)?
            .script("functions", events::FUNCTIONS)?
            .script("wait-for-notice", events::WAIT_FOR_NOTICE)?;
        if self.processor == Processor::X86_64 {
            files = drills::dm_crypt_files(cache, kernel, files)?;
        }
        for script in SCRIPTS {
            files = files.copy(
                &format!("bin/{script}"),
                &root.join("kernel/tests").join(script),
            )?;
        }
        let folder = cache.fresh(&format!("guest-{}", kernel.name))?;
        files.write(folder.join("initramfs"))
    }

    /// Runs one machine. Returns the note for the table.
    fn boot(&self, kernel: &Kernel, initramfs: &Path, shape: &Shape) -> Result<String> {
        let Self { cache, qemu, .. } = self;
        unless_half_patched(|| {
            let vm = shape.vm(kernel, initramfs);
            match shape.drill {
                Drill::Tests => {
                    let guest = qemu.start(&vm)?;
                    let caches = (vm.dies > 1).then_some(vm.nodes * vm.dies);
                    drills::drill(guest, kernel.release, self.request.reloads.get(), caches)
                }
                Drill::Events => events::drill(cache, qemu, vm),
                Drill::Hibernation => events::drill_hibernation(cache, qemu, vm),
                Drill::Memory => qemu.start(&vm).and_then(events::drill_memory),
                Drill::Secrets => secrets::drill(cache, qemu, vm),
                Drill::Failures => qemu.start(&vm).and_then(drills::drill_failures),
                Drill::Counts => secrets::drill_counts(cache, qemu, vm, self.root),
            }
        })
    }

    /// Boots the machine as often as was asked for, less the first time. Returns the note for the table.
    fn boot_again(
        &self,
        boots: usize,
        kernel: &Kernel,
        initramfs: &Path,
        shape: &Shape,
    ) -> Result<String> {
        let start = Instant::now();
        for boot in 2..=boots {
            let vm = shape.vm(kernel, initramfs);
            let outcome =
                unless_half_patched(|| self.qemu.start(&vm).and_then(drills::drill_boots));
            outcome.map_err(|stop| match stop {
                Stop::Failed(reason) => Stop::Failed(format!("boot {boot}: {reason}")),
                missing => missing,
            })?;
        }
        let more = boots - 1;
        Ok(format!(
            "{more} boots: loaded, read on every CPU, unloaded; {:.0?}",
            start.elapsed()
        ))
    }
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

// ---- the command line ----

/// Test the kernel module on these kernels, the newest that apt offers
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Kernels [default: 6.1 and 6.12]; uml and uml-debug, User Mode Linux, the second with lockdep, KASAN, UBSAN and
    /// kmemleak; dkms, which installs and removes the module; or all: all kernels that Debian has
    /// and those with checks, in all machines, and dkms
    #[arg(value_name = "KERNEL", value_parser = PossibleValuesParser::new(names()))]
    words: Vec<String>,

    /// Boot each machine N times, all but the first only to load, read and unload
    #[arg(long, value_name = "N", default_value = "1")]
    pub(super) boots: NonZero<usize>,

    /// Unload and load the modules N times while programs read
    #[arg(long, value_name = "N", default_value = "5")]
    pub(super) reloads: NonZero<usize>,

    /// Only the machines whose names contain NAME
    #[arg(long, value_name = "NAME", default_value = "", value_parser = machine)]
    pub(super) machine: String,

    /// The source of a kernel to build, called plain, or debug and kcsan if they are named; by default Debian's
    // The compiler sees it by this path, from another folder.
    #[arg(long, value_name = "FOLDER", value_parser = |folder: &str| std::fs::canonicalize(folder))]
    pub(super) source: Option<PathBuf>,

    /// Build the module by clang
    #[arg(long)]
    clang: bool,

    /// Measure in User Mode Linux by `kernel-test bench`, in place of the tests
    #[arg(long = "bench")]
    pub(super) is_bench: bool,

    /// Build the module, and start no machine
    #[arg(long = "build")]
    pub(super) is_build_only: bool,
}

impl Request {
    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|other| other == word)
    }

    /// All kernels that Debian has and those with checks, in all machines; and dkms.
    pub(super) fn is_all(&self) -> bool {
        self.has("all")
    }

    pub(super) fn has_dkms(&self) -> bool {
        self.is_all() || self.has("dkms")
    }

    /// The kernels of User Mode Linux, and whether they have checks.
    pub(super) fn user_modes(&self) -> Vec<(&'static str, bool)> {
        let all = [("uml", false), ("uml-debug", true)];
        let is_wanted = |(name, _): &(&str, bool)| self.has(name) || self.is_all();
        all.into_iter().filter(is_wanted).collect()
    }

    /// The first builds the module that runs in all machines. Another's runs in the first machine alone.
    pub(super) fn compilers(&self) -> &'static [Compiler] {
        match (self.clang, self.is_all()) {
            (true, _) => &[Compiler::Clang],
            (false, true) => &[Compiler::Gcc, Compiler::Clang],
            (false, false) => &[Compiler::Gcc],
        }
    }

    /// The kernels. An error if one cannot be built from the source that was given.
    pub(super) fn releases(&self) -> std::result::Result<Vec<Release>, String> {
        let is_named = |release: &Release| {
            self.has(release.name) || self.is_all() && *release != Release::PLAIN
        };
        let mut releases: Vec<Release> = Release::ALL.into_iter().filter(is_named).collect();
        if releases.is_empty() && !self.has_dkms() && self.user_modes().is_empty() {
            releases = match self.source {
                Some(_) => vec![Release::PLAIN],
                None => vec![Release::V6_1, Release::V6_12],
            };
        }
        if self.source.is_some() && !releases.iter().all(|release| release.is_own) {
            return Err(
                "--source is for plain, debug and kcsan: the others come from Debian".into(),
            );
        }
        Ok(releases)
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    let releases = Release::ALL.into_iter().map(|release| release.name);
    releases.chain(["uml", "uml-debug", "dkms", "all"])
}

fn machine(name: &str) -> std::result::Result<String, String> {
    let is_part = SHAPES.iter().any(|shape| shape.name.contains(name));
    let names = SHAPES.map(|shape| shape.name).join("; ");
    is_part
        .then(|| name.into())
        .ok_or(format!("expected a part of a name: {names}"))
}

// ---- the machines ----

struct Shape {
    pub(super) name: &'static str,
    pub(super) nodes: usize,
    pub(super) cpus: usize,
    pub(super) cpu: &'static str,
    /// Dies of a node, with a last-level cache each.
    pub(super) dies: usize,
    pub(super) layout: Layout,
    pub(super) drill: Drill,
}

/// QEMU's fullest CPU model.
const MAX: &str = "max";

/// The same as if Intel had made it: then QEMU tells Linux of a cache for each die. With dies it would have the leaf 1fh too, and
/// ends when Linux asks for more of that than there is.
const MAX_OF_INTEL: &str = "max,vendor=GenuineIntel,level=13,la57=off";

/// The oldest model of the processor.
const OLDEST: &str = "oldest";

/// The same as `max` with page tables of 4 levels. With 5, KASAN reports `wild-memory-access` where an interrupt comes while
/// the kernel looks at its first CPU, and for a moment forgets that there are 5: in 1 of 3 boots of Linux 6.6.87.
const MAX_OF_4_LEVELS: &str = "max,la57=off";

impl Shape {
    pub(super) fn vm<'a>(&self, kernel: &'a Kernel, initramfs: &'a Path) -> Vm<'a> {
        let processor = kernel.release.processor;
        let cpu = match self.cpu {
            OLDEST => processor.oldest_model(),
            MAX if kernel.release == Release::DEBUG => MAX_OF_4_LEVELS,
            cpu => cpu,
        };
        let mut vm = Vm::new(&kernel.image, initramfs, self.nodes, self.cpus).cpu(cpu);
        vm.processor = processor;
        vm.layout = self.layout;
        if processor == Processor::X86_64 && self.dies > 1 {
            vm.dies = self.dies;
            vm.cpu = MAX_OF_INTEL;
        }
        vm
    }
}

#[derive(Clone, Copy)]
enum Drill {
    /// All tests of the module.
    Tests,
    /// Clones of the machine, and NMIs.
    Events,
    /// A resume from disk.
    Hibernation,
    /// Memory comes and goes.
    Memory,
    /// Its memory is searched for what reads left behind.
    Secrets,
    /// Instructions and cache lines of reads.
    Counts,
    /// Each allocation fails once.
    Failures,
}

/// A machine with even memory and the fullest CPU.
const fn shape(name: &'static str, nodes: usize, cpus: usize, drill: Drill) -> Shape {
    Shape {
        name,
        nodes,
        cpus,
        cpu: MAX,
        dies: 1,
        layout: Layout::Even,
        drill,
    }
}

const SHAPES: [Shape; 10] = [
    shape("4 nodes, 8 CPUs", 4, 8, Drill::Tests),
    Shape {
        dies: 2,
        ..shape("1 node, 4 CPUs", 1, 4, Drill::Tests)
    },
    Shape {
        cpu: OLDEST,
        ..shape("4 nodes, old CPU", 4, 8, Drill::Tests)
    },
    Shape {
        layout: Layout::Apart,
        ..shape("memory apart from CPUs", 2, 4, Drill::Tests)
    },
    shape("clones and NMIs", 2, 4, Drill::Events),
    shape("resume from disk", 2, 4, Drill::Hibernation),
    Shape {
        layout: Layout::Plugged,
        ..shape("memory comes and goes", 2, 4, Drill::Memory)
    },
    shape("secrets left behind", 2, 4, Drill::Secrets),
    shape("instructions and cache lines", 4, 8, Drill::Counts),
    shape("failed allocations", 1, 2, Drill::Failures),
];

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        request: Request,
    }

    fn parse(words: &str) -> std::result::Result<(Request, Vec<Release>), String> {
        let words = ["x"].into_iter().chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let releases = line.request.releases()?;
        Ok((line.request, releases))
    }

    #[test]
    fn words_are_kernels_compilers_and_numbers() {
        let (default, releases) = parse("").unwrap();
        assert_eq!(releases, [Release::V6_1, Release::V6_12]);
        assert_eq!((default.boots.get(), default.reloads.get()), (1, 5));
        assert_eq!(default.compilers(), [Compiler::Gcc]);
        let line = "debug --boots 100 --reloads 50 --machine apart --clang --build";
        let (request, releases) = parse(line).unwrap();
        assert_eq!(releases, [Release::DEBUG]);
        assert_eq!(request.compilers(), [Compiler::Clang]);
        assert_eq!((request.boots.get(), request.reloads.get()), (100, 50));
        assert!(request.is_build_only && !request.is_all() && !request.has_dkms());
        assert_eq!((request.machine.as_str(), request.source), ("apart", None));
        let (all, releases) = parse("all").unwrap();
        assert_eq!(releases, Release::ALL[..12]);
        let here = std::env::current_dir().unwrap();
        let (own, releases) = parse("--source .").unwrap();
        assert_eq!(releases, [Release::PLAIN]);
        assert_eq!(own.source.as_ref(), Some(&here));
        assert_eq!(parse("debug --source .").unwrap().1, [Release::DEBUG]);
        assert!(all.is_all() && all.has_dkms() && !default.is_all() && !default.has_dkms());
        assert_eq!(all.user_modes(), [("uml", false), ("uml-debug", true)]);
        assert!(parse("uml --bench").unwrap().0.is_bench && !all.is_bench);
        let (uml, releases) = parse("uml-debug").unwrap();
        assert!(releases.is_empty() && !uml.has_dkms());
        assert_eq!(uml.user_modes(), [("uml-debug", true)]);
        let (dkms, releases) = parse("dkms").unwrap();
        assert!(dkms.has_dkms() && releases.is_empty());
        assert_eq!(all.compilers(), [Compiler::Gcc, Compiler::Clang]);
        for wrong in [
            "5.10",
            "--boots",
            "--boots 0",
            "--reloads 0",
            "6.1 x",
            "--machine",
            "--machine x",
            "--source",
            "--source no-such-folder",
            "6.1 --source .",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
