//! Bytes as hexadecimal digits.

/// The digits of some bytes, in lower case; `-` for none.
pub(crate) fn encode(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of some digits; `None` for an odd number of them and for other characters.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_back_as_their_bytes_and_other_text_is_refused() {
        assert_eq!(encode(&[]), "-");
        assert_eq!(decode(&encode(&[0, 0x9f, 255])), Some(vec![0, 0x9f, 255]));
        assert_eq!(decode("aB"), Some(vec![0xab]));
        for text in ["a", "0g", "é0", "-"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
