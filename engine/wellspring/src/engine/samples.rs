//! Samples of the sources: taken, tested, and hashed into the pools.
//!
//! ```text
//! SourceEntry   one source: its health, its next pool, its counts
//! Samples       draws on sources, and takes what they yield to the pools
//! ```
//!
//! A read that harvests inline takes a sample only, and a later read does the rest. Meanwhile the sample waits behind the lock
//! of the pools.

use core::ops::Deref;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use wellspring_core::distribution::Distribution;
use wellspring_core::health::{Action, Grade, Health, START_UP_SYMBOLS, SourceHealth};
use wellspring_core::pool::{Accumulator, Event, POOLS};
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed, Symbol};
use wellspring_os::memory::Zeroed;
use wellspring_os::{cpu, os, sandbox};
use zeroize::Zeroize;

/// A source and its counts. In ordinary memory: a child process continues the counts.
pub(super) struct SourceEntry {
    source: AnySource,
    /// The source is asked about itself once, while no thread holds the lock of the pools: the answer can be a panic, or
    /// wait for that lock.
    pub(super) name: &'static str,
    claim: MinEntropy,
    symbol: Symbol,
    /// The time between two draws of a slow source, in milliseconds. A reader may draw on the others, which are fast.
    pub(super) slow_interval_ms: Option<u64>,
    makes_system_calls: bool,
    bytes: AtomicU64,
    discarded_bytes: AtomicU64,
    credited_bits: AtomicU64,
    errors: AtomicU64,
    /// The reason why the last draw yielded nothing, as [`encode`] writes it; 0 if it yielded something.
    last_error: AtomicU64,
    empty_draws: AtomicU64,
    /// When the present draw began; 0 if no draw runs.
    drawing_since_ms: AtomicU64,
    /// A [`SourceHealth`]. A disabled source stays disabled in a child process, whose tests start from nothing.
    health: AtomicU32,
    intermittent_failures: AtomicU64,
    permanent_failures: AtomicU64,
    /// An operator asked for a restart.
    restart: AtomicBool,
}

/// A source of a program, or one of our own, for which nothing is allocated.
pub(super) enum AnySource {
    Given(Arc<dyn Source>),
    Own(&'static dyn Source),
}

impl From<Arc<dyn Source>> for AnySource {
    fn from(source: Arc<dyn Source>) -> Self {
        Self::Given(source)
    }
}

impl From<&'static dyn Source> for AnySource {
    fn from(source: &'static dyn Source) -> Self {
        Self::Own(source)
    }
}

impl Deref for AnySource {
    type Target = dyn Source;

    fn deref(&self) -> &(dyn Source + 'static) {
        match self {
            Self::Given(source) => &**source,
            Self::Own(source) => *source,
        }
    }
}

/// The part of a source that only the owner of the pools changes. All zeros is a fresh source.
#[repr(C)]
pub(super) struct SourceState {
    health: Health,
    /// The pool of the next event. Each source has a round robin of its own, so that no source can choose the
    /// pools of another (FS&K 9.5.6).
    next_pool: u64,
    /// The part of a bit that was claimed and not credited yet: one byte may have less than one bit of min-entropy.
    claimed_256ths: u64,
}

impl SourceState {
    pub(super) const ZERO: Self = Self {
        health: Health::ZERO,
        next_pool: 0,
        claimed_256ths: 0,
    };

    /// The whole bits that the next `bytes` are credited.
    fn credit(&mut self, claim_256ths: u16, bytes: usize) -> u32 {
        let claimed = self.claimed_256ths + u64::from(claim_256ths) * bytes as u64;
        self.claimed_256ths = claimed % 256;
        (claimed / 256) as u32
    }
}

impl SourceEntry {
    pub(super) fn new(source: impl Into<AnySource>) -> Self {
        let source = source.into();
        Self {
            name: source.name(),
            claim: source.min_entropy(),
            symbol: source.symbol(),
            slow_interval_ms: match source.speed() {
                Speed::Fast => None,
                Speed::Slow { interval_ms } => Some(interval_ms),
            },
            makes_system_calls: source.makes_system_calls(),
            source,
            bytes: AtomicU64::new(0),
            discarded_bytes: AtomicU64::new(0),
            credited_bits: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            last_error: AtomicU64::new(0),
            empty_draws: AtomicU64::new(0),
            drawing_since_ms: AtomicU64::new(0),
            health: AtomicU32::new(SourceHealth::StartUp as u32),
            intermittent_failures: AtomicU64::new(0),
            permanent_failures: AtomicU64::new(0),
            restart: AtomicBool::new(false),
        }
    }

    /// Starts a quarantined or disabled source again at the next draw.
    pub(super) fn restart(&self) {
        self.restart.store(true, Ordering::Relaxed);
    }

    /// Whether a later draw may yield credit.
    pub(super) fn may_yield_credit(&self) -> bool {
        let is_forbidden = sandbox::is_prepared() && self.makes_system_calls;
        let error = decode(self.last_error.load(Ordering::Relaxed));
        let has_failed = error.is_some_and(|error| error != SourceError::Busy);
        let is_disabled = self.health() == SourceHealth::Disabled;
        self.claim.as_256ths() != 0 && !is_forbidden && !has_failed && !is_disabled
    }

    /// Draws once, without a lock: writes raw noise to `destination` and returns its length. `None` if it failed.
    ///
    /// [`judge`](Self::judge) then tests the noise. A panic of the source ends here and counts as an error.
    pub(super) fn sample(&self, destination: &mut [u8]) -> Option<usize> {
        if sandbox::is_prepared() && self.makes_system_calls {
            return None;
        }
        let is_disabled = self.health() == SourceHealth::Disabled;
        if is_disabled && !self.restart.load(Ordering::Relaxed) {
            return None;
        }
        let since = &self.drawing_since_ms;
        since.store(os::now_ms().max(1), Ordering::Relaxed);
        let draw = catch_unwind(AssertUnwindSafe(|| self.source.sample(destination)));
        let result = draw.unwrap_or_else(|panic| {
            // A drop of the panic's value could panic again.
            core::mem::forget(panic);
            Err(SourceError::Panicked)
        });
        since.store(0, Ordering::Relaxed);
        if matches!(result, Ok(1..)) {
            self.empty_draws.store(0, Ordering::Relaxed);
        } else {
            add(&self.empty_draws, 1);
        }
        match result {
            Ok(length) => {
                self.last_error.store(0, Ordering::Relaxed);
                Some(length.min(destination.len()))
            }
            Err(error) => {
                self.errors.fetch_add(1, Ordering::Relaxed);
                self.last_error.store(encode(error), Ordering::Relaxed);
                None
            }
        }
    }

    /// The bytes of a sample that are whole symbols.
    pub(super) fn whole_symbols(&self, bytes: usize) -> usize {
        bytes - bytes % self.symbol.bytes()
    }

    /// Tests a sample of whole symbols. Returns the claim that each of its bytes is credited, in 256ths of a bit; `None` if
    /// the sample must not be used.
    pub(super) fn judge(&self, state: &mut SourceState, sample: &[u8]) -> Option<u16> {
        let relaxed = Ordering::Relaxed;
        // Loaded first: an exchange takes 5 ns and a reader waits for it.
        if self.restart.load(relaxed) && self.restart.swap(false, relaxed) {
            state.health.restart();
        }
        let outcome = state.health.judge(self.claim, self.symbol, sample);
        self.health.store(state.health.state() as u32, relaxed);
        if !outcome.findings.is_empty() {
            let failures = |grade| u64::from(outcome.findings.of_grade(grade));
            add(&self.intermittent_failures, failures(Grade::Intermittent));
            add(&self.permanent_failures, failures(Grade::Permanent));
        }
        match outcome.action {
            Action::Credit => Some(self.claim.as_256ths()),
            Action::Mix => Some(0),
            Action::Discard => {
                add(&self.discarded_bytes, sample.len() as u64);
                None
            }
        }
    }

    /// Makes `event` of some of a sample, for the next pool of this source.
    pub(super) fn make_event(
        &self,
        state: &mut SourceState,
        claim_256ths: u16,
        data: &[u8],
        event: &mut Event,
    ) {
        let bits = state.credit(claim_256ths, data.len());
        event.set(cpu::cycles() as u32, state.next_pool as usize, data, bits);
        state.next_pool = state.next_pool.wrapping_add(1);
        add(&self.bytes, data.len() as u64);
        add(&self.credited_bits, u64::from(event.credit_bits()));
    }

    pub(super) fn stats(&self, now_ms: u64) -> SourceStats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SourceStats {
            name: self.name,
            claim: self.claim,
            bytes: read(&self.bytes),
            credited_bits: read(&self.credited_bits),
            errors: read(&self.errors),
            last_error: decode(read(&self.last_error)),
            empty_draws: read(&self.empty_draws),
            drawing_for_ms: match read(&self.drawing_since_ms) {
                0 => 0,
                since_ms => now_ms.saturating_sub(since_ms),
            },
            discarded_bytes: read(&self.discarded_bytes),
            health: self.health(),
            intermittent_failures: read(&self.intermittent_failures),
            permanent_failures: read(&self.permanent_failures),
        }
    }

    fn health(&self) -> SourceHealth {
        let number = self.health.load(Ordering::Relaxed) as usize;
        SourceHealth::ALL[number % SourceHealth::ALL.len()]
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

const SYSTEM: u64 = 1 << 32;

/// The errors that are not the system's. The first also stands for errors that later versions add.
const ERRORS: [SourceError; 5] = [
    SourceError::Busy,
    SourceError::Absent,
    SourceError::SelfTest,
    SourceError::Ended,
    SourceError::Panicked,
];

/// A [`SourceError`] as a number that is not 0.
fn encode(error: SourceError) -> u64 {
    if let SourceError::System(errno) = error {
        return SYSTEM | u64::from(errno as u32);
    }
    let number = ERRORS.iter().position(|&known| known == error);
    number.unwrap_or(0) as u64 + 1
}

/// The error that [`encode`] wrote.
fn decode(number: u64) -> Option<SourceError> {
    if number >= SYSTEM {
        return Some(SourceError::System(number as u32 as i32));
    }
    ERRORS.get((number as usize).checked_sub(1)?).copied()
}

/// The draws in a row on a source during its start-up: enough for a source that yields 32 bytes at a time, and one more.
const START_UP_DRAWS: u32 = START_UP_SYMBOLS / Event::MAX_BYTES as u32 + 1;

/// The sources of an engine, and all that a sample meets on its way to the pools.
///
/// No queue is on that way, so nothing that comes from elsewhere can take the sample's place.
pub(super) struct Samples<'a> {
    pub(super) sources: &'a [SourceEntry],
    pub(super) drawing_thread: &'a AtomicU64,
    pub(super) meters: &'a PoolMeters,
}

impl Samples<'_> {
    /// Draws on all fast sources.
    #[inline(never)]
    pub(super) fn draw_on_fast_sources(&self, state: &mut CollectorState, bytes: usize) {
        for source in 0..self.sources.len() {
            if self.sources[source].slow_interval_ms.is_none() {
                self.draw(state, source, bytes);
            }
        }
    }

    /// Draws on a source: its sample goes through the health tests, in events, to the pools.
    ///
    /// One draw of `bytes` bytes. If `bytes` is [`SEEDING_SAMPLE_BYTES`], up to 33 draws: until the start-up of the
    /// source is over and a sample was used.
    fn draw(&self, state: &mut CollectorState, source: usize, bytes: usize) {
        let draws = if bytes < SEEDING_SAMPLE_BYTES {
            1
        } else {
            START_UP_DRAWS
        };
        // The new sample takes its place.
        self.admit_waiting(state);
        for _ in 0..draws {
            let Some(length) = self.sample(state, source, bytes) else {
                return;
            };
            if self.admit(state, source, length) || length == 0 {
                return;
            }
        }
    }

    /// Takes an event's sample from the fast source whose turn it is. It waits for
    /// [`admit_waiting`](Self::admit_waiting).
    pub(super) fn sample_next_source(&self, state: &mut CollectorState) {
        let count = self.sources.len();
        let mut in_turn = (0..count).map(|step| (state.next_source as usize + step) % count);
        if let Some(source) =
            in_turn.find(|&source| self.sources[source].slow_interval_ms.is_none())
        {
            state.next_source = source as u64 + 1;
            let length = self.sample(state, source, Event::MAX_BYTES);
            state.waiting_source = source as u64;
            state.waiting_bytes = length.unwrap_or(0) as u64;
        }
    }

    /// Admits the sample that waits, if one does. Returns whether one did.
    #[inline(never)]
    pub(super) fn admit_waiting(&self, state: &mut CollectorState) -> bool {
        let length = core::mem::take(&mut state.waiting_bytes) as usize;
        if length != 0 {
            self.admit(state, state.waiting_source as usize, length);
        }
        length != 0
    }

    /// Takes a sample of up to `bytes` bytes from a source. Returns its length, or `None` if the source failed.
    fn sample(&self, state: &mut CollectorState, source: usize, bytes: usize) -> Option<usize> {
        self.drawing_thread.store(this_thread(), Ordering::Relaxed);
        let length = self.sources[source].sample(&mut state.sample[..bytes]);
        self.drawing_thread.store(0, Ordering::Relaxed);
        length
    }

    /// Tests the first `length` bytes of the sample, hashes them into the pools, and wipes them. Returns whether they
    /// were used.
    #[inline(never)]
    fn admit(&self, state: &mut CollectorState, source: usize, length: usize) -> bool {
        let CollectorState {
            distribution,
            sources,
            sample,
            event,
            events,
            ..
        } = state;
        let (entry, source) = (&self.sources[source], &mut sources[source]);
        let whole = entry.whole_symbols(length);
        let claim_256ths = entry.judge(source, &sample[..whole]);
        if let Some(claim_256ths) = claim_256ths {
            for data in sample[..whole].chunks(Event::MAX_BYTES) {
                entry.make_event(source, claim_256ths, data, event);
                distribution.absorb(event);
                *events = events.wrapping_add(1);
                let pools = distribution.accumulator();
                self.meters.copy_one(pools, event.pool());
            }
            event.zeroize();
        }
        sample[..length].zeroize();
        claim_256ths.is_some()
    }

    /// The same with a sample that was taken without the lock of the pools, and is copied.
    pub(super) fn admit_slow(&self, state: &mut CollectorState, source: usize, sample: &[u8]) {
        self.admit_waiting(state);
        state.sample[..sample.len()].copy_from_slice(sample);
        self.admit(state, source, sample.len());
    }
}

/// The numbers of a source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceStats {
    /// Its name.
    pub name: &'static str,
    /// The min-entropy that it claims.
    pub claim: MinEntropy,
    /// The bytes of noise that reached the pools.
    pub bytes: u64,
    /// Their credit, in bits.
    pub credited_bits: u64,
    /// How often a draw failed.
    pub errors: u64,
    /// The reason why the last draw failed, if it did.
    pub last_error: Option<SourceError>,
    /// The draws in a row, up to the last, that yielded nothing: they failed, or returned no byte.
    pub empty_draws: u64,
    /// How long the present draw has run, in milliseconds; 0 if no draw runs.
    pub drawing_for_ms: u64,
    /// The bytes that were tested and thrown away: during start-ups, and after failures.
    pub discarded_bytes: u64,
    /// The state that its health tests put it in.
    pub health: SourceHealth,
    /// Failures of a health test that a sound source shows once in 2^30 samples.
    pub intermittent_failures: u64,
    /// Failures that a sound source shows once in 2^60 samples.
    pub permanent_failures: u64,
}

/// The most sources of one engine.
pub(super) const MAX_SOURCES: usize = 16;

/// The bytes asked of a source while the engine seeds itself: 8 events.
pub(super) const SEEDING_SAMPLE_BYTES: usize = 256;

/// The state behind the lock of the pools. Samples are here while they are tested, cut and hashed. A sample of a slow
/// source is drawn on the stack, where an event of [`mix`](super::Engine::mix) is too, and both are wiped.
#[repr(C)]
pub(super) struct CollectorState {
    pub(super) distribution: Distribution,
    pub(super) sources: [SourceState; MAX_SOURCES],
    pub(super) sample: [u8; SEEDING_SAMPLE_BYTES],
    pub(super) event: Event,
    /// The source that the next inline harvest draws on.
    pub(super) next_source: u64,
    /// The length of the sample that waits for its tests, 0 if no sample waits; and its source.
    pub(super) waiting_bytes: u64,
    pub(super) waiting_source: u64,
    /// The events that the pools took so far.
    pub(super) events: u64,
}

impl Zeroed for CollectorState {
    const ZERO: Self = Self {
        distribution: Distribution::ZERO,
        sources: [const { SourceState::ZERO }; MAX_SOURCES],
        sample: [0; SEEDING_SAMPLE_BYTES],
        event: Event::ZERO,
        next_source: 0,
        waiting_bytes: 0,
        waiting_source: 0,
        events: 0,
    };
}

/// A number that identifies this thread among the living ones.
pub(super) fn this_thread() -> u64 {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| core::ptr::from_ref(mark).addr() as u64)
}

/// The fill of one pool.
#[derive(Default)]
struct PoolMeter {
    bytes: AtomicU32,
    credit_bits: AtomicU32,
}

/// The fill of all pools. In ordinary memory: it is no secret.
#[derive(Default)]
pub(super) struct PoolMeters([PoolMeter; POOLS]);

impl PoolMeters {
    /// Copies the fill of the pools, which have just changed.
    pub(super) fn copy(&self, pools: &Accumulator) {
        (0..POOLS).for_each(|number| self.copy_one(pools, number));
    }

    /// Copies the fill of one pool, which has just changed. All of them are on some 60 cache lines.
    pub(super) fn copy_one(&self, pools: &Accumulator, number: usize) {
        let (bytes, credit_bits) = pools.fill_of(number);
        let meter = &self.0[number];
        meter.bytes.store(bytes, Ordering::Relaxed);
        meter.credit_bits.store(credit_bits, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> Vec<PoolStats> {
        let stats = |meter: &PoolMeter| PoolStats {
            bytes: meter.bytes.load(Ordering::Relaxed),
            credit_bits: meter.credit_bits.load(Ordering::Relaxed),
        };
        self.0.iter().map(stats).collect()
    }
}

/// The noise that a pool has gathered since it was last used. Reseed number r uses pool i if 2^i divides r.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// The bytes of its events, 4 bytes of header for each included. Data of [`Engine::mix`](crate::Engine::mix) is in the
    /// pool and is not counted.
    pub bytes: u32,
    /// Their credit in bits, at most 256.
    pub credit_bits: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panics;

    impl Source for Panics {
        fn name(&self) -> &'static str {
            "panics"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::FULL
        }

        fn sample(&self, _: &mut [u8]) -> Result<usize, SourceError> {
            panic!("in a source")
        }
    }

    #[test]
    fn a_panic_of_a_source_is_an_error_of_that_source() {
        let entry = SourceEntry::new(Arc::new(Panics) as Arc<dyn Source>);
        assert_eq!(entry.sample(&mut [0; 32]), None);
        let stats = entry.stats(0);
        assert_eq!(
            (stats.errors, stats.last_error),
            (1, Some(SourceError::Panicked))
        );
    }

    /// Yields as many bytes as it is told, at most 32.
    struct Yields(AtomicU32);

    impl Source for Yields {
        fn name(&self) -> &'static str {
            "yields"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::NONE
        }

        fn sample(&self, _: &mut [u8]) -> Result<usize, SourceError> {
            match self.0.load(Ordering::Relaxed) {
                33.. => Err(SourceError::Busy),
                length => Ok(length as usize),
            }
        }
    }

    #[test]
    fn draws_without_a_byte_are_counted_until_one_yields() {
        let source = Arc::new(Yields(AtomicU32::new(0)));
        let entry = SourceEntry::new(source.clone() as Arc<dyn Source>);
        let mut draw = |length| {
            source.0.store(length, Ordering::Relaxed);
            entry.sample(&mut [0; 32]);
            entry.stats(0).empty_draws
        };
        assert_eq!([0, 33, 0, 1, 33].map(&mut draw), [1, 2, 3, 0, 1]);
        assert_eq!(entry.stats(u64::MAX).drawing_for_ms, 0);
    }

    #[test]
    fn every_error_survives_being_kept_as_a_number() {
        for error in [
            SourceError::Absent,
            SourceError::Busy,
            SourceError::SelfTest,
            SourceError::Ended,
            SourceError::Panicked,
            SourceError::System(0),
            SourceError::System(i32::MAX),
        ] {
            assert_eq!(decode(encode(error)), Some(error));
        }
    }

    #[test]
    fn a_claim_below_a_bit_adds_up_over_samples() {
        let mut state = SourceState::ZERO;
        let bits: u32 = (0..256).map(|_| state.credit(8, 1)).sum();
        assert_eq!(bits, 8, "256 bytes at 1/32 of a bit");
    }
}
