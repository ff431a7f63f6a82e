//! A library that is unloaded while threads that used it live: they end like any other.

mod common;

use common::{Counters, in_child, next};
use core::ffi::CStr;
use core::mem::transmute;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Barrier, Mutex};

/// The example `unloadable`, which cargo builds with the tests.
fn library() -> CString {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    CString::new(folder.join("libunloadable.so").as_os_str().as_bytes()).unwrap()
}

fn is_loaded(path: &CStr) -> bool {
    // SAFETY: only asks.
    unsafe { !libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD).is_null() }
}

/// One test at a time: a child of fork(3) that ends with exit(3) waits without end for a lock of libc which another
/// thread held in dlclose(3) at that moment.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn threads_that_drew_from_a_library_end_after_it_was_unloaded() {
    let _alone = ONE_AT_A_TIME.lock();
    const THREADS: usize = 4;
    let path = library();
    for _ in 0..3 {
        // SAFETY: the library has no code that runs when it is loaded.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            println!("SKIPPED: {path:?} is not there; cargo test builds it");
            return;
        }
        // SAFETY: the example defines it with this type.
        let count_calls = unsafe {
            let address = libc::dlsym(library, c"count_calls".as_ptr());
            transmute::<*mut libc::c_void, extern "C" fn() -> u64>(address)
        };
        let barrier = Barrier::new(THREADS + 1);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    assert_eq!((count_calls(), count_calls()), (1, 2));
                    barrier.wait();
                    barrier.wait();
                });
            }
            barrier.wait();
            // SAFETY: no thread calls the library any more.
            assert_eq!(unsafe { libc::dlclose(library) }, 0);
            assert!(!is_loaded(&path), "nothing keeps the library");
            barrier.wait();
        });
    }
}

/// At the end of a process the same code runs as when a library is unloaded; but other threads still read.
#[test]
fn a_process_ends_while_its_threads_read() {
    let _alone = ONE_AT_A_TIME.lock();
    for _ in 0..30 {
        let code = in_child(|| {
            let states: &'static Counters = Box::leak(Box::new(Counters::new()));
            let started: &'static Barrier = Box::leak(Box::new(Barrier::new(4)));
            for _ in 0..3 {
                std::thread::spawn(|| {
                    next(states);
                    started.wait();
                    loop {
                        assert!(next(states).is_some());
                    }
                });
            }
            started.wait();
            // SAFETY: not while Rust's own runtime is in use by this thread.
            unsafe { libc::exit(7) }
        });
        assert_eq!(code, 7);
    }
}
