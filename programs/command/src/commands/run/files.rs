//! The files that the environment of the program names: the configuration of OpenSSL, a copy of a library, pages of memory.
//!
//! The environment outlives this command, in services that go to the background and in programs that become another user. So it
//! names no file that another user can come to own, at any time: no file of a process (/proc/PID/fd/N), whose number may be
//! another process's later, and no file below a folder like /tmp. A file that a program may open after the end of this command
//! has a name made of its content, is written once, and stays.

use crate::streams::Failure;
use rustix::fs::{AtFlags, StatVfsMountFlags, statvfs, unlinkat};
use rustix::io::pwrite;
use sha2::{Digest, Sha256};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wellspring_interpose::repeat::is_for_root;
use wellspring_os::trusted_file::{
    Access, Directory, FileFault, FileLock, TrustedFile, check_lasting_folders, root_has_no_number,
};

/// How long a file is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// While this command runs.
    Run,
    /// For as long as any process has the environment: longer than a session of the user, whose end removes $XDG_RUNTIME_DIR.
    Environment,
}

/// A folder that only root and this user can change, as all folders above it.
pub(super) struct Folder {
    path: PathBuf,
    directory: Directory,
}

impl Folder {
    /// Finds a folder for files that are not libraries, or makes one.
    pub(super) fn find(time: Time) -> Result<Self, Failure> {
        Self::find_usable(time, |_| Ok(())).map_err(|reasons| {
            let advice = if is_for_root() {
                "make one of them, for root alone to change"
            } else {
                "let XDG_RUNTIME_DIR name a folder that only you can change"
            };
            Failure::work(format!(
                "run has no folder that no other user can change ({reasons}): {advice}, or run the program with --preload alone"
            ))
        })
    }

    /// The same. `is_usable` may refuse a folder, and says why; the error has all reasons.
    fn find_usable(
        time: Time,
        is_usable: impl Fn(&Path) -> Result<(), String>,
    ) -> Result<Self, String> {
        let mut reasons = Vec::new();
        for path in places(time) {
            let made = make(&path).map_err(|error| error.to_string());
            match made.and_then(|directory| is_usable(&path).map(|()| directory)) {
                Ok(directory) => return Ok(Self { path, directory }),
                Err(reason) => reasons.push(format!("{}: {reason}", path.display())),
            }
        }
        if reasons.is_empty() {
            return Err("neither XDG_RUNTIME_DIR nor HOME is set".into());
        }
        Err(reasons.join("; "))
    }

    /// Puts a file there whose name is made of its content, or finds it. Returns its path.
    pub(super) fn file(
        &self,
        name: &str,
        ending: &str,
        content: &[u8],
    ) -> Result<PathBuf, Failure> {
        let digest = Sha256::digest(content);
        let digits: String = digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let name = OsString::from(format!("{name}-{digits}{ending}"));
        let path = self.path.join(&name);
        if self.has(&name, content) {
            return Ok(path);
        }
        let write = || {
            let mut file = self.directory.begin_next(&name)?;
            file.write(content)?;
            // Others may read it: a program that becomes another user goes on to use it.
            file.replace(0o644)
        };
        // Another command may write it at the same moment: its file is as good as ours, as soon as it is whole.
        let mut tries = 0;
        loop {
            match write() {
                Ok(()) => return Ok(path),
                Err(_) if self.has(&name, content) => return Ok(path),
                Err(fault) if tries == MAX_TRIES => {
                    return Err(Failure::work(format!("{}: {fault}", path.display())));
                }
                Err(_) => {
                    tries += 1;
                    std::thread::sleep(BETWEEN_TRIES);
                }
            }
        }
    }

    /// Whether a file has this content, and no other user can write it.
    fn has(&self, name: &OsStr, content: &[u8]) -> bool {
        let Ok(file) = self.directory.open_file(name, Access::Read) else {
            return false;
        };
        let mut found = vec![0; content.len()];
        file.bytes() == content.len() as u64
            && !file.others_can_write()
            && file.read(&mut found).is_ok()
            && found == content
    }
}

/// The places for a folder, the best first.
fn places(time: Time) -> Vec<PathBuf> {
    if is_for_root() {
        return ["/run/wellspring/run", "/var/lib/wellspring/run"]
            .map(PathBuf::from)
            .into();
    }
    let variable = |name| env::var_os(name).map(PathBuf::from);
    let session = variable("XDG_RUNTIME_DIR");
    let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| variable("HOME").map(|home| home.join(".local/state")));
    let mut places = vec![session, state];
    if time == Time::Environment {
        places.reverse();
    }
    let places = places.into_iter().flatten();
    let absolute = places.filter(|path| path.is_absolute());
    absolute.map(|path| path.join("wellspring/run")).collect()
}

/// Opens a folder, and makes what is missing of it. Nothing is made below a folder that others can change.
fn make(path: &Path) -> Result<Directory, FileFault> {
    let system = |error: std::io::Error| {
        FileFault::System(wellspring_os::os_error::OsError::new(
            error.raw_os_error().unwrap_or(libc::EIO),
        ))
    };
    let mut missing = Vec::new();
    let mut above = path;
    while let Err(error) = fs::symlink_metadata(above) {
        match (error.kind(), above.parent()) {
            (ErrorKind::NotFound, Some(parent)) => {
                missing.push(above);
                above = parent;
            }
            _ => return Err(system(error)),
        }
    }
    check_lasting_folders(above)?;
    // Programs of other users, which root starts, read what root puts there.
    let mode = if is_for_root() { 0o755 } else { 0o700 };
    for folder in missing.into_iter().rev() {
        match DirBuilder::new().mode(mode).create(folder) {
            // Whatever the mask of this process says.
            Ok(()) => fs::set_permissions(folder, Permissions::from_mode(mode)).map_err(system)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(system(error)),
        }
    }
    check_lasting_folders(path)?;
    Directory::of(&path.join("any")).map(|(directory, _)| directory)
}

/// Returns a path of the library, or of a copy of it. No other user can come to own the path, and a list whose entries are
/// separated by spaces and colons can have it.
pub(super) fn lasting_library(library: &Path) -> Result<PathBuf, Failure> {
    let stands_in_list = |path: &Path| {
        let bytes = path.as_os_str().as_encoded_bytes();
        !bytes
            .iter()
            .any(|byte| byte.is_ascii_whitespace() || b":;$".contains(byte))
    };
    let folder = library.parent().unwrap_or(Path::new("/"));
    // In a sandbox root's libraries, as the C library, have an owner without a number.
    let is_fine = |checked: Result<(), FileFault>| match checked {
        Err(FileFault::Unmapped) => root_has_no_number(),
        checked => checked.is_ok(),
    };
    let file = TrustedFile::open(library, Access::Read).map(|_| ());
    // A file without an owner's number was refused before its mode was looked at.
    let is_closed = fs::metadata(library).is_ok_and(|status| status.mode() & 0o022 == 0);
    let is_lasting = is_closed && is_fine(check_lasting_folders(folder)) && is_fine(file);
    if is_lasting && stands_in_list(library) {
        return Ok(library.to_owned());
    }
    let is_usable = |path: &Path| match statvfs(path) {
        _ if !stands_in_list(path) => Err("a space, a colon or a $ in its name".into()),
        Ok(system) if system.f_flag.contains(StatVfsMountFlags::NOEXEC) => {
            Err("no library can be loaded from its file system (noexec)".into())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    let place = Folder::find_usable(Time::Environment, is_usable).map_err(|reasons| {
        Failure::work(format!(
            "{}: its name has a space, a colon or a $, or others can change its folder, and there is no place for a copy \
             ({reasons}): install wellspring elsewhere",
            library.display()
        ))
    })?;
    let content = fs::read(library)
        .map_err(|error| Failure::work(format!("{}: {error}", library.display())))?;
    let name = library.file_stem().unwrap_or_default().to_string_lossy();
    place.file(&name, ".so", &content)
}

/// How often a file is tried again while another command writes it, and the time in between: two seconds in all, and a second
/// more for each try that finds the file locked. That is enough for a library of some MiB on a busy machine.
const MAX_TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// A page of memory that this command shares with the program, and that is gone with this command.
pub(super) struct Page {
    folder: Folder,
    name: OsString,
    /// Held for as long as this command lives: so the next one knows what killed ones have left.
    lock: FileLock,
}

impl Page {
    pub(super) fn new() -> Result<Self, Failure> {
        let folder = Folder::find(Time::Run)?;
        folder.remove_pages_of_killed_commands();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let since_ns = since.unwrap_or_default().as_nanos();
        let mut fault = FileFault::Busy;
        for attempt in 0..100 {
            let name = format!("{PAGE}{}-{since_ns}-{attempt}", std::process::id());
            let name = OsString::from(name);
            if folder.directory.identity_of(&name).is_some() {
                continue;
            }
            match folder.directory.lock(&name) {
                Ok(lock) => {
                    // Written, not only made longer: a file system without room would end the program later.
                    let page = Self { folder, name, lock };
                    return match pwrite(&page, &[0; 4096], 0) {
                        Ok(4096) => Ok(page),
                        Ok(_) => Err(Failure::work("no room for a page")),
                        Err(error) => {
                            Err(Failure::work(format!("{}: {error}", page.path().display())))
                        }
                    };
                }
                Err(reason) => {
                    // The name has our number, so that it is ours to remove.
                    let _ = unlinkat(&folder.directory, &name, AtFlags::empty());
                    fault = reason;
                    if fault != FileFault::Busy {
                        break;
                    }
                    // Another command has taken it for what a killed one left.
                }
            }
        }
        Err(Failure::work(format!("{}: {fault}", folder.path.display())))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path.join(&self.name)
    }
}

impl AsFd for Page {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = unlinkat(&self.folder.directory, &self.name, AtFlags::empty());
    }
}

/// The beginning of the name of a page.
const PAGE: &str = "page-";

impl Folder {
    /// Programs that have such a page mapped keep it.
    fn remove_pages_of_killed_commands(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_page = name.as_encoded_bytes().starts_with(PAGE.as_bytes());
            // Held until the name is gone: else the page's maker, who may not have locked it yet, goes on with it.
            if is_page && let Ok(_lock) = self.directory.lock(&name) {
                let _ = unlinkat(&self.directory, &name, AtFlags::empty());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::gettid;
    use std::sync::mpsc::channel;

    /// How often a thread has waited.
    fn waits(thread: i32) -> u64 {
        let status = fs::read_to_string(format!("/proc/self/task/{thread}/status"));
        let status = status.unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.map_or(u64::MAX, |count| count.trim().parse().unwrap())
    }

    #[test]
    fn a_file_that_another_command_writes_is_waited_for_and_taken() {
        let path = testkit::programs::scratch("written");
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        let (directory, _) = Directory::of(&path.join("any")).unwrap();
        let folder = Folder { path, directory };
        let content = b"a library";
        let file = folder.file("x", ".so", content).unwrap();
        let name = file.file_name().unwrap();
        fs::remove_file(&file).unwrap();
        let mut next = folder.directory.begin_next(name).unwrap();
        next.write(content).unwrap();
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                tell.send(gettid().as_raw_nonzero().get()).unwrap();
                folder.file("x", ".so", content)
            });
            let thread = told.recv().unwrap();
            // One try looks for the lock 1000 times, and waits in between: it has ended, and the file is still locked.
            while waits(thread) < 1010 && !other.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            next.replace(0o644).unwrap();
            let found = other.join().unwrap().map_err(|_| "it did not wait");
            assert_eq!(found.unwrap(), file);
        });
        assert_eq!(fs::read(&file).unwrap(), content);
    }
}
