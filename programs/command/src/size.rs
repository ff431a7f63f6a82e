//! Amounts of bytes, and of things, as text.

use std::fmt;
use std::str::FromStr;

/// The prefixes, each 1024 or 1000 times the one before.
const PREFIXES: [char; 6] = ['k', 'M', 'G', 'T', 'P', 'E'];

/// An amount of bytes.
///
/// Read as head(1) and dd(1) read it: a number, or a number with a prefix. `k`, `M`, `G`, `T`, `P`, `E` and
/// `KiB`, `MiB`, .. are powers of 1024; `kB`, `MB`, .. are powers of 1000. The prefix may be in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// The reason why a text is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeError {
    /// Not a number with a known suffix.
    Form,
    /// 2^64 bytes or more.
    TooLarge,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SizeError::Form => "expected an amount like 64, 10k, 1GiB or 1GB",
            SizeError::TooLarge => "expected less than 16 EiB",
        })
    }
}

impl std::error::Error for SizeError {}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let end = text.find(|character: char| !character.is_ascii_digit());
        let (digits, suffix) = text.split_at(end.unwrap_or(text.len()));
        if digits.is_empty() {
            return Err(SizeError::Form);
        }
        let unit_bytes = unit_bytes(suffix).ok_or(SizeError::Form)?;
        // All are digits: the only error left is a number that is too large.
        let number: u64 = digits.parse().map_err(|_| SizeError::TooLarge)?;
        let bytes = number.checked_mul(unit_bytes).ok_or(SizeError::TooLarge)?;
        Ok(Size(bytes))
    }
}

fn unit_bytes(suffix: &str) -> Option<u64> {
    if matches!(suffix, "" | "B") {
        return Some(1);
    }
    let mut rest = suffix.chars();
    let prefix = rest.next()?;
    let power = PREFIXES
        .iter()
        .position(|known| known.eq_ignore_ascii_case(&prefix))? as u32;
    match rest.as_str() {
        "" | "iB" => Some(1024u64.pow(power + 1)),
        "B" => Some(1000u64.pow(power + 1)),
        _ => None,
    }
}

impl fmt::Display for Size {
    /// Exact: in the largest unit that gives a whole number, else in bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size(bytes) = *self;
        let whole = |&power: &u32| bytes.is_multiple_of(1 << (10 * power));
        match (1..=6).rev().find(whole).filter(|_| bytes > 0) {
            Some(power) => {
                let prefix = PREFIXES[power as usize - 1].to_ascii_uppercase();
                write!(f, "{} {prefix}iB", bytes >> (10 * power))
            }
            None => f.write_str(&count(bytes, "byte")),
        }
    }
}

/// A number with its noun: `1 tap`, `2 taps`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_means_what_it_means_to_head_and_dd() {
        for (text, bytes) in [
            ("0", 0),
            ("64", 64),
            ("64B", 64),
            ("10k", 10 * 1024),
            ("10K", 10 * 1024),
            ("10KiB", 10 * 1024),
            ("10kB", 10_000),
            ("3m", 3 << 20),
            ("1GiB", 1 << 30),
            ("1GB", 1_000_000_000),
            ("2T", 2 << 40),
            ("1P", 1 << 50),
            ("15EiB", 15 << 60),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn a_wrong_amount_is_refused_for_the_right_reason() {
        for text in [
            "", "k", "-1", "+1", "1.5G", "1 k", " 1", "1b", "1kb", "1kib", "1Q", "1GiBB", "0x10",
            "1_000", "٣",
        ] {
            assert_eq!(text.parse::<Size>(), Err(SizeError::Form), "{text}");
        }
        for text in ["18446744073709551616", "16EiB", "99999999999999999999k"] {
            assert_eq!(text.parse::<Size>(), Err(SizeError::TooLarge), "{text}");
        }
    }

    #[test]
    fn an_amount_is_shown_exactly() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1000, "1000 bytes"),
            (1 << 30, "1 GiB"),
            (3 << 19, "1536 KiB"),
            (u64::MAX, "18446744073709551615 bytes"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
