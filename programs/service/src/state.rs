//! The state that all threads of the service share.

use crate::connections::Connections;
use crate::descriptors::Descriptors;
use crate::doors::Doors;
use crate::event_log::EventLog;
use crate::heartbeats::Heartbeats;
use crate::meters::add;
use crate::page::Page;
use crate::users::Users;
use core::sync::atomic::AtomicU64;
use parking_lot::Mutex;
use std::time::{Duration, Instant};
use wellspring::{Engine, Phase};

/// The state that all threads share. Each part has its own lock or atomics.
#[derive(Debug)]
pub struct State {
    /// The engine that makes the bytes.
    pub engine: Engine,
    /// The generation page.
    pub page: Page,
    /// Meters and openings of the doors.
    pub(crate) doors: Doors,
    /// The users, and their limits.
    pub(crate) users: Users,
    /// The open connections.
    pub(crate) connections: Connections,
    /// The descriptors that are kept back.
    pub(crate) descriptors: Descriptors,
    /// The threads that serve connections, and whether they go round their loops.
    pub(crate) heartbeats: Heartbeats,
    /// Clones, restores, suspends, and orders to take new keys, since the start.
    pub(crate) clone_notices: AtomicU64,
    /// The last events.
    pub(crate) event_log: EventLog,
    /// The start of the service.
    pub(crate) started: Instant,
    /// The generation that was last seen, and the time when it was first seen.
    generation: Mutex<(u64, Instant)>,
}

impl State {
    /// The state of a service that starts now.
    #[must_use]
    pub fn new(engine: Engine, page: Page, doors: Doors, users: Users) -> Self {
        let generation = Mutex::new((engine.generation(), Instant::now()));
        Self {
            engine,
            page,
            doors,
            users,
            connections: Connections::default(),
            descriptors: Descriptors::of_process(),
            heartbeats: Heartbeats::default(),
            clone_notices: AtomicU64::new(0),
            event_log: EventLog::default(),
            started: Instant::now(),
            generation,
        }
    }

    /// The clock of limits: nanoseconds since the start.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whether the engine is seeded with 128 bits. An engine is seeded by its first read, so this reads a byte until it
    /// is.
    pub(crate) fn is_ready(&self) -> bool {
        self.engine.phase() == Phase::Ready || self.hands_out()
    }

    /// Whether the engine hands out bytes now.
    pub(crate) fn hands_out(&self) -> bool {
        self.engine.try_fill(&mut [0]).is_ok()
    }

    /// Changes the generation page, and tells the engine and the log of that.
    pub fn change_generation(&self, reason: &str) {
        self.page.change();
        self.note_clone(format!("{reason}: the generation page changed"));
    }

    /// Tells the engine of a clone, and the log.
    pub fn note_clone(&self, words: String) {
        self.engine.diverge_from_clones();
        add(&self.clone_notices, 1);
        self.event_log.add(false, words);
    }

    /// Notes the generation. Called once a second.
    pub(crate) fn note_generation(&self) {
        let now = self.engine.generation();
        let mut generation = self.generation.lock();
        if generation.0 != now {
            *generation = (now, Instant::now());
        }
    }

    /// The time since the generation was first seen: since the last reseed, to about a second.
    pub(crate) fn seed_age(&self) -> Duration {
        let generation = self.generation.lock();
        generation.1.elapsed()
    }
}
