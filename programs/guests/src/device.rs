//! The virtio device of one guest: what the messages of vhost-user set.

use super::limits::Pass;
use super::memory::{MAX_REGIONS, Memory};
use rustix::event::epoll::{self, EventData, EventFlags};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserProtocolFeatures, VhostUserShMemConfig,
    VhostUserSharedMsg, VhostUserSingleMemoryRegion, VhostUserVirtioFeatures,
    VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{Error, GpuBackend, Result, VhostUserBackendReqHandlerMut};
use virtio_queue::{Queue, QueueT};

/// The most requests that a guest may have open. QEMU's device has 4.
const MAX_QUEUE: u16 = 256;

/// VIRTIO_F_VERSION_1: a device as the standard describes it.
const VERSION_1: u64 = 1 << 32;

/// The features that the device offers.
const FEATURES: u64 = VERSION_1 | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();

/// The protocol features that it offers. The crate `vhost` adds REPLY_ACK.
const PROTOCOL_FEATURES: VhostUserProtocolFeatures = VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS;

/// The base that the crate `vhost` returns for a region in migrations by post-copy, which the device does not offer.
type Base = u64;

/// The event descriptor by which a guest says that there are requests. The worker's epoll watches it.
#[derive(Debug)]
struct Kick {
    file: File,
    epoll: Arc<OwnedFd>,
}

impl Drop for Kick {
    fn drop(&mut self) {
        // Closing is not enough: the other end has the same file open, and the epoll would go on reporting it.
        let _ = epoll::delete(&*self.epoll, &self.file);
    }
}

/// The device of one guest.
pub(super) struct Device {
    /// The guest's memory.
    pub(super) memory: Memory,
    /// The ring of requests.
    pub(super) queue: Queue,
    kick: Option<Kick>,
    call: Option<File>,
    features: u64,
    is_enabled: bool,
    epoll: Arc<OwnedFd>,
    key: u64,
    pass: Pass,
}

impl Device {
    /// A device whose requests `epoll` reports with this key, and whose memory counts for `pass`.
    ///
    /// # Panics
    ///
    /// Never: [`MAX_QUEUE`] is a power of two.
    pub(super) fn new(epoll: Arc<OwnedFd>, key: u64, pass: Pass) -> Self {
        Self {
            memory: Memory::default(),
            queue: Queue::new(MAX_QUEUE).expect("a power of two"),
            kick: None,
            call: None,
            features: 0,
            is_enabled: false,
            epoll,
            key,
            pass,
        }
    }

    /// Whether the guest may send requests.
    pub(super) fn is_running(&self) -> bool {
        self.is_enabled && self.queue.ready()
    }

    /// The event descriptor by which the guest learns that requests are completed.
    pub(super) fn call(&self) -> Option<&File> {
        self.call.as_ref()
    }

    fn stop(&mut self) {
        self.kick = None;
        self.queue.set_ready(false);
    }

    fn reset(&mut self) {
        self.stop();
        self.queue.reset();
        self.call = None;
        self.features = 0;
        self.is_enabled = false;
    }

    /// Starts the ring: as the kernel's vhost does, it goes on where the used ring says.
    fn start(&mut self) -> Result<()> {
        self.queue.set_ready(true);
        let queue = &self.queue;
        let used = self.memory.guard(|memory| {
            let is_valid = queue.is_valid(memory);
            let used = queue.used_idx(memory, core::sync::atomic::Ordering::Acquire);
            is_valid.then_some(used.ok()).flatten()
        });
        // The three parts of the ring: the guest can move them with each message.
        self.memory.touch(3).map_err(Error::ReqHandlerError)?;
        match used.flatten() {
            Some(used) => self.queue.set_next_used(used.0),
            None => {
                self.stop();
                return Err(Error::InvalidParam);
            }
        }
        if self.features & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits() == 0 {
            self.is_enabled = true;
        }
        Ok(())
    }
}

/// The device has one ring: any other number is wrong.
fn only_first(index: u32) -> Result<()> {
    if index == 0 {
        Ok(())
    } else {
        Err(Error::InvalidParam)
    }
}

/// Accepts event descriptors alone: the other end could serve a file of another kind itself, and stop this thread.
fn event_descriptor(file: File) -> Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let target = std::fs::read_link(path).map_err(Error::ReqHandlerError)?;
    if target.as_os_str() == "anon_inode:[eventfd]" {
        Ok(file)
    } else {
        Err(Error::InvalidParam)
    }
}

/// Messages about what the device does not offer.
macro_rules! refused {
    ($($message:ident($($argument:ty),*) -> $answer:ty;)*) => {
        $(fn $message(&mut self, $(_: $argument),*) -> Result<$answer> {
            Err(Error::InvalidOperation("the device does not offer this"))
        })*
    };
}

impl VhostUserBackendReqHandlerMut for Device {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        self.reset();
        Ok(())
    }

    fn reset_device(&mut self) -> Result<()> {
        self.reset();
        Ok(())
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(FEATURES)
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !FEATURES != 0 {
            return Err(Error::InvalidParam);
        }
        self.features = features;
        Ok(())
    }

    fn set_mem_table(
        &mut self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _postcopy: Option<bool>,
    ) -> Result<Option<Vec<Base>>> {
        // What is replaced counts no more, and is not mapped twice.
        self.memory = Memory::default();
        for (region, file) in regions.iter().zip(files) {
            let added = self.memory.add(*region, &file, &self.pass);
            added.map_err(Error::ReqHandlerError)?;
        }
        Ok(None)
    }

    fn set_vring_num(&mut self, index: u32, num: u32) -> Result<()> {
        only_first(index)?;
        let size = u16::try_from(num).map_err(|_| Error::InvalidParam)?;
        let set = self.queue.try_set_size(size);
        set.map_err(|_| Error::InvalidParam)
    }

    fn set_vring_addr(
        &mut self,
        index: u32,
        _flags: VhostUserVringAddrFlags,
        descriptor: u64,
        used: u64,
        available: u64,
        _log: u64,
    ) -> Result<()> {
        only_first(index)?;
        let find = |user| self.memory.translate(user).ok_or(Error::InvalidParam);
        let (descriptor, used, available) = (find(descriptor)?, find(used)?, find(available)?);
        let queue = &mut self.queue;
        let set = queue
            .try_set_desc_table_address(descriptor)
            .and_then(|()| queue.try_set_avail_ring_address(available))
            .and_then(|()| queue.try_set_used_ring_address(used));
        set.map_err(|_| Error::InvalidParam)
    }

    fn set_vring_base(&mut self, index: u32, base: u32) -> Result<()> {
        only_first(index)?;
        let base = u16::try_from(base).map_err(|_| Error::InvalidParam)?;
        self.queue.set_next_avail(base);
        Ok(())
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        only_first(index)?;
        self.stop();
        let next = self.queue.next_avail();
        Ok(VhostUserVringState::new(index, next.into()))
    }

    fn set_vring_kick(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        only_first(index.into())?;
        self.kick = None;
        // Without a descriptor the device would have to poll the ring all the time.
        let file = event_descriptor(fd.ok_or(Error::InvalidParam)?)?;
        let epoll = self.epoll.clone();
        // Edge-triggered: each event wakes the worker once, and the worker need not read the descriptor.
        let flags = EventFlags::IN | EventFlags::ET;
        let key = EventData::new_u64(self.key);
        epoll::add(&*epoll, &file, key, flags)
            .map_err(|error| Error::ReqHandlerError(error.into()))?;
        self.kick = Some(Kick { file, epoll });
        self.start()
    }

    fn set_vring_call(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        only_first(index.into())?;
        self.call = fd.map(event_descriptor).transpose()?;
        Ok(())
    }

    fn set_vring_err(&mut self, index: u8, _fd: Option<File>) -> Result<()> {
        only_first(index.into())
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        Ok(PROTOCOL_FEATURES)
    }

    fn set_protocol_features(&mut self, _features: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(1)
    }

    fn set_vring_enable(&mut self, index: u32, enable: bool) -> Result<()> {
        only_first(index)?;
        self.is_enabled = enable;
        Ok(())
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        Ok(MAX_REGIONS as u64)
    }

    fn add_mem_region(
        &mut self,
        region: &VhostUserSingleMemoryRegion,
        file: File,
        _postcopy: Option<bool>,
    ) -> Result<Option<Base>> {
        let added = self.memory.add(**region, &file, &self.pass);
        added.map(|()| None).map_err(Error::ReqHandlerError)
    }

    fn remove_mem_region(&mut self, region: &VhostUserSingleMemoryRegion) -> Result<()> {
        let is_removed = self
            .memory
            .remove(region.guest_phys_addr, region.memory_size);
        is_removed.then_some(()).ok_or(Error::InvalidParam)
    }

    refused! {
        get_config(u32, u32, VhostUserConfigFlags) -> Vec<u8>;
        set_config(u32, &[u8], VhostUserConfigFlags) -> ();
        set_gpu_socket(GpuBackend) -> ();
        get_shared_object(VhostUserSharedMsg) -> File;
        get_inflight_fd(&VhostUserInflight) -> (VhostUserInflight, File);
        set_inflight_fd(&VhostUserInflight, File) -> ();
        set_device_state_fd(VhostTransferStateDirection, VhostTransferStatePhase, File) -> Option<File>;
        check_device_state() -> ();
        get_shmem_config() -> VhostUserShMemConfig;
        set_log_base(&VhostUserLog, File) -> ();
    }
}
