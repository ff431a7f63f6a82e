//! The files of a guest: busybox, an init that runs commands from the serial line, and the programs of this project.

use super::cache::{Cache, Result, Stop, at, failed, run};
use super::packages::{Apt, Processor};
use super::vm::{END, SHORTER};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Mounts what programs expect. Gives the fair server no time: Linux 6.12 counts it as a task, and when a CPU goes on a busy host
/// it may say "Dying CPU not properly vacated!" (`own.rs`).
const INIT: &str = r#"#!/bin/sh
export PATH=/bin HOME=/
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /tmp
mount -t tmpfs none /run
mount -t debugfs none /sys/kernel/debug 2>/dev/null
mount -t tracefs none /sys/kernel/tracing 2>/dev/null
for file in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do [ ! -e $file ] || echo 0 >$file; done
"#;

/// Runs each line of the serial line in one shell. Standard error goes to the serial line too, so an answer includes its errors.
/// A line begins with the length of the command: under load QEMU's serial line was seen to lose a byte.
const COMMANDS: &str = r#"
stty -F /dev/SERIAL1 raw -echo
exec </dev/SERIAL1 >/dev/SERIAL1 2>&1
echo =ready
while read -r length line; do
    [ "${#line}" = "$length" ] || { echo "=ended 299"; continue; }
    eval "$line"
    echo "=ended $?"
done
"#;

/// The unit of systemd that runs the commands, in a Debian system. A shell's line in it.
const UNIT: &str = "[Unit]\nDescription=Commands\n[Service]\nExecStart=/bin/sh /commands\n";

/// The files of a guest, in a folder of this machine.
pub(crate) struct Files {
    folder: PathBuf,
    busybox: PathBuf,
}

impl Files {
    /// Busybox, and the init that takes commands.
    pub(crate) fn new(cache: &Cache, name: &str) -> Result<Self> {
        Self::of(Processor::X86_64, cache, name)
    }

    pub(crate) fn of(processor: Processor, cache: &Cache, name: &str) -> Result<Self> {
        debug_assert!(COMMANDS.contains(&format!("{END}{SHORTER}")));
        Self::with_init(
            processor,
            cache,
            name,
            &[INIT, &commands(processor)].concat(),
        )
    }

    /// A Debian system, whose systemd starts a unit that takes commands.
    pub(crate) fn system(cache: &Cache, name: &str, root: &Path) -> Result<Self> {
        let files = Self {
            folder: cache.fresh(&format!("files-{name}"))?,
            busybox: busybox(cache)?,
        };
        let units = "etc/systemd/system";
        let files = files
            .tree(root)?
            .program("commands", commands(Processor::X86_64).as_bytes())?
            .program(&format!("{units}/commands.service"), UNIT.as_bytes())?
            .program(&format!("{units}/multi-user.target.wants/.keep"), b"")?;
        let wanted = files
            .folder
            .join(units)
            .join("multi-user.target.wants/commands.service");
        symlink("../commands.service", wanted).map_err(at("a unit"))?;
        symlink("lib/systemd/systemd", files.folder.join("init")).map_err(at("init"))?;
        Ok(files)
    }

    /// Runs a command that installs into the guest's root, the last argument.
    pub(crate) fn installed_by(self, command: &mut Command) -> Result<Self> {
        run(command.arg(&self.folder))?;
        Ok(self)
    }

    /// Busybox, and this init.
    pub(super) fn with_init(
        processor: Processor,
        cache: &Cache,
        name: &str,
        init: &str,
    ) -> Result<Self> {
        let files = Self {
            folder: cache.fresh(&format!("files-{name}"))?,
            busybox: busybox(cache)?,
        };
        for folder in ["dev", "proc", "sys", "tmp", "run", "mnt"] {
            files.make(folder)?;
        }
        let files = files.copy("bin/busybox", &busybox_of(processor, cache)?)?;
        symlink("busybox", files.folder.join("bin/sh")).map_err(at("bin/sh"))?;
        files.program("init", init.as_bytes())
    }

    fn make(&self, path: &str) -> Result {
        let folder = self.folder.join(path);
        fs::create_dir_all(&folder).map_err(at(folder.display()))
    }

    /// A file that can be run.
    fn program(self, path: &str, bytes: &[u8]) -> Result<Self> {
        let file = self.folder.join(path);
        self.make(path.rsplit_once('/').map_or("", |(folder, _)| folder))?;
        fs::write(&file, bytes).map_err(at(file.display()))?;
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&file, executable).map_err(at(file.display()))?;
        Ok(self)
    }

    /// Copies a file of this machine to a path of the guest.
    pub(crate) fn copy(self, path: &str, from: &Path) -> Result<Self> {
        let bytes = fs::read(from).map_err(at(from.display()))?;
        self.program(path, &bytes)
    }

    /// Copies these files to a folder of the guest. They keep their names.
    pub(crate) fn collect(self, path: &str, from: &[PathBuf]) -> Result<Self> {
        from.iter().try_fold(self, |files, file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            files.copy(&format!("{path}/{name}"), file)
        })
    }

    /// Makes a folder of the guest with these contents, and no others. The names begin with 00-, 01-, .. in this order.
    pub(crate) fn contents(self, path: &str, contents: &[(String, Vec<u8>)]) -> Result<Self> {
        self.make(path)?;
        let folder = self.folder.join(path);
        fs::remove_dir_all(&folder).map_err(at(folder.display()))?;
        self.make(path)?;
        let mut numbered = (0..).zip(contents);
        numbered.try_fold(self, |files, (number, (name, bytes))| {
            files.program(&format!("{path}/{number:02}-{name}"), bytes)
        })
    }

    /// Copies all that is in a folder of this machine to the guest's root.
    pub(crate) fn tree(self, from: &Path) -> Result<Self> {
        self.folder("", from)
    }

    /// Copies all that is in a folder of this machine to a folder of the guest.
    pub(crate) fn folder(self, path: &str, from: &Path) -> Result<Self> {
        self.make(path)?;
        run(Command::new("cp")
            .arg("-a")
            .arg(from.join("."))
            .arg(self.folder.join(path)))?;
        Ok(self)
    }

    /// Adds a script to the guest's `/bin`.
    pub(crate) fn script(self, name: &str, text: &str) -> Result<Self> {
        self.program(&format!("bin/{name}"), text.as_bytes())
    }

    /// Writes the archive that the kernel unpacks at its start. All in it belongs to root.
    pub(crate) fn write(&self, archive: PathBuf) -> Result<PathBuf> {
        let script = "cd \"$2\" && find . | \"$0\" cpio -o -H newc -R 0:0 >\"$1\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(&self.busybox);
        run(shell.arg(&archive).arg(&self.folder))?;
        Ok(archive)
    }
}

fn commands(processor: Processor) -> String {
    COMMANDS.replace("SERIAL", processor.serial_line())
}

/// Busybox: a shell and the usual tools in one static program.
pub(super) fn busybox(cache: &Cache) -> Result<PathBuf> {
    busybox_of(Processor::X86_64, cache)
}

fn busybox_of(processor: Processor, cache: &Cache) -> Result<PathBuf> {
    let name = match processor {
        Processor::X86_64 => "busybox",
        Processor::Arm64 => "busybox-arm64",
    };
    let folder = cache.once(name, |folder| {
        Apt::of(processor, folder, &["bookworm"])?.unpack(["busybox-static"], folder)
    })?;
    Ok(folder.join("bin/busybox"))
}

// ---- programs of this project ----
// The programs of this project, linked statically for a guest that has no libraries.

/// Builds the release of the program that runs the module's tests, and returns its path.
pub(crate) fn kernel_test(root: &Path, processor: Processor) -> Result<PathBuf> {
    println!("building kernel-test");
    let folder = build_for(processor, root, &["--package", "kernel-test"])?;
    Ok(folder.join("kernel-test"))
}

/// The programs of the project, linked statically.
pub(crate) struct Programs {
    pub(crate) wellspring: PathBuf,
    pub(crate) wellspringd: PathBuf,
    /// A client of the service.
    pub(crate) draw: PathBuf,
}

impl Programs {
    pub(crate) fn build(root: &Path) -> Result<Self> {
        println!("building the command, the service and its client");
        let packages = ["wellspring-cli", "wellspring-service", "wellspring-client"];
        let mut what = vec!["--bins", "--example", "draw"];
        what.extend(packages.iter().flat_map(|package| ["--package", package]));
        let folder = build(root, &what)?;
        Ok(Self {
            wellspring: folder.join("wellspring"),
            wellspringd: folder.join("wellspringd"),
            draw: folder.join("examples/draw"),
        })
    }
}

/// The command, linked statically, and the libraries of guards, which need the C library of Debian 12.
pub(crate) struct Guards {
    pub(crate) wellspring: PathBuf,
    pub(crate) preload: PathBuf,
    pub(crate) python: PathBuf,
}

pub(crate) fn guards(root: &Path) -> Result<Guards> {
    println!("building the command and the libraries of guards");
    let library = |words: &[&str], folder: &str, name: &str| {
        let mut cargo = cargo(root);
        finish(cargo.args(words))?;
        Ok::<_, Stop>(target_folder(root).join(folder).join("release").join(name))
    };
    let preload = ["--package", "wellspring-preload"];
    // A folder of its own, as `cargo xtask python` has it: it is another workspace.
    let folder = target_folder(root).join("python");
    let folder = folder.to_string_lossy();
    let manifest = "bindings/python/Cargo.toml";
    let python = ["--manifest-path", manifest, "--target-dir", &folder];
    Ok(Guards {
        wellspring: build(root, &["--package", "wellspring-cli"])?.join("wellspring"),
        preload: library(&preload, "", "libwellspring_preload.so")?,
        python: library(&python, "python", "lib_native.so")?,
    })
}

/// Builds the release, and returns the folder with the programs.
fn build(root: &Path, what: &[&str]) -> Result<PathBuf> {
    build_for(Processor::X86_64, root, what)
}

fn build_for(processor: Processor, root: &Path, what: &[&str]) -> Result<PathBuf> {
    let (target, tools) = processor.target();
    let variable = format!("CARGO_TARGET_{}", target.to_uppercase().replace('-', "_"));
    let mut cargo = cargo(root);
    cargo.args(["--target", target]).args(what);
    if processor != Processor::X86_64 {
        cargo.env(format!("{variable}_LINKER"), format!("{tools}gcc"));
    }
    finish(cargo.env(
        format!("{variable}_RUSTFLAGS"),
        "-C target-feature=+crt-static",
    ))?;
    Ok(target_folder(root).join(target).join("release"))
}

fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(root)
        .args(["build", "--release", "--locked", "--quiet"]);
    cargo
}

fn finish(cargo: &mut Command) -> Result {
    let status = cargo.status().map_err(at("cargo"))?;
    if status.success() {
        Ok(())
    } else {
        failed(format!("cargo: {status}"))
    }
}

fn target_folder(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |target| root.join(target))
}
