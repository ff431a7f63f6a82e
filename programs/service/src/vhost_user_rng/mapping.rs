//! A region of a guest's memory, mapped.

use core::ffi::c_void;
use rustix::fs::{fcntl_get_seals, fstat, fstatfs};
use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap, mremap, munlock, munmap};
use std::fs::File;
use std::io;
use std::ptr::{NonNull, null_mut};

/// A region of a file of tmpfs or hugetlbfs, mapped until this is dropped. It keeps no descriptor.
#[derive(Debug)]
pub(super) struct Mapping {
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
    pub(super) fn new(file: &File, offset: u64, bytes: u64) -> io::Result<Self> {
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
    pub(super) fn again(&self) -> io::Result<Self> {
        // SAFETY: an old length of 0 leaves this mapping as it is, and makes another one of the same file (mremap(2)).
        // The kernel chooses its addresses.
        let at = unsafe { mremap(self.as_ptr(), 0, self.bytes, MremapFlags::MAYMOVE)? };
        Ok(Self {
            from: NonNull::new(at.cast()).ok_or(io::ErrorKind::InvalidInput)?,
            ..*self
        })
    }

    /// Whether it has huge pages, whose page tables are small.
    pub(super) fn is_huge(&self) -> bool {
        self.is_huge
    }

    fn as_ptr(&self) -> *mut c_void {
        self.from.as_ptr().cast()
    }

    /// The first byte.
    pub(super) fn from(&self) -> NonNull<u8> {
        self.from
    }

    /// The length in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the page of an address begins, and its length in bytes. `None` if the address is not in this mapping.
    pub(super) fn page_of(&self, address: usize) -> Option<(usize, usize)> {
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
