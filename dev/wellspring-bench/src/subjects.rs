//! The engine, the operating system, and what bounds them.

use crate::contender::{Contender, Family, Runner, Subject, Work};
use rand_core::Rng as _;
use rustix::rand::{GetRandomFlags, getrandom};
use std::hint::black_box;
use wellspring::{Backend, Engine, LocalRng, Mode, Prf, pseudo};
use wellspring_cipher::Keystream;
use wellspring_os::owned::OwnedState;
use wellspring_os::thread_state::ThreadStates;

/// The sizes measured: a key, a small message, a page, a pipe buffer, a bulk read.
pub const SIZES: [usize; 5] = [32, 256, 4096, 65_536, 1 << 20];

/// Fits into the first-level cache of every machine of the last twenty years.
pub const CACHED_BYTES: usize = 16_384;

/// The names that targets and plots look for.
pub mod name {
    /// The function of the crate's root.
    pub const GLOBAL: &str = "wellspring::u64()";
    /// An owned generator.
    pub const OWNED: &str = "owned LocalRng";
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

impl Subject for Read {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.fill(destination);
    }
}

struct Global;

impl Subject for Global {
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

impl Subject for Handle {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.fill(destination);
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        self.0.u64()
    }
}

/// A function that returns one number; the call through a pointer takes about 1 ns of the figure.
struct Call(fn() -> u64);

impl Subject for Call {
    fn fill(&mut self, destination: &mut [u8]) {
        for chunk in destination.chunks_mut(8) {
            chunk.copy_from_slice(&(self.0)().to_le_bytes()[..chunk.len()]);
        }
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        (self.0)()
    }
}

struct Pseudo;

impl Subject for Pseudo {
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

impl Subject for Bare {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.fill(destination);
    }
}

/// getrandom(2), as a C program would call it.
pub(crate) struct SystemCall;

impl Subject for SystemCall {
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
        self.0.with(|| 0, |_, mut fresh| fresh.fill(destination)) == Some(true)
    }
}

impl Subject for Vdso {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        assert!(self.try_fill(destination), "the vDSO answered a moment ago");
    }
}

struct Memset;

impl Subject for Memset {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        destination.fill(black_box(0x5a));
    }
}

/// A loop that reads nothing: what a latency consists of before anything is read.
pub(crate) struct Nothing;

impl Subject for Nothing {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        black_box(destination);
    }
}

/// An engine in a mode, on the default function.
///
/// # Panics
///
/// When the system has no memory that is wiped on fork: then there is no engine to measure.
#[must_use]
pub fn engine(mode: Mode) -> Engine {
    Engine::builder()
        .mode(mode)
        .build()
        .expect("the system has memory for an engine")
}

/// A reader on `engine`.
pub(crate) fn reader(engine: &Engine) -> impl Runner {
    Read(engine.clone())
}

/// A mode of the engine, at `works`, on threads.
///
/// # Panics
///
/// When the system has no memory for an engine.
#[must_use]
pub fn mode(mode: Mode, works: &[Work]) -> Contender {
    let engine = engine(mode);
    Contender::new(mode.name(), Family::Mode, works, move || {
        Read(engine.clone())
    })
    .on_threads()
}

/// A function of the crate's root.
type Draw = fn() -> u64;

/// The helpers of the crate, each as its users call it. A new helper takes one line here.
fn helpers() -> impl Iterator<Item = Contender> {
    let calls: [(&str, Draw); 3] = [
        ("wellspring::u32()", || wellspring::u32().into()),
        ("wellspring::bytes()", || {
            u64::from_le_bytes(wellspring::bytes())
        }),
        ("rng().next_u64()", || wellspring::rng().next_u64()),
    ];
    calls
        .into_iter()
        .map(|(name, call)| Contender::new(name, Family::Helper, &[Work::Word], move || Call(call)))
}

/// Everything that is measured without peers.
#[must_use]
pub fn standard() -> Vec<Contender> {
    let fills: Vec<Work> = SIZES.map(Work::Fill).to_vec();
    let all: Vec<Work> = [&[Work::Word], fills.as_slice()].concat();
    let mut contenders: Vec<Contender> =
        Mode::ALL.into_iter().map(|one| mode(one, &fills)).collect();
    contenders.push(Contender::new(
        name::GLOBAL,
        Family::Handle,
        &[Work::Word],
        || Global,
    ));
    let small = [Work::Word, Work::Fill(32), Work::Fill(4096)];
    contenders.push(Contender::new(name::OWNED, Family::Handle, &small, || {
        Handle(LocalRng::default())
    }));
    let chacha20 = Engine::builder()
        .prf(Prf::ChaCha20)
        .build()
        .expect("there was memory for others");
    let chacha20 = move || Read(chacha20.clone());
    contenders.push(Contender::new(
        name::CHACHA20,
        Family::Handle,
        &fills,
        chacha20,
    ));
    contenders.extend(helpers());
    contenders.extend(backends());
    contenders.push(Contender::new(
        name::PSEUDO,
        Family::Statistical,
        &all,
        || Pseudo,
    ));
    contenders
        .push(Contender::new(name::GETRANDOM, Family::System, &all, || SystemCall).on_threads());
    if Vdso::new().try_fill(&mut [0; 32]) {
        let works = [
            Work::Word,
            Work::Fill(32),
            Work::Fill(256),
            Work::Fill(4096),
        ];
        contenders.push(Contender::new(
            name::VDSO,
            Family::System,
            &works,
            Vdso::new,
        ));
    }
    contenders.push(Contender::new(name::MEMSET, Family::Limit, &fills, || {
        Memset
    }));
    contenders
}

/// Every backend that this CPU runs, in the cache and out of it.
fn backends() -> impl Iterator<Item = Contender> {
    let available = Backend::ALL
        .iter()
        .copied()
        .filter(|backend| backend.is_available());
    available.map(|backend| {
        let works = [CACHED_BYTES, 1 << 20].map(Work::Fill);
        let make = move || Bare(Keystream::new(backend, &[0x42; 32], 0));
        Contender::new(backend.name(), Family::Backend, &works, make)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_contenders_share_a_name() {
        let contenders = standard();
        let names: HashSet<&str> = contenders
            .iter()
            .map(|contender| contender.name.as_str())
            .collect();
        assert_eq!(names.len(), contenders.len());
    }

    #[test]
    fn every_contender_does_the_work_it_is_measured_at() {
        for contender in standard()
            .iter()
            .filter(|contender| contender.name != name::MEMSET)
        {
            for &work in &contender.works {
                let mut buffer = vec![0; work.bytes()];
                contender.runner().run(work, 2, &mut buffer);
                if let Work::Fill(bytes) = work {
                    let tail = &buffer[bytes - 32..];
                    assert_ne!(tail, [0; 32], "{} {}", contender.name, work.name());
                }
            }
        }
    }
}
