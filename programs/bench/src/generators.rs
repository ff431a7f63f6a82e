//! The generators that are compared, and their requests: the engine, the operating system, and what bounds them.

use hdrhistogram::Histogram;
#[cfg(target_os = "linux")]
use rustix::rand::{GetRandomFlags, getrandom};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use wellspring::clone_detection::GenerationPage;
use wellspring::{Backend, Engine, LocalRng, Mode, Prf};
use wellspring_cipher::Keystream;
use wellspring_os::thread_state::OwnedState;
use wellspring_os::thread_state::ThreadStates;
use wellspring_pseudo_thread as pseudo;

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

// ---- the engine, the system, and bounds ----

/// The sizes measured: a key, a small message, a page, a pipe buffer, a bulk read.
pub const SIZES: [usize; 5] = [32, 256, 4096, 65_536, 1 << 20];

/// Fits into the first-level cache of every machine of the last twenty years.
pub const CACHED_BYTES: usize = 16_384;

/// The names that limits and tables look for.
pub mod name {
    /// The function of the crate's root.
    pub const GLOBAL: &str = "wellspring::u64()";
    /// An owned generator.
    pub const OWNED: &str = "owned LocalRng";
    /// The engine whose reads compare a word of a generation page, on every machine.
    pub const WATCHED: &str = "per-thread, page";
    /// The engine whose reads compare nothing, on every machine.
    pub const UNWATCHED: &str = "per-thread, no page";
    /// An owned generator of the first of them.
    pub const OWNED_WATCHED: &str = "owned, page";
    /// An owned generator of the other.
    pub const OWNED_UNWATCHED: &str = "owned, no page";
    /// The engine on ChaCha20.
    pub const CHACHA20: &str = "per-thread, chacha20";
    /// The statistical tier.
    pub const PSEUDO: &str = "pseudo";
    /// The system call.
    pub const GETRANDOM: &str = "getrandom(2)";
    /// The same without one.
    pub const VDSO: &str = "vDSO getrandom";
    /// The limit of the memory.
    pub const MEMSET: &str = "memset";
}

struct Read(Engine);

impl Generate for Read {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.fill(destination);
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        self.0.u64()
    }
}

struct Global;

impl Generate for Global {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        wellspring::fill(destination);
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        wellspring::u64()
    }
}

struct Handle(LocalRng);

impl Generate for Handle {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.fill(destination);
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        self.0.u64()
    }
}

struct Pseudo;

impl Generate for Pseudo {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        pseudo::fill(destination);
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        pseudo::u64()
    }
}

/// A keystream that goes on under one key.
struct Bare(Keystream);

impl Generate for Bare {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.fill(destination);
    }
}

/// getrandom(2), as a C program would call it; the generator of another system.
struct SystemCall;

impl Generate for SystemCall {
    #[cfg(not(target_os = "linux"))]
    fn fill(&mut self, destination: &mut [u8]) {
        let mut done = 0;
        while done < destination.len() {
            // Up to 256 bytes, which is what getentropy(2) takes.
            done += wellspring_os::os::os_random(&mut destination[done..]).unwrap_or(0);
        }
    }

    #[cfg(target_os = "linux")]
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        let mut done = 0;
        while done < destination.len() {
            // A signal cuts a long request short.
            done += getrandom(&mut destination[done..], GetRandomFlags::empty()).unwrap_or(0);
        }
    }
}

/// The backend's function in user space, by way of the engine's own states for it: about 1 ns is theirs.
struct Vdso(OwnedState<u64>);

impl Vdso {
    fn new() -> Self {
        Self(OwnedState::new(&ThreadStates::<u64, u64>::new()))
    }

    fn try_fill(&mut self, destination: &mut [u8]) -> bool {
        if let Some(mut read) = self.0.begin() {
            return read.state_and_vdso().1.fill(destination);
        }
        let Some(mut read) = self.0.begin_first(0) else {
            return false;
        };
        read.state_and_vdso().1.fill(destination)
    }
}

impl Generate for Vdso {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        assert!(self.try_fill(destination), "the vDSO answered a moment ago");
    }
}

struct Memset;

impl Generate for Memset {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        destination.fill(black_box(0x5a));
    }
}

/// An engine in a mode, on the default function.
///
/// # Panics
///
/// When the system has no memory for it: then there is no engine to measure.
#[must_use]
pub fn engine(mode: Mode) -> Engine {
    Engine::builder()
        .mode(mode)
        .build()
        .expect("the system has memory for an engine")
}

/// An engine with a generation page and one without, whatever the machine has.
fn with_page_and_without() -> Option<[Engine; 2]> {
    let path = std::env::temp_dir().join(format!("wellspring-bench-{}.page", std::process::id()));
    let none = path.join("none");
    let engine = |page: &Path| {
        let builder = Engine::builder().generation_page(page).vmclock(&none);
        builder.build().expect("there was memory for others")
    };
    // The engine keeps its mapping of the file.
    let _page = GenerationPage::create(&path).ok()?;
    let engines = [engine(&path), engine(&none)];
    let _ = std::fs::remove_file(&path);
    Some(engines)
}

/// A reader on `engine`.
pub(crate) fn reader(engine: &Engine) -> impl Runner {
    Read(engine.clone())
}

/// A mode of the engine.
///
/// # Panics
///
/// When the system has no memory for an engine.
#[must_use]
pub fn mode(mode: Mode, requests: &[Request]) -> Generator {
    let engine = engine(mode);
    let threads = if mode == Mode::PerThread {
        Threads::Independent
    } else {
        Threads::Waiting
    };
    Generator::new(mode.name(), requests, move || Read(engine.clone())).on(threads)
}

pub(crate) fn system_call(requests: &[Request]) -> Generator {
    Generator::new(name::GETRANDOM, requests, || SystemCall).on(Threads::Waiting)
}

/// Everything that is measured without peers, in the order of tables.
///
/// # Panics
///
/// When the system has no memory for an engine.
#[must_use]
pub fn standard() -> Vec<Generator> {
    let fills: Vec<Request> = SIZES.map(Request::Fill).to_vec();
    let all: Vec<Request> = [&[Request::Word], fills.as_slice()].concat();
    let small = [Request::Word, Request::Fill(32), Request::Fill(4096)];
    let of_vdso = [&small[..], &[Request::Fill(256)]].concat();
    let of_owned = [&of_vdso[..], &[Request::Fill(CACHED_BYTES)]].concat();
    let chacha20 = Engine::builder().prf(Prf::ChaCha20).build();
    let chacha20 = chacha20.expect("there was memory for others");
    let sizes_of_bare = [fills.as_slice(), &[Request::Fill(CACHED_BYTES)]].concat();
    let mut generators: Vec<Generator> = Mode::ALL
        .map(|one| match one {
            Mode::PerThread => mode(one, &sizes_of_bare),
            _ => mode(one, &fills),
        })
        .into();
    generators.extend([
        Generator::new(name::GLOBAL, &[Request::Word], || Global),
        Generator::new(name::OWNED, &of_owned, || Handle(LocalRng::default())),
        Generator::new(name::CHACHA20, &fills, move || Read(chacha20.clone())),
        Generator::new(name::PSEUDO, &all, || Pseudo),
        system_call(&all),
    ]);
    if let Some([watched, unwatched]) = with_page_and_without() {
        for (thread, owned, engine) in [
            (name::WATCHED, name::OWNED_WATCHED, watched),
            (name::UNWATCHED, name::OWNED_UNWATCHED, unwatched),
        ] {
            let of_owned = engine.clone();
            let local = move || Handle(LocalRng::new(of_owned.clone()));
            generators.extend([
                Generator::new(thread, &of_vdso, move || Read(engine.clone())),
                Generator::new(owned, &small, local),
            ]);
        }
    }
    if Vdso::new().try_fill(&mut [0; 32]) {
        generators.push(Generator::new(name::VDSO, &of_vdso, Vdso::new));
    }
    generators.push(Generator::new(name::MEMSET, &fills, || Memset));
    let backends = Backend::ALL.iter().copied();
    // In the cache and out of it.
    let bare = [CACHED_BYTES, 1 << 20].map(Request::Fill);
    let own = Backend::detect(Prf::Aes256);
    generators.extend(backends.filter(|one| one.is_available()).map(|backend| {
        let make = move || Bare(Keystream::new(backend, &[0x42; 32], 0));
        // Reads are compared with the engine's own at all sizes, and on several threads.
        if backend == own {
            Generator::new(backend.name(), &sizes_of_bare, make).on(Threads::Independent)
        } else {
            Generator::new(backend.name(), &bare, make)
        }
    }));
    generators
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_generators_share_a_name() {
        let generators = standard();
        let names: HashSet<&str> = generators
            .iter()
            .map(|generator| generator.name.as_str())
            .collect();
        assert_eq!(names.len(), generators.len());
    }

    #[test]
    fn every_generator_serves_the_requests_it_is_measured_with() {
        for generator in standard()
            .iter()
            .filter(|generator| generator.name != name::MEMSET)
        {
            for &request in &generator.requests {
                let mut buffer = vec![0; request.bytes()];
                generator.runner().run(request, 2, &mut buffer);
                if let Request::Fill(bytes) = request {
                    let tail = &buffer[bytes - 32..];
                    assert_ne!(tail, [0; 32], "{} {}", generator.name, request.name());
                }
            }
        }
    }
}
