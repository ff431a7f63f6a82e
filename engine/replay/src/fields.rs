//! `name=value` fields of a line.

use crate::{ReplayError, hex};
use std::str::FromStr;
use wellspring_core::event::Event;
use wellspring_core::{KEY_BYTES, Prf};

/// The fields of a line, after its first word.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a str);

impl<'a> Fields<'a> {
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .split_whitespace()
            .filter_map(|field| field.split_once('='))
    }

    pub(crate) fn get(self, name: &str) -> Option<&'a str> {
        self.iter()
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value)
    }

    fn required(self, name: &'static str) -> Result<&'a str, ReplayError> {
        self.get(name).ok_or(ReplayError::Missing(name))
    }

    pub(crate) fn parsed<T: FromStr>(self, name: &'static str) -> Result<T, ReplayError> {
        let value = self.required(name)?;
        value.parse().map_err(|_| ReplayError::Malformed(name))
    }

    pub(crate) fn length(self) -> Result<usize, ReplayError> {
        self.parsed("n")
    }

    /// The cipher by the short name of the vector files, or by its own.
    pub(crate) fn prf(self) -> Result<Prf, ReplayError> {
        match self.required("cipher")? {
            "aes" => Ok(Prf::Aes256),
            "chacha" => Ok(Prf::ChaCha20),
            _ => self.parsed("cipher"),
        }
    }

    pub(crate) fn concurrent(self) -> Result<bool, ReplayError> {
        match self.required("concurrent")? {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(ReplayError::Malformed("concurrent")),
        }
    }

    pub(crate) fn key(self) -> Result<[u8; KEY_BYTES], ReplayError> {
        self.bytes("K")
    }

    pub(crate) fn counter(self) -> Result<u128, ReplayError> {
        Ok(u128::from_le_bytes(self.bytes("C")?))
    }

    fn bytes<const N: usize>(self, name: &'static str) -> Result<[u8; N], ReplayError> {
        let bytes = hex::decode(self.required(name)?).ok_or(ReplayError::Malformed(name))?;
        bytes.try_into().map_err(|_| ReplayError::Malformed(name))
    }

    pub(crate) fn samples(self) -> Result<Vec<u8>, ReplayError> {
        hex::decode(self.required("data")?).ok_or(ReplayError::Malformed("data"))
    }

    /// An event: of the data as printed, the first `size` bytes count.
    pub(crate) fn event(self) -> Result<Event, ReplayError> {
        let counter = u32::from_str_radix(self.required("ctr")?, 16);
        let counter = counter.map_err(|_| ReplayError::Malformed("ctr"))?;
        let size: usize = self.parsed("size")?;
        let data = match self.required("data")? {
            "-" => Vec::new(),
            digits => hex::decode(digits).ok_or(ReplayError::Malformed("data"))?,
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
        let mut event = Event::ZERO;
        event.set(counter, destination, data, 0);
        Ok(event)
    }
}
