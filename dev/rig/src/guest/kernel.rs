//! Kernels to choose from, their headers and compilers, modules built for them, and which of the distribution's modules these
//! need.

use super::cache::{Cache, Result, Stop, at, copy_folder, entry, failed, run, run_bytes};
use super::files::busybox;
use super::own::{self, Checks, Own};
use super::packages::{Apt, Chroot, Processor};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs, thread};

/// A kernel that boots, and what a module for it is built with.
pub(crate) struct Kernel {
    pub(crate) release: Release,
    /// Its version; or the release if we build it, and the version if the source is in a folder that was given.
    pub(crate) name: String,
    pub(crate) image: PathBuf,
    /// The folder that a module's Makefile is run in.
    headers: PathBuf,
    /// The distribution's modules. `None` if everything is built into the kernel.
    modules: Option<PathBuf>,
    /// The system with the compiler. `None` if this system's compiler fits.
    chroot: Option<Chroot>,
}

impl Kernel {
    /// Fetches it, with its headers, or builds one of ours.
    pub(crate) fn fetch(cache: &Cache, release: Release) -> Result<Self> {
        if release.is_own {
            return Self::from_source(cache, release, None);
        }
        let chroot = match release.compiler {
            Some((suite, packages)) => Some(Chroot::fetch(cache, suite, packages)?),
            None => None,
        };
        let (version, folder) = fetch_newest(cache, release)?;
        let end = format!("-{}", release.flavour);
        let image = match entry(&folder.join("boot"), "vmlinuz-", "") {
            Ok(image) => image,
            // Newer packages install the image here.
            Err(_) => entry(&folder.join("usr/lib/modules"), "", &end)?.join("vmlinuz"),
        };
        let headers = entry(&folder.join("usr/src"), "linux-headers-", &end)?;
        Ok(Self {
            release,
            name: version,
            image,
            headers,
            modules: Some(folder),
            chroot,
        })
    }

    /// Builds one of our kernels, from Debian's source or from the source in `folder`.
    pub(crate) fn from_source(
        cache: &Cache,
        release: Release,
        folder: Option<&Path>,
    ) -> Result<Self> {
        let checks = match release {
            Release::DEBUG => Checks::Memory,
            Release::KCSAN => Checks::Races,
            _ => Checks::Nothing,
        };
        let Own { name, tree, chroot } = own::build(cache, release.name, checks, folder)?;
        Ok(Self {
            release,
            name,
            image: tree.join("arch/x86/boot/bzImage"),
            headers: tree,
            modules: None,
            chroot: Some(chroot),
        })
    }

    /// The distribution's modules that `ours` need, and the modules `names` with all that they need, in the order to load them.
    pub(crate) fn modules(
        &self,
        cache: &Cache,
        ours: &[PathBuf],
        names: &[&str],
    ) -> Result<Vec<(String, Vec<u8>)>> {
        match &self.modules {
            Some(folder) => in_load_order(folder, &busybox(cache)?, ours, names),
            None => Ok(Vec::new()),
        }
    }

    /// Builds the modules in `source`, a folder with a Makefile for the kernel's build system, and returns the
    /// folder with the result. The source is not changed. A warning is a failure.
    pub(crate) fn build(
        &self,
        cache: &Cache,
        source: &Path,
        compiler: Compiler,
    ) -> Result<PathBuf> {
        let build = cache.fresh(&format!("build-{}-{compiler}", self.name))?;
        copy_folder(source, &build)?;
        let mut make = match &self.chroot {
            Some(chroot) => chroot.command("make"),
            None => Command::new("make"),
        };
        relocate(&self.headers)?;
        make.arg("-C")
            .arg(&self.headers)
            .arg(format!("M={}", build.display()));
        let jobs = thread::available_parallelism().map_or(1, |jobs| jobs.get());
        make.args([
            &format!("-j{jobs}"),
            "W=1",
            "CONFIG_DEBUG_INFO_BTF_MODULES=",
            "WELLSPRING_TESTS=1",
        ]);
        let (_, tools) = self.release.processor.target();
        make.arg(format!("CROSS_COMPILE={tools}"));
        // The headers name the gcc that built the kernel.
        if compiler == Compiler::Clang {
            make.arg(format!("CC={}", clang(cache)?.display()));
        }
        let is_inside = self.chroot.is_some();
        let has_sparse = Command::new("sparse").arg("--version").output().is_ok();
        // The headers of 6.1-rt tell sparse that spin_trylock_bh() takes a lock, and not that spin_unlock_bh() releases it.
        let can_check = !is_inside && self.release != Release::V6_1_RT;
        if has_sparse && can_check && compiler == Compiler::Gcc {
            make.args(["C=1", "CHECK=sparse"]);
        }
        let output = make.arg("modules").env("LC_ALL", "C").output();
        let output = output.map_err(|error| Stop::Missing(format!("make: {error}")))?;
        let text = [output.stdout, output.stderr]
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .concat();
        let complaints: Vec<&str> = text.lines().filter(|line| is_complaint(line)).collect();
        match (output.status.success(), complaints.is_empty()) {
            (true, true) => in_order(&build).map(|()| build),
            (true, false) => failed(format!(
                "the build for {} by {compiler} has warnings:\n  {}",
                self.name,
                complaints.join("\n  ")
            )),
            (false, _) => failed(format!(
                "the build for {} by {compiler} fails:\n{text}",
                self.name
            )),
        }
    }
}

impl Kernel {
    /// Runs reads that are interrupted after every instruction, in a program with the module's object code. `None` for kernels
    /// that the script does not know.
    pub(crate) fn step(&self, script: &Path) -> Option<Result<String>> {
        if ![Release::V6_1, Release::V6_12].contains(&self.release) {
            return None;
        }
        let says = run(Command::new("sh").arg(script).arg(&self.headers));
        Some(says.map(|says| {
            let wrong = says.lines().filter(|line| line.ends_with(" 0 wrong"));
            format!("{} kinds of interrupts, 0 wrong", wrong.count())
        }))
    }
}

/// Debian's kernel 6.12 for arm64.
pub(crate) fn arm64_kernel(cache: &Cache) -> Result<Kernel> {
    Kernel::fetch(cache, Release::V6_12_ARM64)
}

/// Checks that the module's files have no circles, and what it exports: its script reads the symbols of the object files.
fn in_order(build: &Path) -> Result {
    let script = build.join("tests/call-order.sh");
    let output = Command::new("sh").arg(&script).arg(build).output();
    let output = output.map_err(at(script.display()))?;
    if output.status.success() {
        return Ok(());
    }
    failed(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The version of the newest kernel that the suites of a release offer now, and the folder where it is unpacked, with its
/// headers. If the suites are out of reach, the newest that was fetched before.
fn fetch_newest(cache: &Cache, release: Release) -> Result<(String, PathBuf)> {
    let lists = cache.folder().join(format!("lists-{release}"));
    let apt = match Apt::of(release.processor, &lists, release.suites) {
        Err(Stop::Missing(reason)) => {
            return match fetched_before(cache, release) {
                Some(found) => {
                    println!("{reason}; {} was fetched before", found.0);
                    Ok(found)
                }
                None => Err(Stop::Missing(reason)),
            };
        }
        apt => apt?,
    };
    let newest = release.newest;
    let mut names = apt.closure(&format!("linux-image-{newest}"), is_part)?;
    names.extend(apt.closure(&format!("linux-headers-{newest}"), is_part)?);
    let Some(version) = version_among(names.iter().map(String::as_str), release) else {
        return failed(format!("no headers of {release} among {names:?}"));
    };
    let version = version.to_owned();
    let folder = cache.once(&format!("kernel-{release}-{version}"), |folder| {
        let (tools, parts): (Vec<&str>, Vec<&str>) = names
            .iter()
            .map(String::as_str)
            .partition(|name| name.starts_with("linux-kbuild-"));
        apt.unpack(parts, folder)?;
        // Programs that run during a build, on this machine.
        let tools_apt = Apt::new(&lists.join("tools"), release.suites)?;
        tools_apt.unpack(tools, folder)
    })?;
    Ok((version, folder))
}

/// The version in the name of the headers' package: `6.12.117+deb12-cloud-amd64`. The package that depends on the newest
/// has no such name.
fn version_among<'a>(
    names: impl IntoIterator<Item = &'a str>,
    release: Release,
) -> Option<&'a str> {
    let end = format!("-{}", release.flavour);
    let versions = names
        .into_iter()
        .filter_map(|name| name.strip_prefix("linux-headers-"));
    let mut versions = versions.filter(|version| {
        version.starts_with(|first: char| first.is_ascii_digit())
            && version.ends_with(&end)
            && *version != release.newest
    });
    versions.next()
}

/// The last that was fetched of a release.
fn fetched_before(cache: &Cache, release: Release) -> Option<(String, PathBuf)> {
    let start = format!("kernel-{release}-");
    let entries = fs::read_dir(cache.folder()).ok()?.flatten();
    let folders = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix(&start)?.to_owned();
        let is_whole = version.ends_with(release.flavour);
        let is_version = version.starts_with(|first: char| first.is_ascii_digit());
        let time = entry.metadata().ok()?.modified().ok()?;
        (is_whole && is_version).then(|| (time, version, entry.path()))
    });
    let (_, version, folder) = folders.max_by_key(|(time, ..)| *time)?;
    Some((version, folder))
}

/// Whether a package is a part of a kernel or of its headers; not a compiler, and not the image without a
/// signature.
fn is_part(name: &str) -> bool {
    let rest = [
        "linux-image-",
        "linux-headers-",
        "linux-kbuild-",
        "linux-binary-",
        "linux-modules-",
    ];
    rest.iter().any(|start| name.starts_with(start)) && !name.contains("-unsigned")
}

/// Whether a line of a build is a warning, of the compiler, of modpost or of sparse.
fn is_complaint(line: &str) -> bool {
    let is_about_tools = line.contains("differs from the one used to build the kernel");
    let is_about_types = line.contains("Skipping BTF generation");
    (line.contains("warning:") || line.contains("WARNING:") || line.contains("error:"))
        && !is_about_tools
        && !is_about_types
}

/// Makes the Makefile of unpacked headers name the unpacked files instead of an installed package's.
fn relocate(headers: &Path) -> Result {
    let makefile = headers.join("Makefile");
    let text = fs::read_to_string(&makefile).map_err(at(makefile.display()))?;
    let Some(sources) = headers.parent() else {
        return Ok(());
    };
    let sources = sources.display();
    let relocated = text.replace("include /usr/src/", &format!("include {sources}/"));
    let relocated = relocated.replace(
        "KBUILD_OUTPUT=/usr/src/",
        &format!("KBUILD_OUTPUT={sources}/"),
    );
    if relocated == text {
        return Ok(());
    }
    fs::write(&makefile, relocated).map_err(at(makefile.display()))
}

// ---- releases ----

/// A kernel to choose: the newest that its suites offer, or a kernel that we build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The suites of its packages.
    pub(super) suites: &'static [&'static str],
    /// The end of the names of the packages that depend on the newest image, and on the newest headers.
    pub(super) newest: &'static str,
    /// The end of its packages' names.
    pub(super) flavour: &'static str,
    /// The suite of the compiler for it and the packages with it, if this is not Debian 12's. The newest headers name
    /// options that the compilers of Debian 12 do not know, and their programs need a newer C library.
    pub(super) compiler: Option<(&'static str, &'static [&'static str])>,
    pub(crate) processor: Processor,
    /// Whether we build it. Such a kernel has everything built in.
    pub(crate) is_own: bool,
}

const CLOUD: &str = "cloud-amd64";
const RT: &str = "rt-amd64";
const CLOUD_ARM64: &str = "cloud-arm64";

/// The compilers of Debian 13, for both processors.
const TRIXIE: (&str, &[&str]) = (
    "trixie",
    &["gcc", "gcc-aarch64-linux-gnu", "make", "libelf1t64"],
);

impl Release {
    /// Debian 12's.
    pub(crate) const V6_1: Self = debian("6.1", &["bookworm", "bookworm-security"], CLOUD, CLOUD);
    /// The same version with PREEMPT_RT.
    pub(super) const V6_1_RT: Self = debian("6.1-rt", &["bookworm", "bookworm-security"], RT, RT);
    /// From Debian 12's security updates; Debian 13 has the same.
    pub(crate) const V6_12: Self =
        debian("6.12", &["bookworm-security"], "6.12-cloud-amd64", CLOUD);
    /// Backported to Debian 13. Its number may be higher by now.
    pub(crate) const V7_3: Self = Self {
        compiler: Some(TRIXIE),
        ..debian("7.3", &["trixie-backports"], CLOUD, CLOUD)
    };
    /// Debian 12's for arm64.
    const V6_1_ARM64: Self = arm64("6.1-arm64", &["bookworm", "bookworm-security"], CLOUD_ARM64);
    pub(super) const V6_12_ARM64: Self =
        arm64("6.12-arm64", &["bookworm-security"], "6.12-cloud-arm64");
    /// The one backported to Debian 13.
    const V7_3_ARM64: Self = Self {
        compiler: Some(TRIXIE),
        ..arm64("7.3-arm64", &["trixie-backports"], CLOUD_ARM64)
    };
    /// A kernel that we build, which checks locks and memory.
    pub(crate) const DEBUG: Self = own("debug");
    /// A kernel that we build, which finds data races.
    pub(crate) const KCSAN: Self = own("kcsan");
    /// A kernel that we build, which checks nothing.
    pub(crate) const PLAIN: Self = own("plain");

    /// All, the oldest first, then the kernels that we build.
    pub(crate) const ALL: [Self; 13] = [
        Self::V6_1,
        Self::V6_1_RT,
        Self::V6_12,
        // The same version with PREEMPT_RT.
        debian("6.12-rt", &["bookworm-security"], "6.12-rt-amd64", RT),
        // Backported to Debian 12: 6.12.95, from before stable kernels took new system core operations.
        debian("6.12-backports", &["bookworm-backports"], CLOUD, CLOUD),
        // From Debian's unstable suite. Its number may be higher by now.
        Self {
            compiler: Some(("sid", &["gcc-16", "make", "libelf1t64"])),
            ..debian("7.2", &["sid"], CLOUD, CLOUD)
        },
        Self::V7_3,
        Self::V6_1_ARM64,
        Self::V6_12_ARM64,
        Self::V7_3_ARM64,
        Self::DEBUG,
        Self::KCSAN,
        Self::PLAIN,
    ];

    /// Whether it checks itself. Such a kernel takes several times as long.
    pub(crate) fn has_checks(self) -> bool {
        [Self::DEBUG, Self::KCSAN].contains(&self)
    }

    /// Whether Debian 12's clang fits too.
    pub(crate) fn is_for_debian_12(self) -> bool {
        !self.is_own && self.compiler.is_none() && self.processor == Processor::X86_64
    }
}

const fn debian(
    name: &'static str,
    suites: &'static [&'static str],
    newest: &'static str,
    flavour: &'static str,
) -> Release {
    Release {
        name,
        suites,
        newest,
        flavour,
        compiler: None,
        processor: Processor::X86_64,
        is_own: false,
    }
}

const fn arm64(
    name: &'static str,
    suites: &'static [&'static str],
    newest: &'static str,
) -> Release {
    Release {
        processor: Processor::Arm64,
        ..debian(name, suites, newest, CLOUD_ARM64)
    }
}

const fn own(name: &'static str) -> Release {
    Release {
        is_own: true,
        ..debian(name, &[], "", "")
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

// ---- compilers ----

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compiler {
    /// The compiler that built the kernel.
    Gcc,
    /// For a kernel that gcc built.
    Clang,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => "clang",
        })
    }
}

/// Calls clang without the options that gcc alone knows. The headers of a kernel that gcc built pass them to every
/// compiler.
const WRAPPER: &str = r#"#!/bin/sh
for word; do
    shift
    case $word in
    -mpreferred-stack-boundary=*) set -- "$@" -mstack-alignment=8 ;;
    -mindirect-branch=thunk-extern) set -- "$@" -mretpoline-external-thunk ;;
    -mindirect-branch* | -mrecord-mcount) ;;
    -fconserve-stack | -fno-allow-store-data-races | -fno-ipa-* | -fsanitize=bounds-strict) ;;
    -falign-jumps=* | -falign-loops=* | -fmin-function-alignment=* | -fplugin*) ;;
    -Wimplicit-fallthrough=*) set -- "$@" -Wimplicit-fallthrough ;;
    -Wno-maybe-uninitialized | -Wno-alloc-size-larger-than) ;;
    *) set -- "$@" "$word" ;;
    esac
done
# Of the kernel's headers, where gcc alone knows address spaces.
set -- "$@" -Wno-duplicate-decl-specifier -Wno-gnu-variable-sized-type-not-at-end
"#;

/// The configuration of a kernel that gcc built says that memory operands of inline assembly get the prefix of a segment.
/// clang prints them without it: a module that it builds for 6.12 then adds to the preemption count of no CPU, and faults.
const UNDEFINED: &str = "\
#undef CONFIG_CC_HAS_NAMED_AS
#undef CONFIG_USE_X86_SEG_SUPPORT
";

/// A program that is called like gcc and runs the clang of Debian 12.
pub(super) fn clang(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.once("clang", |folder| {
        Apt::new(folder, &["bookworm"])?.unpack_missing("clang-16", "bookworm", folder)
    })?;
    let llvm = folder.join("usr/lib/llvm-16");
    let libraries = format!(
        "{}:{}",
        folder.join("usr/lib/x86_64-linux-gnu").display(),
        llvm.join("lib").display()
    );
    let header = cache.folder().join("clang-like-gcc.h");
    fs::write(&header, UNDEFINED).map_err(at(header.display()))?;
    // After the kernel's own `-include` of its configuration.
    let call = format!(
        "LD_LIBRARY_PATH={libraries} exec {} \"$@\" -include {}\n",
        llvm.join("bin/clang").display(),
        header.display()
    );
    let path = cache.folder().join("clang-like-gcc");
    fs::write(&path, format!("{WRAPPER}{call}")).map_err(at(path.display()))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&path, executable).map_err(at(path.display()))?;
    Ok(path)
}

// ---- the distribution's modules ----
// Finds the distribution's modules that a module needs, by busybox's depmod. The guest has no modprobe.

/// The names and contents of the distribution's modules that `ours` need, and of the modules `names` with all that they need,
/// in the order to load them. A name that is not among the distribution's is taken for built in. `folder` is as the unpacked
/// packages of a kernel leave it.
fn in_load_order(
    folder: &Path,
    busybox: &Path,
    ours: &[PathBuf],
    names: &[&str],
) -> Result<Vec<(String, Vec<u8>)>> {
    // Newer packages install them in the second folder.
    let mut bases = [folder.to_owned(), folder.join("usr")].into_iter();
    let Some(base) = bases.find(|base| base.join("lib/modules").exists()) else {
        return Ok(Vec::new());
    };
    let tree = entry(&base.join("lib/modules"), "", "")?;
    let version = tree.file_name().unwrap_or_default();
    let extra = tree.join("extra");
    let _ = fs::remove_dir_all(&extra);
    fs::create_dir(&extra).map_err(at(extra.display()))?;
    for module in ours {
        let name = module.file_name().unwrap_or_default();
        fs::copy(module, extra.join(name)).map_err(at(module.display()))?;
    }
    let mut depmod = Command::new(busybox);
    run(depmod.args(["depmod", "-b"]).arg(&base).arg(version))?;
    let list = tree.join("modules.dep");
    let list = fs::read_to_string(&list).map_err(at(list.display()))?;
    let read = |path: &str| {
        let file = tree.join(path);
        let bytes = if path.ends_with(".xz") {
            run_bytes(Command::new(busybox).arg("xzcat").arg(&file))
        } else {
            fs::read(&file).map_err(at(file.display()))
        };
        Ok((name_of(path), bytes?))
    };
    wanted(&list, names).into_iter().map(read).collect()
}

/// The paths in depmod's list that modules in `extra` need, and the paths of `names` with all that they need, in the order to
/// load them. The list has all that a module needs, the last to be loaded first.
fn wanted<'a>(list: &'a str, names: &[&str]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for (module, needs) in list.lines().filter_map(|line| line.split_once(':')) {
        let is_named = names.contains(&&*name_of(module));
        if !is_named && !module.starts_with("extra/") {
            continue;
        }
        let needs = needs
            .split_whitespace()
            .rev()
            .chain(is_named.then_some(module));
        for path in needs.filter(|path| !path.starts_with("extra/")) {
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// The name of the module in a file: `-` in the file's is `_` in the module's.
fn name_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(".xz").unwrap_or(name);
    name.strip_suffix(".ko").unwrap_or(name).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_of_each_tool_is_a_complaint_and_the_usual_remarks_are_not() {
        for line in [
            "/build/tap.c:12:5: warning: no previous prototype for 'tap_read' [-Wmissing-prototypes]",
            "WARNING: modpost: missing MODULE_DESCRIPTION() in tests.o",
            "tap.c:7:1: error: bad constant expression",
        ] {
            assert!(is_complaint(line), "{line}");
        }
        for line in [
            "warning: the compiler differs from the one used to build the kernel",
            "warning: pahole version differs from the one used to build the kernel",
            "Skipping BTF generation for wellspring.ko due to unavailability of vmlinux",
            "  CC [M]  /build/tap.o",
        ] {
            assert!(!is_complaint(line), "{line}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_headers_and_not_of_the_package_that_depends_on_them() {
        let names = [
            "linux-headers-6.12-cloud-amd64",
            "linux-headers-6.12.117+deb12-cloud-amd64",
            "linux-headers-6.12.117+deb12-common",
            "linux-image-6.12-cloud-amd64",
        ];
        let version = version_among(names, Release::V6_12);
        assert_eq!(version, Some("6.12.117+deb12-cloud-amd64"));
        assert_eq!(
            version_among(["linux-headers-cloud-amd64"], Release::V6_1),
            None
        );
    }

    #[test]
    fn the_parts_of_a_kernel_are_known_by_their_names() {
        let parts = [
            "linux-image-6.1.0-50-cloud-amd64",
            "linux-kbuild-6.1",
            "linux-headers-6.1.0-50-common",
        ];
        assert!(parts.into_iter().all(is_part));
        let others = [
            "linux-compiler-gcc-12-x86",
            "kmod",
            "linux-image-6.12.95+deb12-cloud-amd64-unsigned",
            "gcc-12",
        ];
        assert!(!others.into_iter().any(is_part));
    }

    #[test]
    fn what_ours_and_the_named_need_is_loaded_once_and_in_order() {
        let list = "\
extra/tests.ko: extra/wellspring.ko kernel/crypto/chacha-x86_64.ko.xz kernel/lib/libchacha.ko
extra/wellspring.ko: kernel/crypto/chacha-x86_64.ko.xz kernel/lib/libchacha.ko
kernel/crypto/chacha-x86_64.ko.xz: kernel/lib/libchacha.ko
kernel/drivers/nvme.ko: kernel/drivers/nvme-core.ko
kernel/lib/libchacha.ko:
";
        let ours = [
            "kernel/lib/libchacha.ko",
            "kernel/crypto/chacha-x86_64.ko.xz",
        ];
        assert_eq!(wanted(list, &[]), ours);
        let nvme = ["kernel/drivers/nvme-core.ko", "kernel/drivers/nvme.ko"];
        assert_eq!(wanted(list, &["nvme", "built_in"]), [ours, nvme].concat());
        assert_eq!(name_of(ours[1]), "chacha_x86_64");
    }
}
