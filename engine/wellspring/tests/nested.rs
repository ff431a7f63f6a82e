//! A read that interrupts a read on the same thread: neither repeats the other, whatever the depth, and
//! however the handler ends.
#![cfg(all(target_arch = "x86_64", not(target_env = "musl")))]

mod common;

use common::abandon::abandon;
use common::door::{Door, engine};
use common::repeats::assert_no_value_twice;
use common::rows::{Rows, Step};
use common::stepping::{Next, step};
use common::timer::{Timer, handle, handle_nested};
use core::cell::Cell;
use core::ffi::c_int;
use core::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wellspring::{Engine, Mode};
use wellspring_os::thread_state::CurrentThread;

const VALUE_BYTES: usize = 16;
type Value = [u8; VALUE_BYTES];

/// Draws from an engine, or from a generator beside it.
type Draw = fn(&Engine, &mut [u8]);

/// The generator that handlers draw from, and memory for the values, allocated before.
struct Nested {
    door: Draw,
    engine: Engine,
    values: Box<[Cell<Value>]>,
    next: AtomicUsize,
    handled: AtomicUsize,
    depth: Cell<usize>,
    deepest: Cell<usize>,
}

thread_local! {
    static NESTED: Cell<*const Nested> = const { Cell::new(ptr::null()) };
}

impl Nested {
    fn new(engine: Engine, door: Draw, most_values: usize) -> Self {
        Self {
            door,
            engine,
            values: vec![Cell::default(); most_values].into(),
            next: AtomicUsize::new(0),
            handled: AtomicUsize::new(0),
            depth: Cell::new(0),
            deepest: Cell::new(0),
        }
    }

    /// Draws a value and keeps it. Returns whether there was room for it.
    fn draw(&self) -> bool {
        let mut value = [0; VALUE_BYTES];
        (self.door)(&self.engine, &mut value);
        self.keep(value)
    }

    /// Draws more than any buffer holds.
    fn draw_long(&self) {
        let mut long = [0; 4096];
        (self.door)(&self.engine, &mut long);
        for &value in long.as_chunks().0 {
            self.keep(value);
        }
    }

    fn keep(&self, value: Value) -> bool {
        // A handler in between takes the next place.
        let place = self.values.get(self.next.fetch_add(1, Ordering::Relaxed));
        place.inspect(|place| place.set(value)).is_some()
    }

    /// Runs `work` while the handlers of this thread draw from this.
    fn while_handled(&self, work: impl FnOnce()) {
        NESTED.set(self);
        work();
        NESTED.set(ptr::null());
    }

    /// Asserts that no value came twice. Returns how many came.
    fn check(&self, what: &str) -> usize {
        let count = self.next.load(Ordering::Relaxed).min(self.values.len());
        let mut values: Vec<Value> = self.values[..count].iter().map(Cell::get).collect();
        assert_no_value_twice(&mut values, what);
        count
    }
}

extern "C" fn draw_on_signal(_: c_int) {
    // SAFETY: null, or a value that is valid while this thread's handlers run.
    let Some(nested) = (unsafe { NESTED.get().as_ref() }) else {
        return;
    };
    let depth = nested.depth.get() + 1;
    nested.depth.set(depth);
    nested.deepest.set(nested.deepest.get().max(depth));
    let handled = nested.handled.fetch_add(1, Ordering::Relaxed);
    nested.draw();
    if handled.is_multiple_of(64) {
        nested.draw_long();
    }
    nested.depth.set(depth - 1);
}

/// An engine that has only its first seed: nothing from outside hides a repetition, and no harvest is stepped through.
fn seeded(mode: Mode) -> Engine {
    let builder = Engine::builder()
        .mode(mode)
        .sources([])
        .seed(&[mode as u8; 32]);
    builder.build().unwrap()
}

fn doors(engine: fn(Mode) -> Engine) -> Vec<(String, Engine, Draw)> {
    let modes = Mode::ALL.map(|mode| {
        let fill: Draw = Engine::fill;
        (format!("mode {mode}"), engine(mode), fill)
    });
    let pseudo: Draw = |_, destination| Door::Pseudo.fill(destination);
    let pseudo = ("statistical".into(), engine(Mode::PerThread), pseudo);
    modes.into_iter().chain([pseudo]).collect()
}

#[test]
fn handlers_at_more_than_ten_kilohertz_repeat_nothing_of_what_they_interrupt() {
    const MOST_VALUES: usize = 1_000_000;
    const AT_LEAST: Duration = Duration::from_millis(1000);
    /// The test waits until this many handlers have run, since a busy machine may reach no rate.
    const FEWEST_HANDLERS: usize = 1_000;
    const AT_MOST: Duration = Duration::from_secs(120);
    /// Each with a signal of its own, so that it interrupts the others' handlers: 7 deep, and 44 kHz together.
    const EVERY_NS: [i64; 7] = [
        110_000, 127_000, 139_000, 157_000, 173_000, 191_000, 227_000,
    ];
    let signal = |number: usize| libc::SIGRTMIN() + number as c_int;
    (0..EVERY_NS.len()).for_each(|number| handle(signal(number), draw_on_signal));
    for (what, engine, door) in doors(engine) {
        let nested = Nested::new(engine, door, MOST_VALUES);
        let begin = Instant::now();
        let handled = || nested.handled.load(Ordering::Relaxed);
        nested.while_handled(|| {
            let start = |(number, every_ns)| Timer::start(signal(number), every_ns, every_ns);
            let _timers: Vec<Timer> = EVERY_NS.into_iter().enumerate().map(start).collect();
            for round in 1.. {
                let has_room = nested.draw();
                if round % 1000 != 0 {
                    continue;
                }
                nested.draw_long();
                let time = begin.elapsed();
                let enough = time > AT_LEAST && handled() >= FEWEST_HANDLERS;
                if !has_room || enough || time > AT_MOST {
                    break;
                }
            }
        });
        let rate = handled() as f64 / begin.elapsed().as_secs_f64();
        let deepest = nested.deepest.get();
        let values = nested.check(&what);
        println!("{what}: {values} values, handlers at {rate:.0} Hz, {deepest} deep");
        let handled = handled();
        assert!(
            handled >= FEWEST_HANDLERS,
            "{what}: {handled} handlers test little"
        );
    }
}

#[test]
fn a_handler_at_every_instruction_repeats_nothing_of_what_it_interrupts() {
    for (what, engine, door) in doors(seeded) {
        let nested = Nested::new(engine, door, 1 << 20);
        nested.draw();
        let mut rows = Rows::of(match nested.engine.mode() {
            Mode::PerThread => "signal tap",
            _ => "signal node",
        });
        let (mut reads, mut handlers) = (0, 0);
        // Short reads. Each handler takes bytes from the buffers below, down to a refill. Optimised code reads from a
        // buffer in 60 instructions.
        while reads < 4 || (handlers <= 500 && reads < 40) {
            reads += 1;
            let mut value = Value::default();
            let (place, depth) = (&raw const value, CurrentThread::find().depth());
            let mut before = None;
            let mut draw = |number: usize| {
                let now = Step::now(depth, place);
                let is_new = before.replace(now) != Some(now);
                // Everywhere in a short read and in the beginning of a long one; then here and there.
                if number < 600 || number.is_multiple_of(97) || is_new {
                    handlers += 1;
                    nested.draw();
                    rows.see(now, "kept");
                }
                Next::Step
            };
            step(&mut draw, || (nested.door)(&nested.engine, &mut value));
            nested.keep(value);
        }
        // The statistical tier has its own way of reading.
        if what != "statistical" {
            rows.check(&what);
        }
        let values = nested.check(&what);
        println!("{what}: {values} values, {handlers} of them by handlers");
        assert!(handlers > 500);
    }
}

#[test]
fn a_handler_that_raises_itself_eight_times_repeats_nothing() {
    const DEPTH: usize = 8;

    extern "C" fn descend(signal: c_int) {
        // SAFETY: as in `draw_on_signal`.
        let Some(nested) = (unsafe { NESTED.get().as_ref() }) else {
            return;
        };
        let depth = nested.depth.get() + 1;
        nested.depth.set(depth);
        nested.draw();
        if depth < DEPTH {
            // In the middle of a read of this level, so that each level has a depth of the engine.
            let mut raise = |number: usize| {
                if number == 40 {
                    // SAFETY: raise may be called in a handler.
                    unsafe { libc::raise(signal) };
                    return Next::Run;
                }
                Next::Step
            };
            step(&mut raise, || nested.draw());
        }
        nested.draw();
        nested.deepest.set(nested.deepest.get().max(depth));
        nested.depth.set(depth - 1);
    }

    handle_nested(libc::SIGALRM, descend);
    for (what, engine, door) in doors(seeded) {
        let nested = Nested::new(engine, door, 1 << 16);
        for _ in 0..20 {
            nested.while_handled(|| {
                // SAFETY: the handler is installed.
                unsafe { libc::raise(libc::SIGALRM) };
            });
            nested.draw_long();
        }
        assert_eq!(nested.deepest.get(), DEPTH);
        let values = nested.check(&what);
        println!("{what}: {values} values, {DEPTH} deep");
    }
}

#[test]
fn a_handler_that_never_returns_costs_a_depth_and_nothing_else() {
    const READS_AFTER: usize = 40;
    for (what, engine, door) in doors(seeded) {
        let mut abandoned = 0;
        let mut all: Vec<Value> = Vec::new();
        // Each on a thread of its own, which has all its depths; every tenth thread loses more than it has.
        let stride = if engine.mode() == Mode::PerThread {
            1
        } else {
            11
        };
        for number in (1..230usize).step_by(stride) {
            let (engine, what) = (engine.clone(), what.clone());
            let values = std::thread::spawn(move || {
                let nested = Nested::new(engine, door, 1 << 10);
                nested.draw();
                let times = if number.is_multiple_of(10) { 6 } else { 1 };
                let mut read = || (nested.door)(&nested.engine, &mut [0; VALUE_BYTES]);
                let ended = (0..times).filter(|_| abandon(number, &mut read)).count();
                let before = nested.next.load(Ordering::Relaxed);
                (0..READS_AFTER).for_each(|_| assert!(nested.draw()));
                nested.draw_long();
                assert!(before + READS_AFTER <= nested.check(&what));
                (
                    times - ended,
                    nested.values.iter().map(Cell::get).collect::<Vec<_>>(),
                )
            });
            let (times, values) = values.join().unwrap();
            abandoned += times;
            all.extend(values.iter().filter(|&&value| value != [0; VALUE_BYTES]));
        }
        assert_no_value_twice(&mut all, &what);
        println!("{what}: {abandoned} reads abandoned, {} values", all.len());
        assert!(abandoned > 15, "{what}: {abandoned}");
    }
}

mod abandoned {
    //! Calls that a signal handler leaves by siglongjmp: their queue or generator goes on to work. The reads of threads
    //! are above.

    use crate::common::abandon::abandon;
    use crate::common::repeats::assert_no_value_twice;
    use std::sync::Arc;
    use wellspring::{Engine, LocalRng, MinEntropy, Source, SourceError};

    /// A source for reseeds, which empty the queues.
    struct Constant;

    impl Source for Constant {
        fn name(&self) -> &'static str {
            "constant"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::NONE
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            destination.fill(1);
            Ok(destination.len())
        }
    }

    #[test]
    fn a_mix_that_a_handler_abandons_stops_no_queue() {
        let mut abandoned = 0;
        for number in 1.. {
            // A new queue each time: a place that stays taken stops it for good.
            let source: Arc<dyn Source> = Arc::new(Constant);
            let builder = Engine::builder().sources([source]);
            let engine = builder.seed(&[7; 32]).build().unwrap();
            engine.fill(&mut [0; 1]);
            if abandon(number, &mut || engine.mix(&[number as u8; 32])) {
                break;
            }
            abandoned += 1;
            // Together more than the queue holds: each order empties it.
            for _ in 0..2 {
                (0..40).for_each(|_| engine.mix(&[1; 32]));
                assert!(engine.reseed().is_ok(), "at step {number}");
            }
            assert_eq!(engine.stats().mixes_dropped, 0, "at step {number}");
        }
        println!("{abandoned} calls abandoned");
        assert!(abandoned > 20, "{abandoned}");
    }

    /// A value of a generator.
    type Value = [u8; 16];

    /// Abandons `read` at each of its steps, each time on a new generator, from which 16 bytes were read before. Then reads
    /// on: nothing may come twice, and nothing may be erased bytes.
    fn abandon_reads(what: &str, read: fn(&mut LocalRng)) {
        const READS_AFTER: usize = 40;
        let builder = Engine::builder().sources([]).seed(&[9; 32]);
        let engine = builder.build().unwrap();
        let mut values: Vec<Value> = Vec::new();
        let mut abandoned = 0;
        for number in 1.. {
            let mut rng = engine.rng();
            rng.fill(&mut [0; 16]);
            if abandon(number, &mut || read(&mut rng)) {
                break;
            }
            abandoned += 1;
            for _ in 0..READS_AFTER {
                let mut value = Value::default();
                rng.fill(&mut value);
                values.push(value);
            }
        }
        println!("{what}: {abandoned} reads abandoned");
        assert!(abandoned > 10, "{what}: {abandoned}");
        assert_no_value_twice(&mut values, what);
    }

    #[test]
    fn an_owned_generator_whose_read_a_handler_abandons_goes_on_with_new_bytes() {
        abandon_reads("16 bytes", |rng| rng.fill(&mut [0; 16]));
        abandon_reads("200 bytes", |rng| rng.fill(&mut [0; 200]));
        abandon_reads("300 bytes", |rng| rng.fill(&mut [0; 300]));
        abandon_reads("a number", |rng| {
            core::hint::black_box(rng.u64());
        });
    }
}
