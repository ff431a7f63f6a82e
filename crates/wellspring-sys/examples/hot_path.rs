//! The time of a read of 8 bytes from a thread's state by each of the hot paths, in turns, as ratios.
//!
//! `cargo run --release --example hot_path -p wellspring-sys`

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use wellspring_sys::clone_epoch::CloneEpoch;
use wellspring_sys::thread_state::{State, ThreadStates};
use wellspring_sys::zeroed::Zeroed;

const READS: usize = 2_000_000;
const BUFFER_BYTES: usize = 3840;

/// A buffer as a tap has it: bytes are handed out from its end part, and erased.
#[repr(C)]
struct Buffer {
    generation: u64,
    left_bytes: usize,
    bytes: [u8; BUFFER_BYTES],
}

impl Zeroed for Buffer {
    const ZERO: Self = Self {
        generation: 0,
        left_bytes: 0,
        bytes: [0; BUFFER_BYTES],
    };
}

impl Buffer {
    fn refill(&mut self, generation: u64) {
        self.generation = generation;
        self.left_bytes = BUFFER_BYTES;
        self.bytes.fill(1);
    }

    #[inline(always)]
    fn take(&mut self, word: &mut u64) -> bool {
        let left_bytes = self.left_bytes;
        if !(8..=BUFFER_BYTES).contains(&left_bytes) {
            return false;
        }
        let start = BUFFER_BYTES - left_bytes;
        let Some(taken) = self.bytes[start..].first_chunk_mut::<8>() else {
            return false;
        };
        *word = u64::from_le_bytes(*taken);
        *taken = [0; 8];
        self.left_bytes = left_bytes - 8;
        true
    }
}

struct Engine {
    states: ThreadStates<Buffer, u64>,
    generation: AtomicU64,
    clones: CloneEpoch,
}

impl Engine {
    #[cold]
    #[inline(never)]
    fn refill(&self) {
        let epoch = self.states.epoch();
        self.states.try_with(
            || 0,
            |state| {
                if let State::Outermost(buffer) = state.state() {
                    buffer.refill(self.generation.load(Ordering::Acquire));
                }
                state.mark_current(epoch);
            },
        );
    }

    /// Serial, owner, generation and the words of clone notices, each compared.
    #[inline(always)]
    fn by_comparisons(&self, word: &mut u64) -> bool {
        let handled = self.clones.handled();
        let generation = self.generation.load(Ordering::Acquire);
        let take = |buffer: &mut Buffer| buffer.generation == generation && buffer.take(word);
        self.states.try_outermost(take) == Some(true) && self.clones.current() == handled
    }

    /// The epoch alone.
    #[inline(always)]
    fn by_epoch(&self, word: &mut u64) -> bool {
        self.states.try_current(|buffer| buffer.take(word)) == Some(true)
    }
}

fn time(mut read: impl FnMut(&mut u64) -> bool, mut refill: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut word = 0;
    for _ in 0..READS {
        while !read(&mut word) {
            refill();
        }
        black_box(word);
    }
    start.elapsed().as_nanos() as f64 / READS as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let engine = black_box(Box::leak(Box::new(Engine {
        states: ThreadStates::new(),
        generation: AtomicU64::new(1),
        clones: CloneEpoch::new(),
    })));
    let refill = || engine.refill();
    let [mut compared, mut current] = [const { Vec::new() }; 2];
    for _ in 0..41 {
        compared.push(time(|word| engine.by_comparisons(word), refill));
        current.push(time(|word| engine.by_epoch(word), refill));
    }
    let (compared, current) = (median(compared), median(current));
    let times = compared / current;
    println!("by comparisons {compared:.2} ns, by the epoch {current:.2} ns: {times:.2} times");
}
