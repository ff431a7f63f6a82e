//! open(2) and its family. An opened /dev/random or /dev/urandom becomes the service's file where that is mounted.
//!
//! The real function is called first. If it succeeds, the kernel has read the path, so that we can read it too; then
//! dup3(2) puts the service's file under the number of the opened device. A call that fails returns the original's
//! error. In a sandbox the program gets the kernel's device, by its own call and no other.

use crate::system::{KeptErrno, Next, call, returned};
use core::ffi::{CStr, c_char, c_int, c_void};
use wellspring_interpose::door_counters::{Door, count};
use wellspring_os::sandbox;

/// The path of the service's file. Only root can create it.
const SERVICE_FILE: &CStr = c"/run/wellspring/files/random";

/// `f_type` of FUSE in statfs(2).
const FUSE_MAGIC: libc::__fsword_t = 0x6573_5546;

type Open = unsafe extern "C-unwind" fn(*const c_char, c_int, c_int) -> c_int;
type OpenAt = unsafe extern "C-unwind" fn(c_int, *const c_char, c_int, c_int) -> c_int;
type Fopen = unsafe extern "C-unwind" fn(*const c_char, *const c_char) -> *mut c_void;

static OPEN: Next = Next::new(c"open");
static OPENAT: Next = Next::new(c"openat");
static FOPEN: Next = Next::new(c"fopen");

/// Looks up the original open(2) and openat(2). Runs before main, because a signal handler may call them and must not
/// call dlsym(3).
pub(crate) fn find_next() {
    OPEN.find();
    OPENAT.find();
    FOPEN.find();
}

/// Defines a function with the arguments of open(2). Their number is fixed here: on x86-64 and aarch64 a caller of a
/// variadic function passes them in the same registers.
macro_rules! open {
    ($($name:ident)*) => {$(
        /// Like open(2).
        ///
        /// # Safety
        ///
        /// The contract of open(2).
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
            // SAFETY: the type of this function; the caller's arguments.
            let file = match unsafe { OPEN.get::<Open>() } {
                // SAFETY: as above.
                Some(open) => unsafe { open(path, flags, mode) },
                None => open_by_kernel(libc::AT_FDCWD, path, flags, mode),
            };
            if file >= 0 {
                // SAFETY: the kernel has read the path.
                unsafe { replace(file, path, || flags) };
            }
            file
        }
    )*};
}

open! { open open64 }

/// Defines a function with the arguments of openat(2).
macro_rules! openat {
    ($($name:ident)*) => {$(
        /// Like openat(2).
        ///
        /// # Safety
        ///
        /// The contract of openat(2).
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            folder: c_int,
            path: *const c_char,
            flags: c_int,
            mode: c_int,
        ) -> c_int {
            // SAFETY: the type of this function; the caller's arguments.
            let file = match unsafe { OPENAT.get::<OpenAt>() } {
                // SAFETY: as above.
                Some(openat) => unsafe { openat(folder, path, flags, mode) },
                None => open_by_kernel(folder, path, flags, mode),
            };
            if file >= 0 {
                // SAFETY: the kernel has read the path.
                unsafe { replace(file, path, || flags) };
            }
            file
        }
    )*};
}

openat! { openat openat64 }

/// Defines a function with the arguments of fopen(3).
macro_rules! fopen {
    ($($name:ident)*) => {$(
        /// Like fopen(3).
        ///
        /// # Safety
        ///
        /// The contract of fopen(3).
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(path: *const c_char, mode: *const c_char) -> *mut c_void {
            // SAFETY: the type of this function.
            let Some(fopen) = (unsafe { FOPEN.get_or_find::<Fopen>() }) else {
                crate::system::set_errno(libc::ENOSYS);
                return core::ptr::null_mut();
            };
            // SAFETY: the caller's arguments.
            let stream = unsafe { fopen(path, mode) };
            if !stream.is_null() {
                // SAFETY: an open stream; its buffer is empty yet.
                let file = unsafe { libc::fileno(stream.cast()) };
                // SAFETY: the kernel has read the path; an open stream has a number, whose flags say what the mode said.
                unsafe { replace(file, path, || libc::fcntl(file, libc::F_GETFL)) };
            }
            stream
        }
    )*};
}

fopen! { fopen fopen64 }

fn open_by_kernel(folder: c_int, path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    let path = path.expose_provenance();
    let arguments = [folder as usize, path, flags as usize, mode as usize, 0, 0];
    returned(call(libc::SYS_openat, arguments)) as c_int
}

/// If `file` is an opened /dev/random or /dev/urandom, and the service has its file, makes `file` refer to that.
///
/// # Safety
///
/// `path` is a string.
unsafe fn replace(file: c_int, path: *const c_char, flags: impl FnOnce() -> c_int) {
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    if (path != c"/dev/urandom" && path != c"/dev/random") || sandbox::is_prepared() {
        return;
    }
    let _errno = KeptErrno::new();
    let flags = flags();
    if flags & (libc::O_ACCMODE | libc::O_PATH) != libc::O_RDONLY {
        return;
    }
    let path = SERVICE_FILE.as_ptr().expose_provenance();
    // Another thread may start a program now, which is not to inherit this descriptor.
    let fixed = libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NOCTTY;
    let flags = flags & libc::O_NONBLOCK | fixed;
    let arguments = [libc::AT_FDCWD as usize, path, flags as usize, 0, 0, 0];
    let service = call(libc::SYS_openat, arguments);
    if service < 0 {
        return;
    }
    let service = service as usize;
    if is_of_service(service as c_int) {
        // SAFETY: `file` is open. F_GETFD fails for no open file.
        let descriptor_flags = unsafe { libc::fcntl(file, libc::F_GETFD) };
        let closes = if descriptor_flags & libc::FD_CLOEXEC != 0 {
            libc::O_CLOEXEC
        } else {
            0
        };
        let arguments = [service, file as usize, closes as usize, 0, 0, 0];
        if call(libc::SYS_dup3, arguments) >= 0 {
            count(Door::File, 0);
        }
    }
    call(libc::SYS_close, [service, 0, 0, 0, 0, 0]);
}

/// Returns whether this is a device of the kernel or a file of a mounted service, and belongs to root. An ordinary file
/// would give the same bytes each time.
fn is_of_service(file: c_int) -> bool {
    // SAFETY: all zeros is a value of both, and the pointers are to them.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let mut system: libc::statfs = core::mem::zeroed();
        libc::fstat(file, &raw mut status) == 0
            && libc::fstatfs(file, &raw mut system) == 0
            && status.st_uid == 0
            && (status.st_mode & libc::S_IFMT == libc::S_IFCHR || system.f_type == FUSE_MAGIC)
    }
}
