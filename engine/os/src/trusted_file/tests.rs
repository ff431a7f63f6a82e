use super::*;
use crate::os_error::OsError;
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::path::PathBuf;

/// A private directory that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("wellspring-trusted-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, "content").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn open(&self) -> Directory {
        Directory::of(&self.0.join("any")).unwrap().0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fault(path: &Path) -> Option<FileFault> {
    TrustedFile::open(path, Access::Read).err()
}

#[test]
fn a_file_of_ours_is_read_to_its_end() {
    let folder = Folder::new("read");
    let file = TrustedFile::open(&folder.file("x", 0o644), Access::Read).unwrap();
    let mut buffer = [0; 64];
    assert_eq!(file.read(&mut buffer), Ok(7));
    assert_eq!(&buffer[..7], b"content");
    assert_eq!(file.bytes(), 7);
    assert!(!file.is_secret());
    assert_eq!(
        folder.open().identity_of("x".as_ref()),
        Some(file.identity())
    );
}

#[test]
fn what_could_be_another_users_is_refused_by_name() {
    let folder = Folder::new("refused");
    let path = |name: &str| folder.0.join(name);
    let ours = folder.file("ours", 0o600);
    symlink(&ours, path("link")).unwrap();
    assert_eq!(fault(&path("link")), Some(FileFault::Link));
    symlink("nowhere", path("dangling")).unwrap();
    assert_eq!(fault(&path("dangling")), Some(FileFault::Link));
    assert_eq!(fault(&folder.0), Some(FileFault::NotAFile));
    assert_eq!(fault(Path::new("/dev/null")), Some(FileFault::NotAFile));
    assert_eq!(fault(Path::new("..")), Some(FileFault::NotAFile));
    let none = FileFault::System(OsError::new(libc::ENOENT));
    assert_eq!(fault(&path("none")), Some(none));
    for (mode, wanted) in [
        (0o600, None),
        (0o644, None),
        (0o620, Some(FileFault::Exposed)),
        (0o602, Some(FileFault::Exposed)),
    ] {
        assert_eq!(fault(&folder.file("mode", mode)), wanted, "{mode:o}");
    }
    // A pipe without a writer: to open it must not wait.
    let pipe = path("pipe");
    let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
    // SAFETY: the pointer is to a name with its end.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o400) }, 0);
    assert_eq!(fault(&pipe), Some(FileFault::NotAFile));
}

#[test]
fn a_file_of_another_user_is_refused_unless_that_is_root() {
    let folder = Folder::new("owner");
    let path = folder.file("x", 0o644);
    if std::os::unix::fs::chown(&path, Some(1234), None).is_err() {
        println!("SKIPPED: needs the right to give files away");
        return;
    }
    assert_eq!(fault(&path), Some(FileFault::Owner));
}

#[test]
fn a_secret_file_has_one_name_and_one_reader() {
    let folder = Folder::new("secret");
    let open = |path: &Path| TrustedFile::open(path, Access::ReadWrite).unwrap();
    let path = folder.file("x", 0o600);
    assert!(open(&path).is_secret());
    fs::hard_link(&path, folder.0.join("y")).unwrap();
    assert!(!open(&path).is_secret());
    assert!(!open(&folder.file("z", 0o640)).is_secret());
}

#[test]
fn a_directory_that_others_can_write_is_not_private() {
    let folder = Folder::new("private");
    assert_eq!(folder.open().is_private(), Ok(true));
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(folder.open().is_private(), Ok(false));
}

#[test]
fn one_process_holds_a_lock_and_none_that_can_only_read() {
    let folder = Folder::new("lock");
    let (directory, name) = (folder.open(), OsStr::new("lock"));
    let lock = directory.lock(name).unwrap();
    assert_eq!(directory.lock(name).err(), Some(FileFault::Busy));
    drop(lock);
    drop(directory.lock(name).unwrap());
    assert!(folder.0.join("lock").exists());
    let path = folder.0.join("lock");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(directory.lock(name).err(), Some(FileFault::Exposed));
}

#[test]
fn a_next_file_replaces_the_present_one_or_is_gone() {
    let folder = Folder::new("next");
    let (directory, name) = (folder.open(), OsStr::new("x"));
    let next = || fs::exists(folder.0.join(".x.next")).unwrap();
    let content = || fs::read_to_string(folder.0.join("x")).unwrap();
    folder.file("x", 0o644);
    let mut given_up = directory.begin_next(name).unwrap();
    given_up.write(b"half").unwrap();
    assert!(next());
    drop(given_up);
    assert!(!next() && content() == "content");

    let mut first = directory.begin_next(name).unwrap();
    assert!(!first.removed_stale());
    first.write(b"new").unwrap();
    first.replace(0o640).unwrap();
    assert!(!next() && content() == "new");
    let mode = fs::metadata(folder.0.join("x"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o640);
}

#[test]
fn what_a_killed_process_left_is_removed_and_a_link_is_not_followed() {
    let folder = Folder::new("stale");
    let (directory, name) = (folder.open(), OsStr::new("x"));
    let victim = folder.file("victim", 0o600);
    folder.file(".x.next", 0o600);
    assert!(directory.begin_next(name).unwrap().removed_stale());
    symlink(&victim, folder.0.join(".x.next")).unwrap();
    let mut next = directory.begin_next(name).unwrap();
    assert!(next.removed_stale());
    next.write(b"new").unwrap();
    next.replace(0o600).unwrap();
    assert_eq!(fs::read_to_string(victim).unwrap(), "content");
}

#[test]
fn two_that_replace_a_file_do_it_one_after_the_other() {
    let folder = Folder::new("turns");
    let (directory, name) = (folder.open(), OsStr::new("x"));
    let first = directory.begin_next(name).unwrap();
    assert_eq!(directory.begin_next(name).err(), Some(FileFault::Busy));
    drop(first);
    assert!(directory.begin_next(name).is_ok());
}

#[cfg(target_os = "linux")]
#[test]
fn where_a_file_cannot_be_locked_that_is_an_error_at_once() {
    use testkit::filter::{Forbidden, forbid};
    let folder = Folder::new("without-locks");
    let (directory, name) = (folder.open(), OsStr::new("x"));
    let faults = std::thread::scope(|scope| {
        let without_locks = || {
            forbid(&[libc::SYS_flock], Forbidden::Fails(libc::ENOLCK)).then(|| {
                let next = directory.begin_next(name).map(|_| ());
                [next, directory.lock(name).map(|_| ())]
            })
        };
        scope.spawn(without_locks).join().unwrap()
    });
    let Some(faults) = faults else {
        testkit::skipped("no filter of system calls can be installed");
        return;
    };
    let fault = FileFault::System(OsError::new(libc::ENOLCK));
    assert_eq!(faults, [Err(fault), Err(fault)]);
    assert!(!fs::exists(folder.0.join(".x.next")).unwrap());
}

/// The system would end the process by SIGXFSZ.
#[test]
fn a_next_file_beyond_the_limit_of_the_process_is_an_error_and_the_present_one_stays() {
    let folder = Folder::new("limit");
    let path = folder.file("x", 0o600);
    let directory = folder.open();
    let mut next = directory.begin_next(OsStr::new("x")).unwrap();
    // SAFETY: the child makes system calls and no allocation, and ends with _exit.
    let status = unsafe {
        let pid = libc::fork();
        if pid == 0 {
            let limit = libc::rlimit {
                rlim_cur: 5,
                rlim_max: 5,
            };
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            let wanted = Err(FileFault::from(Errno::FBIG));
            let is_right = next.write(b"four").is_ok() && next.write(b"more") == wanted;
            libc::_exit(i32::from(!is_right));
        }
        let mut status = 0;
        libc::waitpid(pid, &raw mut status, 0);
        status
    };
    assert_eq!(status, 0, "{status:x}: 19 is SIGXFSZ");
    drop(next);
    assert_eq!(fs::read(path).unwrap(), b"content");
}

/// In a user namespace without a map of users, files of every user look as if they were the process's own.
#[cfg(target_os = "linux")]
#[test]
fn an_owner_without_a_number_in_the_user_namespace_is_a_fault_of_its_own() {
    let folder = Folder::new("unmapped");
    let path = folder.file("x", 0o644);
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    // SAFETY: the child makes system calls and no allocation, and ends with _exit.
    let status = unsafe {
        let pid = libc::fork();
        if pid == 0 {
            let code = if libc::unshare(libc::CLONE_NEWUSER) != 0 {
                2
            } else if fault(&path) == Some(FileFault::Unmapped) {
                0
            } else {
                1
            };
            libc::_exit(code);
        }
        let mut status = 0;
        libc::waitpid(pid, &raw mut status, 0);
        status
    };
    match libc::WEXITSTATUS(status) {
        2 => println!("SKIPPED: no user namespace can be made here"),
        code => assert!(libc::WIFEXITED(status) && code == 0, "{status:x}"),
    }
}

#[test]
fn a_path_is_split_into_its_directory_and_its_name() {
    use super::split;
    for (path, directory, name) in [
        (
            "/run/wellspring/generation",
            "/run/wellspring",
            "generation",
        ),
        ("/generation", "/", "generation"),
        ("generation", ".", "generation"),
        ("run/generation//", "run", "generation"),
        ("//run//generation", "//run/", "generation"),
        ("/", ".", ""),
        ("", ".", ""),
        ("run/..", "run", ".."),
    ] {
        let (found_directory, found_name) = split(path.as_bytes());
        assert_eq!(found_directory, directory.as_bytes(), "{path}");
        assert_eq!(found_name, name.as_bytes(), "{path}");
    }
    for path in ["", "/", ".", "..", "run/.."] {
        let refused = Directory::of(Path::new(path)).map(|_| ());
        assert_eq!(refused, Err(FileFault::NotAFile), "{path}");
    }
}

#[test]
fn a_folder_that_another_user_can_change_or_replace_is_refused() {
    let folder = Folder::new("folders");
    let inner = folder.0.join("inner");
    fs::create_dir(&inner).unwrap();
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let found = |path: &Path| check_folders(path, None).err();
    assert_eq!(found(&inner), None);
    assert_eq!(found(&folder.0.join("inner/../inner")), None);
    // In a folder like /tmp a folder of ours stays ours, and a new file in it may be another user's.
    for (mode, of_inner, of_itself) in [
        (0o777, Some(FileFault::Exposed), Some(FileFault::Exposed)),
        (0o720, Some(FileFault::Exposed), Some(FileFault::Exposed)),
        (0o1777, None, Some(FileFault::Exposed)),
    ] {
        set(&folder.0, mode);
        assert_eq!(found(&inner), of_inner, "{mode:o}");
        assert_eq!(found(&folder.0), of_itself, "{mode:o}");
    }
    symlink("inner", folder.0.join("link")).unwrap();
    let link = folder.0.join("link");
    assert_eq!(found(&link), Some(FileFault::Link), "in a folder like /tmp");
    set(&folder.0, 0o755);
    assert_eq!(found(&link), None);
    set(&inner, 0o777);
    assert_eq!(found(&link), Some(FileFault::Exposed), "behind a link");
    let file = folder.file("file", 0o600);
    assert_eq!(found(&file), Some(FileFault::NotAFile));
    symlink("loop", folder.0.join("loop")).unwrap();
    assert_eq!(found(&folder.0.join("loop")), Some(FileFault::Link));
    if std::os::unix::fs::chown(&folder.0, Some(1234), None).is_err() {
        return println!("SKIPPED: needs the right to give files away");
    }
    set(&inner, 0o700);
    assert_eq!(found(&inner), Some(FileFault::Owner), "above it");
    assert_eq!(check_folders(&inner, Some(1234)), Ok(()));
    assert_eq!(check_folders(&inner, Some(1235)), Err(FileFault::Owner));
}

/// In a folder like /tmp another user can take the name of a folder as soon as its owner has removed it.
#[test]
fn a_name_that_another_user_can_come_to_own_is_refused() {
    let folder = Folder(testkit::programs::scratch("lasting"));
    let inner = folder.0.join("inner");
    fs::create_dir(&inner).unwrap();
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let found = |path: &Path| check_lasting_folders(path).err();
    // The tests' own folder may be below one like /tmp.
    if found(&folder.0).is_some() {
        return println!("SKIPPED: {} is in a shared folder", folder.0.display());
    }
    assert_eq!(found(&inner), None);
    let link = folder.0.join("link");
    symlink("inner", &link).unwrap();
    assert_eq!(found(&link), None);
    set(&folder.0, 0o1777);
    assert_eq!(check_folders(&inner, None), Ok(()));
    assert_eq!(
        found(&inner),
        Some(FileFault::Exposed),
        "below one like /tmp"
    );
    set(&folder.0, 0o755);
    set(&inner, 0o770);
    for path in [&inner, &link] {
        assert_eq!(found(path), Some(FileFault::Exposed), "for its group");
    }
    set(&inner, 0o700);
    let missing = found(&folder.0.join("missing"));
    assert!(matches!(missing, Some(FileFault::System(_))));
    if std::os::unix::fs::chown(&folder.0, Some(1234), None).is_err() {
        return println!("SKIPPED: needs the right to give files away");
    }
    assert_eq!(
        found(&inner),
        Some(FileFault::Owner),
        "below another user's"
    );
}

/// The first to listen has the name: an attacker may choose what a client gets there.
#[cfg(target_os = "linux")]
#[test]
fn a_socket_on_which_another_user_listens_is_refused_unless_its_folder_vouches_for_it() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let folder = Folder::new("listener");
    let path = folder.0.join("x.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let check = || check_listener(UnixStream::connect(&path).unwrap(), &path);
    assert_eq!(check(), Ok(()));
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(check(), Ok(()), "ours, in any folder");
    // listen(2) by another user: the kernel notes the user who listens.
    // SAFETY: the child makes system calls and no allocation, and ends with _exit.
    let status = unsafe {
        use std::os::fd::AsRawFd;
        let pid = libc::fork();
        if pid == 0 {
            let changed = libc::setresuid(1234, 1234, 1234) == 0;
            let listens = libc::listen(listener.as_raw_fd(), 8) == 0;
            libc::_exit(i32::from(!changed || !listens));
        }
        let mut status = 0;
        libc::waitpid(pid, &raw mut status, 0);
        status
    };
    if status != 0 {
        return println!("SKIPPED: needs the right to become another user");
    }
    assert_eq!(check(), Err(FileFault::Exposed));
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(check(), Ok(()), "only we can have put it there");
}

/// A thread that finds the next file before its maker has locked it may remove it, but not once its maker has the lock.
#[test]
fn the_next_file_stays_until_its_maker_is_done() {
    use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
    let folder = Folder::new("makers");
    let is_held = AtomicBool::new(false);
    let take_turns = || {
        let directory = folder.open();
        let mut turns = 0;
        while turns < 2000 {
            let mut next = match directory.begin_next(OsStr::new("seed")) {
                Ok(next) => next,
                // The others had all turns of a second.
                Err(FileFault::Busy) => continue,
                Err(fault) => panic!("{fault}"),
            };
            assert!(!is_held.swap(true, SeqCst), "two threads at once");
            next.write(b"content").unwrap();
            let name = directory.identity_of(OsStr::new(".seed.next"));
            let file = rustix::fs::fstat(&next).unwrap();
            assert_eq!(name, Some((&file).into()));
            is_held.store(false, SeqCst);
            turns += 1;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(take_turns);
        }
    });
}
