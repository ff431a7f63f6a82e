//! A private apt: Debian packages of any suite, unpacked and not installed. With it: versions of OpenSSL that Debian 12 does not
//! have, each with the C library that it needs, and OpenSSL's own tests; Debian's language runtimes, for a guest; and a small
//! Debian system of another suite, for its compilers.
//!
//! The system's sources, lists and packages are not changed. The keys come from the installed debian-archive-keyring. Kernel
//! versions change every few weeks, so names are found through the packages that depend on the newest.

use super::cache::{Cache, Result, Stop, at, entry, failed, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ARCHIVE: &str = "http://deb.debian.org/debian";
const SECURITY: &str = "http://deb.debian.org/debian-security";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A processor, by the names that Debian, QEMU and Rust have for its machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    X86_64,
    Arm64,
}

impl Processor {
    /// Debian's name of the architecture.
    pub(super) fn architecture(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Debian's package with QEMU for this processor, and the program in it.
    pub(super) fn qemu(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("qemu-system-x86", "qemu-system-x86_64"),
            Self::Arm64 => ("qemu-system-arm", "qemu-system-aarch64"),
        }
    }

    pub(super) fn machine(self) -> &'static str {
        match self {
            Self::X86_64 => "pc",
            Self::Arm64 => "virt",
        }
    }

    /// Rust's name of the target, and the start of the names of Debian's compilers and linkers for it.
    pub(super) fn target(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("x86_64-unknown-linux-gnu", ""),
            Self::Arm64 => ("aarch64-unknown-linux-gnu", "aarch64-linux-gnu-"),
        }
    }

    /// QEMU's model of an old one: without AES and AVX, or without RNDR and the atomic instructions of Armv8.1.
    pub(crate) fn oldest_model(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu64",
            Self::Arm64 => "cortex-a57",
        }
    }

    /// The kernel's name of a serial line, without its number.
    pub(super) fn serial_line(self) -> &'static str {
        match self {
            Self::X86_64 => "ttyS",
            Self::Arm64 => "ttyAMA",
        }
    }
}

const INSTALLED: &str = "/var/lib/dpkg/status";

/// The package lists of some suites.
pub(crate) struct Apt {
    folder: PathBuf,
    architecture: &'static str,
}

impl Apt {
    /// Fetches the lists of `suites` into a folder of their own within `folder`.
    pub(crate) fn new(folder: &Path, suites: &[&str]) -> Result<Self> {
        Self::of(Processor::X86_64, folder, suites)
    }

    pub(super) fn of(processor: Processor, folder: &Path, suites: &[&str]) -> Result<Self> {
        if !Path::new(KEYS).exists() || Command::new("apt-get").arg("--version").output().is_err() {
            return Err(Stop::Missing(
                "this is not Debian: apt-get or the archive's keys are missing".into(),
            ));
        }
        let apt = Self {
            folder: folder.join("apt"),
            architecture: processor.architecture(),
        };
        for part in ["lists/partial", "archives/partial"] {
            let part = apt.folder.join(part);
            fs::create_dir_all(&part).map_err(at(part.display()))?;
        }
        let line = |suite: &&str| {
            let archive = if suite.ends_with("-security") {
                SECURITY
            } else {
                ARCHIVE
            };
            format!("deb [signed-by={KEYS}] {archive} {suite} main\n")
        };
        let sources: String = suites.iter().map(line).collect();
        fs::write(apt.folder.join("sources.list"), sources).map_err(at("sources.list"))?;
        match run(apt.command("apt-get", INSTALLED).args(["update", "-q"])) {
            Ok(_) => Ok(apt),
            Err(Stop::Failed(reason) | Stop::Missing(reason)) => Err(Stop::Missing(format!(
                "{ARCHIVE} is out of reach: {reason}"
            ))),
        }
    }

    /// Fetches the source of `package` as its authors released it, and unpacks it into `folder`: the newest that the archive
    /// gives out. A list can name files that are gone.
    pub(super) fn unpack_source(&self, package: &str, folder: &Path) -> Result {
        let list = self.folder.join("sources.list");
        let binaries = fs::read_to_string(&list).map_err(at(list.display()))?;
        fs::write(&list, binaries.replace("deb [", "deb-src [")).map_err(at(list.display()))?;
        run(self.command("apt-get", INSTALLED).args(["update", "-q"]))?;
        let lines = run(self
            .command("apt-cache", INSTALLED)
            .args(["madison", package]))?;
        let archives = self.folder.join("archives");
        let is_fetched = |version: &str| {
            let mut command = self.command("apt-get", INSTALLED);
            command.args(["source", "--download-only", "-q"]);
            command.arg(format!("{package}={version}"));
            run(command.current_dir(&archives)).is_ok()
        };
        let mut versions = lines
            .lines()
            .rev()
            .filter_map(|line| line.split('|').nth(1));
        if !versions.any(|version| is_fetched(version.trim())) {
            return Err(Stop::Missing(format!(
                "{ARCHIVE} gives out no source of {package}"
            )));
        }
        let archive = entry(&archives, package, ".orig.tar.gz")?;
        run(Command::new("tar")
            .args(["--strip-components=1", "-xf"])
            .arg(archive)
            .arg("-C")
            .arg(folder))?;
        Ok(())
    }

    fn command(&self, tool: &str, status: &str) -> Command {
        let mut command = Command::new(tool);
        let folder = self.folder.display();
        for option in [
            format!("Dir::Etc::sourcelist={folder}/sources.list"),
            "Dir::Etc::sourceparts=/nonexistent".into(),
            "Dir::Etc::preferences=/nonexistent".into(),
            "Dir::Etc::preferencesparts=/nonexistent".into(),
            format!("Dir::State::lists={folder}/lists"),
            format!("Dir::Cache={folder}"),
            format!("Dir::State::status={status}"),
            format!("APT::Architecture={}", self.architecture),
            format!("APT::Architectures={}", self.architecture),
            // Do not take the system's locks, and do not drop to the user _apt, which cannot write here.
            "Debug::NoLocking=1".into(),
            "APT::Sandbox::User=".into(),
            // A list that cannot be fetched is an error. Only package lists are needed.
            "APT::Update::Error-Mode=any".into(),
            "Acquire::Languages=none".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
            "Acquire::Retries=3".into(),
        ] {
            command.args(["-o", &option]);
        }
        command
            .env("LC_ALL", "C")
            .env("DEBIAN_FRONTEND", "noninteractive");
        command
    }

    /// The package and all that it needs, directly or not, as far as `is_wanted` likes the names.
    pub(super) fn closure(
        &self,
        package: &str,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<BTreeSet<String>> {
        let mut depends = self.command("apt-cache", "/dev/null");
        depends.args(["depends", "--recurse", "--important", package]);
        let text = run(&mut depends)?;
        // The lines between the names of packages, with what each of these needs, are indented.
        let names = text.lines().filter(|name| is_wanted(name));
        Ok(names.map(String::from).collect())
    }

    /// Unpacks the packages of these names into `folder`.
    pub(crate) fn unpack<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        folder: &Path,
    ) -> Result {
        let archives = self.folder.join("archives");
        run(self
            .command("apt-get", "/dev/null")
            .args(["download", "-q"])
            .args(names)
            .current_dir(&archives))?;
        unpack_all(&archives, folder)
    }

    /// Unpacks `package` of a suite into `folder`, with all that it depends on and that is not installed here.
    pub(super) fn unpack_missing(&self, package: &str, suite: &str, folder: &Path) -> Result {
        self.unpack_needed(INSTALLED, &["--target-release", suite, package], folder)
    }

    /// Unpacks packages into `folder`, with all that they depend on.
    pub(super) fn unpack_whole(&self, packages: &[&str], folder: &Path) -> Result {
        self.unpack_needed("/dev/null", packages, folder)
    }

    /// Unpacks what apt would install beside what a list says is installed.
    fn unpack_needed(&self, installed: &str, words: &[&str], folder: &Path) -> Result {
        let mut command = self.command("apt-get", installed);
        command.args([
            "install",
            "-q",
            "--download-only",
            "--yes",
            "--no-install-recommends",
        ]);
        run(command.args(words))?;
        unpack_all(&self.folder.join("archives"), folder)
    }
}

/// Fetches packages of Debian 12 for a processor, with all that they depend on, unpacked into one folder.
pub(crate) fn debian_files(
    processor: Processor,
    cache: &Cache,
    name: &str,
    packages: &[&str],
) -> Result<PathBuf> {
    cache.once(name, |folder| {
        let apt = Apt::of(processor, folder, &["bookworm", "bookworm-security"])?;
        apt.unpack_whole(packages, folder)
    })
}

/// Unpacks the packages in `archives` into `folder`, and removes them.
fn unpack_all(archives: &Path, folder: &Path) -> Result {
    let mut count = 0;
    for entry in fs::read_dir(archives)
        .map_err(at(archives.display()))?
        .flatten()
    {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg").arg("-x").arg(&path).arg(folder))?;
            fs::remove_file(&path).map_err(at(path.display()))?;
            count += 1;
        }
    }
    match count {
        0 => failed(format!("apt fetched no packages to {}", archives.display())),
        _ => Ok(()),
    }
}

/// Fetches OpenSSL 3.5, of Debian 13, 3.6, of sid, and 4.0, of experimental, each with its FIPS provider. Returns a folder for
/// each, laid out like a system's root.
pub(crate) fn openssl(cache: &Cache) -> Result<[PathBuf; 3]> {
    let fetch = |name: &str, suites: &[&str]| {
        cache.once(name, |folder| {
            let apt = Apt::new(folder, suites)?;
            let newest = suites.last().copied().unwrap_or_default();
            let packages = ["openssl", "libssl-dev", "openssl-provider-fips"];
            let words = [&["--target-release", newest], &packages[..]].concat();
            apt.unpack_whole(&words, folder)
        })
    };
    Ok([
        fetch("openssl-3.5-fips", &["trixie"])?,
        fetch("openssl-3.6-fips", &["sid"])?,
        fetch("openssl-4.0-fips", &["sid", "experimental"])?,
    ])
}

/// The programs of OpenSSL's own tests that draw, or use many threads.
const TESTS: [&str; 5] = [
    "test/rand_test",
    "test/drbgtest",
    "test/rand_status_test",
    "test/evp_test",
    "test/threadstest",
];

/// Builds OpenSSL's own tests, of the sources of Debian 13 and experimental, in the folders that it returns.
pub(crate) fn openssl_tests(cache: &Cache) -> Result<[PathBuf; 2]> {
    let build = |name: &str, suite: &str| {
        cache.once(name, |folder| {
            Apt::new(folder, &[suite])?.unpack_source("openssl", folder)?;
            // Without what no test here uses.
            let configure = "./Configure linux-x86_64 no-shared no-docs no-legacy -O1";
            shell(configure, folder)?;
            shell("make -s -j2 build_generated", folder)?;
            shell(&format!("make -s -j2 {}", TESTS.join(" ")), folder)
        })
    };
    Ok([
        build("openssl-3.5-tests", "trixie")?,
        build("openssl-4.0-tests", "experimental")?,
    ])
}

fn shell(script: &str, folder: &Path) -> Result {
    run(Command::new("sh").args(["-c", script]).current_dir(folder)).map(|_| ())
}

const PACKAGES: [&str; 4] = ["nodejs", "openjdk-17-jre-headless", "python3.11", "ruby3.1"];

/// Folders that no runtime reads.
const REMOVED: [&str; 4] = ["usr/share/doc", "usr/share/man", "usr/share/locale", "apt"];

/// Fetches the runtimes of other languages. Returns a folder laid out like a system's root, of about 0.5 GB.
pub(crate) fn runtimes(cache: &Cache) -> Result<PathBuf> {
    cache.once("runtimes", |folder| {
        let apt = Apt::new(folder, &["bookworm", "bookworm-security"])?;
        apt.unpack_whole(&PACKAGES, folder)?;
        for name in REMOVED {
            let unused = folder.join(name);
            if unused.exists() {
                fs::remove_dir_all(&unused).map_err(at(unused.display()))?;
            }
        }
        Ok(())
    })
}

/// CRIU of sid with all that it needs: version 4.1 or later, which knows mappings that the kernel may drop.
pub(crate) fn criu(cache: &Cache) -> Result<PathBuf> {
    cache.once("criu", |folder| {
        Apt::new(folder, &["sid"])?.unpack_whole(&["criu"], folder)?;
        let lists = folder.join("apt");
        fs::remove_dir_all(&lists).map_err(at(lists.display()))
    })
}

/// A small Debian system with systemd, for a guest. Needs root.
pub(crate) fn systemd(cache: &Cache) -> Result<PathBuf> {
    let script = "apt-get install --yes --quiet --no-install-recommends systemd-sysv kmod\n\
        rm -rf /usr/share/doc /usr/share/man /usr/share/locale /var/lib/apt/lists/*";
    let chroot = Chroot::fetch_and_run(cache, "guest-image", "bookworm", script)?;
    Ok(chroot.folder)
}

/// The program behind a machine's vsock, which QEMU talks to.
pub(crate) fn vsock_device(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.once("vsock-device", |folder| {
        Apt::new(folder, &["sid"])?.unpack(["vhost-device-vsock"], folder)
    })?;
    Ok(folder.join("usr/bin/vhost-device-vsock"))
}

// ---- a small Debian system ----
// A small Debian system of another suite, for its compilers.

/// Mounts /proc, /sys, /dev and the shared folders in a private mount namespace, so that nothing is left mounted.
const ENTER: &str = r#"
set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    shift 2
done
shift
exec chroot "$root" "$@"
"#;

/// An InRelease file of sid expires a week after it was made, and a mirror may be older than that.
const ACCEPT_OLD_LISTS: &str =
    "echo 'Acquire::Check-Valid-Until \"false\";' >/etc/apt/apt.conf.d/99-old-lists";

pub(crate) struct Chroot {
    folder: PathBuf,
    /// Folders of this machine, and their paths inside.
    shared: Vec<(PathBuf, PathBuf)>,
}

impl Chroot {
    /// Fetches the smallest system of `suite` once, and `packages` into it. Needs root.
    pub(super) fn fetch(cache: &Cache, suite: &str, packages: &[&str]) -> Result<Self> {
        let install = format!(
            "apt-get install --yes --quiet --no-install-recommends {}",
            packages.join(" ")
        );
        Self::fetch_and_run(cache, &format!("system-{suite}"), suite, &install)
    }

    /// Fetches the smallest system of `suite` once, under `name` in the cache, and runs a script in it. Needs root.
    /// The cache has the same path inside and outside.
    pub(crate) fn fetch_and_run(
        cache: &Cache,
        name: &str,
        suite: &str,
        script: &str,
    ) -> Result<Self> {
        let id = run(Command::new("id").arg("-u"))?;
        if id.trim() != "0" {
            return Err(Stop::Missing(format!(
                "a chroot with Debian {suite} needs root"
            )));
        }
        let folder = cache.once(name, |folder| {
            let tools = folder.join("tools");
            std::fs::create_dir_all(&tools).map_err(at(tools.display()))?;
            let apt = Apt::new(&tools, &["bookworm"])?;
            apt.unpack(["debootstrap"], &tools)?;
            let root = folder.join("root");
            let mut command = Command::new(tools.join("usr/sbin/debootstrap"));
            command.env("DEBOOTSTRAP_DIR", tools.join("usr/share/debootstrap"));
            command.args(["--variant=minbase", suite]).arg(&root);
            run(&mut command)?;
            let chroot = Self {
                folder: root,
                shared: Vec::new(),
            };
            let mut command = chroot.command("sh");
            command.env("DEBIAN_FRONTEND", "noninteractive");
            let script = format!("set -e\n{ACCEPT_OLD_LISTS}\n{script}\napt-get clean\n");
            run(command.args(["-c", &script])).map(drop)
        })?;
        Ok(Self {
            folder: folder.join("root"),
            shared: vec![(cache.folder().to_owned(), cache.folder().to_owned())],
        })
    }

    /// Makes a folder of this machine visible at a path inside.
    pub(crate) fn share(mut self, folder: &Path, inside: &str) -> Self {
        self.shared.push((folder.to_owned(), inside.into()));
        self
    }

    /// A command that runs inside.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", ENTER, "sh"]);
        command.arg(&self.folder);
        for (outside, inside) in &self.shared {
            command.arg(outside).arg(inside);
        }
        command.arg("--").arg(program.as_ref());
        command
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LC_ALL", "C");
        command
    }
}
