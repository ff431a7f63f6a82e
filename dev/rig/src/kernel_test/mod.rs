//! `kernel-test`: the kernel module on real kernels, in machines of several kinds.
//!
//! ```text
//! request   the command line
//! steps     steps that the tests of all machines take
//! tests     all tests of the module
//! dm_crypt  dm-crypt by the module's cipher
//! dkms      the module by dkms
//! uml       its tests as KUnit suites in User Mode Linux
//! boots     boots after the first: load, read, unload
//! events    clones of the machine, NMIs
//! hibernation  a resume from disk
//! memory    memory comes and goes
//! secrets   what used secrets leave behind
//! counts    instructions and cache lines of reads
//! failures  each allocation fails once
//! shapes    the machines, and what is tested in each
//! ```
//!
//! Trouble in the kernel's log at any time is a failure.

mod boots;
mod counts;
mod dkms;
mod dm_crypt;
mod events;
mod failures;
mod hibernation;
mod memory;
mod request;
mod secrets;
mod shapes;
mod steps;
mod tests;
mod uml;

use crate::cross::{AARCH64, is_here};
use crate::guest::{
    Cache, Compiler, Files, Kernel, Processor, Qemu, Release, Result, Stop, Table, at, failed,
    kernel_test, unless_half_patched,
};
pub(crate) use request::Request;
use shapes::{Drill, SHAPES, Shape};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Tests in `kernel/tests` that load the module, and a file that two of them read. The first runs the others.
const SCRIPTS: [&str; 11] = [
    "guest.sh",
    "early.sh",
    "trace.sh",
    "flood.sh",
    "load.sh",
    "failslab.sh",
    "dm-crypt.sh",
    "suspend.sh",
    "hibernate.sh",
    "resume.sh",
    "nmi.sh",
];

/// The parts that all machines have in common.
struct Rig<'a> {
    root: &'a Path,
    processor: Processor,
    cache: &'a Cache,
    qemu: Qemu,
    /// The program that runs the tests. No file if no machine is started.
    program: PathBuf,
    request: &'a Request,
}

/// Runs the chore.
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
            uml::bench(&cache, root, has_checks)
        } else {
            uml::drill(&cache, &source, has_checks)
        };
        table.add_outcome(name, outcome)?;
    }
    if request.has_dkms() {
        table.add_outcome("dkms", dkms::test(&cache, &source))?;
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

    /// Runs what was asked for on these kernels.
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

    /// The files of the guest.
    fn initramfs(&self, kernel: &Kernel, modules: &[PathBuf]) -> Result<PathBuf> {
        let Self { cache, root, .. } = self;
        let mut files = Files::of(self.processor, cache, &kernel.name)?
            .copy("bin/kernel-test", &self.program)?
            .collect("modules", modules)?
            .contents("needed", &kernel.modules(cache, modules, &[])?)?
            .contents("disk-driver", &kernel.modules(cache, &[], &["nvme"])?)?
            .script("reload", tests::RELOAD)?
            .script("functions", memory::FUNCTIONS)?
            .script("wait-for-notice", events::WAIT_FOR_NOTICE)?;
        if self.processor == Processor::X86_64 {
            files = dm_crypt::files(cache, kernel, files)?;
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
                    tests::drill(guest, kernel.release, self.request.reloads.get())
                }
                Drill::Events => events::drill(cache, qemu, vm),
                Drill::Hibernation => hibernation::drill(cache, qemu, vm),
                Drill::Memory => qemu.start(&vm).and_then(memory::drill),
                Drill::Secrets => secrets::drill(cache, qemu, vm),
                Drill::Failures => qemu.start(&vm).and_then(failures::drill),
                Drill::Counts => counts::drill(cache, qemu, vm, self.root),
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
            let outcome = unless_half_patched(|| self.qemu.start(&vm).and_then(boots::drill));
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
