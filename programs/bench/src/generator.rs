//! The generators that are compared, and their requests.

use hdrhistogram::Histogram;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Makes random bytes, for one thread.
pub trait Generate {
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
pub enum Request {
    /// One 64-bit number.
    Word,
    /// A buffer of this number of bytes.
    Fill(usize),
}

impl Request {
    /// The bytes of one request.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Request::Word => 8,
            Request::Fill(bytes) => bytes,
        }
    }

    /// The name in tables: `u64`, `32 B`, `64 KiB`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Request::Word => "u64".into(),
            Request::Fill(bytes) if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
            Request::Fill(bytes) if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
            Request::Fill(bytes) => format!("{bytes} B"),
        }
    }
}

/// A generator at work, behind one virtual call for many requests, so that the requests themselves are inlined as in a
/// program of its user.
pub trait Runner {
    /// Serves `count` requests and returns the time for all of them. `buffer` has the bytes of one request.
    fn run(&mut self, request: Request, count: u64, buffer: &mut [u8]) -> Duration;

    /// Times `count` requests of 32 bytes, one by one, in nanoseconds.
    fn time_calls(&mut self, count: u64, histogram: &mut Histogram<u64>);
}

impl<G: Generate> Runner for G {
    fn run(&mut self, request: Request, count: u64, buffer: &mut [u8]) -> Duration {
        let start = Instant::now();
        match (request, buffer.first_chunk_mut::<32>()) {
            (Request::Word, _) => (0..count).for_each(|_| {
                black_box(self.word());
            }),
            // A key's length is known where it is asked for, and compilers make use of it.
            (Request::Fill(32), Some(key)) => (0..count).for_each(|_| self.fill(black_box(key))),
            (Request::Fill(_), _) => (0..count).for_each(|_| self.fill(black_box(buffer))),
        }
        start.elapsed()
    }

    fn time_calls(&mut self, count: u64, histogram: &mut Histogram<u64>) {
        let mut key = [0; 32];
        for _ in 0..count {
            histogram.saturating_record(time_ns(|| self.fill(black_box(&mut key))));
        }
    }
}

/// The nanoseconds that `work` takes, including the time to read the clock.
#[inline(always)]
pub fn time_ns(work: impl FnOnce()) -> u64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as u64
}

/// The threads on which a generator is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One alone.
    One,
    /// Several as well, which never wait for each other.
    Independent,
    /// Several as well, which wait for each other on a lock of the engine's or the kernel's.
    Waiting,
}

type Make = dyn Fn() -> Box<dyn Runner> + Send + Sync;

/// A generator with its name, and the requests with which it is measured.
pub struct Generator {
    /// The name in reports; unique.
    pub name: String,
    /// The requests that are measured.
    pub requests: Vec<Request>,
    /// The threads on which it is measured.
    pub threads: Threads,
    make: Box<Make>,
}

impl Generator {
    /// A generator that is measured on one thread. `make` is called on the thread that is to run it, for each of its
    /// turns.
    pub fn new<R: Runner + 'static>(
        name: impl Into<String>,
        requests: &[Request],
        make: impl Fn() -> R + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            requests: requests.to_vec(),
            threads: Threads::One,
            make: Box::new(move || Box::new(make())),
        }
    }

    /// The same, on these threads.
    #[must_use]
    pub fn on(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// One for the calling thread.
    #[must_use]
    pub fn runner(&self) -> Box<dyn Runner> {
        (self.make)()
    }
}
