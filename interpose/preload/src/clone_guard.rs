//! Gives generators that are not ours new state when the machine was cloned.
//!
//! - `rand`, `random`, `drand48` and their kin, only if the program's environment asks for it. They always have a seed: by the
//!   C standard 1, if the program set none. The guard cannot see whether the program wants the sequence of its seed.
//! - Node's OpenSSL, by an entry point that the guard for Node calls. Other programs take the provider, whose generator
//!   compares the page itself.
//!
//! The functions here replace the C library's, and compare the generation page before each draw and after it: a load from
//! memory, and a clock that needs no system call. So there is no thread, which would have a program's privileges and slow
//! down its C library. A function that takes a seed handles a notice first: the new sequence stays.

use crate::engine;
use crate::system::{KeptErrno, Next, getrandom};
use core::ffi::{CStr, c_char, c_double, c_int, c_long, c_uint, c_ushort, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use core::{mem, ptr};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use wellspring::clone_detection::{self, DEFAULT_PATH};
use wellspring_interpose::repeat;
use wellspring_os::clone_words::CloneWords;
use wellspring_os::os::now_ms;
use wellspring_os::sandbox;
use wellspring_os::shared_page::SharedPage;
use wellspring_os::trusted_file::{Access, TrustedFile};
use zeroize::Zeroize;

/// The variable that asks for the guard, by the word `rand`.
pub(crate) const VARIABLE: &str = "WELLSPRING_CLONE_GUARD";

/// The variable with another path of the page.
pub(crate) const PAGE_VARIABLE: &str = "WELLSPRING_PAGE";

/// The offset of the number in the page: `clones/generation-page.md`.
const NUMBER_OFFSET: usize = 104;

/// The time from one look at the path to the next: a page may appear or be replaced.
const LOOK_MS: u64 = 1000;

const SEED_BYTES: usize = 32;

static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// The path of the page, from the environment; null for the default.
static PATH: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
static NEXT_LOOK_MS: AtomicU64 = AtomicU64::new(0);

/// The file that is watched; 0 for none.
static INODE: AtomicU64 = AtomicU64::new(0);

/// The number of the page, and the number that was handled: 0 without a page, so that a page that comes later is a notice.
/// A child goes on from it.
static NUMBER: CloneWords = CloneWords::new();

/// The longest path of a page that is watched.
const MAX_PATH_BYTES: usize = 255;

/// From now on the C library's generators are guarded.
pub(crate) fn start(words: &CStr, page: Option<&'static CStr>) {
    // For a longer name the system's interface would allocate at each look.
    if words != c"rand" || page.is_some_and(|page| page.count_bytes() > MAX_PATH_BYTES) {
        return;
    }
    let page = page.map_or(ptr::null_mut(), |page| page.as_ptr().cast_mut());
    PATH.store(page, Ordering::Relaxed);
    look_at_path(now_ms());
    NUMBER.set_handled(NUMBER.sum());
    IS_ASKED.store(true, Ordering::Release);
}

fn path() -> &'static Path {
    let path = PATH.load(Ordering::Relaxed);
    let bytes = if path.is_null() {
        DEFAULT_PATH.as_bytes()
    } else {
        // SAFETY: a string of the environment, which lives as long as the process.
        unsafe { CStr::from_ptr(path) }.to_bytes()
    };
    Path::new(OsStr::from_bytes(bytes))
}

/// Watches the file at the path, if it is another page than before, and an engine would believe it.
#[cold]
fn look_at_path(now_ms: u64) {
    NEXT_LOOK_MS.store(now_ms + LOOK_MS, Ordering::Relaxed);
    let Ok(file) = TrustedFile::open(path(), Access::Read) else {
        return;
    };
    let inode = file.identity().inode;
    if inode == INODE.load(Ordering::Relaxed) || clone_detection::current(path()).is_err() {
        return;
    }
    // If another file is there by now, the next look finds it.
    if let Ok(page) = SharedPage::map(&file)
        && NUMBER.watch(0, page, NUMBER_OFFSET).is_ok()
    {
        INODE.store(inode, Ordering::Relaxed);
    }
}

/// Handles a notice, if there is one, and returns the number that was handled; `None` where nothing is guarded.
#[inline(always)]
fn handle_notice() -> Option<u64> {
    IS_ASKED.load(Ordering::Acquire).then(|| {
        let now_ms = now_ms();
        if now_ms >= NEXT_LOOK_MS.load(Ordering::Relaxed) && !sandbox::is_prepared() {
            let _errno = KeptErrno::new();
            look_at_path(now_ms);
        }
        let number = NUMBER.sum();
        if number != NUMBER.handled() {
            heal_to(number);
        }
        number
    })
}

/// Several threads may do so at the same time: each draws after it has healed itself, or finds that another has.
#[cold]
fn heal_to(number: u64) {
    let _errno = KeptErrno::new();
    // Without a seed the notice stays.
    if with_seed(heal_rand) {
        NUMBER.set_handled(number);
    }
}

/// Gives `heal` 256 bits that no copy has, and erases them. Returns `false` if there are none. The engine may not know of
/// the notice: it looks at the default page.
fn with_seed(heal: fn(&[u8; SEED_BYTES])) -> bool {
    let mut seed = [0; SEED_BYTES];
    let is_there = fill_by_engine(&mut seed) || ask_kernel(&mut seed);
    if is_there {
        heal(&seed);
    }
    seed.zeroize();
    is_there
}

/// Does nothing where the program is to draw the same bytes in every run: with an engine it would draw fresh ones from then on.
fn fill_by_engine(seed: &mut [u8; SEED_BYTES]) -> bool {
    !repeat::is_on()
        && engine::make().is_ok_and(|engine| {
            engine.diverge_from_clones();
            engine.try_fill(seed).is_ok()
        })
}

/// Does nothing in a sandbox, where rand(3) makes no system call.
fn ask_kernel(seed: &mut [u8; SEED_BYTES]) -> bool {
    !sandbox::is_prepared()
        && getrandom(seed.as_mut_ptr().cast(), SEED_BYTES, 0) == SEED_BYTES as isize
}

fn heal_rand(seed: &[u8; SEED_BYTES]) {
    let half = |index: usize| u16::from_ne_bytes([seed[index], seed[index + 1]]);
    let mut state = [half(4), half(6), half(8)];
    // SAFETY: the types of these functions. seed48(3) takes three halves of a word; srandom(3) also seeds rand(3).
    unsafe {
        if let Some(srandom) = original::srandom.get_or_find::<unsafe extern "C" fn(c_uint)>() {
            srandom(u32::from_ne_bytes([seed[0], seed[1], seed[2], seed[3]]));
        }
        if let Some(seed48) =
            original::seed48.get_or_find::<unsafe extern "C" fn(*mut c_ushort) -> *mut c_ushort>()
        {
            seed48(state.as_mut_ptr());
        }
    }
}

const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!(),
    }
}

/// Defines functions that call the C library's functions, which this library needs and which are there behind it.
macro_rules! guarded {
    ($($kind:ident $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        mod original {
            use super::{Next, c_name};
            $(
                #[allow(non_upper_case_globals)]
                pub(super) static $name: Next = Next::new(const { c_name(concat!(stringify!($name), "\0")) });
            )*
        }

        /// Looks up the original functions before main: dlsym(3) takes a lock of the loader, which a thread that waits for
        /// this one may hold.
        pub(crate) fn find_next() {
            $(original::$name.find();)*
        }
        $(
        /// Like the function of the C library with this name.
        ///
        /// # Safety
        ///
        /// The contract of that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the type of this function.
            let original = unsafe { original::$name.get_or_find::<unsafe extern "C" fn($($type),*) -> $result>() };
            let Some(original) = original else {
                // SAFETY: a number, a pointer or nothing: all zeros is one of each.
                return unsafe { mem::zeroed() };
            };
            // SAFETY: the caller's arguments.
            guarded!(@ $kind || unsafe { original($($argument),*) })
        }
    )*};
    // The bytes of a draw during which a notice came may be in a copy too.
    (@ draw $original:expr) => {{
        let original = $original;
        loop {
            let handled = handle_notice();
            let drawn = original();
            if handled.is_none_or(|handled| handled == NUMBER.sum()) {
                return drawn;
            }
        }
    }};
    (@ seed $original:expr) => {{
        handle_notice();
        let original = $original;
        original()
    }};
}

guarded! {
    draw rand() -> c_int;
    draw random() -> c_long;
    draw drand48() -> c_double;
    draw lrand48() -> c_long;
    draw mrand48() -> c_long;
    seed srand(seed: c_uint) -> ();
    seed srandom(seed: c_uint) -> ();
    seed initstate(seed: c_uint, state: *mut c_char, bytes: usize) -> *mut c_char;
    seed srand48(seed: c_long) -> ();
    seed seed48(state: *mut c_ushort) -> *mut c_ushort;
    seed lcong48(parameters: *mut c_ushort) -> ();
}

/// The entry point by which Node loads a module; `process.dlopen` calls it each time. Mixes 256 bits into Node's OpenSSL,
/// which most builds have inside and export. Returns the module's exports as they came.
#[unsafe(no_mangle)]
pub extern "C" fn napi_register_module_v1(_: *mut c_void, exports: *mut c_void) -> *mut c_void {
    with_seed(heal_openssl);
    exports
}

/// RAND_add(3) of OpenSSL.
type Add = unsafe extern "C" fn(*const c_void, c_int, c_double);

/// The files of OpenSSL in a process; further ones are left out.
const MAX_FILES: usize = 8;

/// Mixes a seed into each OpenSSL of the process: one among the global symbols, and all that modules have loaded.
fn heal_openssl(seed: &[u8; SEED_BYTES]) {
    let add_to = |library: *mut c_void| {
        // SAFETY: a handle and a name.
        let function = unsafe { libc::dlsym(library, c"RAND_add".as_ptr()) };
        if !function.is_null() {
            // SAFETY: OpenSSL's type for this name. It takes any bytes, on any thread.
            unsafe {
                let add = mem::transmute::<*mut c_void, Add>(function);
                add(seed.as_ptr().cast(), seed.len() as c_int, 32.0);
            }
        }
    };
    add_to(libc::RTLD_DEFAULT);
    let mut names: [*const c_char; MAX_FILES] = [ptr::null(); MAX_FILES];
    // SAFETY: the function below has its type, and the list lives as long as the call.
    unsafe { libc::dl_iterate_phdr(Some(note_openssl), (&raw mut names).cast()) };
    for name in names.into_iter().filter(|name| !name.is_null()) {
        // SAFETY: the name of a file that was loaded a moment ago.
        let library = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if !library.is_null() {
            add_to(library);
            // SAFETY: from above.
            unsafe { libc::dlclose(library) };
        }
    }
}

/// Adds the file's name to the list, if it is an OpenSSL. Loads nothing: the loader holds its lock.
unsafe extern "C" fn note_openssl(
    info: *mut libc::dl_phdr_info,
    _: usize,
    names: *mut c_void,
) -> c_int {
    // SAFETY: the loader's record of a file, whose name is null or a string; the list of the caller.
    let (name, names) = unsafe {
        let names = &mut *names.cast::<[*const c_char; MAX_FILES]>();
        ((*info).dlpi_name, names)
    };
    if name.is_null() {
        return 0;
    }
    // SAFETY: a string.
    let is_openssl = unsafe { CStr::from_ptr(name) }
        .to_bytes()
        .windows(b"libcrypto".len())
        .any(|part| part == b"libcrypto");
    if is_openssl && let Some(place) = names.iter_mut().find(|place| place.is_null()) {
        *place = name;
    }
    0
}
