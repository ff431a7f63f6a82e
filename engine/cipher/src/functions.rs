//! The two functions as a caller uses them: the keystream of a key and a counter, and SHA-256 in place (FIPS 180-4).
//!
//! Each takes an implementation that this CPU runs, calls it by a pointer, and wipes what it left on the stack and in
//! registers.

use crate::backend::{BLOCK_BYTES, Compression, INITIAL_STATE, Schedule};
use crate::{Backend, KEY_BYTES, Prf, SimdTask, Width, machine, portable};
use core::fmt;
use zeroize::{ZeroizeOnDrop, optimization_barrier, zeroize_stack};

// The choice of an implementation.

#[allow(
    non_upper_case_globals,
    reason = "they are used as the variants of an enum are"
)]
impl Backend {
    /// AES-256 in plain Rust, bitsliced, on every machine, in constant time: 4 blocks at a time.
    pub const Aes256Portable: Backend = Backend(&portable::aes::BACKEND);

    /// ChaCha20 in plain Rust, on every machine, in constant time: one block at a time.
    pub const ChaCha20Portable: Backend = Backend(&portable::chacha20::BACKEND);

    /// Every backend for this kind of machine, the best of each function first.
    pub const ALL: &[Backend] = machine::BACKENDS;

    /// The best backend of `prf` that this CPU runs.
    #[must_use]
    pub fn detect(prf: Prf) -> Backend {
        let of_prf = |backend: &&Backend| backend.prf() == prf;
        first_available(Backend::ALL.iter().filter(of_prf))
    }

    /// The best backend for a program that asks for no function: AES-256 where the CPU has instructions for it, elsewhere
    /// ChaCha20, which is fast and constant in time without any.
    #[must_use]
    pub fn best() -> Backend {
        first_available(machine::BEST.iter())
    }

    /// Whether this CPU and its operating system run the backend's instructions.
    ///
    /// The CPU is asked once in a process; later answers cost one load.
    #[must_use]
    pub fn is_available(self) -> bool {
        machine::features().contain(self.0.features)
    }
}

fn first_available<'a>(backends: impl Iterator<Item = &'a Backend>) -> Backend {
    let mut available = backends.filter(|backend| backend.is_available());
    *available.next().expect("one is available everywhere")
}

#[allow(
    non_upper_case_globals,
    reason = "it is used as the variant of an enum is"
)]
impl Compression {
    /// Plain Rust, on every machine, in constant time.
    pub const Portable: Compression = Compression(&portable::sha256::COMPRESSION);

    /// Every implementation for this kind of machine, the fastest first.
    pub const ALL: &[Compression] = machine::COMPRESSIONS;

    /// The fastest that this CPU runs.
    #[inline]
    #[must_use]
    pub fn detect() -> Compression {
        let fastest = Compression::ALL.iter().find(|each| each.is_available());
        *fastest.expect("the portable one is available everywhere")
    }

    /// Whether this CPU runs it. The CPU is asked once in a process; later answers cost one load.
    #[inline]
    #[must_use]
    pub fn is_available(self) -> bool {
        machine::features().contain(self.0.features)
    }
}

impl Width {
    /// Every width, the widest first.
    pub const ALL: &[Width] = &[Width::Avx512, Width::Avx2, Width::Portable];

    /// The widest that this CPU has.
    #[inline]
    #[must_use]
    pub fn detect() -> Width {
        let widest = Width::ALL.iter().find(|width| width.is_available());
        *widest.expect("the portable width is available everywhere")
    }

    /// Whether this CPU and its operating system have the registers.
    ///
    /// The CPU is asked once in a process; later answers cost one load.
    #[inline]
    #[must_use]
    pub fn is_available(self) -> bool {
        machine::has_width(self)
    }

    /// Does `task` as compiled for this width.
    ///
    /// # Panics
    ///
    /// When this CPU lacks the width; [`Width::detect`] returns only widths that it has.
    #[inline]
    pub fn run<T: SimdTask>(self, task: T) -> T::Output {
        assert!(self.is_available(), "this CPU lacks the width");
        // SAFETY: the width is available.
        unsafe { machine::run_at(self, task) }
    }
}

// The keystream.

const ROUNDS: usize = 20;

/// The keystream of one key, from a counter on.
///
/// Every [`fill`](Self::fill) starts with a new block. If the last block of a fill is needed in part only,
/// its other bytes are never used, and the counter steps over it, as in FreeBSD's random(4).
///
/// The key schedule is wiped on drop. After [`new`](Self::new) and after every `fill` the stack holds
/// no key, state or output; with the backends for x86-64 and arm64 neither do the vector registers.
///
/// ```
/// use wellspring_cipher::{Backend, Keystream, Prf};
///
/// let backend = Backend::detect(Prf::ChaCha20);
/// let mut stream = Keystream::new(backend, &[7; 32], 0);
/// let mut bytes = [0; 100];
/// stream.fill(&mut bytes);
/// assert_eq!(stream.counter(), 2); // blocks of 64 bytes, the second one in part
/// ```
pub struct Keystream {
    backend: Backend,
    counter: u128,
    schedule: Schedule,
}

impl Keystream {
    /// Sets up `key`. The first block is the output for `counter`.
    ///
    /// # Panics
    ///
    /// When this CPU does not run `backend`; [`Backend::detect`] returns only backends that it runs.
    #[must_use]
    pub fn new(backend: Backend, key: &[u8; KEY_BYTES], counter: u128) -> Self {
        assert!(backend.is_available(), "this CPU does not run the backend");
        let _copies = EraseAfterSetUp(backend.0.expand_stack_bytes);
        Self::set_up(backend, key, counter)
    }

    #[inline(never)]
    fn set_up(backend: Backend, key: &[u8; KEY_BYTES], counter: u128) -> Self {
        // SAFETY: `new` has asserted that the backend is available.
        let schedule = unsafe { (backend.0.expand)(key) };
        Self {
            backend,
            counter,
            schedule,
        }
    }

    /// Overwrites `destination` with keystream. The counter steps by one for each block, even for a last
    /// block that is used in part.
    ///
    /// There is no limit of length: callers limit how much they take from one key.
    pub fn fill(&mut self, destination: &mut [u8]) {
        self.counter = self.generate(ROUNDS, self.counter, destination);
    }

    /// Overwrites `destination` with the blocks from number `first` on, the last of them in part. Block 0 follows block
    /// 2^128 - 1. The counter of this keystream does not change.
    ///
    /// ChaCha has `rounds` rounds: 20, or 8 or 12 for numbers that are not secret. AES-256 takes no notice of the number.
    #[doc(hidden)]
    pub fn fill_at(&self, rounds: usize, first: u128, destination: &mut [u8]) {
        assert!(matches!(rounds, 8 | 12 | 20), "ChaCha has other rounds");
        self.generate(rounds, first, destination);
    }

    /// Returns the number of the next block.
    #[inline]
    fn generate(&self, rounds: usize, first: u128, destination: &mut [u8]) -> u128 {
        const AES_BLOCK_BYTES: usize = Prf::Aes256.block_bytes();
        const CHACHA_BLOCK_BYTES: usize = Prf::ChaCha20.block_bytes();
        let implementation = self.backend.0;
        let fill = |first, run: &mut [u8]| {
            // SAFETY: `new` has asserted that the backend is available.
            unsafe { (implementation.fill)(&self.schedule, rounds, first, run) }
        };
        let next = match implementation.prf {
            Prf::Aes256 => fill_in_runs::<AES_BLOCK_BYTES>(first, destination, fill),
            Prf::ChaCha20 => fill_in_runs::<CHACHA_BLOCK_BYTES>(first, destination, fill),
        };
        erase_stack_of::<256, 2048>(implementation.fill_stack_bytes);
        next
    }

    /// The counter of the next block.
    #[must_use]
    pub fn counter(&self) -> u128 {
        self.counter
    }
}

impl fmt::Debug for Keystream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keystream").finish_non_exhaustive()
    }
}

// The carry from the low word of the counter to the words above it, for all backends.

/// Fills `destination` in runs within which the low 32 bits of the counter do not wrap.
///
/// `fill` gets the counter of the first block of its run. In every lane that it stores it may step the
/// low word alone: the one wrap in 2^32 blocks always falls between two runs. Lanes past the end of
/// a run may wrap; they must not be stored.
///
/// Every run but the last consists of whole blocks. Returns the counter of the next block.
#[inline]
pub(crate) fn fill_in_runs<const BLOCK_BYTES: usize>(
    first: u128,
    destination: &mut [u8],
    mut fill: impl FnMut(u128, &mut [u8]),
) -> u128 {
    let (mut first, mut rest) = (first, destination);
    while !rest.is_empty() {
        let until_wrap = (1 << 32) - u64::from(first as u32);
        let bytes = (until_wrap * BLOCK_BYTES as u64).min(rest.len() as u64);
        let (run, after) = rest.split_at_mut(bytes as usize);
        fill(first, run);
        first = first.wrapping_add(bytes.div_ceil(BLOCK_BYTES as u64).into());
        rest = after;
    }
    first
}

// SHA-256 works in place, for pools and seeds: a pool is in locked memory that a fork wipes, and nothing of it may be copied
// elsewhere. The usual crates return the digest and the emptied state by value, and leave the message schedule on the stack.

/// The length of a digest: 32 bytes.
pub const DIGEST_BYTES: usize = 32;

/// The last block holds up to 55 bytes of the message: one byte starts the padding, 8 hold the length.
const LENGTH_AT: usize = BLOCK_BYTES - 8;

/// A SHA-256 computation in place: 104 bytes, wiped on drop.
///
/// All bytes zero is the empty hash: memory that was zeroed, by the system on a fork for example, is a value of
/// this type. When a call returns, the input is left in this struct and in the digest only: the message schedule
/// and the working variables are wiped from the stack, and on x86-64 and arm64 from the registers.
///
/// A message may have up to 2^61 - 1 bytes (FIPS 180-4, 1); this is not checked.
///
/// ```
/// use wellspring_cipher::sha256::Sha256;
///
/// let mut hash = Sha256::new();
/// hash.update(b"ab");
/// hash.update(b"c");
/// let mut digest = [0; 32];
/// hash.finish_into(&mut digest);
/// assert_eq!(digest, Sha256::digest(b"abc"));
/// ```
#[repr(C)]
pub struct Sha256 {
    /// The bytes of the message so far.
    length: u64,
    /// After the whole blocks of the message so far. Not loaded yet while `length` is 0.
    state: [u32; 8],
    /// The bytes after the last whole block: `length % 64` of them.
    block: [u8; BLOCK_BYTES],
}

impl Sha256 {
    /// The empty hash. What zeroed memory holds.
    pub const ZERO: Self = Self {
        length: 0,
        state: [0; 8],
        block: [0; BLOCK_BYTES],
    };

    /// The empty hash.
    #[must_use]
    pub const fn new() -> Self {
        Self::ZERO
    }

    /// Appends `bytes` to the message.
    pub fn update(&mut self, bytes: &[u8]) {
        self.update_by(Compression::detect(), bytes);
    }

    /// Writes the digest of the message to `digest`. The hash is empty again.
    pub fn finish_into(&mut self, digest: &mut [u8; DIGEST_BYTES]) {
        self.finish_into_by(Compression::detect(), digest);
    }

    /// The digest of `bytes`, for data that is not secret: the digest is returned by value.
    #[must_use]
    pub fn digest(bytes: &[u8]) -> [u8; DIGEST_BYTES] {
        let (mut hash, mut digest) = (Self::ZERO, [0; DIGEST_BYTES]);
        hash.update(bytes);
        hash.finish_into(&mut digest);
        digest
    }

    /// [`update`](Self::update) by a given implementation, for tests and benchmarks.
    ///
    /// # Panics
    ///
    /// When this CPU does not run `compression`.
    pub fn update_by(&mut self, compression: Compression, bytes: &[u8]) {
        assert!(
            compression.is_available(),
            "this CPU lacks the instructions"
        );
        self.absorb(compression, bytes);
        wipe_call(compression);
    }

    /// [`finish_into`](Self::finish_into) by a given implementation, for tests and benchmarks.
    ///
    /// # Panics
    ///
    /// When this CPU does not run `compression`.
    pub fn finish_into_by(&mut self, compression: Compression, digest: &mut [u8; DIGEST_BYTES]) {
        assert!(
            compression.is_available(),
            "this CPU lacks the instructions"
        );
        self.pad(compression, digest);
        wipe_call(compression);
    }

    #[inline(never)]
    fn absorb(&mut self, compression: Compression, bytes: &[u8]) {
        if self.length == 0 {
            self.state = INITIAL_STATE;
        }
        let buffered = self.buffered();
        self.length = self.length.wrapping_add(bytes.len() as u64);
        let mut rest = bytes;
        if buffered > 0 {
            let (now, after) = rest.split_at(rest.len().min(BLOCK_BYTES - buffered));
            self.block[buffered..][..now.len()].copy_from_slice(now);
            if buffered + now.len() < BLOCK_BYTES {
                return;
            }
            compress(
                compression,
                &mut self.state,
                core::slice::from_ref(&self.block),
            );
            rest = after;
        }
        let (blocks, tail) = rest.as_chunks();
        compress(compression, &mut self.state, blocks);
        self.block[..tail.len()].copy_from_slice(tail);
    }

    /// FIPS 180-4, 5.1.1: a one bit, zeros, the length in bits.
    #[inline(never)]
    fn pad(&mut self, compression: Compression, digest: &mut [u8; DIGEST_BYTES]) {
        if self.length == 0 {
            self.state = INITIAL_STATE;
        }
        let buffered = self.buffered();
        self.block[buffered] = 0x80;
        self.block[buffered + 1..].fill(0);
        if buffered >= LENGTH_AT {
            compress(
                compression,
                &mut self.state,
                core::slice::from_ref(&self.block),
            );
            self.block.fill(0);
        }
        let bits = self.length.wrapping_mul(8);
        self.block[LENGTH_AT..].copy_from_slice(&bits.to_be_bytes());
        compress(
            compression,
            &mut self.state,
            core::slice::from_ref(&self.block),
        );
        for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(self.state) {
            *bytes = word.to_be_bytes();
        }
        self.clear();
    }

    fn buffered(&self) -> usize {
        (self.length % BLOCK_BYTES as u64) as usize
    }

    #[inline(never)]
    fn clear(&mut self) {
        self.length = 0;
        self.state = [0; 8];
        self.block = [0; BLOCK_BYTES];
        optimization_barrier(self);
    }
}

fn compress(compression: Compression, state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
    // SAFETY: `update_by` and `finish_into_by` have asserted that it is available.
    unsafe { (compression.0.compress)(state, blocks) }
}

/// Wipes what `absorb` and `pad` leave below the caller's frame, and the registers.
#[inline(always)]
fn wipe_call(compression: Compression) {
    erase_stack_of::<256, 1024>(compression.0.stack_bytes);
    machine::wipe_all_registers();
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Drop for Sha256 {
    #[inline]
    fn drop(&mut self) {
        self.clear();
    }
}

impl ZeroizeOnDrop for Sha256 {}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sha256").finish_non_exhaustive()
    }
}

// The wipe of bytes, and of what a backend leaves on the stack.
//
// A wipe of the stack starts below the frame of its caller and covers the frames of the functions that the caller
// called before. Those functions must not be inlined into the caller. The sizes were measured in optimised
// code and rounded up generously; tests search the stack for secrets after each call.

/// The most stack that a backend uses in a build without optimisation.
const UNOPTIMISED_BYTES: usize = 6 << 10;

/// Overwrites the stack with zeros, `BYTES` bytes down from the frame of the caller.
///
/// For a function that has called others with secrets. The others must be `#[inline(never)]`: inlined
/// code works in the caller's own frame, which this does not reach. `BYTES` is the stack that they take
/// in optimised code; with debug assertions at least 6 KiB are wiped, as the compiler keeps less in
/// registers then.
///
/// ```
/// # use wellspring_cipher::erase_stack;
/// #[inline(never)]
/// fn handle(secret: &[u8; 32]) -> u8 {
///     let copy = *secret;
///     copy.iter().fold(0, |sum, byte| sum ^ byte)
/// }
///
/// let parity = handle(&[7; 32]);
/// erase_stack::<256>();
/// # assert_eq!(parity, 0);
/// ```
#[inline(always)]
pub fn erase_stack<const BYTES: usize>() {
    if cfg!(debug_assertions) && BYTES < UNOPTIMISED_BYTES {
        zeroize_stack::<UNOPTIMISED_BYTES>();
    } else {
        zeroize_stack::<BYTES>();
    }
}

/// Overwrites `bytes` with zeros. The compiler cannot remove the writes, and makes them as wide as it can: [`Zeroize`] takes
/// an instruction a byte, and 160 bytes of a program for each key that is wiped.
///
/// [`Zeroize`]: zeroize::Zeroize
#[inline(always)]
pub fn wipe<const N: usize>(bytes: &mut [u8; N]) {
    *bytes = [0; N];
    optimization_barrier(bytes);
}

/// Like [`erase_stack`], for a size that is data of an implementation: `SMALL` or `LARGE` bytes, at least `bytes`, and
/// nothing for 0. Each size is code at each call, so a call has the two that its implementations need.
#[inline(always)]
fn erase_stack_of<const SMALL: usize, const LARGE: usize>(bytes: usize) {
    debug_assert!(bytes <= LARGE, "no implementation takes more");
    match bytes.max(cfg!(debug_assertions).into()) {
        0 => {}
        bytes if bytes <= SMALL => erase_stack::<SMALL>(),
        _ => erase_stack::<LARGE>(),
    }
}

/// Wipes the stack and the registers when it is dropped, after a key was set up: values that move
/// leave copies. It holds the bytes of the stack that the backend's `expand` takes.
///
/// It is a guard so that its owner can return the keystream directly from the call that makes it. A local
/// variable for the keystream would be one more copy, in a frame that no wipe covers.
struct EraseAfterSetUp(usize);

impl Drop for EraseAfterSetUp {
    #[inline]
    fn drop(&mut self) {
        erase_stack_of::<256, 4096>(self.0);
        machine::wipe_basic_registers();
    }
}

#[cfg(test)]
mod tests {
    use super::fill_in_runs;
    use std::vec::Vec;

    extern crate std;

    fn runs(first: u128, bytes: usize) -> (Vec<(u128, usize)>, u128) {
        let mut runs = Vec::new();
        let mut destination = [0; 400];
        let next = fill_in_runs::<16>(first, &mut destination[..bytes], |first, run| {
            runs.push((first, run.len()));
        });
        (runs, next)
    }

    #[test]
    fn a_run_ends_where_the_low_word_wraps() {
        let wrap = 7u128 << 32;
        assert_eq!(
            runs(wrap - 2, 50),
            ([(wrap - 2, 32), (wrap, 18)].to_vec(), wrap + 2)
        );
        assert_eq!(runs(wrap - 2, 32), ([(wrap - 2, 32)].to_vec(), wrap));
        assert_eq!(runs(wrap, 50), ([(wrap, 50)].to_vec(), wrap + 4));
        assert_eq!(runs(wrap + 1, 50), ([(wrap + 1, 50)].to_vec(), wrap + 5));
    }

    #[test]
    fn zero_follows_the_largest_counter() {
        assert_eq!(runs(u128::MAX, 17), ([(u128::MAX, 16), (0, 1)].to_vec(), 1));
    }

    #[test]
    fn nothing_is_filled_for_no_bytes() {
        assert_eq!(runs(3, 0), (Vec::new(), 3));
    }
}
