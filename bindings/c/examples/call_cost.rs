//! Measures the time of a call through the shared library, and of the same call in Rust:
//!
//! ```text
//! cargo build --release -p wellspring-c && cargo run --release -p wellspring-c --example call_cost
//! ```

use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::time::Instant;

/// A turn of less than 0.1 ms is seldom interrupted, also on a busy machine.
const CALLS: u32 = 10_000;
const ROUNDS: usize = 2001;

type Number = extern "C" fn() -> u64;
type NumberOf = extern "C" fn(*mut c_void) -> u64;
type Fill = unsafe extern "C" fn(*mut c_void, usize) -> i32;

fn main() {
    let here = std::env::current_exe().expect("a program knows its path");
    let folder = here.parent().and_then(|folder| folder.parent());
    let path = folder
        .expect("examples lie in target/release/examples")
        .join("libwellspring_c.so");
    let library = Library::open(path.to_str().expect("the path is UTF-8"));
    // SAFETY: the header declares these types.
    let (number, number_of, fill, new) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Number>(library.symbol("ws_u64")),
            std::mem::transmute::<*mut c_void, NumberOf>(library.symbol("ws_rng_u64")),
            std::mem::transmute::<*mut c_void, Fill>(library.symbol("ws_fill")),
            std::mem::transmute::<*mut c_void, extern "C" fn(*mut *mut c_void) -> i32>(
                library.symbol("ws_rng_new"),
            ),
        )
    };
    let mut owned = std::ptr::null_mut();
    assert_eq!(new(&raw mut owned), 0);
    let mut local = wellspring::LocalRng::default();
    let mut buffer = [0u8; 32];
    compare("u64", wellspring::u64, || number());
    compare(
        "u64 of an owned generator",
        || local.u64(),
        || number_of(owned),
    );
    let mut other = [0u8; 32];
    compare(
        "32 bytes",
        || {
            wellspring::fill(black_box(&mut buffer));
            0
        },
        // SAFETY: the buffer has 32 bytes.
        || unsafe { fill(black_box(other.as_mut_ptr()).cast(), 32) as u64 },
    );
}

/// Prints the medians of interleaved rounds.
fn compare(name: &str, mut rust: impl FnMut() -> u64, mut c: impl FnMut() -> u64) {
    let (mut rust_ns, mut c_ns) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        rust_ns.push(time(&mut rust));
        c_ns.push(time(&mut c));
    }
    let (rust_ns, c_ns) = (median(rust_ns), median(c_ns));
    println!(
        "{name}: Rust {rust_ns:.2} ns, through the shared library {c_ns:.2} ns, ratio {:.2}",
        c_ns / rust_ns
    );
}

fn time(call: &mut impl FnMut() -> u64) -> f64 {
    let start = Instant::now();
    let mut sum = 0u64;
    for _ in 0..CALLS {
        sum = sum.wrapping_add(call());
    }
    black_box(sum);
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

struct Library(*mut c_void);

impl Library {
    fn open(path: &str) -> Self {
        let text = CString::new(path).expect("no zero byte in a path");
        // SAFETY: a path; the library has no constructor.
        let library = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW) };
        assert!(
            !library.is_null(),
            "{path} cannot be loaded: build it first"
        );
        Self(library)
    }

    fn symbol(&self, name: &str) -> *mut c_void {
        let text = CString::new(name).expect("no zero byte in a name");
        // SAFETY: an open library and a name.
        let symbol = unsafe { libc::dlsym(self.0, text.as_ptr()) };
        assert!(!symbol.is_null(), "{name}");
        symbol
    }
}
