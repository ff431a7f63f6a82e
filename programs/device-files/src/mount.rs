//! The mount point, why it cannot be one, and the process that unmounts when the service has ended.

use super::random_files::MAX_READ_BYTES;
use super::random_files::RandomFiles;
use fuser::{Config, MountOption, Session, SessionACL};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, open, statx};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount_remount, unmount};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The source that the mount table shows.
const SOURCE: &str = "wellspring";

/// The reason why the files cannot be mounted, in a line.
pub type MountFault = String;

fn at_mount_point(error: io::Error) -> MountFault {
    format!("the mount point: {error}")
}

fn refused(error: io::Error) -> MountFault {
    format!("the kernel refused to mount: {error}")
}

pub(super) fn mount(
    path: &Path,
    files: RandomFiles,
    threads: usize,
) -> Result<Session<RandomFiles>, MountFault> {
    if !Path::new("/dev/fuse").exists() {
        return Err("there is no /dev/fuse: load the kernel module fuse".into());
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
    let session = Session::new(files, path, &config).map_err(|error| {
        let is_root = rustix::process::geteuid().is_root();
        if error.kind() == ErrorKind::PermissionDenied || !is_root {
            return "mounting needs root (CAP_SYS_ADMIN)".into();
        }
        refused(error)
    })?;
    // A service that was taken over could show links, and a program of root would write where they lead. From Linux 5.10 on
    // none is followed. The change of a mount has all of its flags.
    let flags = MountFlags::BIND
        | MountFlags::NOSYMFOLLOW
        | MountFlags::NOSUID
        | MountFlags::NODEV
        | MountFlags::NOEXEC
        | MountFlags::NOATIME;
    let _ = mount_remount(path, flags, c"");
    Ok(session)
}

/// Makes the folder if its parent is there, and removes what a dead service left mounted.
fn clear(path: &Path) -> Result<(), MountFault> {
    if let Some(found) = mounted_at(path).map_err(at_mount_point)? {
        let is_dead =
            fs::read_dir(path).is_err_and(|error| error.kind() == ErrorKind::NotConnected);
        if !found.is_ours() || !is_dead {
            let kind = found.kind;
            return Err(format!(
                "the mount point is in use: {kind} is mounted there"
            ));
        }
        log::warn!("{}: unmounted what a dead service left", path.display());
        let unmounted = unmount(path, UnmountFlags::DETACH);
        unmounted.map_err(|error| refused(error.into()))?;
    }
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(at_mount_point(error));
        }
        _ => {}
    }
    let mut entries = fs::read_dir(path).map_err(at_mount_point)?;
    if entries.next().is_some() {
        return Err("the mount point has files in it, which would be hidden".into());
    }
    Ok(())
}

/// One line of the mount table.
struct Mounted {
    /// Major and minor number, which no other mount has.
    pub(super) device: String,
    kind: String,
    source: String,
}

impl Mounted {
    /// Whether a service mounted it: this service, or a dead one.
    fn is_ours(&self) -> bool {
        self.kind.starts_with("fuse") && self.source == SOURCE
    }
}

/// The uppermost mount at `path`.
fn mounted_at(path: &Path) -> io::Result<Option<Mounted>> {
    let path = std::path::absolute(path)?;
    let mount = match mount_of(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        mount => mount?,
    };
    if path.parent().map(mount_of).transpose()?.as_ref() == Some(&mount) {
        return Ok(None);
    }
    let table = fs::read("/proc/self/mountinfo")?;
    Ok(find(&String::from_utf8_lossy(&table), &mount))
}

/// The number of the mount in which the file at `path` is. It is not asked of the file system, which may be dead.
fn mount_of(path: &Path) -> io::Result<String> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty())?;
    let facts = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()))?;
    let number = facts.lines().find_map(|line| line.strip_prefix("mnt_id:"));
    number
        .map(|number| number.trim().to_owned())
        .ok_or(ErrorKind::Unsupported.into())
}

/// The device number of what programs find at `path`, as in the table. It is not asked of the file system: that would wait
/// for the threads of this service.
fn device_at(path: &Path) -> Result<String, Errno> {
    let found = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::empty())?;
    Ok(format!("{}:{}", found.stx_dev_major, found.stx_dev_minor))
}

/// The mount of this number in the table: see proc(5) for its fields.
fn find(table: &str, mount: &str) -> Option<Mounted> {
    let is_this = |line: &&str| line.split(' ').next() == Some(mount);
    let (place, system) = table.lines().find(is_this)?.split_once(" - ")?;
    let mut system = system.split(' ').map(str::to_owned);
    Some(Mounted {
        device: place.split(' ').nth(2)?.into(),
        kind: system.next()?,
        source: system.next()?,
    })
}

// A process that unmounts the files when the service has ended, also by `kill -9`. Without it every later read of the
// mount would fail until an operator unmounts. The service cannot do it: it has given up the right to unmount.

/// The option by which the service starts itself as a guardian.
const OPTION: &str = "--unmount-at-end";

/// The guardian of a mount.
#[derive(Debug)]
pub struct Guardian {
    process: Child,
    path: PathBuf,
    /// The device number of the mount that it guards. Empty before that.
    device: String,
}

impl Guardian {
    /// Starts it, before anything is opened: between fork(2) and exec(2) the new process has copies of all descriptors. If
    /// the service were killed then, they would keep its sockets in use.
    pub fn start(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(OPTION).arg(&path);
        // Its input ends when the service ends, since the service alone holds the other end of the pipe.
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        // Ctrl-C in a terminal reaches the service alone.
        let process = command.process_group(0).spawn()?;
        Ok(Self {
            process,
            path,
            device: String::new(),
        })
    }

    /// Tells the guardian which mount to unmount: the mount that is there now.
    pub(super) fn guard(&mut self) -> io::Result<()> {
        let mounted = mounted_at(&self.path)?.ok_or(io::ErrorKind::NotFound)?;
        self.device = mounted.device;
        let input = self.process.stdin.as_mut();
        input
            .ok_or(io::ErrorKind::BrokenPipe)?
            .write_all(self.device.as_bytes())
    }

    /// Whether programs no longer find the mount: it was unmounted or covered by another, or its connection was cut.
    pub(super) fn has_lost_mount(&self) -> bool {
        match device_at(&self.path) {
            Ok(device) => device != self.device,
            Err(error) => matches!(error, Errno::NOENT | Errno::NOTCONN),
        }
    }

    /// Unmounts, and does not wait for that.
    fn start_to_unmount(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Unmounts, and waits until that is done. Returns `false` if it failed, as when the guardian was killed.
    pub(super) fn unmount(&mut self) -> bool {
        self.start_to_unmount();
        self.process.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.unmount();
    }
}

/// Runs the guardian: waits for the end of standard input, then unmounts `path` if the mount there still has the device
/// number that came by standard input.
///
/// # Errors
///
/// The reason why it was not unmounted.
pub fn unmount_at_end(path: &Path) -> io::Result<()> {
    let mut device = String::new();
    io::stdin().read_to_string(&mut device)?;
    let is_this = |mounted: &Mounted| mounted.is_ours() && mounted.device == device;
    if mounted_at(path)?.as_ref().is_some_and(is_this) {
        // By force: readers that have a file open get an error at once, and the service's threads end.
        unmount(path, UnmountFlags::FORCE | UnmountFlags::DETACH)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_found_by_its_number_and_a_folder_in_another_mount_is_none() {
        let table = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw\n\
            37 36 0:57 / /mnt\\0402 rw,nosuid - fuse wellspring rw\n";
        let found = find(table, "37").unwrap();
        assert!(found.is_ours());
        assert_eq!(found.device, "0:57");
        let other = find(table, "36").unwrap();
        assert!(!other.is_ours());
        assert_eq!(other.kind, "ext3");
        assert!(find(table, "3").is_none());
        let proc = mounted_at(Path::new("/proc")).unwrap();
        assert_eq!(proc.unwrap().kind, "proc");
        assert!(mounted_at(Path::new("/proc/self")).unwrap().is_none());
        assert!(mounted_at(Path::new("/absent")).unwrap().is_none());
    }
}
