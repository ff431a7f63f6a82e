//! Kernels, their headers, and modules built for them.

use super::cache::{Cache, entry, run};
use super::chroot::Chroot;
use super::compiler::{Compiler, clang};
use super::files::busybox;
use super::modules::in_load_order;
use super::outcome::{Result, Stop, at, failed};
use super::own::{self, Own};
use super::packages::Apt;
use super::release::Release;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

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
        let Own { name, tree, chroot } = own::build(cache, release, folder)?;
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

/// Checks that the module's files have no circles: its script reads the symbols of the object files.
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

pub(super) fn copy_folder(from: &Path, to: &Path) -> Result {
    run(Command::new("cp").arg("-r").arg(from.join(".")).arg(to)).map(drop)
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
}
