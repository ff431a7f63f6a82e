//! `name=value` fields of a line.

use super::ReplayError;
use std::str::FromStr;
use wellspring_core::KEY_BYTES;
use wellspring_core::harvest::Event;

/// The fields of a line, after its first word.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a str);

impl<'a> Fields<'a> {
    pub(super) fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .split_whitespace()
            .filter_map(|field| field.split_once('='))
    }

    pub(super) fn get(self, name: &str) -> Option<&'a str> {
        self.iter()
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value)
    }

    fn required(self, name: &'static str) -> Result<&'a str, ReplayError> {
        self.get(name).ok_or(ReplayError::Missing(name))
    }

    pub(super) fn parsed<T: FromStr>(self, name: &'static str) -> Result<T, ReplayError> {
        let value = self.required(name)?;
        value.parse().map_err(|_| ReplayError::Malformed(name))
    }

    pub(super) fn length(self) -> Result<usize, ReplayError> {
        self.parsed("n")
    }

    pub(super) fn concurrent(self) -> Result<bool, ReplayError> {
        match self.required("concurrent")? {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(ReplayError::Malformed("concurrent")),
        }
    }

    pub(super) fn key(self) -> Result<[u8; KEY_BYTES], ReplayError> {
        self.bytes("K")
    }

    pub(super) fn counter(self) -> Result<u128, ReplayError> {
        Ok(u128::from_le_bytes(self.bytes("C")?))
    }

    fn bytes<const N: usize>(self, name: &'static str) -> Result<[u8; N], ReplayError> {
        let bytes = decode_hex(self.required(name)?).ok_or(ReplayError::Malformed(name))?;
        bytes.try_into().map_err(|_| ReplayError::Malformed(name))
    }

    pub(super) fn samples(self) -> Result<Vec<u8>, ReplayError> {
        decode_hex(self.required("data")?).ok_or(ReplayError::Malformed("data"))
    }

    /// An event: of the data as printed, the first `size` bytes count.
    pub(super) fn event(self) -> Result<Event, ReplayError> {
        let counter = u32::from_str_radix(self.required("ctr")?, 16);
        let counter = counter.map_err(|_| ReplayError::Malformed("ctr"))?;
        let size: usize = self.parsed("size")?;
        let data = match self.required("data")? {
            "-" => Vec::new(),
            hex => decode_hex(hex).ok_or(ReplayError::Malformed("data"))?,
        };
        let data = data.get(..size).ok_or(ReplayError::Malformed("data"))?;
        if data.len() > Event::MAX_BYTES {
            return Err(ReplayError::Malformed("size"));
        }
        let destination: usize = self.parsed("dest")?;
        let destination = match self.required("src")? {
            "vmgenid" => 0,
            "other" => destination,
            _ => return Err(ReplayError::Malformed("src")),
        };
        Ok(Event::new(counter, destination, data, 0))
    }
}

pub(super) fn encode_hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}
