//! The files that every guest has: busybox, and an init that runs commands from the serial line.

use super::cache::Cache;
use super::initramfs::Initramfs;
use super::outcome::{Result, at};
use super::packages::Apt;
use super::shell::END;
use std::fs;
use std::path::{Path, PathBuf};

/// Mounts what programs expect, then runs each line of the serial line in one shell. Standard error goes to the
/// serial line too, so an answer includes its errors.
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
stty -F /dev/ttyS1 raw -echo
exec </dev/ttyS1 >/dev/ttyS1 2>&1
echo =ready
while read -r line; do
    eval "$line"
    echo "=ended $?"
done
"#;

/// The files of a guest.
#[derive(Clone)]
pub(crate) struct Files {
    initramfs: Initramfs,
}

impl Files {
    /// Busybox and the init.
    pub(crate) fn fetch(cache: &Cache) -> Result<Self> {
        debug_assert!(INIT.contains(END));
        let busybox = busybox(cache)?;
        let mut initramfs = Initramfs::new();
        for folder in ["bin", "dev", "proc", "sys", "tmp", "run", "mnt"] {
            initramfs.folder(folder);
        }
        initramfs.copy("bin/busybox", &busybox)?;
        initramfs.link("bin/sh", "busybox");
        initramfs.program("init", INIT.as_bytes());
        Ok(Self { initramfs })
    }

    /// Copies a file of this machine to a path of the guest.
    pub(crate) fn copy(mut self, path: &str, from: &Path) -> Result<Self> {
        self.initramfs.copy(path, from)?;
        Ok(self)
    }

    /// Copies these files to a folder of the guest. They keep their names.
    pub(crate) fn collect(mut self, path: &str, from: &[PathBuf]) -> Result<Self> {
        self.initramfs.folder(path);
        for file in from {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            self.initramfs.copy(&format!("{path}/{name}"), file)?;
        }
        Ok(self)
    }

    /// Adds a folder of the guest with these contents. The names begin with 00-, 01-, .. in this order.
    pub(crate) fn contents(mut self, path: &str, files: &[(String, Vec<u8>)]) -> Self {
        self.initramfs.folder(path);
        for (number, (name, bytes)) in files.iter().enumerate() {
            self.initramfs
                .program(&format!("{path}/{number:02}-{name}"), bytes);
        }
        self
    }

    /// Adds a script to the guest's `/bin`.
    pub(crate) fn script(mut self, name: &str, text: &str) -> Self {
        self.initramfs
            .program(&format!("bin/{name}"), text.as_bytes());
        self
    }

    /// Writes the archive.
    pub(crate) fn write(self, path: PathBuf) -> Result<PathBuf> {
        fs::write(&path, self.initramfs.finish()).map_err(at(path.display()))?;
        Ok(path)
    }
}

/// Busybox: a shell and the usual tools in one static program.
pub(super) fn busybox(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.once("busybox", |folder| {
        Apt::new(folder, &["bookworm"])?.unpack(["busybox-static"], folder)
    })?;
    Ok(folder.join("bin/busybox"))
}
