//! Identifiers as text: arithmetic on eight digits at once, without a table that could be seen in the cache.

use core::fmt;
use core::ops::Deref;

/// A text of `N` ASCII characters, without an allocation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: usize>([u8; N]);

impl<const N: usize> Text<N> {
    /// `characters` are ASCII.
    pub(crate) const fn new(characters: [u8; N]) -> Self {
        Self(characters)
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        // All of it is ASCII.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The text of a UUID: hexadecimal digits in lower case, in groups of 8, 4, 4, 4 and 12.
#[must_use]
#[inline]
pub fn uuid_text(id: [u8; 16]) -> Text<36> {
    let mut text = [0; 36];
    write_uuid(id, &mut text);
    Text(text)
}

/// Not by way of a [`Text`]: a copy of it would wait for the small stores to end, for longer than they take.
#[doc(hidden)]
#[inline(always)]
pub fn write_uuid(id: [u8; 16], text: &mut [u8; 36]) {
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

/// The text of a ULID: 26 digits of Crockford's base 32, in upper case.
#[must_use]
#[inline]
pub fn ulid_text(id: [u8; 16]) -> Text<26> {
    let mut text = [0; 26];
    write_ulid(id, &mut text);
    Text(text)
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
    Text(digits)
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
    Text(digits)
}

/// The digit of six bits; the first 62 are letters and digits. By additions: a table would be seen in the cache.
#[inline(always)]
pub(crate) fn base64url_digit(six: u32) -> u8 {
    let from = |first: u32| (six + 64 - first) >> 6;
    let small = from(26) * u32::from(b'a' - b'Z' - 1);
    // After z comes 0, after 9 comes -, after - comes _.
    let digits = from(52) * (u32::from(b'z') + 1 - u32::from(b'0'));
    let minus = from(62) * (u32::from(b'9') + 1 - u32::from(b'-'));
    let underscore = from(63) * (u32::from(b'_') - u32::from(b'-') - 1);
    (six + u32::from(b'A') + small + underscore - digits - minus) as u8
}

/// Writes the two hexadecimal digits of each byte.
#[doc(hidden)]
#[inline(always)]
pub fn write_hex(bytes: &[u8], digits: &mut [u8]) {
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
