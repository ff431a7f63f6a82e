//! A guest's memory: the regions that the other end gives to map, and what happens when it cuts them off.

use super::limits::{Part, Pass};
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use parking_lot::Mutex;
use rustix::fs::{fcntl_get_seals, fstat, fstatfs};
use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap, mremap, munlock, munmap};
use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use vhost::vhost_user::message::VhostUserMemoryRegion;
use vm_memory::{GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion};

/// The most regions of one guest: what QEMU assumes where a device does not say.
pub(super) const MAX_REGIONS: usize = 32;

/// The most memory of one guest: 1 TiB.
const MAX_GUEST_BYTES: u64 = 1 << 40;

/// The pages that requests may touch until the regions are mapped anew. Each can be in a page table of its own: of 4 KiB,
/// for 2 MiB of memory. Without this the page tables of 1 TiB take 2 GiB.
const MAX_TOUCHED: usize = 256;

#[derive(Default)]
pub(super) struct Memory {
    /// The regions as virtio sees them. They point into the mappings, and are dropped first.
    view: GuestMemoryMmap,
    regions: Regions,
    /// The pages that requests have touched since the regions were mapped, at most: a page counts each time.
    touched: usize,
    /// Dropped last: memory counts until it is unmapped.
    parts: Vec<(VhostUserMemoryRegion, Part)>,
}

impl Memory {
    /// Does `work` on the memory. Returns `None` if the other end has cut some of it off.
    pub(super) fn guard<T>(&self, work: impl FnOnce(&GuestMemoryMmap) -> T) -> Option<T> {
        self.regions.guard(|| work(&self.view))
    }

    /// Adds a region, which counts for `pass`. Refuses a region that overlaps another, or that exceeds a limit.
    pub(super) fn add(
        &mut self,
        place: VhostUserMemoryRegion,
        file: &File,
        pass: &Pass,
    ) -> io::Result<()> {
        let total: u64 = self.parts.iter().map(|(place, _)| place.memory_size).sum();
        let is_too_much = place.memory_size > MAX_GUEST_BYTES - total.min(MAX_GUEST_BYTES);
        if self.parts.len() == MAX_REGIONS || is_too_much {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let part = pass.take(place.memory_size);
        let part = part.ok_or(io::ErrorKind::QuotaExceeded)?;
        let mapping = Mapping::new(file, place.mmap_offset, place.memory_size)?;
        self.view = with_region(&self.view, place, &mapping)?;
        self.regions.mapped.push(mapping);
        self.parts.push((place, part));
        Ok(())
    }

    /// Notes that a request, or a start of the ring, has touched at most this number of pages. After [`MAX_TOUCHED`] the
    /// regions are mapped anew, which frees their page tables.
    pub(super) fn touch(&mut self, pages: usize) -> io::Result<()> {
        self.touched += pages;
        if self.touched <= MAX_TOUCHED {
            return Ok(());
        }
        self.touched = 0;
        let (mut view, mut all_again) = (GuestMemoryMmap::default(), Vec::new());
        for (mapping, (place, _)) in self.regions.mapped.iter().zip(&self.parts) {
            let again = (!mapping.is_huge()).then(|| mapping.again()).transpose()?;
            view = with_region(&view, *place, again.as_ref().unwrap_or(mapping))?;
            all_again.push(again);
        }
        // Before what the old view points into is unmapped.
        self.view = view;
        for (mapping, again) in self.regions.mapped.iter_mut().zip(all_again) {
            if let Some(again) = again {
                *mapping = again;
            }
        }
        Ok(())
    }

    /// Removes a region. Returns whether there was one.
    pub(super) fn remove(&mut self, guest: u64, bytes: u64) -> bool {
        let Ok((view, _)) = self.view.remove_region(GuestAddress(guest), bytes) else {
            return false;
        };
        self.view = view;
        // The regions, their mappings and their parts are in the same order.
        if let Some(place) = self
            .parts
            .iter()
            .position(|(at, _)| at.guest_phys_addr == guest)
        {
            self.regions.mapped.remove(place);
            self.parts.remove(place);
        }
        true
    }

    /// The guest's address for an address of the other end.
    pub(super) fn translate(&self, user: u64) -> Option<GuestAddress> {
        self.parts.iter().find_map(|(place, _)| {
            let offset = user.checked_sub(place.user_addr)?;
            let is_inside = offset < place.memory_size;
            is_inside.then(|| GuestAddress(place.guest_phys_addr + offset))
        })
    }
}

/// A view with one more region, which points into this mapping.
fn with_region(
    view: &GuestMemoryMmap,
    place: VhostUserMemoryRegion,
    mapping: &Mapping,
) -> io::Result<GuestMemoryMmap> {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    let from = mapping.from().as_ptr();
    // SAFETY: the range is mapped, and stays so until `Memory` has dropped the view.
    let region = unsafe { MmapRegion::build_raw(from, mapping.bytes(), access, flags) };
    let region = region.map_err(io::Error::other)?;
    let region = GuestRegionMmap::new(region, GuestAddress(place.guest_phys_addr));
    let region = region.ok_or(io::ErrorKind::InvalidInput)?;
    view.insert_region(Arc::new(region))
        .map_err(io::Error::other)
}

// A region of a guest's memory, mapped.

/// A region of a file of tmpfs or hugetlbfs, mapped until this is dropped. It keeps no descriptor.
#[derive(Debug)]
struct Mapping {
    from: NonNull<u8>,
    bytes: usize,
    /// The size of a page: huge pages have their own.
    page_bytes: usize,
    is_huge: bool,
}

// SAFETY: the mapping belongs to the process, and this type reads and writes none of its bytes.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes of a file from `offset` on. The other end may send a file of any kind, and cut it off. Refused are
    /// a file of another kind, a shorter one, and a region that does not begin and end at a page.
    fn new(file: &File, offset: u64, bytes: u64) -> io::Result<Self> {
        // Only files of tmpfs and hugetlbfs have seals (a memfd is such a file), and the kernel alone answers. With a
        // file of another kind the other end could serve each access itself (FUSE), even fstat(2), and stop this thread.
        fcntl_get_seals(file)?;
        let end = offset.checked_add(bytes);
        let is_inside = end.is_some_and(|end| fstat(file).is_ok_and(|at| end <= at.st_size as u64));
        // hugetlbfs gives the size of its huge pages. Linux maps a part of one, and refuses to unmap it.
        let system = fstatfs(file)?;
        let page = system.f_bsize as u64;
        let is_whole = [offset, bytes]
            .iter()
            .all(|at| at.checked_rem(page) == Some(0));
        if !is_inside || !is_whole {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses the addresses, so no other mapping is replaced. No reference to the bytes is made.
        let at = unsafe { mmap(null_mut(), bytes, access, flags, file, offset)? };
        let mapping = Self {
            from: NonNull::new(at.cast()).ok_or(io::ErrorKind::InvalidInput)?,
            bytes,
            page_bytes: page as usize,
            is_huge: system.f_type == libc::HUGETLBFS_MAGIC,
        };
        // The service locks its memory (`mlockall`). The guest's memory stays as the hypervisor wants it.
        // SAFETY: the range is the mapping that was just made; unlocking changes no byte of it.
        let _ = unsafe { munlock(at, bytes) };
        Ok(mapping)
    }

    /// The same bytes, mapped a second time at other addresses: with page tables that have no page yet.
    fn again(&self) -> io::Result<Self> {
        // SAFETY: an old length of 0 leaves this mapping as it is, and makes another one of the same file (mremap(2)).
        // The kernel chooses its addresses.
        let at = unsafe { mremap(self.as_ptr(), 0, self.bytes, MremapFlags::MAYMOVE)? };
        Ok(Self {
            from: NonNull::new(at.cast()).ok_or(io::ErrorKind::InvalidInput)?,
            ..*self
        })
    }

    /// Whether it has huge pages, whose page tables are small.
    fn is_huge(&self) -> bool {
        self.is_huge
    }

    fn as_ptr(&self) -> *mut c_void {
        self.from.as_ptr().cast()
    }

    fn from(&self) -> NonNull<u8> {
        self.from
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the page of an address begins, and its length in bytes. `None` if the address is not in this mapping.
    fn page_of(&self, address: usize) -> Option<(usize, usize)> {
        let offset = address.checked_sub(self.from.as_ptr() as usize)?;
        (offset < self.bytes).then(|| (address - offset % self.page_bytes, self.page_bytes))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this object made the mapping and ends with it; `Memory` drops what points into it first.
        let unmapped = unsafe { munmap(self.as_ptr(), self.bytes) };
        if let Err(error) = unmapped {
            log::error!("a guest's memory stays mapped: {error}");
        }
    }
}

// A guest's memory that the other end cuts off while the service uses it.
//
// The memory is a file that both ends have mapped. If the other end truncates it, an access beyond its new end raises
// SIGBUS, which would end the service. So does an access to a huge page that the system cannot give. The handler maps
// zeros over the page, and notes that memory is lost.
//
// Copies by system calls (preadv(2), pwritev(2)) would need no handler. They do not serve: no call writes to a file of
// hugetlbfs, and none promises that the two bytes of a ring's index change at once.

/// The mapped regions of one guest.
#[derive(Debug, Default)]
struct Regions {
    mapped: Vec<Mapping>,
    is_lost: AtomicBool,
}

thread_local! {
    /// The regions that this thread works on now.
    static CURRENT: Cell<*const Regions> = const { Cell::new(core::ptr::null()) };
}

/// The action before ours. Rust's runtime set it, to look for overflows of a stack.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

impl Regions {
    /// Does `work` on the memory. Returns `None` if a region was lost, now or earlier.
    fn guard<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.set(core::ptr::null());
            }
        }
        let reset = Reset;
        CURRENT.set(self);
        let done = work();
        drop(reset);
        (!self.is_lost.load(Relaxed)).then_some(done)
    }
}

/// Installs the handler, once in a process.
pub(super) fn install_handler() -> io::Result<()> {
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock();
    if BEFORE.get().is_some() {
        return Ok(());
    }
    // SAFETY: an action of zeros is one without flags; sigemptyset fills its mask; the handler has the type that
    // SA_SIGINFO asks for.
    unsafe {
        let mut before: libc::sigaction = core::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, core::ptr::null(), &raw mut before) != 0 {
            return Err(io::Error::last_os_error());
        }
        let _ = BEFORE.set(before);
        let mut action: libc::sigaction = core::mem::zeroed();
        libc::sigemptyset(&raw mut action.sa_mask);
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        action.sa_sigaction = on_sigbus as *const () as usize;
        if libc::sigaction(libc::SIGBUS, &raw const action, null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The handler. It makes system calls alone, takes no lock and allocates nothing.
extern "C" fn on_sigbus(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel gives a valid `info`, whose address field SIGBUS sets. `CURRENT` is null or points to regions
    // that `guard` borrows on this thread. The new mapping replaces a page of a mapping that this process made for the
    // guest, and to which no Rust reference exists.
    unsafe {
        let address = (*info).si_addr() as usize;
        if let Some(regions) = CURRENT.get().as_ref() {
            let mut mapped = regions.mapped.iter();
            let hit = mapped.find_map(|mapping| mapping.page_of(address));
            if let Some((at, bytes)) = hit {
                let access = libc::PROT_READ | libc::PROT_WRITE;
                let flags =
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
                let mapped = libc::mmap(at as *mut _, bytes, access, flags, -1, 0);
                if mapped != libc::MAP_FAILED {
                    regions.is_lost.store(true, Relaxed);
                    return;
                }
            }
        }
        // Not ours: the access faults again, and meets the action before ours.
        if let Some(before) = BEFORE.get() {
            libc::sigaction(libc::SIGBUS, before, null_mut());
        }
    }
}
