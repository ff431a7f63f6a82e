//! Gives generators that are not ours new state when the machine was cloned: a thread sleeps until the generation page
//! changes.
//!
//! Without the variable in the environment there is no thread. No function of a guarded generator is replaced, so that
//! none becomes slower. It has two kinds:
//!
//! - Each OpenSSL of the process takes 256 bits of the engine. Those of all its threads follow at their next request.
//! - `rand`, `random` and `drand48` get a new seed, only if the variable asks for it. They have a seed always: 1, by the C
//!   standard, if the program gave none. Whether the program wants the sequence of its seed cannot be told.
//!
//! The thread has all signals blocked but those that the C library keeps for itself. A child of fork(3) gets its own.

use core::ffi::{CStr, c_char, c_double, c_int, c_uint, c_ushort, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;
use wellspring::Engine;
use wellspring::clone_detection::{self, DEFAULT_PATH};
use wellspring_os::signals::{self, SignalsBlocked};
use zeroize::Zeroize;

/// The variable that starts the guard: `1` for OpenSSL, `rand` for the C library's generators too.
pub(crate) const VARIABLE: &str = "WELLSPRING_CLONE_GUARD";

/// The variable with another path of the page.
pub(crate) const PAGE_VARIABLE: &str = "WELLSPRING_PAGE";

/// The longest sleep: a page may appear or be replaced.
const LOOK: Duration = Duration::from_secs(1);

/// RAND_add(3) of OpenSSL.
type Add = unsafe extern "C" fn(*const c_void, c_int, c_double);

static PAGE: OnceLock<&Path> = OnceLock::new();
static HEALS_RAND: AtomicBool = AtomicBool::new(false);

/// The number of the page that was handled; 0 without a page, so that a page that comes later is a notice. A child goes on
/// from it.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// The notices that this process has handled, and the time of the last one.
static NOTICES: AtomicU64 = AtomicU64::new(0);
static LAST_NS: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    fn srandom(seed: c_uint);
    fn seed48(seed: *mut c_ushort) -> *mut c_ushort;
}

/// Starts the guard of this process and of its children.
pub(crate) fn start(words: &CStr, page: Option<&'static CStr>) {
    let heals_rand = words == c"rand";
    if !heals_rand && words != c"1" {
        return;
    }
    HEALS_RAND.store(heals_rand, Ordering::Relaxed);
    let page = page.map_or(DEFAULT_PATH.as_bytes(), CStr::to_bytes);
    let page = PAGE.get_or_init(|| Path::new(OsStr::from_bytes(page)));
    if let Ok(number) = clone_detection::current(page) {
        HANDLED.store(number, Ordering::Relaxed);
    }
    // SAFETY: a function that lives as long as the process: this library is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(start_thread)) };
    start_thread();
}

extern "C" fn start_thread() {
    // The new thread inherits the mask: no handler runs on it before it blocks them itself.
    let _blocked = SignalsBlocked::new();
    let builder = thread::Builder::new().name("wellspring-guard".into());
    let _ = builder.stack_size(64 << 10).spawn(watch);
}

fn watch() {
    // With the mask that it inherits, setuid(3) in a child would wait for its answer without end.
    signals::block_for_good();
    let Some(&page) = PAGE.get() else { return };
    loop {
        let handled = HANDLED.load(Ordering::Relaxed);
        match clone_detection::wait(page, handled, LOOK) {
            Ok(number) if number == handled || handle(number) => {}
            // No page, or no seed yet.
            _ => thread::sleep(LOOK),
        }
    }
}

/// Handles a notice. Returns `false` if the engine has no memory or no seed yet: the notice stays.
fn handle(number: u64) -> bool {
    let began = Instant::now();
    let is_handled =
        with_seed(heal_openssl) && (!HEALS_RAND.load(Ordering::Relaxed) || with_seed(heal_rand));
    if is_handled {
        HANDLED.store(number, Ordering::Relaxed);
        LAST_NS.store(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        NOTICES.fetch_add(1, Ordering::Release);
    }
    is_handled
}

/// Gives `heal` 256 bits that no copy has, and erases them: the guard's thread keeps its stack. Returns `false` if there are
/// none. The engine may not know of the notice: it looks at the default page.
fn with_seed(heal: fn(&[u8; 32])) -> bool {
    let mut seed = [0; 32];
    let is_there = Engine::try_process().is_ok_and(|engine| {
        engine.diverge_from_clones();
        engine.try_fill(&mut seed).is_ok()
    });
    if is_there {
        heal(&seed);
    }
    seed.zeroize();
    is_there
}

fn heal_rand(seed: &[u8; 32]) {
    let half = |index: usize| u16::from_ne_bytes([seed[index], seed[index + 1]]);
    let mut state = [half(4), half(6), half(8)];
    // SAFETY: three halves of a word, as seed48(3) takes them. srandom(3) is that of srand(3) too.
    unsafe {
        srandom(u32::from_ne_bytes([seed[0], seed[1], seed[2], seed[3]]));
        seed48(state.as_mut_ptr());
    }
}

/// Mixes a seed into each OpenSSL of the process: one among the global symbols, and those that modules have loaded.
fn heal_openssl(seed: &[u8; 32]) {
    let add_to = |library: *mut c_void| {
        // SAFETY: a handle and a name.
        let function = unsafe { libc::dlsym(library, c"RAND_add".as_ptr()) };
        if !function.is_null() {
            // SAFETY: OpenSSL's type for this name. It takes any bytes, on any thread.
            unsafe {
                let add = core::mem::transmute::<*mut c_void, Add>(function);
                add(seed.as_ptr().cast(), seed.len() as c_int, 32.0);
            }
        }
    };
    add_to(libc::RTLD_DEFAULT);
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the function below has its type, and the list lives as long as the call.
    unsafe { libc::dl_iterate_phdr(Some(note_openssl), (&raw mut names).cast()) };
    for name in names {
        // SAFETY: a name.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
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
    let (name, names) = unsafe { ((*info).dlpi_name, &mut *names.cast::<Vec<CString>>()) };
    if !name.is_null() {
        // SAFETY: a string.
        let name = unsafe { CStr::from_ptr::<'_>(name.cast::<c_char>()) };
        if name.to_string_lossy().contains("libcrypto") {
            names.push(name.to_owned());
        }
    }
    0
}

/// The number of notices that the guard of this process has handled. Writes how long the last one took, in ns.
///
/// # Safety
///
/// `last_ns` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wellspring_clone_guard_notices(last_ns: *mut u64) -> u64 {
    let notices = NOTICES.load(Ordering::Acquire);
    if !last_ns.is_null() {
        // SAFETY: the caller's promise.
        unsafe { last_ns.write(LAST_NS.load(Ordering::Relaxed)) };
    }
    notices
}

/// The entry point by which Node loads a module; `process.dlopen` calls it each time. Mixes 256 bits into Node's OpenSSL,
/// which most builds have inside and export. Returns the module's exports as they came.
#[unsafe(no_mangle)]
pub extern "C" fn napi_register_module_v1(_: *mut c_void, exports: *mut c_void) -> *mut c_void {
    with_seed(heal_openssl);
    exports
}
