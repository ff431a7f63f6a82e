//! A thread's own key and buffer: small reads without a lock, under fast key erasure.

use crate::wipe;
use core::sync::atomic::{Ordering, compiler_fence};
use wellspring_cipher::{Backend, KEY_BYTES, Keystream, SimdTask, Width};
use zeroize::Zeroize;

/// The generation of a tap without a key. No engine ever has it: a new tap has it, and a tap in a child process, where its
/// memory was wiped.
pub const NO_GENERATION: u64 = 0;

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
/// and has no key: its generation is [`NO_GENERATION`]. Every tap becomes all zeros in a child process, whose copy of this
/// memory the system wipes.
///
/// # The generation
///
/// A reseed of the root, a clone, a resume and an operator's command all do one thing: they bump the generation. A tap with
/// another generation takes a fresh key from its node before its next byte. There is no list of taps and no lock.
///
/// A bump comes *after* the new seed was made visible, in the mailbox of the node. A fetch of a key reads the generation
/// *before* it fetches. So a tap of generation g has a key that was drawn after every seed that g announced. A bump during
/// the fetch leaves the tap with the older number, and its next read fetches again.
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
        generation: NO_GENERATION,
        left_bytes: 0,
        counter: 0,
        key: [0; KEY_BYTES],
        buffer: [0; BUFFER_BYTES],
    };

    /// The tap, without the size of its buffer.
    #[inline(always)]
    pub fn fields(&mut self) -> TapFields<'_> {
        TapFields {
            generation: &mut self.generation,
            left_bytes: &mut self.left_bytes,
            counter: &mut self.counter,
            key: &mut self.key,
            buffer: &mut self.buffer,
        }
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
}

/// The fields of a tap with a buffer of any size: code off the hot path is compiled once.
///
/// A read off the hot path takes the bytes that are [left](Self::take_left). For the rest it [mixes](Self::mix) fresh
/// entropy into the key; then it [refills](Self::refill) the buffer and takes the rest from there, or, if the rest is
/// [long](Self::is_long), makes it in place.
pub struct TapFields<'a> {
    generation: &'a mut u64,
    left_bytes: &'a mut u64,
    counter: &'a mut u128,
    key: &'a mut [u8; KEY_BYTES],
    buffer: &'a mut [u8],
}

impl TapFields<'_> {
    /// Whether the key is of this generation.
    #[must_use]
    #[inline(always)]
    pub fn is_of(&self, generation: u64) -> bool {
        *self.generation == generation
    }

    /// Takes a key fetched from a node, under the generation read before the fetch. The rest of the buffer is
    /// discarded.
    pub fn rekey(&mut self, key: &[u8; KEY_BYTES], generation: u64) {
        self.discard();
        *self.counter = 0;
        self.key.copy_from_slice(key);
        *self.generation = generation;
    }

    /// Erases the rest of the buffer. Bytes that were handed out are erased already.
    fn discard(&mut self) {
        let left_bytes = self.buffer.len().min(*self.left_bytes as usize);
        *self.left_bytes = 0;
        compiler_fence(Ordering::SeqCst);
        let start = self.buffer.len() - left_bytes;
        self.buffer[start..].fill(0);
    }

    /// Hands out the rest of the buffer, as far as it goes. Returns the place of the bytes that are still missing.
    pub fn take_left<'d>(&mut self, destination: &'d mut [u8]) -> &'d mut [u8] {
        let from_buffer = destination.len().min(*self.left_bytes as usize);
        let (head, rest) = destination.split_at_mut(from_buffer);
        self.take(head);
        rest
    }

    /// Whether a rest of this length is made in place. From half a buffer on, that beats a refill that is then copied and
    /// erased: 4096 bytes measured 378 ns against 430.
    #[must_use]
    pub fn is_long(&self, rest_bytes: usize) -> bool {
        rest_bytes >= self.buffer.len() / 2
    }

    /// Mixes fresh entropy into the key: output of the operating system XORed with the cycle counter. So copies of this
    /// process or machine diverge here at the latest. A deterministic engine mixes nothing.
    ///
    /// An XOR is enough: the key is secret and independent of these bytes. An attacker who knows or chooses them still learns
    /// nothing about the result.
    #[inline(never)]
    pub fn mix(&mut self, fresh: &[u8; FRESH_BYTES]) {
        for (key, fresh) in self.key.iter_mut().zip(fresh) {
            *key ^= fresh;
        }
    }

    /// Makes the next key and the buffer, and hands out a rest that is not [long](Self::is_long).
    pub fn refill(&mut self, backend: Backend, refill: Refill, rest: &mut [u8]) {
        let buffer_bytes = self.buffer.len();
        let is_short = refill == Refill::Short && rest.len() <= SHORT_REFILL_BYTES;
        let start = if is_short {
            buffer_bytes.saturating_sub(SHORT_REFILL_BYTES)
        } else {
            0
        };
        erase_key_fast(backend, self.key, self.counter, &mut self.buffer[start..]);
        *self.left_bytes = (buffer_bytes - start) as u64;
        self.take(rest);
    }

    /// Makes the next key and up to [`KEY_LIMIT_BYTES`] straight in the caller's memory.
    pub fn make(&mut self, backend: Backend, destination: &mut [u8]) {
        erase_key_fast(backend, self.key, self.counter, destination);
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
