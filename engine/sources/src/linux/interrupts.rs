//! How many interrupts there were.

use std::sync::Mutex;
use std::time::{Duration, Instant};
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};
use wellspring_os::memory::erase_below;
use wellspring_os::os::{read_file, sleep_ns};
use zeroize::Zeroizing;

/// The machine's interrupts from one reading to the next, a millisecond later.
///
/// A sample is a byte: its low half the number of interrupts since the last reading, its high half the number of
/// soft interrupts, both modulo 16. They are the sums over all CPUs of /proc/interrupts and /proc/softirqs, which
/// /proc/stat gives at a sixth of the price (17 against 101 microseconds with 2 CPUs). *When* each came goes to
/// the pools with the time stamp of the event, credited nothing.
#[derive(Debug, Default)]
pub struct Interrupts {
    last: Mutex<Option<Counts>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    hard: u64,
    soft: u64,
}

/// From one reading to the next.
const SLEEP_NS: u32 = 1_000_000;

/// The samples of one draw.
const SAMPLES: usize = 8;

/// The longest draw.
const LONGEST: Duration = Duration::from_millis(10);

/// How much of a draw may be spent on reading: on a machine with hundreds of CPUs one reading takes a millisecond.
const LONGEST_READING: Duration = Duration::from_micros(500);

/// /proc/stat with its list of interrupts: 32 KiB are 256 CPUs and 4000 interrupts. What comes after is not needed
/// if `softirq` comes before; else there is no sample.
const STAT_BYTES: usize = 1 << 15;

impl Interrupts {
    fn read_counts(buffer: &mut [u8]) -> Result<Counts, SourceError> {
        let text = read_file(b"/proc/stat", buffer).ok_or(SourceError::Absent)?;
        counts(text).ok_or(SourceError::Absent)
    }
}

/// The first numbers of the lines `intr` and `softirq`.
fn counts(stat: &[u8]) -> Option<Counts> {
    let first_of = |name: &[u8]| {
        let mut lines = stat.split(|&byte| byte == b'\n');
        let line = lines.find_map(|line| line.strip_prefix(name))?;
        let digits = line.split(|&byte| byte == b' ').next()?;
        core::str::from_utf8(digits).ok()?.parse::<u64>().ok()
    };
    Some(Counts {
        hard: first_of(b"intr ")?,
        soft: first_of(b"softirq ")?,
    })
}

/// The interrupts between two readings, as a symbol.
fn symbol(before: Counts, now: Counts) -> u8 {
    let nibble = |from: u64, to: u64| (to.wrapping_sub(from) % 16) as u8;
    nibble(before.soft, now.soft) << 4 | nibble(before.hard, now.hard)
}

impl Source for Interrupts {
    fn name(&self) -> &'static str {
        "interrupts"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::per_byte_256ths(16)
    }

    fn reason(&self) -> &'static str {
        "NIST's tool found 0.72 bits at least in 1,000,000 samples: docs/explanation/entropy.md"
    }

    fn speed(&self) -> Speed {
        Speed::Slow { interval_ms: 2000 }
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let drawn = self.draw(destination);
        // The counts, from which the last symbols can be computed.
        erase_below();
        drawn
    }
}

impl Interrupts {
    #[inline(never)]
    fn draw(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let mut last = self.last.try_lock().map_err(|_| SourceError::Busy)?;
        let mut buffer = Zeroizing::new(vec![0; STAT_BYTES]);
        let begin = Instant::now();
        let mut reading = Duration::ZERO;
        let mut length = 0;
        while length < destination.len().min(SAMPLES)
            && begin.elapsed() < LONGEST
            && reading < LONGEST_READING
        {
            sleep_ns(SLEEP_NS);
            let before = Instant::now();
            let now = Self::read_counts(&mut buffer)?;
            reading += before.elapsed();
            if let Some(last) = last.replace(now) {
                destination[length] = symbol(last, now);
                length += 1;
            }
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_found_among_the_other_lines() {
        let text = b"cpu  1 2\nintr 961 0 5 4\nctxt 88\nsoftirq 77 1 2\n";
        assert_eq!(
            counts(text),
            Some(Counts {
                hard: 961,
                soft: 77
            })
        );
        assert_eq!(counts(b"intr 961 0\nctxt 88\n"), None);
        assert_eq!(counts(b"intr x\nsoftirq 3\n"), None);
    }

    #[test]
    fn a_symbol_holds_both_counts() {
        let before = Counts { hard: 10, soft: 20 };
        let now = Counts { hard: 13, soft: 37 };
        assert_eq!(symbol(before, now), 0x13);
    }
}
