//! Identifiers: UUIDs of versions 4 and 7 (RFC 9562), ULIDs, trace ids, tokens, and their text.
//!
//! ```
//! use wellspring::ids;
//! let order = ids::uuid7();
//! println!("{}", ids::uuid_text(order)); // 019ab4e2-9d3c-7a51-8f0e-3b8c52d17e64
//! assert!(order < ids::uuid7());
//! let trace: [u8; 16] = wellspring::bytes();
//! assert_eq!(ids::hex_text::<16, 32>(trace).len(), 32);
//! ```
//!
//! | identifier | bits from the engine | order |
//! |---|---|---|
//! | [`uuid4`] | 122 | none |
//! | [`uuid7`] | 56 in each, and 17 at the first of a millisecond | by time; each thread's are ascending |
//! | [`ulid`] | 62 in each, and 17 at the first of a millisecond | by time; each thread's are ascending |
//! | [`bytes`](crate::bytes)`::<16>()` or `::<32>()`, a trace id | all | none |
//! | [`base64url_text`]`::<32, 43>(`[`bytes`](crate::bytes)`())`, a token | all | none |
//! | [`alphanumeric`](crate::alphanumeric)`::<22>()`, a token of letters and digits | 5.95 a character | none |
//!
//! All of them are arrays of bytes in the order of their text, as `uuid::Uuid::from_bytes` and databases take them.
//! They keep the engine's promises: no thread, signal handler or child process repeats the random bits of another.
//!
//! # Order
//!
//! [`uuid7`] and [`ulid`] share a counter in each thread, by method 1 of RFC 9562 section 6.2: 18 bits after the time, which
//! begin below 2^17 at random with each millisecond, and go up by one until the next.
//!
//! - A thread's identifiers are strictly ascending, even if the clock goes back: then the thread stays at its last
//!   millisecond and counts on until the clock has passed it. A counter that overflows, which takes more than 130 identifiers
//!   in a microsecond, continues in the next millisecond.
//! - Identifiers of several threads and processes are in the order of their milliseconds.
//! - A signal handler's identifiers may sort before or after the interrupted call's.
//! - The time is the kernel's coarse clock: up to a tick, 1 to 10 ms, late.
//!
//! Everyone who sees an identifier can read its time, and tell which of two came first. Take [`uuid4`] where that must stay
//! hidden, and [`bytes`](crate::bytes) for secrets.

mod text;

use crate::global;
pub(crate) use text::base64url_digit;
pub use text::{Text, base64url_text, hex_text, ulid_text, uuid_text};
use wellspring_os::os;
use wellspring_os::thread_state::CurrentThread;

#[doc(hidden)]
pub use text::{write_hex, write_ulid, write_uuid};

/// Bits of the counter. The time has the other 46 of a word: enough up to the year 4199.
const COUNTER_BITS: u32 = 18;

/// A UUID of version 4: 122 random bits.
#[must_use]
#[inline]
pub fn uuid4() -> [u8; 16] {
    uuid4_of(global::wide().to_le_bytes())
}

/// A UUID of version 7: the time in milliseconds, 18 bits of a counter, 56 random bits. See [the order](self#order).
#[must_use]
#[inline]
pub fn uuid7() -> [u8; 16] {
    uuid7_of(global::wide().to_le_bytes(), CurrentThread::find())
}

/// A [ULID](https://github.com/ulid/spec): the time in milliseconds, 18 bits of a counter, 62 random bits. See
/// [the order](self#order).
#[must_use]
#[inline]
pub fn ulid() -> [u8; 16] {
    ulid_of(global::wide().to_le_bytes(), CurrentThread::find())
}

/// [`uuid4`] of bytes that the caller has drawn.
#[doc(hidden)]
#[must_use]
#[inline(always)]
pub fn uuid4_of(random: [u8; 16]) -> [u8; 16] {
    const FIXED: u128 = 0xf000_c000_0000_0000_0000;
    const VERSION_AND_VARIANT: u128 = 0x4000_8000_0000_0000_0000;
    (u128::from_be_bytes(random) & !FIXED | VERSION_AND_VARIANT).to_be_bytes()
}

/// [`uuid7`] of bytes that the caller has drawn, on a thread that the caller has found.
#[doc(hidden)]
#[must_use]
#[inline(always)]
pub fn uuid7_of(random: [u8; 16], thread: CurrentThread) -> [u8; 16] {
    let random = u128::from_le_bytes(random);
    uuid7_at(next_place(thread, random), random)
}

/// [`ulid`] of bytes that the caller has drawn, on a thread that the caller has found.
#[doc(hidden)]
#[must_use]
#[inline(always)]
pub fn ulid_of(random: [u8; 16], thread: CurrentThread) -> [u8; 16] {
    let random = u128::from_le_bytes(random);
    ulid_at(next_place(thread, random), random)
}

/// The milliseconds of `place` are the first 48 bits. `rand_a` has the 12 high bits of the counter, `rand_b` begins with the
/// other 6.
#[inline(always)]
fn uuid7_at(place: u64, random: u128) -> [u8; 16] {
    let (time_ms, counter) = (place >> COUNTER_BITS, place & ((1 << COUNTER_BITS) - 1));
    let high = time_ms << 16 | 7 << 12 | counter >> 6;
    let low = 0b10 << 62 | (counter & 63) << 56 | random as u64 & ((1 << 56) - 1);
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

#[inline(always)]
fn ulid_at(place: u64, random: u128) -> [u8; 16] {
    const RANDOM_BITS: u32 = 80 - COUNTER_BITS;
    (u128::from(place) << RANDOM_BITS | random & ((1 << RANDOM_BITS) - 1)).to_be_bytes()
}

/// The thread's next time and counter. The first of a millisecond begins with 17 of the bits that no identifier shows.
///
/// A handler that interrupts this may take the same place, or a later place than this then takes: their random bits differ.
#[inline(always)]
fn next_place(thread: CurrentThread, random: u128) -> u64 {
    let start = (random >> (128 - (COUNTER_BITS - 1))) as u64;
    let place = place_after(thread.last_id(), os::wall_clock_ms(), start);
    thread.set_last_id(place);
    place
}

#[inline(always)]
fn place_after(last: u64, now_ms: u64, start: u64) -> u64 {
    let now = now_ms << COUNTER_BITS | start;
    // In the same millisecond, `now` would be a second random start.
    let is_later = now >> COUNTER_BITS > last >> COUNTER_BITS;
    if is_later { now } else { last + 1 }
}

#[cfg(test)]
mod tests;
