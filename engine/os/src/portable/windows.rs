//! Windows, by the functions of its libraries. It has no fork and no signals.
//!
//! ```text
//! pages         memory that is locked
//! signal_mask   nothing to block
//! futex         sleep until a word changes
//! threads       no numbers: a thread calls its destructors when it ends
//! exit_key      calls a function when a thread ends
//! random        the system's generator
//! clock         clocks
//! descriptor    no file is read
//! trusted_file  no file is trusted
//! ```

#[cfg(target_arch = "x86")]
compile_error!("wellspring runs on 64-bit Windows; 32-bit Windows is not supported");

pub(crate) mod signal_mask {
    //! Windows interrupts no thread for a handler: there is nothing to block.

    /// The signals that a thread blocks: none.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Mask;

    /// Blocks all signals of this thread.
    pub(crate) fn block_all() -> Mask {
        Mask
    }

    /// Sets the mask of this thread.
    pub(crate) fn restore(_: Mask) {}

    /// Whether no signal is blocked.
    pub(crate) fn is_empty(_: Mask) -> bool {
        true
    }

    /// Blocks all signals of this thread until it ends.
    pub fn block_for_good() {}
}

pub(crate) mod futex {
    //! Sleep until a word changes.

    use core::ffi::c_void;
    use core::ptr;
    use core::sync::atomic::AtomicU32;

    #[link(name = "synchronization")]
    unsafe extern "system" {
        fn WaitOnAddress(
            address: *const c_void,
            compared: *const c_void,
            bytes: usize,
            timeout_ms: u32,
        ) -> i32;
        fn WakeByAddressSingle(address: *const c_void);
    }

    /// Sleeps while the word has this value, until [`wake_one`] or the end of the time.
    pub(crate) fn wait(word: &AtomicU32, value: u32, timeout_ms: u32) {
        let (word, compared) = (ptr::from_ref(word).cast(), ptr::from_ref(&value).cast());
        // SAFETY: both pointers are to 4 bytes, and the system reads the first as a word of that size.
        unsafe { WaitOnAddress(word, compared, size_of::<u32>(), timeout_ms) };
    }

    /// Wakes a thread that sleeps at the word, if there is one.
    pub(crate) fn wake_one(word: &AtomicU32) {
        // SAFETY: the system uses the address and no more.
        unsafe { WakeByAddressSingle(ptr::from_ref(word).cast()) };
    }
}

pub(crate) mod threads {
    //! Threads. Their numbers are not needed: each thread calls its destructors when it ends.

    /// The system's number of this thread: none.
    pub(crate) fn number() -> u32 {
        0
    }

    /// Whether the process has no thread of that number: not known.
    pub(crate) fn is_gone(_: u32, _: u32) -> bool {
        false
    }

    /// Makes every thread of the process see what this thread stored before the call, before what it stores later: not
    /// needed, since nothing unloads the library.
    pub(crate) fn order_all() -> bool {
        false
    }
}

pub(crate) mod exit_key {
    //! A fiber-local index, whose callback runs when a thread ends. Windows calls these before it frees thread-local data.

    use core::ffi::c_void;
    use core::mem::transmute;
    use core::ptr;

    type Callback = unsafe extern "system" fn(*mut c_void);

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn FlsAlloc(callback: Option<Callback>) -> u32;
        fn FlsFree(index: u32) -> i32;
        fn FlsSetValue(index: u32, value: *const c_void) -> i32;
    }

    const FLS_OUT_OF_INDEXES: u32 = u32::MAX;

    /// A new index. `None` if the system has none left.
    pub(crate) fn create(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
        // SAFETY: on 64-bit Windows both are the same calling convention.
        let callback =
            unsafe { transmute::<unsafe extern "C" fn(*mut c_void), Callback>(destructor) };
        // SAFETY: the callback may be called with any argument.
        let index = unsafe { FlsAlloc(Some(callback)) };
        (index != FLS_OUT_OF_INDEXES).then_some(index)
    }

    /// Frees an index that no thread has set.
    pub(crate) fn delete(index: u32) {
        // SAFETY: the system checks the number.
        unsafe { FlsFree(index) };
    }

    /// Sees to it that the callback is called when this thread ends. Returns whether the system agreed.
    pub(crate) fn set(index: u32) -> bool {
        // SAFETY: the system checks the number. Any value but null has the callback called.
        unsafe { FlsSetValue(index, ptr::dangling()) != 0 }
    }

    /// Whether [`set`] may allocate memory in a signal handler. Windows has no signal handlers.
    pub(crate) fn may_allocate(_: u32) -> bool {
        false
    }
}

pub(crate) mod random {
    //! The system's generator.

    use crate::os_error::OsError;

    #[link(name = "bcryptprimitives", kind = "raw-dylib")]
    unsafe extern "system" {
        fn ProcessPrng(start: *mut u8, bytes: usize) -> i32;
    }

    /// Fills the destination by ProcessPrng, which does not fail on Windows 10 and later.
    pub(crate) fn fill(destination: &mut [u8]) -> Result<(), OsError> {
        // SAFETY: the range is ours to write.
        match unsafe { ProcessPrng(destination.as_mut_ptr(), destination.len()) } {
            0 => Err(OsError::UNSUPPORTED),
            _ => Ok(()),
        }
    }
}

pub(crate) mod clock {
    //! Clocks, in ticks of up to 16 ms.

    use core::ffi::c_void;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn QueryUnbiasedInterruptTime(time: *mut u64) -> i32;
        fn GetTickCount64() -> u64;
        fn GetCurrentThread() -> *mut c_void;
        fn GetThreadTimes(
            thread: *mut c_void,
            created: *mut u64,
            ended: *mut u64,
            in_kernel: *mut u64,
            in_program: *mut u64,
        ) -> i32;
    }

    /// The unit of Windows's times, in nanoseconds.
    const UNIT_NS: u64 = 100;

    /// The time since boot in nanoseconds, without the time spent asleep.
    pub(crate) fn awake_ns() -> u64 {
        let mut time = 0;
        // SAFETY: the pointer is to the time.
        unsafe { QueryUnbiasedInterruptTime(&raw mut time) };
        time * UNIT_NS
    }

    /// The same, with the time spent asleep.
    pub(crate) fn with_sleep_ns() -> u64 {
        // SAFETY: it takes nothing and cannot fail.
        unsafe { GetTickCount64() * 1_000_000 }
    }

    /// The time that this thread has spent on a CPU, in nanoseconds.
    pub(crate) fn of_thread_ns() -> u64 {
        let [mut created, mut ended, mut in_kernel, mut in_program] = [0; 4];
        // SAFETY: the pointers are to the four times. A time is two words of 32 bits, the lower one first.
        unsafe {
            GetThreadTimes(
                GetCurrentThread(),
                &raw mut created,
                &raw mut ended,
                &raw mut in_kernel,
                &raw mut in_program,
            );
        }
        (in_kernel + in_program) * UNIT_NS
    }
}

pub mod descriptor {
    //! The stand-in for open files: no value of these types exists.

    use core::convert::Infallible;
    use core::marker::PhantomData;
    use std::path::Path;

    /// A value that has a descriptor.
    pub trait AsFd {
        /// The descriptor.
        fn as_fd(&self) -> BorrowedFd<'_>;
    }

    /// A descriptor that something else owns.
    #[derive(Clone, Copy, Debug)]
    pub struct BorrowedFd<'a>(Infallible, PhantomData<&'a ()>);

    /// A descriptor.
    #[derive(Debug)]
    pub struct OwnedFd(Infallible);

    impl AsFd for OwnedFd {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }

    impl AsFd for BorrowedFd<'_> {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }

    impl<T: AsFd> AsFd for &T {
        fn as_fd(&self) -> BorrowedFd<'_> {
            (*self).as_fd()
        }
    }

    /// A file that is open.
    pub type Descriptor = OwnedFd;

    /// Returns `None`: this system has no device to read.
    #[must_use]
    pub fn open_device(_: &Path) -> Option<Descriptor> {
        None
    }

    /// Returns `None`: this system has no small files to read.
    pub fn read_file<'a>(_: &[u8], _: &'a mut [u8]) -> Option<&'a [u8]> {
        None
    }
}

pub(crate) mod pages {
    //! Pages by VirtualAlloc. There are no children to wipe them for.
    //!
    //! VirtualLock locks no more than the working set of the process allows, about 200 KiB unless the program asks for more. A
    //! dump of the process has all its memory.

    use core::ffi::c_void;
    use core::ptr;
    use core::ptr::NonNull;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, access: u32) -> *mut c_void;
        fn VirtualFree(address: *mut c_void, bytes: usize, kind: u32) -> i32;
        fn VirtualLock(address: *mut c_void, bytes: usize) -> i32;
    }

    const MEM_COMMIT_RESERVE: u32 = 0x1000 | 0x2000;
    const MEM_RELEASE: u32 = 0x8000;
    const PAGE_READWRITE: u32 = 4;

    /// Maps zeroed pages. There is no child that could find anything else.
    pub(crate) fn map(bytes: usize) -> Option<(NonNull<u8>, bool)> {
        // SAFETY: a new mapping where the system likes.
        let start =
            unsafe { VirtualAlloc(ptr::null_mut(), bytes, MEM_COMMIT_RESERVE, PAGE_READWRITE) };
        Some((NonNull::new(start.cast())?, true))
    }

    /// Nothing: there is no child whose pages were to be renewed.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub(crate) unsafe fn renew(_: *mut u8, _: usize) -> bool {
        false
    }

    /// Unmaps pages.
    ///
    /// # Safety
    ///
    /// The range is from [`map`], and no code uses it any more.
    pub(crate) unsafe fn unmap(start: *mut u8, _bytes: usize) {
        // SAFETY: the caller's promise. To release a mapping its length must be 0.
        unsafe { VirtualFree(start.cast(), 0, MEM_RELEASE) };
    }

    /// Locks pages in memory. Returns whether the system agreed.
    ///
    /// # Safety
    ///
    /// The range is from [`map`].
    pub(crate) unsafe fn lock(start: *mut u8, bytes: usize) -> bool {
        // SAFETY: it changes no byte, and checks the range itself.
        unsafe { VirtualLock(start.cast(), bytes) != 0 }
    }

    /// The same. Windows locks all pages at once, untouched ones too.
    ///
    /// # Safety
    ///
    /// The range is from [`map`].
    pub(crate) unsafe fn lock_when_touched(start: *mut u8, bytes: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { lock(start, bytes) }
    }

    /// Nothing: all memory is of one node here.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub(crate) unsafe fn prefer_node(_: *mut u8, _: usize, _: u32) {}
}

pub mod trusted_file {
    //! The stand-in for files that are trusted because root or this user owns them. Windows has access lists in place of owners
    //! and modes, which are not looked at: so no file is trusted, and no value of these types exists but [`Access`].

    use super::descriptor::{AsFd, BorrowedFd};
    use crate::os_error::OsError;
    use core::convert::Infallible;
    use core::marker::PhantomData;
    use std::ffi::{OsStr, OsString};
    use std::path::Path;

    pub use crate::os_error::FileFault;

    const UNSUPPORTED: FileFault = FileFault::System(OsError::UNSUPPORTED);

    /// How a file will be used.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Access {
        /// To be read.
        Read,
        /// To be read and written.
        ReadWrite,
    }

    /// Which file it is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct FileIdentity {
        /// The number of the file system's device.
        pub device: u64,
        /// The number within that file system.
        pub inode: u64,
    }

    /// An open file.
    #[derive(Debug)]
    pub struct TrustedFile(Infallible);

    impl TrustedFile {
        /// Opens a file that no user but its owner can write.
        ///
        /// # Errors
        ///
        /// [`FileFault::System`] with [`OsError::UNSUPPORTED`].
        pub fn open(_: &Path, _: Access) -> Result<Self, FileFault> {
            Err(UNSUPPORTED)
        }

        /// Reads the file.
        ///
        /// # Errors
        ///
        /// None.
        pub fn read(&self, _: &mut [u8]) -> Result<usize, FileFault> {
            match self.0 {}
        }

        /// The file's size.
        #[must_use]
        pub fn bytes(&self) -> u64 {
            match self.0 {}
        }

        /// Which file it is.
        #[must_use]
        pub fn identity(&self) -> FileIdentity {
            match self.0 {}
        }

        /// Whether the file is secret.
        #[must_use]
        pub fn is_secret(&self) -> bool {
            match self.0 {}
        }
    }

    impl AsFd for TrustedFile {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }

    /// An open directory.
    #[derive(Debug)]
    pub struct Directory(Infallible);

    impl Directory {
        /// Opens the directory of `path`.
        ///
        /// # Errors
        ///
        /// [`FileFault::System`] with [`OsError::UNSUPPORTED`].
        pub fn of(_: &Path) -> Result<(Self, &OsStr), FileFault> {
            Err(UNSUPPORTED)
        }

        /// Opens a file.
        ///
        /// # Errors
        ///
        /// None.
        pub fn open_file(&self, _: &OsStr, _: Access) -> Result<TrustedFile, FileFault> {
            match self.0 {}
        }

        /// Whether only this user can put files into the directory.
        ///
        /// # Errors
        ///
        /// None.
        pub fn is_private(&self) -> Result<bool, FileFault> {
            match self.0 {}
        }

        /// Takes a lock.
        ///
        /// # Errors
        ///
        /// None.
        pub fn lock(&self, _: &OsString) -> Result<FileLock, FileFault> {
            match self.0 {}
        }

        /// Begins a new file.
        ///
        /// # Errors
        ///
        /// None.
        pub fn begin_next(&self, _: &OsStr) -> Result<NextFile<'_>, FileFault> {
            match self.0 {}
        }
    }

    /// A lock between processes.
    #[derive(Debug)]
    pub struct FileLock(Infallible);

    impl FileLock {
        /// Writes a short text into the lock's file, for messages to others.
        pub fn note(&self, _: &str) {
            match self.0 {}
        }
    }

    /// The file that will replace another.
    #[derive(Debug)]
    pub struct NextFile<'a>(Infallible, PhantomData<&'a ()>);

    impl NextFile<'_> {
        /// Whether there was a next file.
        #[must_use]
        pub fn removed_stale(&self) -> bool {
            match self.0 {}
        }

        /// Appends `bytes`.
        ///
        /// # Errors
        ///
        /// None.
        pub fn write(&mut self, _: &[u8]) -> Result<(), FileFault> {
            match self.0 {}
        }

        /// Puts it in the place of the present file.
        ///
        /// # Errors
        ///
        /// None.
        pub fn replace(self, _: u32) -> Result<(), FileFault> {
            match self.0 {}
        }
    }

    impl AsFd for NextFile<'_> {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }
}
