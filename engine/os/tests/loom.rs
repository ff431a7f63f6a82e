//! Epochs under every interleaving that the C++ memory model allows, for a few threads.
//!
//! Runs with `RUSTFLAGS="--cfg loom" cargo test --release -p wellspring-os --test loom`.

#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use wellspring_core::generation::Generation;
use wellspring_os::thread_state::ThreadStates;

struct Engine {
    generation: Generation,
    states: ThreadStates<u64, u64>,
}

impl Engine {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            generation: Generation::new(),
            states: ThreadStates::new(),
        })
    }

    /// As an engine announces a reseed.
    fn announce(&self) {
        self.generation.bump();
        self.states.begin_epoch();
    }
}

/// The reader stands for a read on the long way: it asks for the epoch first, then has a key of the generation, then
/// marks its state as current in the epoch. From then on reads compare the epoch alone.
#[test]
fn a_state_that_is_current_has_a_key_of_the_last_generation_announced() {
    loom::model(|| {
        let engine = Engine::new();
        let reader = {
            let engine = Arc::clone(&engine);
            thread::spawn(move || {
                let epoch = engine.states.epoch();
                (epoch, engine.generation.current())
            })
        };
        let other = {
            let engine = Arc::clone(&engine);
            thread::spawn(move || engine.announce())
        };
        engine.announce();
        other.join().unwrap();
        let (epoch, generation) = reader.join().unwrap();
        // Both announcements are over.
        if engine.states.epoch() == epoch {
            assert_eq!(generation, engine.generation.current());
        }
    });
}

/// The same for a reader that asks after one of the two announcements is over, while the other goes on.
#[test]
fn an_announcement_that_is_over_is_not_hidden_by_one_that_goes_on() {
    loom::model(|| {
        let engine = Engine::new();
        let other = {
            let engine = Arc::clone(&engine);
            thread::spawn(move || engine.announce())
        };
        engine.announce();
        let reader = {
            let engine = Arc::clone(&engine);
            thread::spawn(move || {
                let epoch = engine.states.epoch();
                (epoch, engine.generation.current())
            })
        };
        other.join().unwrap();
        let (epoch, generation) = reader.join().unwrap();
        if engine.states.epoch() == epoch {
            assert_eq!(generation, engine.generation.current());
        }
    });
}
