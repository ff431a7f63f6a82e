//! Decimal numbers in the files of a system.

/// Takes a decimal number off the beginning of a text. `None` if the text does not begin with a number up to
/// `u32::MAX`.
#[inline(never)]
pub(super) fn take_number(text: &mut &[u8]) -> Option<u32> {
    let mut number = None;
    while let Some((digit @ b'0'..=b'9', rest)) = text.split_first() {
        let tens = number.unwrap_or(0_u32).checked_mul(10)?;
        number = Some(tens.checked_add(u32::from(digit - b'0'))?);
        *text = rest;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_ends_before_what_is_no_digit_and_is_none_if_it_does_not_fit() {
        let take = |mut text: &'static [u8]| (take_number(&mut text), text);
        assert_eq!(take(b"0-3"), (Some(0), &b"-3"[..]));
        assert_eq!(take(b"4294967295\n"), (Some(u32::MAX), &b"\n"[..]));
        for wrong in [&b""[..], b"-1", b" 1", b"4294967296", b"99999999999"] {
            assert_eq!(take(wrong).0, None);
        }
    }
}
