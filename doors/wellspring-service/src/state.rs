//! The state that all threads of the service share.

use crate::connections::Connections;
use crate::descriptors::Descriptors;
use crate::doors::Doors;
use crate::event_log::EventLog;
use crate::heartbeats::Heartbeats;
use crate::users::Users;
use core::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wellspring::Engine;

/// The state that all threads share. Each part has its own lock or atomics.
#[derive(Debug)]
pub struct State {
    /// The engine that makes the bytes.
    pub engine: Engine,
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
    started: Instant,
    /// The generation that was last seen, and the time when it was first seen.
    generation: Mutex<(u64, Instant)>,
}

impl State {
    /// The state of a service that starts now.
    #[must_use]
    pub fn new(engine: Engine, doors: Doors, users: Users) -> Self {
        let generation = Mutex::new((engine.generation(), Instant::now()));
        Self {
            engine,
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

    /// The start of the service.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The clock of limits: nanoseconds since the start.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whether the engine is seeded with 128 bits. An engine is seeded by its first read, so this reads a byte until it
    /// is.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.engine.try_fill(&mut [0]).is_ok()
    }

    /// Notes the generation. Called once a second.
    pub fn note_generation(&self) {
        let now = self.engine.generation();
        let mut generation = self
            .generation
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if generation.0 != now {
            *generation = (now, Instant::now());
        }
    }

    /// The time since the generation was first seen: since the last reseed, to about a second.
    #[must_use]
    pub fn seed_age(&self) -> Duration {
        let generation = self
            .generation
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        generation.1.elapsed()
    }
}
