//! The line format of the files in `vectors/`.

#![allow(dead_code, reason = "each test uses its own part")]

use std::fmt;

/// A line of a file: its kind, then `name=value` fields.
pub(crate) struct Line<'a>(pub(crate) &'a str);

impl<'a> Line<'a> {
    pub(crate) fn kind(&self) -> &'a str {
        self.0.split(' ').next().unwrap()
    }

    pub(crate) fn field(&self, name: &str) -> &'a str {
        self.0
            .split(' ')
            .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_else(|| panic!("no {name} in: {}", self.0))
    }

    pub(crate) fn words<const N: usize>(&self, name: &str) -> [u64; N] {
        let words: Vec<u64> = self
            .field(name)
            .split(',')
            .map(|word| u64::from_str_radix(word, 16).unwrap())
            .collect();
        words.try_into().unwrap()
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

pub(crate) fn lines(file: &str) -> impl Iterator<Item = Line<'_>> {
    file.lines().filter(|line| !line.starts_with('#')).map(Line)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
