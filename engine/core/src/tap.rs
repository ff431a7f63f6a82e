//! A thread's own key and buffer: small reads without a lock, under fast key erasure.

use crate::generation::NEVER;
use crate::wipe;
use core::sync::atomic::{Ordering, compiler_fence};
use wellspring_cipher::{Backend, KEY_BYTES, Keystream, SimdTask, Width};
use zeroize::Zeroize;

/// The most output that one tap key makes: 2^20 bytes, Fortuna's limit.
pub const KEY_LIMIT_BYTES: usize = crate::generator::KEY_LIMIT_BYTES;

/// The fresh entropy that is mixed into every key, in bytes.
///
/// It separates copies of this process or machine, for which 128 bits are enough: two copies mix in the same bytes with
/// a probability of 2^-128. And an attacker who once read the key must guess them at every key from then on, until the
/// next reseed replaces the key as a whole. It does not make the key strong: that is secret and has 256 bits. The
/// system's function takes 30 ns for each 16 bytes.
pub const FRESH_BYTES: usize = 16;

/// The longest read that is made in registers alone, without a call of libc.
pub const SHORT_BYTES: usize = 64;

/// The bytes that a [short refill](Refill::Short) makes.
pub const SHORT_REFILL_BYTES: usize = 512;

/// How much a read makes if it finds too few bytes in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// The whole buffer.
    Whole,
    /// The last [`SHORT_REFILL_BYTES`] of the buffer: for a read that has done other work and is late. A large buffer
    /// takes a third of a microsecond, and the next read that finds too few bytes makes it.
    Short,
}

/// A tap: {generation, key, counter, buffer, position}.
///
/// Belongs to one thread at one nesting depth, or to one `LocalRng`; nothing else touches it. A new tap is all zeros
/// and has no key: its generation is [`NEVER`], which no engine's matches. Every tap becomes all zeros in a child
/// process, whose copy of this memory the system wipes.
///
/// # What remains in memory
///
/// Between two reads: the key of the *next* refill and the part of the buffer that was not yet handed out.
/// Past output cannot be computed from either: the refill overwrote the key that made the buffer, and a read
/// erases what it takes from the buffer.
///
/// # A read that is never finished
///
/// A signal handler may leave a read by siglongjmp, and an owned tap be read again. So a read counts its bytes as handed
/// out before it copies and erases them. Left in between, it costs these bytes. In the other order the next read would
/// hand out the same bytes again, or the zeros in their place.
///
/// If `BUFFER_BYTES` is a multiple of 64 there is no padding, which a wipe of the fields would miss.
#[repr(C, align(64))]
pub struct Tap<const BUFFER_BYTES: usize> {
    /// Used to its end: a short refill touches its last bytes and the other fields, and no page before.
    buffer: [u8; BUFFER_BYTES],
    key: [u8; KEY_BYTES],
    counter: u128,
    /// The number of bytes, at the end of the buffer, that were not handed out yet. 64 bits on every target, so that
    /// there is no padding.
    left_bytes: u64,
    generation: u64,
}

impl<const BUFFER_BYTES: usize> Tap<BUFFER_BYTES> {
    /// A tap without a key, of no generation: the same as zeroed memory.
    pub const ZERO: Self = Self {
        generation: NEVER,
        left_bytes: 0,
        counter: 0,
        key: [0; KEY_BYTES],
        buffer: [0; BUFFER_BYTES],
    };

    /// Returns whether the key is of this generation.
    #[must_use]
    #[inline(always)]
    pub fn is_current(&self, generation: u64) -> bool {
        self.generation == generation
    }

    /// Takes a key fetched from a node, under the generation read before the fetch. The rest of the buffer is
    /// discarded.
    pub fn rekey(&mut self, key: &[u8; KEY_BYTES], generation: u64) {
        self.discard();
        self.counter = 0;
        self.key.copy_from_slice(key);
        self.generation = generation;
    }

    /// Erases the rest of the buffer. What was handed out of it is erased already.
    pub fn discard(&mut self) {
        let left_bytes = BUFFER_BYTES.min(self.left_bytes as usize);
        self.left_bytes = 0;
        compiler_fence(Ordering::SeqCst);
        self.buffer[BUFFER_BYTES - left_bytes..].fill(0);
    }

    /// The small read: hands out the next `destination.len()` bytes of the buffer and erases them there.
    ///
    /// Returns `false`, and touches nothing, if fewer bytes are left.
    #[must_use]
    #[inline(always)]
    pub fn take(&mut self, destination: &mut [u8]) -> bool {
        let length = destination.len();
        // Read once: if a signal handler forks during this read, the tap of the child is wiped under it.
        let left_bytes = self.left_bytes as usize;
        // `left_bytes` never exceeds the buffer; the comparison spares a second bounds check below.
        if length > left_bytes || left_bytes > BUFFER_BYTES {
            return false;
        }
        let start = BUFFER_BYTES - left_bytes;
        self.left_bytes = (left_bytes - length) as u64;
        compiler_fence(Ordering::SeqCst);
        hand_out(destination, &mut self.buffer[start..start + length]);
        true
    }

    /// Like [`take`](Self::take), into registers: for a number, which then is never in memory. Returns `None`, and
    /// touches nothing, if fewer than `N` bytes are left.
    #[must_use]
    #[inline(always)]
    pub fn take_bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        // One comparison: the difference wraps if fewer are left. Written as in `take` it takes one instruction more.
        let rest_bytes = (self.left_bytes as usize).wrapping_sub(N);
        let start = (BUFFER_BYTES - N).checked_sub(rest_bytes)?;
        let taken = self.buffer[start..].first_chunk_mut()?;
        self.left_bytes = rest_bytes as u64;
        compiler_fence(Ordering::SeqCst);
        let bytes = *taken;
        *taken = [0; N];
        Some(bytes)
    }

    /// Any read: hands out what is left in the buffer; for the rest it refills the buffer, or writes straight to
    /// the caller's memory if the rest is long.
    ///
    /// `gather` writes fresh entropy, output of the operating system XORed with the cycle counter, which is mixed into
    /// every key: so copies of this process or machine diverge here at the latest. In a deterministic engine it does
    /// nothing and returns `false`; then nothing is mixed.
    pub fn take_or_make(
        &mut self,
        backend: Backend,
        refill: Refill,
        mut gather: impl FnMut(&mut [u8; FRESH_BYTES]) -> bool,
        destination: &mut [u8],
    ) {
        let fields = TapFields {
            left_bytes: &mut self.left_bytes,
            counter: &mut self.counter,
            key: &mut self.key,
            buffer: &mut self.buffer,
        };
        fields.take_or_make(backend, refill, &mut gather, destination);
    }
}

/// The fields of a tap with a buffer of any size: what is off the hot path is compiled once.
struct TapFields<'a> {
    left_bytes: &'a mut u64,
    counter: &'a mut u128,
    key: &'a mut [u8; KEY_BYTES],
    buffer: &'a mut [u8],
}

impl TapFields<'_> {
    fn take_or_make(
        mut self,
        backend: Backend,
        refill: Refill,
        gather: &mut dyn FnMut(&mut [u8; FRESH_BYTES]) -> bool,
        destination: &mut [u8],
    ) {
        let from_buffer = destination.len().min(*self.left_bytes as usize);
        let (head, rest) = destination.split_at_mut(from_buffer);
        self.take(head);
        if rest.is_empty() {
            return;
        }
        // From half a buffer on, making the rest in place beats a refill that is then copied and erased: 4096
        // bytes measured 378 ns against 430.
        let buffer_bytes = self.buffer.len();
        if rest.len() < buffer_bytes / 2 {
            self.mix(gather);
            let is_short = refill == Refill::Short && rest.len() <= SHORT_REFILL_BYTES;
            let start = if is_short {
                buffer_bytes.saturating_sub(SHORT_REFILL_BYTES)
            } else {
                0
            };
            erase_key_fast(backend, self.key, self.counter, &mut self.buffer[start..]);
            *self.left_bytes = (buffer_bytes - start) as u64;
            self.take(rest);
        } else {
            for chunk in rest.chunks_mut(KEY_LIMIT_BYTES) {
                self.mix(gather);
                erase_key_fast(backend, self.key, self.counter, chunk);
            }
        }
    }

    /// Like [`Tap::take`], not inlined for its size. Does nothing if fewer bytes are left: a fork wiped the tap during this
    /// read, in the child.
    #[inline(never)]
    fn take(&mut self, destination: &mut [u8]) {
        let left_bytes = *self.left_bytes as usize;
        let start = self.buffer.len().saturating_sub(left_bytes);
        let left = &mut self.buffer[start..];
        if let Some((taken, rest)) = left.split_at_mut_checked(destination.len()) {
            *self.left_bytes = rest.len() as u64;
            compiler_fence(Ordering::SeqCst);
            destination.copy_from_slice(taken);
            taken.fill(0);
        }
    }

    /// Mixes fresh entropy into the key, if `gather` has some.
    #[inline(never)]
    fn mix(&mut self, gather: &mut dyn FnMut(&mut [u8; FRESH_BYTES]) -> bool) {
        let mut fresh = [0; FRESH_BYTES];
        if gather(&mut fresh) {
            // An XOR is enough: the key is secret and independent of these bytes. An attacker who knows or chooses them
            // still learns nothing about the result.
            for (key, fresh) in self.key.iter_mut().zip(&fresh) {
                *key ^= fresh;
            }
        }
        wipe(&mut fresh);
    }
}

impl<const BUFFER_BYTES: usize> Zeroize for Tap<BUFFER_BYTES> {
    fn zeroize(&mut self) {
        self.generation.zeroize();
        self.left_bytes.zeroize();
        self.counter.zeroize();
        wipe(&mut self.key);
        wipe(&mut self.buffer);
    }
}

/// Moves bytes out of the buffer: copies them to `destination`, which has the same length, and erases the original.
///
/// Up to 256 bytes are moved as two pieces that may overlap, in registers: two calls of libc would cost more than all
/// the rest of a small read, and the compiler leaves the calls out where the length is a known small number. The bytes
/// go straight to `destination`: a local variable would leave a copy on the stack.
#[inline(always)]
fn hand_out(destination: &mut [u8], taken: &mut [u8]) {
    match taken.len() {
        // The C library has wider registers.
        257.. => {
            destination.copy_from_slice(taken);
            taken.fill(0);
            Some(())
        }
        129.. => Width::detect().run(HandOutLong { destination, taken }),
        65.. => hand_out_pieces::<64>(destination, taken),
        33.. => hand_out_pieces::<32>(destination, taken),
        16.. => hand_out_pieces::<16>(destination, taken),
        8.. => hand_out_pieces::<8>(destination, taken),
        4.. => hand_out_pieces::<4>(destination, taken),
        2.. => hand_out_pieces::<2>(destination, taken),
        1 => hand_out_pieces::<1>(destination, taken),
        0 => Some(()),
    };
}

/// Like [`hand_out`], for 128 to 256 bytes, by the widest registers: 12 stores where SSE2 makes 48.
struct HandOutLong<'a> {
    destination: &'a mut [u8],
    taken: &'a mut [u8],
}

impl SimdTask for HandOutLong<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn run(self) -> Option<()> {
        hand_out_pieces::<128>(self.destination, self.taken)
    }
}

/// Like [`hand_out`], for `N` to `2 * N` bytes.
#[inline(always)]
fn hand_out_pieces<const N: usize>(destination: &mut [u8], taken: &mut [u8]) -> Option<()> {
    destination
        .first_chunk_mut::<N>()?
        .copy_from_slice(taken.first_chunk::<N>()?);
    destination
        .last_chunk_mut::<N>()?
        .copy_from_slice(taken.last_chunk::<N>()?);
    taken.first_chunk_mut::<N>()?.fill(0);
    taken.last_chunk_mut::<N>()?.fill(0);
    Some(())
}

/// Fast key erasure (D. J. Bernstein, 2017): the keystream's first bytes are the next key and replace the key
/// that makes it before any output exists; the bytes after them are the output.
///
/// When this returns, the old key is in no register or memory that outlives the call (the key schedule is
/// wiped on drop), and cannot be computed from the new one. The counter goes on over all keys.
#[inline(never)]
fn erase_key_fast(
    backend: Backend,
    key: &mut [u8; KEY_BYTES],
    counter: &mut u128,
    output: &mut [u8],
) {
    let mut keystream = Keystream::new(backend, key, *counter);
    keystream.fill(key);
    keystream.fill(output);
    *counter = keystream.counter();
}
