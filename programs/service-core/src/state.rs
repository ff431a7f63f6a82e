//! The state that all threads of the service share: the engine and its self-tests, the kernel's reseeder, the generation page,
//! the doors, the users and their connections, the signs of life of the threads, the last events, and the last day.

use crate::connections::{Connections, Descriptors};
use crate::day::Day;
use crate::doors::{Doors, add};
use crate::process::Code;
use crate::reseeder::Reseeder;
use crate::users::{Peer, Users};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parking_lot::Mutex;
use rustix::process::geteuid;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use wellspring::clone_detection::{GenerationPage, KernelReseed, PageError};
use wellspring::{Engine, Error, Phase, SelfTest};
use wellspring_client::vsock::HOST;
use wellspring_module::{BY_CLOCKS_ALONE, differs_by_clocks_alone, new_bytes};
use wellspring_os::os::now_with_sleep_ns;

/// The state that all threads share. Each part has its own lock or atomics.
#[derive(Debug)]
pub struct State {
    /// The engine that makes the bytes. [`try_fill`](Self::try_fill) hands them out.
    pub engine: Engine,
    /// The self-tests.
    pub self_tests: SelfTests,
    /// Has the kernel reseed.
    pub kernel: Reseeder,
    /// The generation page.
    pub page: Page,
    /// Meters and openings of the doors.
    pub doors: Doors,
    /// The users, and their limits.
    pub users: Users,
    /// The open connections.
    pub connections: Connections,
    /// The descriptors that are kept back.
    pub descriptors: Descriptors,
    /// The threads that serve connections, and whether they go round their loops.
    pub heartbeats: Heartbeats,
    /// Clones, restores, suspends, and orders to take new keys, since the start.
    pub clone_notices: AtomicU64,
    /// The last events.
    pub event_log: EventLog,
    /// The last day.
    pub day: Day,
    /// The start of the service.
    pub started: Instant,
    /// The generation that was last seen, and the time when it was first seen.
    generation: Mutex<(u64, Instant)>,
}

impl State {
    /// The state of a service that starts now.
    #[must_use]
    pub fn new(engine: Engine, kernel: Reseeder, page: Page, doors: Doors, users: Users) -> Self {
        let generation = Mutex::new((engine.generation(), Instant::now()));
        Self {
            engine,
            self_tests: SelfTests::default(),
            kernel,
            page,
            doors,
            users,
            connections: Connections::default(),
            descriptors: Descriptors::of_process(),
            heartbeats: Heartbeats::default(),
            clone_notices: AtomicU64::new(0),
            event_log: EventLog::default(),
            day: Day::default(),
            started: Instant::now(),
            generation,
        }
    }

    /// Has the self-tests compare this code with its file.
    #[must_use]
    pub fn with_code(mut self, code: Option<Code>) -> Self {
        self.self_tests.code = code;
        self
    }

    /// The clock of limits: nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whether the engine is seeded with 128 bits. An engine is seeded by its first read, so this reads a byte until it
    /// is.
    pub fn is_ready(&self) -> bool {
        let failed = self.self_tests.failure().is_some();
        !failed && (self.engine.phase() == Phase::Ready || self.hands_out())
    }

    /// Whether the engine hands out bytes now.
    pub fn hands_out(&self) -> bool {
        self.try_fill(&mut [0]).is_ok()
    }

    /// Fills `bytes` for a client, a guest, a file or the kernel's pool: all that the service hands out comes from here.
    /// After a failed self-test it hands out nothing.
    ///
    /// # Errors
    ///
    /// The engine's, or the failure of the self-test.
    pub fn try_fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        match self.self_tests.failure() {
            Some(failure) => Err(failure),
            None => self.engine.try_fill(bytes),
        }
    }

    /// Runs the self-tests. A failure ends all output until the service is started again, whatever later tests find.
    ///
    /// # Errors
    ///
    /// The first failure since the start.
    pub fn self_test(&self) -> Result<(), Error> {
        add(&self.self_tests.runs, 1);
        let engine = self.engine.self_test();
        if let Err(failure) = engine.and_then(|()| test(self.self_tests.code.as_ref()))
            && self.self_tests.failure.set(failure).is_ok()
        {
            let words =
                format!("{failure}: nothing is handed out until the service is started again");
            self.event_log.add(true, words);
        }
        self.self_tests.failure().map_or(Ok(()), Err)
    }

    /// Changes the generation page, and reports it to the engine and the log. First the engine and the kernel's generator
    /// take in what is new, and `nonce`, the secret of an order; a kernel that had the notice itself is left alone. Returns
    /// whether the kernel took new keys.
    pub fn change_generation(&self, reason: &str, nonce: &[u8], kernel_knows: bool) -> bool {
        let reseeded = if kernel_knows {
            Ok(())
        } else {
            self.kernel.reseed(&new_bytes(&self.engine, nonce))
        };
        self.page.change(outcome(&reseeded));
        let mut words = format!(
            "{reason}: the generation page changed; {}",
            words(&reseeded)
        );
        if !kernel_knows && differs_by_clocks_alone(nonce) {
            words = format!("{words}; {BY_CLOCKS_ALONE}");
        }
        self.note_clone(words);
        reseeded.is_ok()
    }

    /// Makes up for a number of the page for which the kernel was not reseeded: another process changed it, or the service has
    /// just made it. Engines that saw it may have taken old output of the kernel, so the page changes once more.
    pub fn make_up_for_kernel(&self) {
        let Some(number) = self.page.number_without_kernel() else {
            return;
        };
        let reseeded = self.kernel.reseed(&new_bytes(&self.engine, &[]));
        let mut words = words(&reseeded);
        if reseeded.is_ok() {
            self.page.change(KernelReseed::Done);
            self.engine.diverge_from_clones();
            words += ", and the generation page changed again";
        } else {
            self.page.note_failure(number);
        }
        self.event_log.add(false, words);
    }

    /// Tells the engine of a clone, and the log.
    pub fn note_clone(&self, words: String) {
        self.engine.diverge_from_clones();
        add(&self.clone_notices, 1);
        self.event_log.add(false, words);
    }

    /// Notes the generation. Called once a second.
    pub fn note_generation(&self) {
        let now = self.engine.generation();
        let mut generation = self.generation.lock();
        if generation.0 != now {
            *generation = (now, Instant::now());
        }
    }

    /// The time since the generation was first seen: since the last reseed, to about a second.
    pub fn seed_age(&self) -> Duration {
        let generation = self.generation.lock();
        generation.1.elapsed()
    }
}

fn outcome(reseeded: &Result<(), String>) -> KernelReseed {
    match reseeded {
        Ok(()) => KernelReseed::Done,
        Err(_) => KernelReseed::Failed,
    }
}

fn words(reseeded: &Result<(), String>) -> String {
    match reseeded {
        Ok(()) => "the kernel was reseeded".into(),
        Err(fault) => format!("the kernel was not reseeded: {fault}"),
    }
}

// Self-tests: before the engine does anything, then at intervals and on request.

/// The self-tests of the engine since the start of the service.
#[derive(Debug)]
pub struct SelfTests {
    /// How often they were run.
    pub runs: AtomicU64,
    failure: OnceLock<Error>,
    code: Option<Code>,
}

impl Default for SelfTests {
    /// The run before the engine was built passed.
    fn default() -> Self {
        Self {
            runs: AtomicU64::new(1),
            failure: OnceLock::new(),
            code: None,
        }
    }
}

impl SelfTests {
    /// The first failure.
    pub fn failure(&self) -> Option<Error> {
        self.failure.get().copied()
    }
}

/// Compares the code with its file, if both were found at the start.
///
/// # Errors
///
/// They differ.
pub fn test(code: Option<&Code>) -> Result<(), Error> {
    let is_intact = code.is_none_or(Code::is_intact);
    is_intact
        .then_some(())
        .ok_or(Error::SelfTest(SelfTest::Code))
}

// The generation page, and who may order that it changes.

/// The page that the service writes.
#[derive(Debug)]
pub struct Page {
    /// `None`: only the service's own engine learns of clones.
    file: Option<GenerationPage>,
    /// The number that the service saw or made last.
    last: Mutex<u64>,
    /// The user who started the service, to whom the page belongs.
    owner: u32,
}

impl Page {
    /// Writes the page at `path`.
    pub fn open(path: &Path) -> Result<Self, PageError> {
        let file = GenerationPage::create(path)?;
        Ok(Self {
            last: file.current().into(),
            file: Some(file),
            ..Self::without_file()
        })
    }

    /// Makes no file.
    pub fn without_file() -> Self {
        Self {
            file: None,
            last: 0.into(),
            owner: geteuid().as_raw(),
        }
    }

    /// Changes the page, once, and says there what became of the kernel.
    pub fn change(&self, kernel: KernelReseed) {
        if let Some(file) = &self.file {
            let mut last = self.last.lock();
            file.bump_after(kernel);
            // Not what is there now: another process may have changed it meanwhile.
            *last = last.wrapping_add(1);
        }
    }

    /// The number, if the page does not say what became of the kernel.
    fn number_without_kernel(&self) -> Option<u64> {
        let file = self.file.as_ref()?;
        let number = file.current();
        (!file.is_kernel_noted()).then_some(number)
    }

    /// Says of a number that the kernel could not be reseeded for it.
    fn note_failure(&self, number: u64) {
        if let Some(file) = &self.file {
            file.note_failure(number);
        }
    }

    /// Whether another process has changed the page since the last call.
    pub fn was_changed_by_another(&self) -> bool {
        let mut last = self.last.lock();
        let now = self.file.as_ref().map_or(0, GenerationPage::current);
        core::mem::replace(&mut *last, now) != now
    }

    /// Whether the other end of a connection may order a change: root, the page's owner, and the host of this machine.
    /// The first two can write the page anyway.
    pub fn obeys(&self, peer: Peer) -> bool {
        [Peer::ROOT, Peer::User(self.owner), Peer::Machine(HOST)].contains(&peer)
    }
}

// Signs of life of the threads that serve connections: each counts the rounds of its loop.

/// A thread whose count stays the same for this many looks, of one a second, is stuck. A thread that has nothing to do
/// goes round its loop once a second.
const STILL_LOOKS: u32 = 5;

/// The count of one thread.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<AtomicU64>);

impl Heartbeat {
    /// Counts a round of the loop.
    pub(crate) fn beat(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[derive(Debug)]
struct Watched {
    name: String,
    heartbeat: Heartbeat,
    seen: u64,
    still_looks: u32,
}

/// All threads that are watched.
#[derive(Debug, Default)]
pub struct Heartbeats(Mutex<Vec<Watched>>);

impl Heartbeats {
    /// Watches a thread, from its first round on.
    pub fn watch(&self, name: String) -> Heartbeat {
        let heartbeat = Heartbeat::default();
        let watched = Watched {
            name,
            heartbeat: heartbeat.clone(),
            seen: 0,
            still_looks: 0,
        };
        let mut all = self.0.lock();
        all.push(watched);
        heartbeat
    }

    /// Looks at all threads, and returns the names of stuck threads. Called once a second. It counts looks, not time: while the
    /// whole process is stopped, there are none.
    pub fn look(&self) -> Vec<String> {
        let mut all = self.0.lock();
        for watched in all.iter_mut() {
            let now = watched.heartbeat.0.load(Relaxed);
            let is_still = now == watched.seen;
            watched.still_looks = if is_still { watched.still_looks + 1 } else { 0 };
            watched.seen = now;
        }
        let stuck = all.iter().filter(|one| one.still_looks >= STILL_LOOKS);
        stuck.map(|one| one.name.clone()).collect()
    }
}

// Events: clones, failures of sources, reloads. The status and the page show the last 64.

/// The number of events that are kept.
const KEPT: usize = 64;

/// An event.
#[derive(Clone, Debug)]
pub struct LoggedEvent {
    /// The time of the event, in nanoseconds since boot: the wall clock may be set, and an age must not jump.
    pub at_ns: u64,
    /// Whether an operator should look at it.
    pub is_fault: bool,
    /// The event in words.
    pub words: String,
}

impl LoggedEvent {
    /// The seconds since the event, with the time for which the machine slept.
    pub fn ago_s(&self) -> u64 {
        now_with_sleep_ns().saturating_sub(self.at_ns) / 1_000_000_000
    }
}

/// The last events.
#[derive(Debug, Default)]
pub struct EventLog(Mutex<VecDeque<LoggedEvent>>);

impl EventLog {
    /// Notes an event, and logs it.
    pub fn add(&self, is_fault: bool, words: String) {
        if is_fault {
            log::warn!("{words}");
        } else {
            log::info!("{words}");
        }
        let mut kept = self.0.lock();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(LoggedEvent {
            at_ns: now_with_sleep_ns(),
            is_fault,
            words,
        });
    }

    /// The last ones, the newest first.
    pub fn last(&self) -> Vec<LoggedEvent> {
        let kept = self.0.lock();
        kept.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_users_other_machines_and_tcp_order_nothing() {
        let page = Page::without_file();
        let owner = page.owner;
        for peer in [Peer::ROOT, Peer::User(owner), Peer::Machine(2)] {
            assert!(page.obeys(peer), "{peer}");
        }
        for peer in [
            Peer::User(owner + 1),
            Peer::Loopback,
            // This machine itself, in which any user may connect, and a guest.
            Peer::Machine(1),
            Peer::Machine(3),
        ] {
            assert!(!page.obeys(peer), "{peer}");
        }
    }

    #[test]
    fn a_thread_whose_count_stays_the_same_is_named_until_it_counts_again() {
        let heartbeats = Heartbeats::default();
        let (slow, fast) = (
            heartbeats.watch("slow".into()),
            heartbeats.watch("fast".into()),
        );
        for look in 1..=3 * STILL_LOOKS {
            fast.beat();
            let stuck: &[&str] = if look < STILL_LOOKS { &[] } else { &["slow"] };
            assert_eq!(heartbeats.look(), stuck, "{look}");
        }
        slow.beat();
        assert!(heartbeats.look().is_empty());
    }
}
