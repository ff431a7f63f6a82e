//! Plays a hypervisor with one guest: memory in a memfd, a ring of requests made by hand, messages by the crate `vhost`.

use super::common::{PATIENCE, Service};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use vhost::vhost_user::message::VhostUserHeaderFlag;
use vhost::vhost_user::{Frontend, VhostUserFrontend, VhostUserProtocolFeatures};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

pub(crate) const NEXT: u16 = 1;
pub(crate) const WRITE: u16 = 2;
pub(crate) const INDIRECT: u16 = 4;

/// The guest's memory is here for the guest, and there for the hypervisor.
pub(crate) const GUEST: u64 = 0x1_0000;
const USER: u64 = 0x7000_0000_0000;

/// Where the parts of the ring are in the memory, and where buffers begin.
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
pub(crate) const BUFFERS: u64 = 0x4000;

pub(crate) const MEMORY_BYTES: u64 = 0x4_0000;

/// The number of descriptors of the ring.
pub(crate) const RING: u16 = 64;

/// A descriptor: address for the guest, length, flags, next.
pub(crate) type Descriptor = (u64, u32, u16, u16);

pub(crate) struct Hypervisor {
    pub(crate) frontend: Frontend,
    pub(crate) memory: File,
    kick: EventFd,
    call: EventFd,
    asked: u16,
    seen: u16,
}

pub(crate) fn memfd(bytes: u64) -> File {
    let memory = File::from(memfd_create("guest", MemfdFlags::CLOEXEC).unwrap());
    memory.set_len(bytes).unwrap();
    memory
}

pub(crate) fn region(memory: &File, guest: u64, bytes: u64) -> VhostUserMemoryRegionInfo {
    VhostUserMemoryRegionInfo {
        guest_phys_addr: guest,
        memory_size: bytes,
        userspace_addr: USER + (guest - GUEST),
        mmap_offset: 0,
        mmap_handle: memory.as_raw_fd(),
    }
}

/// Connects, and agrees on features: each message after that is acknowledged.
fn connect(service: &Service) -> Frontend {
    let stream: UnixStream = service.socket("vhost-user.sock");
    let mut frontend = Frontend::from_stream(stream, 1);
    frontend.set_owner().unwrap();
    let features = frontend.get_features().unwrap();
    let offered = frontend.get_protocol_features().unwrap();
    let wanted =
        VhostUserProtocolFeatures::REPLY_ACK | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS;
    assert!(offered.contains(wanted));
    frontend.set_protocol_features(wanted).unwrap();
    frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
    frontend.set_features(features).unwrap();
    frontend
}

impl Hypervisor {
    /// A guest whose ring has started.
    pub(crate) fn start(service: &Service) -> Self {
        Self::with_memory(service, MEMORY_BYTES)
    }

    /// The same, with as much memory as this.
    pub(crate) fn with_memory(service: &Service, bytes: u64) -> Self {
        let mut guest = Self {
            frontend: connect(service),
            memory: memfd(bytes),
            kick: EventFd::new(EFD_CLOEXEC).unwrap(),
            call: EventFd::new(EFD_CLOEXEC | EFD_NONBLOCK).unwrap(),
            asked: 0,
            seen: 0,
        };
        let regions = [region(&guest.memory, GUEST, bytes)];
        guest.frontend.set_mem_table(&regions).unwrap();
        guest.restart(0);
        guest
    }

    /// Another guest, with a copy of this guest's memory, whose ring has not started.
    pub(crate) fn twin(&self, service: &Service) -> Self {
        let twin = Self {
            frontend: connect(service),
            memory: memfd(MEMORY_BYTES),
            kick: EventFd::new(EFD_CLOEXEC).unwrap(),
            call: EventFd::new(EFD_CLOEXEC | EFD_NONBLOCK).unwrap(),
            asked: self.asked,
            seen: self.seen,
        };
        twin.write(0, &self.read(0, MEMORY_BYTES as usize));
        let regions = [region(&twin.memory, GUEST, MEMORY_BYTES)];
        twin.frontend.set_mem_table(&regions).unwrap();
        twin
    }

    /// Starts the ring at this request.
    pub(crate) fn restart(&mut self, next: u16) {
        let frontend = &mut self.frontend;
        frontend.set_vring_num(0, RING).unwrap();
        frontend.set_vring_base(0, next).unwrap();
        let ring = VringConfigData {
            queue_max_size: 256,
            queue_size: RING,
            flags: 0,
            desc_table_addr: USER,
            used_ring_addr: USER + USED,
            avail_ring_addr: USER + AVAILABLE,
            log_addr: None,
        };
        frontend.set_vring_addr(0, &ring).unwrap();
        frontend.set_vring_call(0, &self.call).unwrap();
        frontend.set_vring_kick(0, &self.kick).unwrap();
        frontend.set_vring_enable(0, true).unwrap();
    }

    pub(crate) fn write(&self, at: u64, bytes: &[u8]) {
        self.memory.write_all_at(bytes, at).unwrap();
    }

    pub(crate) fn read(&self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read_exact_at(&mut bytes, at).unwrap();
        bytes
    }

    pub(crate) fn describe(&self, number: u16, (address, length, flags, next): Descriptor) {
        let mut bytes = address.to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        self.write(u64::from(number) * 16, &bytes);
    }

    /// Adds a request that begins with the descriptor `head`, without telling the service.
    pub(crate) fn add(&mut self, head: u16) {
        let place = u64::from(self.asked % RING);
        self.write(AVAILABLE + 4 + 2 * place, &head.to_le_bytes());
        self.asked = self.asked.wrapping_add(1);
        self.set_asked(self.asked);
    }

    pub(crate) fn set_asked(&self, index: u16) {
        self.write(AVAILABLE + 2, &index.to_le_bytes());
    }

    pub(crate) fn kick(&self) {
        self.kick.write(1).unwrap();
    }

    /// The number of requests that the service has completed.
    pub(crate) fn completed(&self) -> u16 {
        let index = self.read(USED + 2, 2);
        u16::from_le_bytes([index[0], index[1]])
    }

    /// Waits until one more request is completed, and returns its head and its length.
    pub(crate) fn wait(&mut self) -> (u32, u32) {
        let until = Instant::now() + PATIENCE;
        while self.completed() == self.seen {
            assert!(Instant::now() < until, "the request is not completed");
            std::thread::sleep(Duration::from_millis(1));
        }
        let place = u64::from(self.seen % RING);
        let entry = self.read(USED + 4 + 8 * place, 8);
        self.seen = self.seen.wrapping_add(1);
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| entry[at + byte]));
        (word(0), word(4))
    }

    /// Sends one request of these descriptors, and returns the number of bytes that came.
    pub(crate) fn ask(&mut self, descriptors: &[Descriptor]) -> u32 {
        for (number, descriptor) in (0..).zip(descriptors) {
            self.describe(number, *descriptor);
        }
        self.add(0);
        self.kick();
        let (head, length) = self.wait();
        assert_eq!(head, 0);
        length
    }

    /// Asks for 64 bytes, and returns them.
    pub(crate) fn draw(&mut self) -> Vec<u8> {
        self.write(BUFFERS, &[0; 64]);
        assert_eq!(self.ask(&[(GUEST + BUFFERS, 64, WRITE, 0)]), 64);
        self.read(BUFFERS, 64)
    }

    /// Waits until the service has told the guest of completed requests.
    pub(crate) fn wait_for_call(&self) {
        let until = Instant::now() + PATIENCE;
        while self.call.read().is_err() {
            assert!(Instant::now() < until, "the guest was not called");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Waits until the service closes the connection.
pub(crate) fn wait_for_end(frontend: &Frontend) {
    let until = Instant::now() + PATIENCE;
    while !is_closed(frontend) {
        assert!(Instant::now() < until, "the connection is still open");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the other end has closed it.
fn is_closed(frontend: &Frontend) -> bool {
    // SAFETY: `frontend` keeps the descriptor open during the call.
    let stream = unsafe { BorrowedFd::borrow_raw(frontend.as_raw_fd()) };
    let mut polled = [PollFd::from_borrowed_fd(stream, PollFlags::RDHUP)];
    let now = Timespec::default();
    poll(&mut polled, Some(&now)).is_ok()
        && polled[0]
            .revents()
            .intersects(PollFlags::RDHUP | PollFlags::HUP)
}
