//! The mount point, and why it cannot be one.

use super::random_files::{MAX_READ_BYTES, RandomFiles};
use core::fmt;
use fuser::{Config, MountOption, Session, SessionACL};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The source that the mount table shows.
const SOURCE: &str = "wellspring";

/// The reason why the files cannot be mounted.
#[derive(Debug)]
pub enum MountFault {
    /// There is no `/dev/fuse`.
    NoFuse,
    /// This process may not mount.
    NotPermitted,
    /// Another file system is mounted there; this is its kind.
    Occupied(String),
    /// The mount point is no folder, or cannot be made or looked at.
    Folder(io::Error),
    /// There are files in the folder, which the mount would hide.
    NotEmpty,
    /// The kernel refused.
    Refused(io::Error),
    /// The process that unmounts could not be started.
    Guardian(io::Error),
}

impl fmt::Display for MountFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFuse => f.write_str("there is no /dev/fuse: load the kernel module fuse"),
            Self::NotPermitted => f.write_str("mounting needs root (CAP_SYS_ADMIN)"),
            Self::Occupied(kind) => write!(f, "the mount point is in use: {kind} is mounted there"),
            Self::Folder(error) => write!(f, "the mount point: {error}"),
            Self::NotEmpty => f.write_str("the mount point has files in it, which would be hidden"),
            Self::Refused(error) => write!(f, "the kernel refused to mount: {error}"),
            Self::Guardian(error) => write!(f, "no process to unmount with: {error}"),
        }
    }
}

impl core::error::Error for MountFault {}

/// Mounts the files.
pub(super) fn mount(
    path: &Path,
    files: RandomFiles,
    threads: usize,
) -> Result<Session<RandomFiles>, MountFault> {
    if !Path::new("/dev/fuse").exists() {
        return Err(MountFault::NoFuse);
    }
    clear(path)?;
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(SOURCE.into()),
        MountOption::DefaultPermissions,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::NoExec,
        MountOption::NoAtime,
        MountOption::CUSTOM(format!("max_read={MAX_READ_BYTES}")),
    ];
    config.acl = SessionACL::All;
    // All threads wait on one descriptor: with one for each, two readers were 20 % slower.
    config.n_threads = Some(threads);
    Session::new(files, path, &config).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => MountFault::NotPermitted,
        _ if !rustix::process::geteuid().is_root() => MountFault::NotPermitted,
        _ => MountFault::Refused(error),
    })
}

/// Makes the folder if its parent is there, and removes what a dead service left mounted.
fn clear(path: &Path) -> Result<(), MountFault> {
    if let Some(found) = mounted_at(path).map_err(MountFault::Folder)? {
        let is_dead =
            fs::read_dir(path).is_err_and(|error| error.kind() == ErrorKind::NotConnected);
        if !found.is_ours() || !is_dead {
            return Err(MountFault::Occupied(found.kind));
        }
        tracing::warn!("{}: unmounted what a dead service left", path.display());
        let unmounted = unmount(path, UnmountFlags::DETACH);
        unmounted.map_err(|error| MountFault::Refused(error.into()))?;
    }
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(MountFault::Folder(error));
        }
        _ => {}
    }
    let mut entries = fs::read_dir(path).map_err(MountFault::Folder)?;
    if entries.next().is_some() {
        return Err(MountFault::NotEmpty);
    }
    Ok(())
}

/// One line of the mount table.
pub(super) struct Mounted {
    /// Major and minor number, which no other mount has.
    pub(super) device: String,
    kind: String,
    source: String,
}

impl Mounted {
    /// Whether a service mounted it: this one, or one that is dead.
    pub(super) fn is_ours(&self) -> bool {
        self.kind.starts_with("fuse") && self.source == SOURCE
    }
}

/// The uppermost mount at `path`.
pub(super) fn mounted_at(path: &Path) -> io::Result<Option<Mounted>> {
    let path = std::path::absolute(path)?;
    // Resolves the parent alone: the folder itself cannot be resolved if its file system is dead.
    let path = match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path,
    };
    let table = fs::read("/proc/self/mountinfo")?;
    Ok(find(&table, &path))
}

/// The device number of what programs find at `path`, as in the table. It is not asked of the file system: that would wait
/// for the threads of this service.
pub(super) fn device_at(path: &Path) -> Result<String, Errno> {
    let found = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::empty())?;
    Ok(format!("{}:{}", found.stx_dev_major, found.stx_dev_minor))
}

/// The last line of the table for `path`: see proc(5) for its fields.
fn find(table: &[u8], path: &Path) -> Option<Mounted> {
    let lines = table.split(|byte| *byte == b'\n');
    let mut found = None;
    for line in lines {
        let mut fields = line.split(|byte| *byte == b' ');
        let device = fields.nth(2);
        let point = fields.nth(1).map(unescaped);
        if point.as_deref() != Some(path.as_os_str().as_bytes()) {
            continue;
        }
        let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
        let text =
            |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        found = Some(Mounted {
            device: text(device),
            kind: text(rest.next()),
            source: text(rest.next()),
        });
    }
    found
}

/// A field without its escapes: a space is `\040`.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        let escape = match (byte, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        if escape.is_some() {
            rest = &tail[3..];
        }
        plain.push(escape.unwrap_or(*byte));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uppermost_mount_is_found_and_spaces_in_names_are_understood() {
        let table = b"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw\n\
            37 36 0:57 / /mnt\\0402 rw,nosuid - fuse wellspring rw\n\
            38 36 0:58 / /mnt rw - tmpfs x rw\n";
        let found = find(table, Path::new("/mnt 2")).unwrap();
        assert!(found.is_ours());
        assert_eq!(found.device, "0:57");
        let other = find(table, Path::new("/mnt")).unwrap();
        assert!(!other.is_ours());
        assert_eq!(other.kind, "tmpfs");
        assert!(find(table, Path::new("/mnt2")).is_none());
    }
}
