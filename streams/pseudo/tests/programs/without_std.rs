//! A program of the statistical tier without the standard library: the chore `older-traits` links and runs it. It prints
//! the bytes of one number. Memory, its end and the start of a program are the C library's.

#![no_std]
#![no_main]

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_int, c_void};
use wellspring_pseudo::{Algorithm, Elements};

#[link(name = "c")]
unsafe extern "C" {
    fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
    fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
    fn abort() -> !;
}

struct MemoryOfC;

// SAFETY: aligned_alloc and free keep the contract of GlobalAlloc; the size is a multiple of the alignment.
unsafe impl GlobalAlloc for MemoryOfC {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and any power of two is a valid request.
        unsafe { aligned_alloc(layout.align(), layout.pad_to_align().size()).cast() }
    }
    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: `memory` comes from `alloc`.
        unsafe { free(memory.cast()) }
    }
}

#[global_allocator]
static MEMORY: MemoryOfC = MemoryOfC;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort has no conditions.
    unsafe { abort() }
}

// SAFETY: no other symbol has the name. Rust's own `alloc` refers to it, since it was compiled to unwind.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

// SAFETY: no other symbol has the name.
#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    let Ok(elements) = Elements::new(Algorithm::ChaCha8, 2026, &[3, 0, 17]) else {
        return 1;
    };
    let mut numbers = [0.0f64; 1000];
    if elements.standard_normal(7, &mut numbers).is_err() {
        return 1;
    }
    let last = numbers[999].to_le_bytes();
    // SAFETY: the eight bytes are readable.
    let written = unsafe { write(1, last.as_ptr().cast(), last.len()) };
    c_int::from(written != 8)
}
