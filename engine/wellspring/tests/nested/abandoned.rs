//! Calls that a signal handler leaves by siglongjmp: their queue or generator goes on to work. The reads of threads
//! are in `main.rs`.

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
