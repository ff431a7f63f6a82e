//! Functions of libraries, in this process: the libraries of `target/release`, and the libraries that they replace.

use super::names::{
    ARC4RANDOM, C_NUMBER, C_OWNED, GETRANDOM, RAND_LARGE, RAND_SMALL, UUID_4, UUID_7, UUID_TEXT,
};
use super::row::{Pair, built};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use uuid::Uuid;
use wellspring::ids;
use wellspring_bench::generators::{Generate, Generator, Request};

/// A function that fills memory.
struct Filling<F>(F);

impl<F: FnMut(&mut [u8])> Generate for Filling<F> {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        (self.0)(destination);
    }
}

/// A function that returns a number.
struct Number<F>(F);

impl<F: FnMut() -> u64> Generate for Number<F> {
    fn fill(&mut self, _: &mut [u8]) {
        unreachable!("it is measured with single numbers");
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        (self.0)()
    }
}

/// A generator of one request, of the function that `make` makes.
fn filling<F: FnMut(&mut [u8]) + 'static>(
    bytes: usize,
    make: impl Fn() -> F + Send + Sync + 'static,
) -> Generator {
    Generator::new("", &[Request::Fill(bytes)], move || Filling(make()))
}

pub(crate) fn number<F: FnMut() -> u64 + 'static>(
    make: impl Fn() -> F + Send + Sync + 'static,
) -> Generator {
    Generator::new("", &[Request::Word], move || Number(make()))
}

unsafe extern "C" {
    fn getrandom(destination: *mut c_void, length: usize, flags: c_uint) -> isize;
}

/// A loaded library, which stays loaded.
struct Library(ManuallyDrop<libloading::Library>);

impl Library {
    fn open(path: &Path) -> Option<Self> {
        // SAFETY: the constructors of the libraries here have no precondition.
        let library = unsafe { libloading::Library::new(path) };
        library.ok().map(ManuallyDrop::new).map(Self)
    }

    /// # Safety
    ///
    /// `F` is the type of the function with this name.
    unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the caller's promise.
        let symbol = unsafe { self.0.get::<F>(name) };
        symbol.ok().map(|function| *function)
    }
}

/// Two contexts of OpenSSL in one process: one as it comes, one with the installed configuration.
pub(super) fn openssl() -> Option<Vec<Pair>> {
    type NewContext = extern "C" fn() -> *mut c_void;
    type Load = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;
    type RandBytes = unsafe extern "C" fn(*mut c_void, *mut u8, usize, c_uint) -> c_int;
    let module = built("libwellspring_openssl.so")?;
    let crypto = Library::open(Path::new("libcrypto.so.3"))?;
    // SAFETY: OpenSSL's headers declare these types.
    let (new, load, bytes) = unsafe {
        (
            crypto.function::<NewContext>("OSSL_LIB_CTX_new")?,
            crypto.function::<Load>("OSSL_LIB_CTX_load_config")?,
            crypto.function::<RandBytes>("RAND_bytes_ex")?,
        )
    };
    let text = include_str!("../../../../interpose/openssl/openssl.cnf.in");
    let text = text.replace("@module@", module.to_str()?);
    let file = std::env::temp_dir().join(format!("wellspring-bench-{}.cnf", std::process::id()));
    std::fs::write(&file, text).ok()?;
    let path = CString::new(file.to_str()?).ok()?;
    let (default, ours) = (new(), new());
    // SAFETY: a new context and a path.
    let loaded = unsafe { load(ours, path.as_ptr()) };
    let _ = std::fs::remove_file(&file);
    if loaded != 1 {
        return None;
    }
    let draw = |context: *mut c_void, size| {
        let address = context.expose_provenance();
        filling(size, move || {
            let context = std::ptr::with_exposed_provenance_mut(address);
            move |buffer| {
                // SAFETY: a context, which is never freed and serves any thread, and a buffer of this size.
                let result = unsafe { bytes(context, buffer.as_mut_ptr(), buffer.len(), 0) };
                assert_eq!(result, 1, "OpenSSL's generator does not fail");
            }
        })
    };
    let pair = |what, size| Pair {
        what,
        door: draw(ours, size),
        other: draw(default, size),
    };
    Some(vec![pair(RAND_SMALL, 16), pair(RAND_LARGE, 1 << 20)])
}

/// The preload library is only loaded here: its functions stand beside the C library's.
pub(super) fn preload() -> Option<Vec<Pair>> {
    type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
    type Fill = unsafe extern "C" fn(*mut c_void, usize);
    let library = Library::open(&built("libwellspring_preload.so")?)?;
    // SAFETY: the C library's headers declare these types.
    let (ours, fill) = unsafe {
        (
            library.function::<Getrandom>("getrandom")?,
            library.function::<Fill>("arc4random_buf")?,
        )
    };
    let draw = |getrandom: Getrandom| {
        filling(32, move || {
            move |buffer| {
                // SAFETY: a buffer of this size.
                let count = unsafe { getrandom(buffer.as_mut_ptr().cast(), buffer.len(), 0) };
                assert_eq!(count, 32, "getrandom(2) does not fail");
            }
        })
    };
    let mut pairs = vec![Pair {
        what: GETRANDOM,
        door: draw(ours),
        other: draw(getrandom),
    }];
    let libc = Library::open(Path::new("libc.so.6"))?;
    // SAFETY: as above. The C library has it since glibc 2.36.
    if let Some(other) = unsafe { libc.function::<Fill>("arc4random_buf") } {
        let draw = |fill: Fill| {
            filling(32, move || {
                // SAFETY: a buffer of this size.
                move |buffer| unsafe { fill(buffer.as_mut_ptr().cast(), buffer.len()) }
            })
        };
        pairs.push(Pair {
            what: ARC4RANDOM,
            door: draw(fill),
            other: draw(other),
        });
    }
    Some(pairs)
}

/// Identifiers, beside the identifiers of the crate uuid.
pub(super) fn identifiers() -> [Pair; 3] {
    let first = |id: [u8; 16]| u64::from_le_bytes(std::array::from_fn(|place| id[place]));
    let ours = |make: fn() -> [u8; 16]| number(move || move || first(make()));
    let theirs = |make: fn() -> Uuid| number(move || move || first(make().into_bytes()));
    let text = || u64::from(ids::uuid_text(ids::uuid4()).as_bytes()[35]);
    let their_text = || {
        let mut text = [0; 36];
        let text = Uuid::new_v4().hyphenated().encode_lower(&mut text);
        u64::from(text.as_bytes()[35])
    };
    let pair = |what, door, other| Pair { what, door, other };
    [
        pair(UUID_4, ours(ids::uuid4), theirs(Uuid::new_v4)),
        pair(UUID_7, ours(ids::uuid7), theirs(Uuid::now_v7)),
        pair(UUID_TEXT, number(move || text), number(move || their_text)),
    ]
}

type DrawOf = unsafe extern "C" fn(*mut c_void) -> u64;
type Free = unsafe extern "C" fn(*mut c_void);

/// A generator of the C library.
struct OwnedRng {
    rng: *mut c_void,
    draw_of: DrawOf,
    free: Free,
}

impl OwnedRng {
    #[inline(always)]
    fn draw(&self) -> u64 {
        // SAFETY: the generator is this struct's alone, and no other thread has the struct: it holds a pointer.
        unsafe { (self.draw_of)(self.rng) }
    }
}

impl Drop for OwnedRng {
    fn drop(&mut self) {
        // SAFETY: ws_rng_new made it, and drop is its last use.
        unsafe { (self.free)(self.rng) }
    }
}

/// The C library's calls for a number, beside the Rust calls that they make.
pub(super) fn c_library() -> Option<Vec<Pair>> {
    type Draw = extern "C" fn() -> u64;
    type New = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
    let library = Library::open(&built("libwellspring_c.so")?)?;
    // SAFETY: wellspring.h declares these types.
    let (draw, draw_of, new, free) = unsafe {
        (
            library.function::<Draw>("ws_u64")?,
            library.function::<DrawOf>("ws_rng_u64")?,
            library.function::<New>("ws_rng_new")?,
            library.function::<Free>("ws_rng_free")?,
        )
    };
    let owned = move || {
        let mut rng = std::ptr::null_mut();
        // SAFETY: a place for a pointer.
        assert_eq!(unsafe { new(&raw mut rng) }, 0, "there is memory");
        let owned = OwnedRng { rng, draw_of, free };
        move || owned.draw()
    };
    let local = || {
        let mut local = wellspring::LocalRng::default();
        move || local.u64()
    };
    Some(vec![
        Pair {
            what: C_NUMBER,
            door: number(move || move || draw()),
            other: number(|| wellspring::u64),
        },
        Pair {
            what: C_OWNED,
            door: number(owned),
            other: number(local),
        },
    ])
}
