//! The doors for existing programs, each beside the function that it replaces: OpenSSL's RAND_bytes, the C library's
//! getrandom and arc4random_buf, Python's os.urandom, and the Rust call that the C library's ws_u64 makes.
//!
//! Both sides run in this process, in turns; Python in two processes, in turns. The libraries are those of
//! `target/release`, which `cargo xtask bench` builds first. What is missing has no row.

use crate::targets::Target;
use serde_json::{Value, json};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use wellspring_bench::format::{digits, duration};
use wellspring_bench::statistics::{median, median_ratio};
use wellspring_bench::table::Table;

const ROUNDS: usize = 301;
/// A turn takes about 0.1 ms: it is seldom interrupted, also on a busy machine.
const TURN_NS: f64 = 1e5;

const RAND_SMALL: &str = "RAND_bytes, 16 bytes";
const RAND_LARGE: &str = "RAND_bytes, 1 MiB";
const ARC4RANDOM: &str = "arc4random_buf(32)";
const GETRANDOM: &str = "getrandom(32)";
const PYTHON: &str = "Python os.urandom(32)";
const PYTHON_FLOOR: &str = "Python os.urandom(32), beside os.urandom(0)";
const C_NUMBER: &str = "ws_u64, beside the Rust call";
const C_OWNED: &str = "ws_rng_u64, beside the Rust call";

/// A door, and what it replaces.
pub(crate) struct Row {
    what: &'static str,
    door_ns: f64,
    other_ns: f64,
    /// The time of the other over that of the door.
    ratio: f64,
}

impl Row {
    fn new(what: &'static str, door: &[f64], other: &[f64]) -> Self {
        Self {
            what,
            door_ns: median(door),
            other_ns: median(other),
            ratio: median_ratio(other, door),
        }
    }
}

/// Measures every door whose library is there.
pub(crate) fn run() -> Vec<Row> {
    let mut rows = openssl().unwrap_or_default();
    rows.extend(preload().unwrap_or_default());
    rows.extend(python().unwrap_or_default());
    rows.extend(c_library().unwrap_or_default());
    rows
}

pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(
        "Existing programs",
        &["", "through the door", "without", "ratio"],
    );
    for row in rows {
        table.rows.push(vec![
            row.what.into(),
            duration(row.door_ns),
            duration(row.other_ns),
            format!("{}x", digits(row.ratio)),
        ]);
    }
    table.note("Medians of rounds in turns. Without: OpenSSL's default, the C library, the same Python, or the call named.")
}

pub(crate) fn json(rows: &[Row]) -> Value {
    let row =
        |row: &Row| json!({ "what": row.what, "door_ns": row.door_ns, "other_ns": row.other_ns });
    rows.iter().map(row).collect()
}

/// The figures that are wanted.
pub(crate) fn targets(rows: &[Row]) -> Vec<Target> {
    let ratio = |what: &str| {
        rows.iter()
            .find(|row| row.what == what)
            .map(|row| row.ratio)
    };
    let faster = |what: &str, other: &str, wanted| {
        Target::at_least(format!("{what}, over {other}"), wanted, ratio(what))
    };
    let cost = |what: &str, wanted| {
        let found = ratio(what).map(|ratio| 1.0 / ratio);
        Target::at_most(what, wanted, "x", found)
    };
    vec![
        faster(RAND_SMALL, "OpenSSL's default", 3.0),
        faster(RAND_LARGE, "OpenSSL's default", 2.0),
        faster(ARC4RANDOM, "the C library", 15.0),
        faster(GETRANDOM, "the C library", 15.0),
        cost(C_NUMBER, 1.5),
        cost(C_OWNED, 1.5),
    ]
}

/// Times both in turns.
fn compare(what: &'static str, mut door: impl FnMut(), mut other: impl FnMut()) -> Row {
    let (mut door_ns, mut other_ns) = (Vec::new(), Vec::new());
    let (door_calls, other_calls) = (calls_in_turn(&mut door), calls_in_turn(&mut other));
    for _ in 0..ROUNDS {
        door_ns.push(time(door_calls, &mut door));
        other_ns.push(time(other_calls, &mut other));
    }
    Row::new(what, &door_ns, &other_ns)
}

/// How many calls take the time of a turn. The shortest of three measurements: the first call may make an engine, and
/// any may be interrupted.
fn calls_in_turn(call: &mut impl FnMut()) -> u32 {
    let mut calls = 1;
    loop {
        let shortest = (0..3).map(|_| time(calls, call)).fold(f64::MAX, f64::min);
        if shortest * f64::from(calls) >= TURN_NS {
            return calls;
        }
        calls *= 2;
    }
}

fn time(calls: u32, call: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn built(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let path = root.join(target).join("release").join(name);
    path.canonicalize().ok()
}

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getrandom(destination: *mut c_void, length: usize, flags: c_uint) -> isize;
}

const RTLD_NOW: c_int = 2;

/// A loaded library, which stays loaded.
struct Library(*mut c_void);

impl Library {
    fn open(path: &Path) -> Option<Self> {
        let path = CString::new(path.to_str()?).ok()?;
        // SAFETY: a path; the constructors of the libraries here have no precondition.
        let library = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
        (!library.is_null()).then_some(Self(library))
    }

    /// # Safety
    ///
    /// `F` is the type of the function with this name.
    unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let name = CString::new(name).ok()?;
        // SAFETY: a loaded library and a name.
        let symbol = unsafe { dlsym(self.0, name.as_ptr()) };
        // SAFETY: not null; the caller's promise.
        (!symbol.is_null()).then(|| unsafe { std::mem::transmute_copy(&symbol) })
    }
}

/// Two contexts of OpenSSL in one process: one as it comes, one with the installed configuration.
fn openssl() -> Option<Vec<Row>> {
    type NewContext = extern "C" fn() -> *mut c_void;
    type Load = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;
    type RandBytes = unsafe extern "C" fn(*mut c_void, *mut u8, usize, c_uint) -> c_int;
    let module = built("libwellspring_openssl.so")?;
    let crypto = Library::open(Path::new("libcrypto.so.3"))?;
    // SAFETY: the types are those of OpenSSL's headers.
    let (new, load, bytes) = unsafe {
        (
            crypto.function::<NewContext>("OSSL_LIB_CTX_new")?,
            crypto.function::<Load>("OSSL_LIB_CTX_load_config")?,
            crypto.function::<RandBytes>("RAND_bytes_ex")?,
        )
    };
    let text = include_str!("../../../doors/wellspring-openssl/openssl.cnf.in");
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
    let row = |what, size: usize| {
        let draw = |context: *mut c_void| {
            let mut buffer = vec![0; size];
            move || {
                // SAFETY: a context, and a buffer of this size.
                let result = unsafe { bytes(context, black_box(buffer.as_mut_ptr()), size, 0) };
                assert_eq!(result, 1, "OpenSSL's generator does not fail");
            }
        };
        compare(what, draw(ours), draw(default))
    };
    Some(vec![row(RAND_SMALL, 16), row(RAND_LARGE, 1 << 20)])
}

/// The preload library is only loaded here: its functions stand beside those of the C library.
fn preload() -> Option<Vec<Row>> {
    type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
    type Fill = unsafe extern "C" fn(*mut c_void, usize);
    let library = Library::open(&built("libwellspring_preload.so")?)?;
    // SAFETY: the types are those of the C library's headers.
    let (ours, fill) = unsafe {
        (
            library.function::<Getrandom>("getrandom")?,
            library.function::<Fill>("arc4random_buf")?,
        )
    };
    let draw = |getrandom: Getrandom| {
        let mut buffer = [0u8; 32];
        move || {
            // SAFETY: a buffer of this size.
            let count = unsafe { getrandom(black_box(buffer.as_mut_ptr()).cast(), 32, 0) };
            assert_eq!(count, 32, "getrandom(2) does not fail");
        }
    };
    let mut rows = vec![compare(GETRANDOM, draw(ours), draw(getrandom))];
    let libc = Library::open(Path::new("libc.so.6"))?;
    // SAFETY: as above. The C library has it since glibc 2.36.
    if let Some(other) = unsafe { libc.function::<Fill>("arc4random_buf") } {
        let draw = |fill: Fill| {
            let mut buffer = [0u8; 32];
            // SAFETY: a buffer of this size.
            move || unsafe { fill(black_box(buffer.as_mut_ptr()).cast(), 32) }
        };
        rows.push(compare(ARC4RANDOM, draw(fill), draw(other)));
    }
    Some(rows)
}

/// Prints the times of two calls, in nanoseconds.
const SCRIPT: &str = "
import os, time
def ns(size, calls=20000):
    call = os.urandom
    start = time.perf_counter_ns()
    for _ in range(calls):
        call(size)
    return (time.perf_counter_ns() - start) / calls
ns(32), ns(0)
print(min(ns(32) for _ in range(5)), min(ns(0) for _ in range(5)))
";

fn python() -> Option<Vec<Row>> {
    const TURNS: usize = 7;
    let library = built("libwellspring_preload.so")?;
    let run = |is_preloaded: bool| {
        let mut python = Command::new("python3");
        python.args(["-I", "-c", SCRIPT]);
        if is_preloaded {
            python.env("LD_PRELOAD", &library);
        }
        let output = python.output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (first, second) = text.trim().split_once(' ')?;
        Some([first.parse().ok()?, second.parse::<f64>().ok()?])
    };
    let (mut door, mut floor, mut other) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let [with, nothing] = run(true)?;
        door.push(with);
        floor.push(nothing);
        other.push(run(false)?[0]);
    }
    Some(vec![
        Row::new(PYTHON, &door, &other),
        Row::new(PYTHON_FLOOR, &door, &floor),
    ])
}

/// The C library's calls for a number, beside the Rust calls that they make.
fn c_library() -> Option<Vec<Row>> {
    type Number = extern "C" fn() -> u64;
    type NumberOf = unsafe extern "C" fn(*mut c_void) -> u64;
    type New = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
    let library = Library::open(&built("libwellspring_c.so")?)?;
    // SAFETY: the types are those of wellspring.h.
    let (number, number_of, new) = unsafe {
        (
            library.function::<Number>("ws_u64")?,
            library.function::<NumberOf>("ws_rng_u64")?,
            library.function::<New>("ws_rng_new")?,
        )
    };
    let mut owned = std::ptr::null_mut();
    // SAFETY: a place for a pointer.
    assert_eq!(unsafe { new(&raw mut owned) }, 0, "there is memory");
    let mut local = wellspring::LocalRng::default();
    let rust = || {
        black_box(wellspring::u64());
    };
    let c = || {
        black_box(number());
    };
    let c_owned = || {
        // SAFETY: a generator that only this thread has.
        black_box(unsafe { number_of(owned) });
    };
    let rust_owned = || {
        black_box(local.u64());
    };
    Some(vec![
        compare(C_NUMBER, c, rust),
        compare(C_OWNED, c_owned, rust_owned),
    ])
}
