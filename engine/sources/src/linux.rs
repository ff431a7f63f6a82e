//! The sources that are assessed on Linux alone. All are slow.

pub use hwrng::Hwrng;
pub use interrupts::Interrupts;
pub use jitter::Jitter;
pub use wakeups::Wakeups;

use std::sync::Arc;
use wellspring_core::source::Source;

/// Each of them.
pub(crate) fn all() -> [Arc<dyn Source>; 4] {
    [
        Arc::new(Jitter::default()),
        Arc::new(Wakeups::default()),
        Arc::new(Interrupts::default()),
        Arc::new(Hwrng::default()),
    ]
}

mod clock {
    //! Fine time stamps, as symbols.

    use wellspring_os::{cpu, os};

    /// Now, in cycles where the processor counts them, else in nanoseconds.
    #[inline]
    pub(crate) fn stamp() -> u64 {
        if cfg!(target_arch = "x86_64") {
            cpu::cycles()
        } else {
            os::now_ns()
        }
    }

    /// From how many differences the counter's step is learned.
    const LEARNED_FROM: u32 = 64;

    /// Differences of time stamps as bytes: in steps of the counter, modulo 256.
    ///
    /// Counters tick more coarsely than they count: all differences on a Zen 4 machine at 2.6 GHz are multiples of 26
    /// cycles, so that the lowest bit of a difference is always 0. The step is the greatest common divisor of the
    /// first 64.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Steps {
        step: u64,
        learned: u32,
    }

    impl Steps {
        /// Learns from a difference until enough is known; then makes a symbol of it.
        pub(crate) fn symbol(&mut self, difference: u64) -> Option<u8> {
            if self.learned < LEARNED_FROM {
                self.step = greatest_common_divisor(self.step, difference);
                self.learned += 1;
                return None;
            }
            Some((difference / self.step.max(1)) as u8)
        }

        /// Whether the counter does not move: there is no noise in it.
        pub(crate) fn is_stuck(&self) -> bool {
            self.learned == LEARNED_FROM && self.step == 0
        }
    }

    fn greatest_common_divisor(a: u64, b: u64) -> u64 {
        match b {
            0 => a,
            b => greatest_common_divisor(b, a % b),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_step_of_the_counter_is_divided_out() {
            let mut steps = Steps::default();
            for number in 0..u64::from(LEARNED_FROM) {
                assert_eq!(steps.symbol(26 * (40 + number)), None);
            }
            assert_eq!(steps.symbol(26 * 41), Some(41));
            assert_eq!(steps.symbol(26 * 300), Some(44), "modulo 256");
            assert!(!steps.is_stuck());
        }

        #[test]
        fn a_counter_that_stands_still_is_noticed() {
            let mut steps = Steps::default();
            (0..LEARNED_FROM).for_each(|_| assert_eq!(steps.symbol(0), None));
            assert!(steps.is_stuck());
            assert_eq!(steps.symbol(0), Some(0));
        }
    }
}

mod jitter {
    //! The timing of this processor's memory.

    use super::clock::{Steps, stamp};
    use std::sync::Mutex;
    use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};
    use wellspring_os::memory::erase_below;

    /// How long a fixed piece of work takes: 256 reads and writes in 64 KiB, each at a place that depends on the
    /// content of the last.
    ///
    /// A sample is a byte: the time of one such walk in steps of the counter, modulo 256. Nothing is conditioned: health
    /// tests and assessments get the counter's values. The noise comes from caches, buses, refresh and everything else
    /// that runs on this machine; the idea is Stephan Müller's (*CPU Time Jitter Based Non-Physical True Random Number
    /// Generator*), with raw samples in place of his conditioned ones.
    ///
    /// A byte takes about 3 microseconds. It is still a slow source: its state is behind a lock, and noise of this kind
    /// is no reason to make a reader wait.
    #[derive(Debug, Default)]
    pub struct Jitter {
        state: Mutex<State>,
    }

    #[derive(Debug, Default)]
    struct State {
        memory: Box<[u8]>,
        position: usize,
        steps: Steps,
    }

    /// Larger than a first cache (32 to 48 KiB), so that some steps miss it.
    const MEMORY_BYTES: usize = 1 << 16;

    /// The steps of one walk.
    const WALK_STEPS: usize = 256;

    /// The samples of one draw: about 200 microseconds.
    const SAMPLES: usize = 64;

    impl State {
        fn walk(&mut self) {
            for _ in 0..WALK_STEPS {
                let place = &mut self.memory[self.position];
                *place = place.wrapping_add(1);
                let next = 5 * self.position + 4097 + usize::from(*place);
                self.position = next % MEMORY_BYTES;
            }
        }

        #[inline(never)]
        fn fill(&mut self, destination: &mut [u8]) -> Result<usize, SourceError> {
            if self.memory.is_empty() {
                self.memory = vec![0; MEMORY_BYTES].into_boxed_slice();
            }
            let mut last = stamp();
            let mut length = 0;
            while length < destination.len().min(SAMPLES) {
                self.walk();
                let now = stamp();
                if let Some(symbol) = self.steps.symbol(now.wrapping_sub(last)) {
                    destination[length] = symbol;
                    length += 1;
                }
                last = now;
                if self.steps.is_stuck() {
                    return Err(SourceError::Absent);
                }
            }
            Ok(length)
        }
    }

    impl Source for Jitter {
        fn name(&self) -> &'static str {
            "jitter"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::per_byte_256ths(64)
        }

        fn reason(&self) -> &'static str {
            "NIST's tool found 0.81 bits at least in 1,000,000 samples: docs/explanation/entropy.md"
        }

        fn speed(&self) -> Speed {
            Speed::Slow { interval_ms: 2000 }
        }

        #[inline]
        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            let mut state = self.state.try_lock().map_err(|_| SourceError::Busy)?;
            let filled = state.fill(destination);
            // The time stamps, from which the last symbols can be computed.
            erase_below();
            filled
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn walks_take_different_times() {
            let jitter = Jitter::default();
            let mut sample = [0; SAMPLES];
            assert_eq!(jitter.sample(&mut sample), Ok(SAMPLES));
            assert!(sample.iter().any(|&symbol| symbol != sample[0]));
            assert_eq!(jitter.sample(&mut sample[..5]), Ok(5));
        }

        #[test]
        fn a_walk_ends_up_all_over_the_memory() {
            let mut state = State {
                memory: vec![0; MEMORY_BYTES].into_boxed_slice(),
                ..State::default()
            };
            (0..MEMORY_BYTES / 64).for_each(|_| state.walk());
            let touched = |page: &[u8]| page.iter().any(|&byte| byte != 0);
            assert!(state.memory.chunks(4096).all(touched));
        }
    }
}

mod wakeups {
    //! When the scheduler wakes a thread.

    use super::clock::{Steps, stamp};
    use std::sync::Mutex;
    use std::time::{Duration, Instant};
    use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};
    use wellspring_os::memory::erase_below;
    use wellspring_os::os::sleep_ns;

    /// How late a thread wakes after it asked to sleep for a microsecond.
    ///
    /// A sample is a byte: the time from one wake-up to the next in steps of the cycle counter, modulo 256. The
    /// noise comes from the timer hardware, the idle states that the processor leaves, other threads and
    /// interrupts. A byte takes some 60 to 80 microseconds, nearly all of it asleep.
    #[derive(Debug, Default)]
    pub struct Wakeups {
        steps: Mutex<Steps>,
    }

    /// How long a thread asks to sleep; the kernel adds its timer slack, 50 microseconds.
    const SLEEP_NS: u32 = 1_000;

    /// The samples of one draw.
    const SAMPLES: usize = 32;

    /// The longest draw: with timers that tick at 100 Hz a single sleep takes this long.
    const LONGEST: Duration = Duration::from_millis(10);

    impl Source for Wakeups {
        fn name(&self) -> &'static str {
            "wakeups"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::per_byte_256ths(128)
        }

        fn reason(&self) -> &'static str {
            "NIST's tool found 6.6 bits at least in 1,000,000 samples: docs/explanation/entropy.md"
        }

        fn speed(&self) -> Speed {
            Speed::Slow { interval_ms: 2000 }
        }

        #[inline]
        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            let drawn = self.draw(destination);
            // The time stamps, from which the last symbols can be computed.
            erase_below();
            drawn
        }
    }

    impl Wakeups {
        #[inline(never)]
        fn draw(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            let mut steps = self.steps.try_lock().map_err(|_| SourceError::Busy)?;
            let begin = Instant::now();
            let mut last = stamp();
            let mut length = 0;
            while length < destination.len().min(SAMPLES) && begin.elapsed() < LONGEST {
                sleep_ns(SLEEP_NS);
                let now = stamp();
                if let Some(symbol) = steps.symbol(now.wrapping_sub(last)) {
                    destination[length] = symbol;
                    length += 1;
                }
                last = now;
            }
            if steps.is_stuck() {
                Err(SourceError::Absent)
            } else {
                Ok(length)
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn wake_ups_come_at_different_times_and_a_draw_ends() {
            let wakeups = Wakeups::default();
            let (mut all, mut sample) = (Vec::new(), [0; 64]);
            let begin = Instant::now();
            while all.len() < 64 && begin.elapsed() < Duration::from_secs(5) {
                let length = wakeups.sample(&mut sample).unwrap();
                assert!(length <= SAMPLES);
                all.extend_from_slice(&sample[..length]);
            }
            assert!(all.iter().any(|&symbol| symbol != all[0]), "{all:?}");
        }
    }
}

mod interrupts {
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
}

mod hwrng {
    //! The kernel's hardware generator.

    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::{Errno, read};
    use std::os::fd::OwnedFd;
    use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};

    /// /dev/hwrng, without waiting: any device that the kernel drives there. Devices may come and go.
    ///
    /// Slow: many devices yield some kilobytes a second, and some drivers wait for them.
    #[derive(Debug, Default)]
    pub struct Hwrng {
        /// Without it the file is opened for each sample.
        kept: Option<OwnedFd>,
        claim: Option<MinEntropy>,
    }

    impl Hwrng {
        /// The name of this source.
        pub const NAME: &str = "hwrng";

        /// Keeps the file open, for a process that may not open it later. If there is no such file now, each sample tries to
        /// open it.
        #[must_use]
        pub fn kept_open() -> Self {
            Self {
                kept: open_device().ok(),
                claim: None,
            }
        }

        /// Claims what the operator claims.
        #[must_use]
        pub fn with_claim(self, claim: MinEntropy) -> Self {
            let claim = Some(claim);
            Self { claim, ..self }
        }
    }

    fn open_device() -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        open("/dev/hwrng", flags, Mode::empty())
    }

    /// The bytes of one draw.
    const SAMPLE_BYTES: usize = 32;

    impl Source for Hwrng {
        fn name(&self) -> &'static str {
            Self::NAME
        }

        fn min_entropy(&self) -> MinEntropy {
            self.claim.unwrap_or(MinEntropy::per_byte_256ths(256))
        }

        fn reason(&self) -> &'static str {
            match self.claim {
                Some(_) => "the operator's claim",
                None => {
                    "an eighth of what such devices promise: which device it is cannot be known here"
                }
            }
        }

        fn speed(&self) -> Speed {
            Speed::Slow { interval_ms: 1000 }
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            let length = destination.len().min(SAMPLE_BYTES);
            match &self.kept {
                Some(device) => read(device, &mut destination[..length]),
                None => open_device().and_then(|device| read(device, &mut destination[..length])),
            }
            .map_err(why)
        }
    }

    fn why(error: Errno) -> SourceError {
        match error {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => SourceError::Absent,
            Errno::AGAIN | Errno::INTR | Errno::BUSY => SourceError::Busy,
            error => SourceError::System(error.raw_os_error()),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_machine_without_a_device_says_so_and_one_with_it_yields_bytes() {
            for source in [Hwrng::default(), Hwrng::kept_open()] {
                match source.sample(&mut [0; 64]) {
                    Ok(length) => assert!((1..=SAMPLE_BYTES).contains(&length)),
                    Err(error) => println!("SKIPPED: {error}"),
                }
            }
            let claim = MinEntropy::per_byte_256ths(1024);
            assert_eq!(Hwrng::default().with_claim(claim).min_entropy(), claim);
            assert_eq!(why(Errno::NODEV), SourceError::Absent);
            assert_eq!(why(Errno::AGAIN), SourceError::Busy);
            assert_eq!(why(Errno::ACCESS), SourceError::System(13));
        }
    }
}
