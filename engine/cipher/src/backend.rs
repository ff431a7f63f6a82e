//! The sets of instructions, and the tables of data that the machines fill in.

use crate::prf::{KEY_BYTES, Prf};
use core::hash::{Hash, Hasher};
use core::{fmt, ptr};
use zeroize::{ZeroizeOnDrop, optimization_barrier};

// Safe code, compiled once for each width of registers. For work whose result does not depend on the width, such as
// generators in lanes that the compiler vectorises. The crate that does the work needs no `unsafe`.

/// The registers for which the compiler may compile a [`SimdTask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Width {
    /// 512 bits, AVX-512 (F, BW, DQ, VL) of x86-64, whose rotation is one instruction.
    Avx512,
    /// 256 bits, AVX2 of x86-64.
    Avx2,
    /// The registers that every machine of the target has: 128 bits on x86-64 and arm64, SSE2 and NEON.
    Portable,
}

/// Something to do at a [`Width`].
pub trait SimdTask {
    /// The result.
    type Output;

    /// Does the work.
    ///
    /// Implement it, and what it calls, with `#[inline(always)]`: a function that is not inlined is
    /// compiled for [`Width::Portable`] only, even if code for a wider one calls it.
    fn run(self) -> Self::Output;
}

impl Width {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Width::Avx512 => "avx512",
            Width::Avx2 => "avx2",
            Width::Portable => "portable",
        }
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of up to seven instruction sets. Each machine's module gives the bits their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features(pub(crate) u8);

impl Features {
    /// Every CPU has these.
    pub(crate) const NONE: Features = Features(0);

    /// The features of both.
    #[allow(
        dead_code,
        reason = "a machine without implementations of its own joins none"
    )]
    pub(crate) const fn and(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// Whether every feature of `wanted` is in this set.
    pub(crate) const fn contain(self, wanted: Features) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

/// A key as the backends of its function write and read it; wiped on drop.
///
/// Its rows are aligned to 16 bytes: an instruction of AES then reads its round key from memory.
#[repr(align(16))]
#[allow(
    clippy::large_enum_variant,
    reason = "the owner chose and locked the memory of the key: it does not go behind a pointer"
)]
pub(crate) enum Schedule {
    /// The round keys, in the order of the backend.
    Aes256([Row; 16]),
    /// Rows 1 and 2 of the state.
    ChaCha20([Row; 2]),
}

/// 16 bytes, as a little-endian number.
pub(crate) type Row = u128;

impl Schedule {
    /// The rows of a key of AES-256.
    #[inline]
    pub(crate) fn aes256(&self) -> &[Row; 16] {
        match self {
            Schedule::Aes256(rows) => rows,
            Schedule::ChaCha20(_) => wrong_function(),
        }
    }

    /// The rows of a key of ChaCha20.
    #[inline]
    pub(crate) fn chacha20(&self) -> &[Row; 2] {
        match self {
            Schedule::ChaCha20(rows) => rows,
            Schedule::Aes256(_) => wrong_function(),
        }
    }
}

/// `Keystream` gives each backend the schedule that it made.
#[cold]
#[inline(never)]
fn wrong_function() -> ! {
    panic!("the key was set up for another function");
}

impl Drop for Schedule {
    fn drop(&mut self) {
        match self {
            Schedule::Aes256(rows) => *rows = [0; 16],
            Schedule::ChaCha20(rows) => *rows = [0; 2],
        }
        optimization_barrier(self);
    }
}

impl ZeroizeOnDrop for Schedule {}

/// An implementation of a [`Prf`]. [`Backend::ALL`] lists them.
#[derive(Clone, Copy)]
pub struct Backend(pub(crate) &'static Implementation);

/// The data of a backend. Each is one static of this type, in the module of its machine.
///
/// No branch and no address depends on the key. The functions are `#[inline(never)]`: a wipe of the stack covers the frames
/// below its own. The vector registers hold neither key nor keystream after a call; the
/// stack may, and is wiped by the caller.
pub(crate) struct Implementation {
    /// In reports, `function-instructions`.
    pub(crate) name: &'static str,
    pub(crate) prf: Prf,
    /// These must be there for `expand` and `fill`.
    pub(crate) features: Features,
    pub(crate) expand: Expand,
    /// How much of the stack `expand` takes in optimised code.
    pub(crate) expand_stack_bytes: usize,
    pub(crate) fill: Fill,
    /// How much of the stack `fill` takes in optimised code; 0 if what it stores there is no secret.
    pub(crate) fill_stack_bytes: usize,
}

/// Sets up a key. Safe where the CPU has the features of the backend.
pub(crate) type Expand = unsafe fn(&[u8; KEY_BYTES]) -> Schedule;

/// Overwrites a destination with the blocks from a counter on: (schedule, rounds of ChaCha, counter, destination). The
/// low 32 bits of the counter do not wrap before the last block. AES-256 has 14 rounds and ignores the number.
///
/// Safe where the CPU has the features of the backend.
pub(crate) type Fill = unsafe fn(&Schedule, usize, u128, &mut [u8]);

impl Backend {
    /// The function this backend implements.
    #[must_use]
    pub const fn prf(self) -> Prf {
        self.0.prf
    }

    /// The name in reports, `function-instructions`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }
}

impl PartialEq for Backend {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Backend {}

impl Hash for Backend {
    fn hash<H: Hasher>(&self, state: &mut H) {
        ptr::hash(self.0, state);
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An implementation of the compression function. [`Compression::ALL`] lists them; all give the same digests.
#[derive(Clone, Copy)]
pub struct Compression(pub(crate) &'static CompressionImplementation);

/// The data of a compression function. Each is one static of this type, in the module of its machine.
///
/// No branch and no address depends on the message.
pub(crate) struct CompressionImplementation {
    /// In reports, `function-instructions`.
    pub(crate) name: &'static str,
    /// These must be there for `compress`.
    pub(crate) features: Features,
    /// Compresses blocks into a state. Safe where the CPU has the features.
    pub(crate) compress: unsafe fn(&mut [u32; 8], &[[u8; BLOCK_BYTES]]),
    /// How much of the stack `compress`, and a copy of bytes, take in optimised code.
    pub(crate) stack_bytes: usize,
}

impl Compression {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }
}

impl PartialEq for Compression {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Compression {}

impl fmt::Debug for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// The numbers of FIPS 180-4.

/// The length of a block: 64 bytes.
pub(crate) const BLOCK_BYTES: usize = 64;

/// The state before the first block: FIPS 180-4, 5.3.3.
pub(crate) const INITIAL_STATE: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// FIPS 180-4, 4.2.2: the first 32 bits of the fractions of the cube roots of the first 64 primes.
#[rustfmt::skip]
pub(crate) static ROUND_CONSTANTS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5,
    0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3,
    0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc,
    0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
    0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3,
    0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5,
    0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
    0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];
