//! The first read of a thread, in a signal handler, allocates nothing: the handler may have interrupted malloc(3).
#![cfg(target_env = "gnu")]

mod common;

use common::{Counters, handle, next};
use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

unsafe extern "C" {
    fn __libc_calloc(count: usize, bytes: usize) -> *mut libc::c_void;
}

thread_local! {
    /// How often this thread has called calloc(3).
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// In the place of glibc's, which glibc calls itself.
#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut libc::c_void {
    CALLS.set(CALLS.get() + 1);
    // SAFETY: glibc's own function under its other name.
    unsafe { __libc_calloc(count, bytes) }
}

static STATES: LazyLock<Counters> = LazyLock::new(Counters::new);
static CALLS_IN_HANDLER: AtomicU32 = AtomicU32::new(u32::MAX);

extern "C" fn draw(_: i32) {
    let before = CALLS.get();
    assert_eq!(next(&STATES), Some(1));
    CALLS_IN_HANDLER.store(CALLS.get() - before, Ordering::Relaxed);
}

#[test]
fn the_first_read_in_a_handler_does_not_call_calloc_though_32_keys_are_taken() {
    let mut last = 0;
    while last < 40 {
        // SAFETY: the pointer is to the key.
        unsafe { assert_eq!(libc::pthread_key_create(&raw mut last, None), 0) };
    }
    LazyLock::force(&STATES);
    handle(libc::SIGUSR1, draw);
    std::thread::spawn(move || {
        // SAFETY: the signal has a handler.
        unsafe { libc::raise(libc::SIGUSR1) };
        assert_eq!(CALLS_IN_HANDLER.load(Ordering::Relaxed), 0);
        let before = CALLS.get();
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(last, core::ptr::dangling()) };
        let after = CALLS.get();
        assert!(
            after > before,
            "glibc calls this calloc when such a key is set first"
        );
        assert_eq!(next(&STATES), Some(2), "the slot stays the thread's");
    })
    .join()
    .unwrap();
    assert!(common::eventually(|| STATES.count() == 0));
}
