//! Identifiers: UUIDs of versions 4 and 7 (RFC 9562), ULIDs, trace ids, tokens, and their text.
//!
//! ```
//! use wellspring::ids;
//! let order = ids::uuid7();
//! println!("{}", ids::uuid_text(order)); // 019ab4e2-9d3c-7a51-8f0e-3b8c52d17e64
//! println!("{}", ids::uuid4_text()); // the text of a new one
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
//! [`uuid4_text`] and [`uuid7_text`] give the text of a new identifier, under their names in Python. All others are arrays of
//! bytes in the order of their text, as `uuid::Uuid::from_bytes` and databases take them.
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

use crate::global;
use crate::numbers::base64url_digit;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use wellspring_os::cpu;
use wellspring_os::os;
use wellspring_os::thread_state::CurrentThread;

pub use crate::numbers::Text;

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

// Identifiers as text: arithmetic on eight digits at once, or vector instructions, without a table that could be seen in the
// cache.

/// The text of a new [`uuid4`].
#[must_use]
#[inline]
pub fn uuid4_text() -> Text<36> {
    uuid_text(uuid4())
}

/// The text of a new [`uuid7`].
#[must_use]
#[inline]
pub fn uuid7_text() -> Text<36> {
    uuid_text(uuid7())
}

/// The text of a UUID that exists: hexadecimal digits in lower case, in groups of 8, 4, 4, 4 and 12.
#[must_use]
#[inline]
pub fn uuid_text(id: [u8; 16]) -> Text<36> {
    let mut text = [0; 36];
    write_uuid(id, &mut text);
    Text::new(text)
}

/// Not by way of a [`Text`]: a copy of it would wait for small stores to end, for longer than they take.
#[doc(hidden)]
#[inline(always)]
pub fn write_uuid(id: [u8; 16], text: &mut [u8; 36]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    cpu::write_uuid(id, text);
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        let [first, second, third, last] = *id.as_chunks().0 else {
            unreachable!("16 bytes are 4 times 4");
        };
        for place in [8, 13, 18, 23] {
            text[place] = b'-';
        }
        text[..8].copy_from_slice(&hex_digits(first));
        text[9..13].copy_from_slice(&hex_digits(second)[..4]);
        text[14..18].copy_from_slice(&hex_digits(second)[4..]);
        text[19..23].copy_from_slice(&hex_digits(third)[..4]);
        text[24..28].copy_from_slice(&hex_digits(third)[4..]);
        text[28..].copy_from_slice(&hex_digits(last));
    }
}

/// The text of a ULID: 26 digits of Crockford's base 32, in upper case.
#[must_use]
#[inline]
pub fn ulid_text(id: [u8; 16]) -> Text<26> {
    let mut text = [0; 26];
    write_ulid(id, &mut text);
    Text::new(text)
}

#[doc(hidden)]
#[inline(always)]
pub fn write_ulid(id: [u8; 16], text: &mut [u8; 26]) {
    let id = u128::from_be_bytes(id);
    text[..2].copy_from_slice(&base32_digits((id >> 120) as u64)[6..]);
    text[2..10].copy_from_slice(&base32_digits((id >> 80) as u64));
    text[10..18].copy_from_slice(&base32_digits((id >> 40) as u64));
    text[18..].copy_from_slice(&base32_digits(id as u64));
}

/// The text of a trace id: hexadecimal digits in lower case. `DIGITS` is twice `BYTES`.
#[must_use]
#[inline]
pub fn hex_text<const BYTES: usize, const DIGITS: usize>(id: [u8; BYTES]) -> Text<DIGITS> {
    const { assert!(DIGITS == 2 * BYTES) };
    let mut digits = [0; DIGITS];
    write_hex(&id, &mut digits);
    Text::new(digits)
}

/// The text of a token: the 64 letters, digits, `-` and `_` of base64url (RFC 4648, section 5), without padding. `DIGITS` is
/// 4 for every 3 bytes, and 2 or 3 for the 1 or 2 that may be left: 43 for 32 bytes.
///
/// ```
/// let token = wellspring::ids::base64url_text::<32, 43>(wellspring::bytes());
/// assert_eq!(token.len(), 43);
/// ```
#[must_use]
pub fn base64url_text<const BYTES: usize, const DIGITS: usize>(token: [u8; BYTES]) -> Text<DIGITS> {
    const { assert!(DIGITS == (8 * BYTES).div_ceil(6)) };
    let mut digits = [0; DIGITS];
    for (three, four) in token.chunks(3).zip(digits.chunks_mut(4)) {
        let mut bytes = [0; 4];
        bytes[1..][..three.len()].copy_from_slice(three);
        let bits = u32::from_be_bytes(bytes);
        for (place, digit) in four.iter_mut().enumerate() {
            *digit = base64url_digit(bits >> (18 - 6 * place) & 63);
        }
    }
    Text::new(digits)
}

/// Writes the two hexadecimal digits of each byte.
#[doc(hidden)]
#[inline(always)]
pub fn write_hex(bytes: &[u8], digits: &mut [u8]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let (bytes, digits) = {
        let (ids, rest) = bytes.as_chunks();
        let (texts, digits) = digits.split_at_mut(32 * ids.len());
        for (id, text) in ids.iter().zip(texts.as_chunks_mut().0) {
            cpu::write_hex(*id, text);
        }
        (rest, digits)
    };
    let (fours, rest) = bytes.as_chunks();
    let (eights, last) = digits.as_chunks_mut();
    for (four, eight) in fours.iter().zip(eights) {
        *eight = hex_digits(*four);
    }
    let mut four = [0; 4];
    four[..rest.len()].copy_from_slice(rest);
    last.copy_from_slice(&hex_digits(four)[..last.len()]);
}

/// One in each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;

#[inline(always)]
fn hex_digits(four: [u8; 4]) -> [u8; 8] {
    // Half a byte to each byte, in three steps.
    let halves = u64::from(u32::from_be_bytes(four));
    let halves = (halves | halves << 16) & 0x0000_ffff_0000_ffff;
    let halves = (halves | halves << 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (halves | halves << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = from(halves, 10) * u64::from(b'a' - b'0' - 10);
    (halves + u64::from(b'0') * ONES + letters).to_be_bytes()
}

/// The digits of the last 40 bits: `0`..`9` and `A`..`Z` without `I`, `L`, `O` and `U`.
#[inline(always)]
fn base32_digits(bits: u64) -> [u8; 8] {
    // 5 bits to each byte, in three steps.
    let fives = (bits << 12 & 0x000f_ffff_0000_0000) | (bits & 0x000f_ffff);
    let fives = (fives << 6 & 0x03ff_0000_03ff_0000) | (fives & 0x0000_03ff_0000_03ff);
    let fives = (fives << 3 & 0x1f00_1f00_1f00_1f00) | (fives & 0x001f_001f_001f_001f);
    // At each gap the distance to ASCII grows.
    let letters = from(fives, 10) * u64::from(b'A' - b'0' - 10);
    let gaps = from(fives, 18) + from(fives, 20) + from(fives, 22) + from(fives, 27);
    (fives + u64::from(b'0') * ONES + letters + gaps).to_be_bytes()
}

/// One in each byte that is `first` or more; all are below 32.
#[inline(always)]
fn from(bytes: u64, first: u64) -> u64 {
    (bytes + (32 - first) * ONES) >> 5 & ONES
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn uuid(text: &str) -> [u8; 16] {
        let digits: String = text.chars().filter(|&digit| digit != '-').collect();
        u128::from_str_radix(&digits, 16).unwrap().to_be_bytes()
    }

    #[test]
    fn the_layouts_and_texts_are_those_of_the_rfc() {
        // RFC 9562, appendix A.3.
        let random = uuid("919108f7-52d1-3320-5bac-f847db4148a8");
        let id = uuid4_of(random);
        assert_eq!(&*uuid_text(id), "919108f7-52d1-4320-9bac-f847db4148a8");
        // Appendix A.6: rand_a and the first 6 bits of rand_b are our counter.
        let (time_ms, rand_a, rand_b) = (0x017f_22e2_79b0, 0xcc3, 0x18c4_dc0c_0c07_398f_u64);
        let place = time_ms << COUNTER_BITS | rand_a << 6 | rand_b >> 56;
        let id = uuid7_at(place, u128::from(rand_b));
        assert_eq!(&*uuid_text(id), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    }

    #[test]
    fn the_layout_and_text_of_a_ulid_are_those_of_its_specification() {
        let id = uuid("01563e3ab5d3d6764c61efb99302bd5b");
        assert_eq!(&*ulid_text(id), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
        assert_eq!(&*ulid_text([255; 16]), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        let value = u128::from_be_bytes(id);
        assert_eq!(ulid_at((value >> 62) as u64, value), id);
        let all: HashSet<char> = (0..32u128)
            .map(|digit| ulid_text(digit.to_be_bytes()).chars().last().unwrap())
            .collect();
        assert_eq!(all, "0123456789ABCDEFGHJKMNPQRSTVWXYZ".chars().collect());
    }

    #[test]
    fn the_text_of_a_uuid_has_the_digits_of_the_standard_library_with_hyphens() {
        let check = |id: [u8; 16]| {
            let digits = format!("{:032x}", u128::from_be_bytes(id));
            let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]);
            assert_eq!(&*uuid_text(id), groups.join("-"));
        };
        // Each byte at each place, beside others.
        for byte in 0..=255 {
            for place in 0..16 {
                let mut id = [0x5a; 16];
                id[place] = byte;
                check(id);
            }
        }
        (0..1000).for_each(|_| check(uuid4()));
    }

    #[test]
    fn the_digits_of_all_bytes_are_those_of_the_standard_library() {
        for byte in 0..=255u8 {
            let text: Text<8> = hex_text([byte, 0x5a, !byte, byte]);
            assert_eq!(
                &*text,
                format!("{byte:02x}5a{:02x}{byte:02x}", !byte).as_str()
            );
        }
        let bytes: [u8; 64] = core::array::from_fn(|index| (index * 151 + 7) as u8);
        for length in 0..=bytes.len() {
            let mut text = vec![0; 2 * length];
            write_hex(&bytes[..length], &mut text);
            let theirs = bytes[..length].iter().map(|byte| format!("{byte:02x}"));
            assert_eq!(String::from_utf8(text).unwrap(), theirs.collect::<String>());
        }
        assert_eq!(format!("{:>10}|", hex_text::<4, 8>([0; 4])), "  00000000|");
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_does_not_break_the_order() {
        let first = place_after(0, 1000, 7);
        assert_eq!((first >> COUNTER_BITS, first & 0x3_ffff), (1000, 7));
        // The same millisecond, and earlier ones: one more. Never the random start.
        for now_ms in [1000, 999, 0] {
            assert_eq!(place_after(first, now_ms, 0x1_ffff), first + 1);
        }
        assert_eq!(
            place_after(first, 1001, 3) - (first - 7),
            (1 << COUNTER_BITS) + 3
        );
        // An overflow continues in the next millisecond, and stays ahead until the clock comes there.
        let last = (1000 << COUNTER_BITS) + (1 << COUNTER_BITS) - 1;
        let ahead = place_after(last, 1000, 5);
        assert_eq!(ahead, 1001 << COUNTER_BITS);
        assert_eq!(place_after(ahead, 1001, 5), ahead + 1);
    }

    #[test]
    fn every_bit_of_an_identifier_is_fixed_or_changes() {
        const VERSION_AND_VARIANT: u128 = 0xf000_c000_0000_0000_0000;
        // The time hardly changes while this runs, and the first bit of a counter that begins is 0.
        const TIME: u128 = u128::MAX << 80;
        type Make = fn() -> [u8; 16];
        let identifiers: [(Make, u128); 3] = [
            (uuid4, VERSION_AND_VARIANT),
            (uuid7, TIME | VERSION_AND_VARIANT | 1 << 75),
            (ulid, TIME | 1 << 79),
        ];
        for (make, fixed) in identifiers {
            let (mut ones, mut zeros) = (0, 0);
            // A thread begins a counter.
            for _ in 0..200 {
                let id = std::thread::spawn(make).join().unwrap();
                let id = u128::from_be_bytes(id);
                (ones, zeros) = (ones | id, zeros | !id);
            }
            assert_eq!((ones & zeros) | fixed, u128::MAX, "{fixed:x}");
            assert_eq!(ones & zeros & fixed & !TIME, 0, "{fixed:x}");
        }
    }

    #[test]
    fn the_text_of_a_new_uuid_has_its_version_and_differs_from_the_last_one() {
        assert_eq!(&uuid4_text()[14..15], "4");
        assert_ne!(*uuid4_text(), *uuid4_text());
        let (first, next) = (uuid7_text(), uuid7_text());
        assert_eq!(&first[14..15], "7");
        assert!(*first < *next);
    }

    #[test]
    fn the_text_of_a_token_is_that_of_rfc_4648() {
        // Section 10.
        assert_eq!(&*base64url_text::<0, 0>([]), "");
        assert_eq!(&*base64url_text::<1, 2>(*b"f"), "Zg");
        assert_eq!(&*base64url_text::<2, 3>(*b"fo"), "Zm8");
        assert_eq!(&*base64url_text::<3, 4>(*b"foo"), "Zm9v");
        assert_eq!(&*base64url_text::<6, 8>(*b"foobar"), "Zm9vYmFy");
        // Table 2: each digit at each of the four places.
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        for (number, digit) in digits.chars().enumerate() {
            let bytes = (number as u32 * 0x0004_1041).to_be_bytes();
            let text = base64url_text::<3, 4>([bytes[1], bytes[2], bytes[3]]);
            assert!(text.chars().all(|each| each == digit), "{number}: {text}");
        }
    }
}
