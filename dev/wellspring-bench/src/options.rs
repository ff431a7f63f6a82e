//! The selection and the duration of a run.

use crate::host::cpus;
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Modes, backends, handles, the system and peers: by size and threads.
    Throughput,
    /// Percentiles of single calls.
    Latency,
    /// Feeding, reseeding and the harvester beside readers.
    Harvest,
    /// The share of a block-writing loop that goes into its random numbers.
    Blocks,
    /// The first byte and the weight of a tap.
    Footprint,
}

impl Section {
    /// All parts.
    pub const ALL: [Section; 5] = [
        Section::Throughput,
        Section::Latency,
        Section::Harvest,
        Section::Blocks,
        Section::Footprint,
    ];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Section::Throughput => "throughput",
            Section::Latency => "latency",
            Section::Harvest => "harvest",
            Section::Blocks => "blocks",
            Section::Footprint => "footprint",
        }
    }
}

/// The text names no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownSection;

impl fmt::Display for UnknownSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected throughput, latency, harvest, blocks or footprint")
    }
}

impl std::error::Error for UnknownSection {}

impl FromStr for Section {
    type Err = UnknownSection;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |section: &Section| section.name() == text;
        Section::ALL.into_iter().find(named).ok_or(UnknownSection)
    }
}

/// The selection of measurements.
#[derive(Clone, Debug)]
pub struct Options {
    /// About how long the whole run may take. Set-up comes on top: a few seconds.
    pub time: Duration,
    /// How often each case has its turn.
    pub rounds: usize,
    /// The numbers of threads, the first of which is 1.
    pub threads: Vec<usize>,
    /// One part alone.
    pub only: Option<Section>,
    /// A command that does nothing but print the nanoseconds of [`first_byte`](crate::first_byte), for the
    /// first byte of a fresh process. Without one, fresh engines of this process are measured instead.
    pub first_byte_command: Option<Vec<OsString>>,
}

impl Options {
    /// Some ten seconds, for a first impression.
    #[must_use]
    pub fn quick() -> Self {
        Self {
            time: Duration::from_secs(6),
            rounds: 5,
            ..Self::default()
        }
    }

    pub(crate) fn includes(&self, section: Section) -> bool {
        self.only.is_none_or(|only| only == section)
    }
}

impl Default for Options {
    /// Some forty seconds, on 1, 2, 4 ... threads up to the CPUs there are.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(38),
            rounds: 9,
            threads: doublings(cpus()),
            only: None,
            first_byte_command: None,
        }
    }
}

/// 1, 2, 4 ... and `last`.
fn doublings(last: usize) -> Vec<usize> {
    let powers = (0..)
        .map(|power| 1 << power)
        .take_while(|&threads| threads < last);
    powers.chain([last]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_up_to_the_cpus() {
        assert_eq!(doublings(1), [1]);
        assert_eq!(doublings(2), [1, 2]);
        assert_eq!(doublings(12), [1, 2, 4, 8, 12]);
    }

    #[test]
    fn sections_are_read_by_the_names_they_have() {
        for section in Section::ALL {
            assert_eq!(section.name().parse(), Ok(section));
            assert!(UnknownSection.to_string().contains(section.name()));
        }
        assert_eq!("speed".parse::<Section>(), Err(UnknownSection));
    }
}
