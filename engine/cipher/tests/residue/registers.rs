//! After a call the vector registers hold no key and no output: on x86-64 the low 128 bits, on arm64 all.

#![cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]

use crate::model::{COUNTER, KEY, backends, keystream};
use std::arch::asm;
use std::collections::HashSet;
use std::hint::black_box;
use wellspring_cipher::Keystream;

/// Whole batches, and a part of a block.
const OUTPUT_BYTES: usize = 2048 + 512 + 64 + 13;

/// Copies the registers. A macro, since a call would use some.
#[cfg(target_arch = "x86_64")]
macro_rules! registers {
    () => {{
        let mut bytes = [0u8; 256];
        // SAFETY: stores 256 bytes in the array, and changes no register.
        unsafe {
            asm!(
                "movups [{0}], xmm0", "movups [{0} + 16], xmm1", "movups [{0} + 32], xmm2", "movups [{0} + 48], xmm3",
                "movups [{0} + 64], xmm4", "movups [{0} + 80], xmm5", "movups [{0} + 96], xmm6",
                "movups [{0} + 112], xmm7", "movups [{0} + 128], xmm8", "movups [{0} + 144], xmm9",
                "movups [{0} + 160], xmm10", "movups [{0} + 176], xmm11", "movups [{0} + 192], xmm12",
                "movups [{0} + 208], xmm13", "movups [{0} + 224], xmm14", "movups [{0} + 240], xmm15",
                in(reg) bytes.as_mut_ptr(), options(nostack, preserves_flags),
            );
        }
        bytes
    }};
}

/// Copies the registers. A macro, since a call would use some.
#[cfg(target_arch = "aarch64")]
macro_rules! registers {
    () => {{
        let mut bytes = [0u8; 512];
        // SAFETY: stores 512 bytes in the array, and changes no register.
        unsafe {
            asm!(
                "stp q0, q1, [{0}]", "stp q2, q3, [{0}, 32]", "stp q4, q5, [{0}, 64]", "stp q6, q7, [{0}, 96]",
                "stp q8, q9, [{0}, 128]", "stp q10, q11, [{0}, 160]", "stp q12, q13, [{0}, 192]",
                "stp q14, q15, [{0}, 224]", "stp q16, q17, [{0}, 256]", "stp q18, q19, [{0}, 288]",
                "stp q20, q21, [{0}, 320]", "stp q22, q23, [{0}, 352]", "stp q24, q25, [{0}, 384]",
                "stp q26, q27, [{0}, 416]", "stp q28, q29, [{0}, 448]", "stp q30, q31, [{0}, 480]",
                in(reg) bytes.as_mut_ptr(), options(nostack, preserves_flags),
            );
        }
        bytes
    }};
}

/// Words of a key and of its output, alone and repeated. A function of its own, that knows no key: the compiler kept words of
/// a constant one in registers that a callee leaves as they are.
#[inline(never)]
fn secrets(key: &[u8; 32], output: &[u8]) -> HashSet<Vec<u8>> {
    let pairs = [key.as_slice(), output].map(|bytes| bytes.windows(8).step_by(4));
    let mut secrets: HashSet<Vec<u8>> = pairs.into_iter().flatten().map(<[u8]>::to_vec).collect();
    secrets.extend(key.chunks_exact(4).map(|word| word.repeat(2)));
    secrets
}

#[test]
fn no_key_and_no_output_stays_in_vector_registers() {
    for backend in backends().filter(|backend| !backend.name().ends_with("-portable")) {
        let key = black_box(&KEY);
        let mut output = vec![0; OUTPUT_BYTES];
        let secrets = secrets(key, &keystream(backend.prf(), key, COUNTER, OUTPUT_BYTES));
        let mut stream = Keystream::new(backend, key, COUNTER);
        let after_set_up = registers!();
        stream.fill(&mut output);
        let after_fill = registers!();
        let found = |bytes: &[u8]| bytes.windows(8).any(|word| secrets.contains(word));
        assert!(found(&output), "the search itself");
        assert!(!found(&after_set_up), "{backend}: after the key was set up");
        assert!(!found(&after_fill), "{backend}: after a fill");
    }
}
