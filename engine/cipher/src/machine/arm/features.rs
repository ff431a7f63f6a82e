//! The instructions that the CPU has and that the operating system announces; asked once.

use crate::features::Features;
use core::sync::atomic::{AtomicU8, Ordering};

/// The registers of 128 bits, which every CPU that the crate is compiled for has, and Miri has not.
pub(super) const NEON: Features = Features(1 << 0);
/// AESE and AESMC (FEAT_AES).
pub(super) const AES: Features = Features(1 << 1);
/// SHA256H and its like (FEAT_SHA256).
pub(super) const SHA256: Features = Features(1 << 2);

/// Marks the cache as filled.
const KNOWN: Features = Features(1 << 7);

static CACHE: AtomicU8 = AtomicU8::new(0);

/// The features of this machine: one relaxed load, after the system was asked once.
#[inline]
pub(crate) fn of_this_machine() -> Features {
    let cached = Features(CACHE.load(Ordering::Relaxed));
    if cached.contain(KNOWN) {
        return cached;
    }
    fill_cache()
}

/// Two threads that come here together store the same value.
#[cold]
fn fill_cache() -> Features {
    let features = if cfg!(miri) { Features::NONE } else { ask() };
    let features = features.and(KNOWN);
    CACHE.store(features.0, Ordering::Relaxed);
    features
}

/// Linux tells each program in its auxiliary vector (`AT_HWCAP`), which the C library keeps. The numbers come from the
/// kernel's `linux/auxvec.h` and `asm/hwcap.h`.
#[cfg(target_os = "linux")]
fn ask() -> Features {
    use core::ffi::c_ulong;

    unsafe extern "C" {
        fn getauxval(kind: c_ulong) -> c_ulong;
    }
    const AT_HWCAP: c_ulong = 16;
    const HWCAP_AES: c_ulong = 1 << 3;
    const HWCAP_SHA2: c_ulong = 1 << 6;

    // SAFETY: the function only looks the value up, and is declared here as in sys/auxv.h.
    let found = unsafe { getauxval(AT_HWCAP) };
    of(found & HWCAP_AES != 0, found & HWCAP_SHA2 != 0)
}

/// Elsewhere: what the compiler may use. All Macs have both.
#[cfg(not(target_os = "linux"))]
fn ask() -> Features {
    of(cfg!(target_feature = "aes"), cfg!(target_feature = "sha2"))
}

fn of(aes: bool, sha256: bool) -> Features {
    let aes = if aes { AES } else { Features::NONE };
    let sha256 = if sha256 { SHA256 } else { Features::NONE };
    NEON.and(aes).and(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;

    #[test]
    fn the_answers_are_those_of_the_standard_library() {
        let expected = [
            (std::arch::is_aarch64_feature_detected!("neon"), NEON),
            (std::arch::is_aarch64_feature_detected!("aes"), AES),
            (std::arch::is_aarch64_feature_detected!("sha2"), SHA256),
        ];
        for (present, feature) in expected {
            let found = of_this_machine().contain(feature);
            assert_eq!(found, present, "{feature:?}");
        }
    }

    #[test]
    fn the_second_answer_comes_from_the_cache_and_is_the_same() {
        let first = of_this_machine();
        assert!(first.contain(KNOWN));
        assert_eq!(first, of_this_machine());
    }
}
