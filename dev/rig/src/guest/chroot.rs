//! A small Debian system of another suite, for its compilers.

use super::cache::{Cache, run};
use super::outcome::{Result, Stop, at};
use super::packages::Apt;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// A folder with a Debian system in it.
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
