//! A small system of another suite, for its compiler.

use super::cache::{Cache, run};
use super::packages::Apt;
use super::{Result, Stop, at};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Mounts what programs expect in a namespace of its own, so that nothing is left mounted, and goes there.
const ENTER: &str = r#"
set -e
root=$1; shared=$2; shift 2
mount -t proc proc "$root/proc"
mkdir -p "$root$shared"
mount --bind "$shared" "$root$shared"
exec chroot "$root" "$@"
"#;

/// A folder with a system in it.
pub(super) struct Chroot {
    folder: PathBuf,
    /// Is there under the same name as here.
    shared: PathBuf,
}

impl Chroot {
    /// Fetches the smallest system of `suite`, and `packages` into it. Asks for root.
    pub(super) fn fetch(cache: &Cache, suite: &str, packages: &[&str]) -> Result<Self> {
        let id = run(Command::new("id").arg("-u"))?;
        if id.trim() != "0" {
            return Err(Stop::Missing(format!(
                "a system of the suite {suite} asks for root"
            )));
        }
        let folder = cache.once(&format!("system-{suite}"), |folder| {
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
                shared: folder.to_owned(),
            };
            let mut command = chroot.command("apt-get");
            command.env("DEBIAN_FRONTEND", "noninteractive");
            command.args(["install", "--yes", "--quiet", "--no-install-recommends"]);
            run(command.args(packages)).map(drop)
        })?;
        Ok(Self {
            folder: folder.join("root"),
            shared: cache.folder().to_owned(),
        })
    }

    /// A command that runs in there.
    pub(super) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", ENTER, "sh"]);
        command
            .arg(&self.folder)
            .arg(&self.shared)
            .arg(program.as_ref());
        command
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LC_ALL", "C");
        command
    }
}
