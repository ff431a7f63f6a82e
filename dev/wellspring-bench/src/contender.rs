//! The contenders, and the requests that are measured.

use crate::clock::Clock;
use crate::histogram::Histogram;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Something that makes random bytes, for one thread.
pub trait Subject {
    /// Fills `destination`.
    fn fill(&mut self, destination: &mut [u8]);

    /// Makes one word. By default from [`fill`](Self::fill).
    #[inline(always)]
    fn word(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The request that is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// One 64-bit number.
    Word,
    /// A buffer of this number of bytes.
    Fill(usize),
}

impl Work {
    /// The bytes of one request.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Work::Word => 8,
            Work::Fill(bytes) => bytes,
        }
    }

    /// The name in tables: `u64`, `32 B`, `64 KiB`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Work::Word => "u64".into(),
            Work::Fill(bytes) if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
            Work::Fill(bytes) if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
            Work::Fill(bytes) => format!("{bytes} B"),
        }
    }
}

/// A [`Subject`] at work, behind one virtual call for many requests, so that the requests themselves inline
/// as they would in a program of the subject's user.
pub trait Runner {
    /// Serves `requests` of `work` and returns the time for all of them. `buffer` has the bytes of one request.
    fn run(&mut self, work: Work, requests: u64, buffer: &mut [u8]) -> Duration;

    /// Times `calls` requests of 32 bytes, one by one.
    fn time_calls(&mut self, clock: &Clock, calls: u64, histogram: &mut Histogram);
}

impl<S: Subject> Runner for S {
    fn run(&mut self, work: Work, requests: u64, buffer: &mut [u8]) -> Duration {
        let start = Instant::now();
        match (work, buffer.first_chunk_mut::<32>()) {
            (Work::Word, _) => (0..requests).for_each(|_| {
                black_box(self.word());
            }),
            // A key's length is known where it is asked for, and compilers make use of it.
            (Work::Fill(32), Some(key)) => (0..requests).for_each(|_| self.fill(black_box(key))),
            (Work::Fill(_), _) => (0..requests).for_each(|_| self.fill(black_box(buffer))),
        }
        start.elapsed()
    }

    fn time_calls(&mut self, clock: &Clock, calls: u64, histogram: &mut Histogram) {
        let mut key = [0; 32];
        for _ in 0..calls {
            let start = clock.ticks();
            self.fill(black_box(&mut key));
            histogram.add(clock.ticks().wrapping_sub(start));
        }
    }
}

/// The group of a contender: its members are drawn and listed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// The engine's read modes.
    Mode,
    /// Other ways into the engine.
    Handle,
    /// Functions that make one value.
    Helper,
    /// A bare keystream in a loop.
    Backend,
    /// Numbers without secrecy.
    Statistical,
    /// The operating system.
    System,
    /// Another project's generator.
    Peer,
    /// The limit of the memory: `memset`.
    Limit,
}

impl Family {
    /// All families, in the order in which tables list them.
    pub const ALL: [Family; 8] = [
        Family::Mode,
        Family::Handle,
        Family::Helper,
        Family::System,
        Family::Peer,
        Family::Backend,
        Family::Statistical,
        Family::Limit,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Family::Mode => "mode",
            Family::Handle => "handle",
            Family::Helper => "helper",
            Family::Backend => "backend",
            Family::Statistical => "statistical",
            Family::System => "system",
            Family::Peer => "peer",
            Family::Limit => "limit",
        }
    }
}

type Make = dyn Fn() -> Box<dyn Runner> + Send + Sync;

/// A subject with its name, and the work it is measured at.
pub struct Contender {
    /// The name in reports; unique.
    pub name: String,
    /// The group.
    pub family: Family,
    /// The requests that are measured.
    pub works: Vec<Work>,
    /// Whether it is measured on several threads as well as on one.
    pub scales: bool,
    make: Box<Make>,
}

impl Contender {
    /// A contender that is measured on one thread. `make` is called on the thread that is to run it, for
    /// each of its turns.
    pub fn new<R: Runner + 'static>(
        name: impl Into<String>,
        family: Family,
        works: &[Work],
        make: impl Fn() -> R + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            family,
            works: works.to_vec(),
            scales: false,
            make: Box::new(move || Box::new(make())),
        }
    }

    /// The same, on several threads as well.
    #[must_use]
    pub fn on_threads(mut self) -> Self {
        self.scales = true;
        self
    }

    /// One for the calling thread.
    #[must_use]
    pub fn runner(&self) -> Box<dyn Runner> {
        (self.make)()
    }
}
