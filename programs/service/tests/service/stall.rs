//! A front end whose descriptors are files of its own file system, which never answers; and doors that take none.

use super::common::Held;
use super::common::{Folder, Service, assert_random, has_fuse};
use super::hostile_front_ends::{FrontEnd, GET_FEATURES, SET_VRING_CALL, as_user};
use super::hypervisor::{GUEST, Hypervisor};
use fuser::{
    Config, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, LockOwner, ReplyAttr,
    ReplyEmpty, ReplyEntry, ReplyStatfs, Request, SessionACL,
};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// The answers that are held back. `None`: they are given.
#[derive(Default)]
struct HeldBack {
    flushes: Vec<ReplyEmpty>,
    sizes: Vec<ReplyStatfs>,
}

/// A file system whose files can be opened. While answers are held back, close(2) and fstatfs(2) do not end.
#[derive(Clone)]
struct Silent(Arc<Mutex<Option<HeldBack>>>);

fn attributes(number: INodeNo) -> FileAttr {
    let time = SystemTime::UNIX_EPOCH;
    let is_root = number == INodeNo::ROOT;
    FileAttr {
        ino: number,
        size: 1 << 20,
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: if is_root {
            FileType::Directory
        } else {
            FileType::RegularFile
        },
        perm: 0o777,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

const LONG: Duration = Duration::from_secs(3600);

impl Filesystem for Silent {
    fn lookup(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEntry) {
        reply.entry(&LONG, &attributes(INodeNo(2)), Generation(0));
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&LONG, &attributes(number));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        match &mut *self.0.lock().unwrap() {
            Some(held) => held.flushes.push(reply),
            None => reply.ok(),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match &mut *self.0.lock().unwrap() {
            Some(held) => held.sizes.push(reply),
            None => reply.statfs(0, 0, 0, 0, 0, 512, 255, 0),
        }
    }
}

impl Silent {
    fn count(&self) -> usize {
        let held = self.0.lock().unwrap();
        held.as_ref().map_or(0, |held| held.flushes.len())
    }

    fn answer(&self) {
        // Answered outside of the lock, since the kernel asks again at once.
        let held = self.0.lock().unwrap().take();
        for reply in held.into_iter().flat_map(|held| held.flushes) {
            reply.ok();
        }
    }
}

/// Gives the answers when it is dropped, so that a test that fails can close its own files and ends.
struct AnswersAtEnd(Silent);

impl Drop for AnswersAtEnd {
    fn drop(&mut self) {
        self.0.answer();
    }
}

#[test]
fn files_whose_file_system_never_answers_stop_their_own_user_alone() {
    if !has_fuse() {
        return;
    }
    let folder = Folder::new();
    let mount = folder.path("silent");
    std::fs::create_dir(&mount).unwrap();
    let system = Silent(Arc::new(Mutex::new(Some(HeldBack::default()))));
    let mut config = Config::default();
    config.acl = SessionACL::All;
    let session = fuser::spawn_mount(system.clone(), &mount, &config).unwrap();
    let service = Service::start_in(folder, "[vhost_user]\nmode = 0o666\n");
    let mut bystander = Hypervisor::start(&service);
    assert_random(&bystander.draw());
    let before = Held::by(&service);
    // Each of another user: as memory, as a call, where no descriptor belongs, and where none is received.
    let attacks: [fn(&FrontEnd, &File); 4] = [
        |end, file| _ = end.table(&[[GUEST, 4096, 0, 0]], file),
        |end, file| _ = end.send(SET_VRING_CALL, &[0], &[file.as_fd()]),
        |end, file| _ = end.send(GET_FEATURES, &[], &[file.as_fd(); 32]),
        |end, file| _ = end.send_bytes(&[5], &[file.as_fd(); 32]),
    ];
    let open = || File::options().read(true).write(true).open(mount.join("x"));
    let files: Vec<File> = attacks.iter().map(|_| open().unwrap()).collect();
    let mut ends = Vec::new();
    // Dropped before the files, whichever line fails.
    let answers = AnswersAtEnd(system.clone());
    for (user, (attack, file)) in (65520..).zip(attacks.iter().zip(&files)) {
        let end = as_user(user, || FrontEnd::new(&service));
        attack(&end, file);
        ends.push(end);
    }
    // The service closes the first three; a table with a file that is no memory is refused before fstatfs(2).
    let until = std::time::Instant::now() + super::common::PATIENCE;
    while system.count() < 3 {
        assert!(
            std::time::Instant::now() < until,
            "{} files are closed",
            system.count()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_random(&bystander.draw());
    assert_random(&Hypervisor::start(&service).draw());
    assert_random(&as_user(65534, || Hypervisor::start(&service).draw()));
    assert_eq!(service.status()["phase"], "ready");
    drop(answers);
    drop((ends, files));
    before.wait_until_back(&service);
    drop(bystander);
    drop(service);
    session.umount_and_join().unwrap();
}

/// `SO_PASSRIGHTS` of asm-generic/socket.h, from Linux 6.16 on.
const PASS_RIGHTS: libc::c_int = 83;

fn kernel_can_refuse_descriptors() -> bool {
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut value: libc::c_int = 0;
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the descriptor is open, and the value has room for one int.
    let asked = unsafe {
        libc::getsockopt(
            one.as_raw_fd(),
            libc::SOL_SOCKET,
            PASS_RIGHTS,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    if asked != 0 {
        eprintln!("SKIPPED: this kernel has no SO_PASSRIGHTS");
    }
    asked == 0
}

#[test]
fn doors_that_want_no_descriptors_cannot_be_sent_any() {
    if !kernel_can_refuse_descriptors() {
        return;
    }
    let service = Service::start("");
    for name in ["egd.sock", "bulk.sock", "web.sock"] {
        let end = FrontEnd::elsewhere(&service, name);
        assert!(!end.send_bytes(&[2], &[end.0.as_fd()]), "{name} takes one");
        assert!(end.send_bytes(&[2], &[]), "{name} takes nothing");
    }
    let end = FrontEnd::new(&service);
    assert!(end.send_bytes(&[2], &[end.0.as_fd()]), "guests cannot");
}
