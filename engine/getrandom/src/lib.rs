//! Makes [wellspring](https://docs.rs/wellspring) the backend of the crate getrandom, versions 0.3 and 0.4.
//!
//! Everything in the program that draws on getrandom then draws on the engine of the process: `rand::rng()` seeds itself
//! from it, `uuid` and key generators read from it. Two things make it so:
//!
//! 1. The root crate of the program, and no library, says once `wellspring_getrandom::install!();`.
//! 2. The whole program is built with `--cfg getrandom_backend="custom"`, best from its `.cargo/config.toml`:
//!
//! ```toml
//! [target.'cfg(target_os = "linux")']
//! rustflags = ['--cfg', 'getrandom_backend="custom"']
//! ```
//!
//! With the macro and without the flag the program does not compile. With the flag and without the macro it does not
//! link. RUSTFLAGS in the environment replaces the flags of `.cargo/config.toml`, so name the flag there too. getrandom 0.2
//! has another hook and keeps its own backend.
//!
//! # Guarantees
//!
//! * A call fills the whole buffer, with bytes as good as the bytes of [`wellspring::fill`]. It waits until the engine is
//!   seeded with 128 bits, as getrandom(2) does, and never returns an error.
//! * It does not call itself: wellspring seeds itself by raw system calls, and nothing that it depends on uses a
//!   getrandom crate. A test of this crate reads the dependency tree.
//! * In a child process and in a signal handler it is as safe as [`wellspring::fill`]. `rand::rng()` is not: it keeps its
//!   own generator, which a child process repeats.
//!
//! # Panics
//!
//! The first call panics if the system has no memory for an engine.

#![deny(unsafe_code)]

#[doc(hidden)]
pub use getrandom::Error;

/// Defines the function that getrandom 0.3 and 0.4 call when they are built with `--cfg getrandom_backend="custom"`.
///
/// For the root crate of a program, once. A library that says it takes the choice away from the program; two definitions
/// do not link.
#[macro_export]
macro_rules! install {
    () => {
        // Without the flag getrandom would keep its own backend and say nothing. rustdoc does not get the flag.
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(not(any(doc, getrandom_backend = "custom")))]
            ::core::compile_error!(
                "wellspring_getrandom::install!() needs the flag --cfg getrandom_backend=\"custom\" in RUSTFLAGS, or in \
                 rustflags of .cargo/config.toml: see the documentation of wellspring-getrandom"
            );
        };

        /// The backend of getrandom: fills `length` bytes at `destination`.
        ///
        /// # Safety
        ///
        /// The caller, getrandom, may write `length` bytes at `destination`.
        // SAFETY: getrandom keeps this name for this signature.
        #[unsafe(no_mangle)]
        unsafe extern "Rust" fn __getrandom_v03_custom(
            destination: *mut u8,
            length: usize,
        ) -> ::core::result::Result<(), $crate::Error> {
            // SAFETY: the contract is the same.
            unsafe { $crate::fill_raw(destination, length) };
            Ok(())
        }
    };
}

/// Fills `length` bytes at `destination`, which may hold nothing yet.
///
/// # Safety
///
/// `destination` is valid for writes of `length` bytes, and nothing else reads or writes them during the call. It may be
/// null if `length` is 0.
#[doc(hidden)]
#[allow(unsafe_code)]
pub unsafe fn fill_raw(destination: *mut u8, length: usize) {
    if length == 0 {
        return; // A slice of no bytes must not be null either.
    }
    // SAFETY: the caller may write these bytes. A slice must hold values, so they are zeroed first.
    let bytes = unsafe {
        destination.write_bytes(0, length);
        core::slice::from_raw_parts_mut(destination, length)
    };
    wellspring::fill(bytes);
}

#[cfg(test)]
mod tests {
    use core::mem::MaybeUninit;

    #[test]
    #[allow(unsafe_code)]
    fn no_bytes_may_be_nowhere() {
        // SAFETY: no bytes.
        unsafe { super::fill_raw(core::ptr::null_mut(), 0) };
    }

    #[test]
    #[allow(unsafe_code)]
    fn every_byte_of_the_buffer_is_filled_and_none_beside_it() {
        for length in [0, 1, 7, 32, 1000] {
            let mut seen = vec![false; length];
            for _ in 0..20 {
                let mut bytes = vec![MaybeUninit::new(0xA5u8); length + 2];
                // SAFETY: the vector has a byte before and one behind these.
                unsafe { super::fill_raw(bytes.as_mut_ptr().add(1).cast(), length) };
                // SAFETY: all were initialized above.
                let bytes = bytes.iter().map(|byte| unsafe { byte.assume_init() });
                let bytes: Vec<u8> = bytes.collect();
                assert_eq!((bytes[0], bytes[length + 1]), (0xA5, 0xA5));
                let inner = &bytes[1..=length];
                seen.iter_mut()
                    .zip(inner)
                    .for_each(|(seen, byte)| *seen |= *byte != 0xA5);
            }
            assert!(seen.into_iter().all(|seen| seen), "{length} bytes");
        }
    }
}
