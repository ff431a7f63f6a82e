//! All that a hostile front end can send, a row for each idea. Nothing of it may end the service or stay in it.

use super::common::{Held, PATIENCE, Service, assert_random, is_root};
use super::hypervisor::{GUEST, Hypervisor, memfd};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create, open};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
const PAGE: u64 = 4096;

/// The answer of the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Then {
    /// It closes the connection.
    Closes,
    /// It answers on this connection.
    Answers,
    /// It closes the connection or answers.
    Any,
    /// It waits for the rest of a message.
    Waits,
}
use Then::{Answers, Any, Closes, Waits};

fn huge(bytes: u64) -> File {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
    match memfd_create("huge", flags) {
        Ok(file) => {
            let file = File::from(file);
            file.set_len(bytes).unwrap();
            file
        }
        Err(error) => {
            eprintln!("SKIPPED: there are no files of huge pages: {error}");
            File::open("/dev/null").unwrap()
        }
    }
}

fn sealed(seals: SealFlags) -> File {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create("sealed", flags).unwrap());
    file.set_len(MIB).unwrap();
    fcntl_add_seals(&file, seals).unwrap();
    file
}

fn opened(path: &str, flags: OFlags) -> OwnedFd {
    open(path, flags | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// A memory that is opened in another way.
fn reopened(flags: OFlags) -> OwnedFd {
    let file = memfd(MIB);
    opened(&format!("/proc/self/fd/{}", file.as_raw_fd()), flags)
}

fn event() -> OwnedFd {
    eventfd(0, EventfdFlags::CLOEXEC).unwrap()
}

/// A region of `bytes` at `offset` of a file.
fn at(offset: u64, bytes: u64) -> [Region; 1] {
    [[GUEST, bytes, TIB, offset]]
}

/// Regions of a page that do not overlap.
fn side_by_side(count: u64) -> Vec<Region> {
    let place = |number| [GUEST + number * PAGE, PAGE, TIB + number * PAGE, 0];
    (0..count).map(place).collect()
}

/// Sends a message that wants one descriptor, with this one.
fn event_by(end: &FrontEnd, code: u32, file: impl AsFd) {
    end.send(code, &[0], &[file.as_fd()]);
}

fn files<'a>(file: &'a impl AsFd, count: usize) -> Vec<BorrowedFd<'a>> {
    vec![file.as_fd(); count]
}

/// A table of one region, of a file that is no memory.
fn no_memory(end: &FrontEnd, file: impl AsFd) {
    end.table(&at(0, PAGE), &file);
}

type Row = (&'static str, Then, fn(&FrontEnd));

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Huge pages. None need be free: they are mapped and not touched.
    ("huge: an offset within a page", Closes, |end| { end.table(&at(PAGE, 2 * MIB), &huge(4 * MIB)); }),
    ("huge: an offset of half a page", Closes, |end| { end.table(&at(MIB, 2 * MIB), &huge(4 * MIB)); }),
    ("huge: a length of a small page", Closes, |end| { end.table(&at(0, PAGE), &huge(2 * MIB)); }),
    ("huge: a length of one and a half", Closes, |end| { end.table(&at(0, 3 * MIB), &huge(4 * MIB)); }),
    ("huge: added, within a page", Closes, |end| { end.agree(); end.add_region(at(0, PAGE)[0], &huge(2 * MIB)); }),
    ("huge: a ring in a part of a page", Closes, |end| { end.agree(); end.table(&at(0, PAGE), &huge(2 * MIB)); end.ring(TIB); }),
    // It is cut off where no page is free, and works where one is.
    ("huge: a ring", Any, |end| { end.agree(); end.table(&at(0, 2 * MIB), &huge(2 * MIB)); end.ring(TIB); }),
    ("huge: many times, within a page", Closes, |end| for _ in 0..1000 { end.table(&at(0, PAGE), &huge(2 * MIB)); }),
    // Small pages.
    ("a length of a byte", Closes, |end| { end.table(&at(0, 1), &memfd(MIB)); }),
    ("a length of a page and a byte", Closes, |end| { end.table(&at(0, PAGE + 1), &memfd(MIB)); }),
    ("an offset of a byte", Closes, |end| { end.table(&at(1, PAGE), &memfd(MIB)); }),
    ("no length", Closes, |end| { end.table(&at(0, 0), &memfd(MIB)); }),
    ("a length around the end of all numbers", Closes, |end| { end.table(&at(PAGE, u64::MAX - PAGE + 1), &memfd(MIB)); }),
    ("a length of all numbers", Closes, |end| { end.table(&at(0, u64::MAX - PAGE + 1), &memfd(MIB)); }),
    ("an offset at the end of all numbers", Closes, |end| { end.table(&at(u64::MAX - PAGE + 1, PAGE), &memfd(MIB)); }),
    ("a negative offset", Closes, |end| { end.table(&at(1 << 63, PAGE), &memfd(MIB)); }),
    ("more than the file has", Closes, |end| { end.table(&at(0, 2 * MIB), &memfd(MIB)); }),
    ("beyond the file", Closes, |end| { end.table(&at(MIB, PAGE), &memfd(MIB)); }),
    ("an empty file", Closes, |end| { end.table(&at(0, PAGE), &memfd(0)); }),
    ("more than 1 TiB", Closes, |end| { end.table(&at(0, TIB + PAGE), &memfd(2 * TIB)); }),
    ("two of 1 TiB", Closes, |end| { end.table(&[[GUEST, TIB, 0, 0], [2 * TIB, TIB, TIB, 0]], &memfd(TIB)); }),
    ("at the end of the guest's addresses", Closes, |end| { end.table(&[[u64::MAX - PAGE + 1, 2 * PAGE, 0, 0]], &memfd(MIB)); }),
    ("at the end of the front end's addresses", Closes, |end| {
        end.table(&[[GUEST, 2 * PAGE, u64::MAX - PAGE + 1, 0]], &memfd(MIB));
    }),
    ("two that are the same", Closes, |end| { end.table(&[at(0, PAGE)[0]; 2], &memfd(MIB)); }),
    ("two that overlap", Closes, |end| {
        end.table(&[[GUEST, 2 * PAGE, TIB, 0], [GUEST + PAGE, PAGE, 2 * TIB, 0]], &memfd(MIB));
    }),
    ("32 are allowed", Answers, |end| { end.table(&side_by_side(32), &memfd(MIB)); }),
    ("33 are not", Closes, |end| { end.table(&side_by_side(33), &memfd(MIB)); }),
    ("a table again and again", Answers, |end| for _ in 0..500 { end.table(&side_by_side(32), &memfd(MIB)); }),
    ("added and taken away again and again", Answers, |end| { end.agree(); for _ in 0..500 {
        let [region] = at(0, PAGE);
        end.add_region(region, &memfd(MIB));
        end.send(REM_MEM_REG, &[0, region[0], region[1], region[2], region[3]], &[]);
    } }),
    ("33 are added", Closes, |end| { end.agree(); for region in side_by_side(33) { end.add_region(region, &memfd(MIB)); } }),
    ("one is taken away that was not added", Closes, |end| {
        end.agree();
        end.send(REM_MEM_REG, &[0, GUEST, PAGE, TIB, 0], &[]);
    }),
    ("one is taken away by half", Closes, |end| {
        end.agree();
        end.add_region(at(0, 2 * PAGE)[0], &memfd(MIB));
        end.send(REM_MEM_REG, &[0, GUEST, PAGE, TIB, 0], &[]);
    }),
    ("it shrinks after it was mapped", Answers, |end| {
        let file = memfd(MIB);
        end.table(&at(0, MIB), &file);
        end.is_closed();
        file.set_len(0).unwrap();
    }),
    // Files that are no memory.
    ("/dev/zero", Closes, |end| no_memory(end, opened("/dev/zero", OFlags::RDWR))),
    ("/dev/null", Closes, |end| no_memory(end, opened("/dev/null", OFlags::RDWR))),
    ("a pipe", Closes, |end| no_memory(end, std::io::pipe().unwrap().1)),
    ("a folder of tmpfs", Closes, |end| no_memory(end, opened("/dev", OFlags::RDONLY | OFlags::CLOEXEC))),
    ("a folder", Closes, |end| no_memory(end, opened("/", OFlags::RDONLY | OFlags::CLOEXEC))),
    ("memory of a process", Closes, |end| no_memory(end, opened("/proc/self/mem", OFlags::RDWR))),
    ("a file of /proc", Closes, |end| no_memory(end, opened("/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC))),
    ("a file of /sys", Closes, |end| no_memory(end, opened("/sys/devices/system/cpu/online", OFlags::RDONLY | OFlags::CLOEXEC))),
    ("a file of a disk", Closes, |end| no_memory(end, File::open(std::env::current_exe().unwrap()).unwrap())),
    ("an eventfd", Closes, |end| no_memory(end, event())),
    ("an epoll", Closes, |end| no_memory(end, epoll::create(epoll::CreateFlags::CLOEXEC).unwrap())),
    ("its own connection", Closes, |end| no_memory(end, &end.0)),
    ("memory that may only be read", Closes, |end| no_memory(end, reopened(OFlags::RDONLY | OFlags::CLOEXEC))),
    ("memory that may only be written", Closes, |end| no_memory(end, reopened(OFlags::WRONLY))),
    ("memory that is only a path", Closes, |end| no_memory(end, reopened(OFlags::PATH))),
    ("memory sealed against writes", Closes, |end| no_memory(end, sealed(SealFlags::WRITE))),
    ("memory sealed against later writes", Closes, |end| no_memory(end, sealed(SealFlags::FUTURE_WRITE))),
    ("memory sealed as QEMU does it", Answers, |end| {
        no_memory(end, sealed(SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL));
    }),
    // Descriptors where none, or others, belong.
    ("descriptors that no message wants", Closes, |end| { end.send(GET_FEATURES, &[], &files(&event(), 32)); }),
    ("more descriptors than are taken", Closes, |end| {
        end.send(SET_MEM_TABLE, &[1, GUEST, PAGE, TIB, 0], &files(&memfd(MIB), MOST_FILES));
    }),
    ("more descriptors than regions", Closes, |end| {
        end.send(SET_MEM_TABLE, &[1, GUEST, PAGE, TIB, 0], &files(&memfd(MIB), 2));
    }),
    ("fewer descriptors than regions", Closes, |end| {
        end.send(SET_MEM_TABLE, &[2, GUEST, PAGE, TIB, 0, TIB, PAGE, 0, 0], &files(&memfd(MIB), 1));
    }),
    ("no descriptor", Closes, |end| { end.send(SET_MEM_TABLE, &[1, GUEST, PAGE, TIB, 0], &[]); }),
    ("no descriptor, added", Closes, |end| { end.agree(); end.send(ADD_MEM_REG, &[0, GUEST, PAGE, TIB, 0], &[]); }),
    ("descriptors with the second half", Closes, |end| {
        let bytes = message(SET_MEM_TABLE, &[1, GUEST, PAGE, TIB, 0]);
        end.send_bytes(&bytes[..12], &[]);
        end.send_bytes(&bytes[12..], &files(&memfd(MIB), 1));
    }),
    ("descriptors with each byte", Waits, |end| for byte in message(SET_MEM_TABLE, &[1, GUEST, PAGE, TIB, 0]) {
        end.send_bytes(&[byte], &files(&memfd(MIB), MOST_FILES));
    }),
    ("a descriptor for a log", Closes, |end| event_by(end, SET_LOG_FD, event())),
    ("a kick that is a pipe", Closes, |end| event_by(end, SET_VRING_KICK, std::io::pipe().unwrap().0)),
    ("a kick that is memory", Closes, |end| event_by(end, SET_VRING_KICK, memfd(MIB))),
    ("a kick before the ring", Closes, |end| event_by(end, SET_VRING_KICK, event())),
    ("a kick without a descriptor", Closes, |end| { end.send(SET_VRING_KICK, &[0x100], &[]); }),
    ("a call that is the connection", Closes, |end| event_by(end, SET_VRING_CALL, &end.0)),
    ("a call that is an epoll", Closes, |end| event_by(end, SET_VRING_CALL, epoll::create(epoll::CreateFlags::CLOEXEC).unwrap())),
    ("a call of another ring", Closes, |end| { end.send(SET_VRING_CALL, &[1], &files(&event(), 1)); }),
    ("calls again and again", Answers, |end| for _ in 0..500 { event_by(end, SET_VRING_CALL, event()); }),
    ("errors again and again", Answers, |end| for _ in 0..500 { event_by(end, SET_VRING_ERR, event()); }),
    // Halves.
    ("nothing", Waits, |_| {}),
    ("a byte", Waits, |end| { end.send_bytes(&[5], &[]); }),
    ("a byte and descriptors", Waits, |end| { end.send_bytes(&[5], &files(&memfd(MIB), MOST_FILES)); }),
    ("half a table and descriptors", Waits, |end| {
        let bytes = message(SET_MEM_TABLE, &[1, GUEST, PAGE, TIB, 0]);
        end.send_bytes(&bytes[..30], &files(&memfd(MIB), 1));
    }),
];

fn assert_lives(service: &Service, bystander: &mut Hypervisor, name: &str) {
    let mut egd = service.socket("egd.sock");
    egd.write_all(&[2, 16]).unwrap();
    let mut bytes = [0; 16];
    let read = egd.read_exact(&mut bytes);
    assert!(read.is_ok(), "{name}: {read:?}: {}", service.log());
    assert_random(&bystander.draw());
}

#[test]
fn nothing_that_a_front_end_sends_ends_the_service_or_stays_in_it() {
    let service = Service::start("");
    let mut bystander = Hypervisor::start(&service);
    assert_lives(&service, &mut bystander, "before");
    // Root alone sees what a process has that lets none look into it.
    let before = is_root().then(|| Held::by(&service));
    for (name, then, attack) in ROWS {
        eprintln!("{name}");
        let end = FrontEnd::new(&service);
        attack(&end);
        match then {
            Closes => assert!(end.is_closed(), "{name}: it goes on"),
            Answers => assert!(!end.is_closed(), "{name}: it ends"),
            Any => _ = end.is_closed(),
            Waits => {}
        }
        assert_lives(&service, &mut bystander, name);
    }
    // All of them at once, and while the halves wait.
    let mut open = Vec::new();
    for (name, _, attack) in ROWS {
        let end = FrontEnd::new(&service);
        attack(&end);
        assert_lives(&service, &mut bystander, name);
        open.push(end);
    }
    drop(open);
    if let Some(before) = before {
        before.wait_until_back(&service);
    }
    let log = service.log();
    assert!(
        !log.contains("stays mapped") && !log.contains("panic"),
        "{log}"
    );
}

// A front end of vhost-user that sends what it likes: messages made by hand, with descriptors of any kind.

/// The numbers of messages.
pub(crate) const GET_FEATURES: u32 = 1;
pub(crate) const SET_FEATURES: u32 = 2;
pub(crate) const SET_OWNER: u32 = 3;
pub(crate) const SET_MEM_TABLE: u32 = 5;
pub(crate) const SET_LOG_FD: u32 = 7;
pub(crate) const SET_VRING_NUM: u32 = 8;
pub(crate) const SET_VRING_ADDR: u32 = 9;
pub(crate) const SET_VRING_KICK: u32 = 12;
pub(crate) const SET_VRING_CALL: u32 = 13;
pub(crate) const SET_VRING_ERR: u32 = 14;
pub(crate) const SET_PROTOCOL_FEATURES: u32 = 16;
pub(crate) const ADD_MEM_REG: u32 = 37;
pub(crate) const REM_MEM_REG: u32 = 38;

/// A region: the guest's address, the length, the front end's address, and where it begins in its file.
pub(crate) type Region = [u64; 4];

/// The most descriptors that Linux sends with one message.
pub(crate) const MOST_FILES: usize = 253;

pub(crate) struct FrontEnd(pub(crate) UnixStream);

impl FrontEnd {
    /// Connects, and waits for the first answer, as all front ends do. The service may have closed the connection.
    pub(crate) fn new(service: &Service) -> Self {
        let new = Self(service.socket("vhost-user.sock"));
        new.is_closed();
        new
    }

    /// Sends bytes and descriptors. Returns whether that was possible: the service may have closed the connection.
    pub(crate) fn send_bytes(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> bool {
        let mut room = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !files.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(files)));
        }
        let part = [IoSlice::new(bytes)];
        sendmsg(&self.0, &part, &mut control, SendFlags::NOSIGNAL).is_ok()
    }

    /// A connection to another socket, which takes no messages of vhost-user.
    pub(crate) fn elsewhere(service: &Service, name: &str) -> Self {
        Self(service.socket(name))
    }

    pub(crate) fn send(&self, code: u32, body: &[u64], files: &[BorrowedFd<'_>]) -> bool {
        self.send_bytes(&message(code, body), files)
    }

    /// Agrees on the features that messages for regions need.
    pub(crate) fn agree(&self) {
        self.send(SET_OWNER, &[], &[]);
        self.send(SET_FEATURES, &[(1 << 32) | (1 << 30)], &[]);
        // CONFIGURE_MEM_SLOTS.
        self.send(SET_PROTOCOL_FEATURES, &[1 << 15], &[]);
    }

    /// Sends a table of regions, each with this file.
    pub(crate) fn table(&self, regions: &[Region], file: &impl AsFd) -> bool {
        let files = vec![file.as_fd(); regions.len()];
        let mut body = vec![regions.len() as u64];
        body.extend(regions.iter().flatten());
        self.send(SET_MEM_TABLE, &body, &files)
    }

    pub(crate) fn add_region(&self, region: Region, file: &impl AsFd) -> bool {
        let body: Vec<u64> = core::iter::once(0).chain(region).collect();
        self.send(ADD_MEM_REG, &body, &[file.as_fd()])
    }

    /// Describes a ring of 8 requests in the first 2 KiB of the front end's addresses from `user` on, and starts it.
    pub(crate) fn ring(&self, user: u64) {
        self.send(SET_VRING_NUM, &[8 << 32], &[]);
        // The number of the ring and flags; descriptors, used, available; no log.
        self.send(SET_VRING_ADDR, &[0, user, user + 1024, user + 512, 0], &[]);
        let kick = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        self.send(SET_VRING_KICK, &[0], &[kick.as_fd()]);
    }

    /// Waits until the service has handled all messages: it has closed the connection, or answers another message.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        if !self.send(GET_FEATURES, &[], &[]) {
            return true;
        }
        let mut answer = [0; 20];
        match (&self.0).read_exact(&mut answer) {
            Ok(()) => false,
            Err(error) => {
                let kind = error.kind();
                let is_late = kind == std::io::ErrorKind::WouldBlock;
                assert!(!is_late, "the service neither answers nor ends: {error}");
                true
            }
        }
    }
}

/// The head of a message and its body.
pub(crate) fn message(code: u32, body: &[u64]) -> Vec<u8> {
    // Its flags are its version: 1.
    let head = [code, 1, 8 * body.len() as u32];
    let head = head.iter().flat_map(|word| word.to_ne_bytes());
    let body = body.iter().flat_map(|word| word.to_ne_bytes());
    head.chain(body).collect()
}

/// Does something as this user of the system. Needs root.
pub(crate) fn as_user<T: Send>(user: u32, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let user = Uid::from_raw(user);
            set_thread_res_uid(user, user, user).unwrap();
            work()
        });
        worker.join().unwrap()
    })
}
