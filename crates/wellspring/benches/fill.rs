//! Reads against the operating system and `rand`: sizes, words, and the four modes with one and two threads.

#![allow(missing_docs)] // criterion's macros make public items

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::Rng as _;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use wellspring::{Engine, Mode};

const SIZES_BYTES: [usize; 4] = [16, 32, 1 << 10, 1 << 20];

fn fill(criterion: &mut Criterion) {
    for size in SIZES_BYTES {
        let mut group = criterion.benchmark_group(format!("fill {size} bytes"));
        group.throughput(Throughput::Bytes(size as u64));
        let mut buffer = vec![0; size];
        group.bench_function("wellspring", |b| {
            b.iter(|| wellspring::fill(black_box(&mut buffer)))
        });
        let mut owned = wellspring::LocalRng::default();
        group.bench_function("wellspring LocalRng", |b| {
            b.iter(|| owned.fill(black_box(&mut buffer)))
        });
        group.bench_function("rand::rng", |b| {
            b.iter(|| rand::rng().fill_bytes(black_box(&mut buffer)))
        });
        group.bench_function("getrandom", |b| {
            b.iter(|| getrandom::fill(black_box(&mut buffer)).expect("the system has randomness"));
        });
    }
}

fn words(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("u64");
    group.bench_function("wellspring", |b| b.iter(wellspring::u64));
    let mut owned = wellspring::LocalRng::default();
    group.bench_function("wellspring LocalRng", |b| b.iter(|| owned.next_u64()));
    group.bench_function("wellspring pseudo", |b| b.iter(wellspring::pseudo::u64));
    group.bench_function("rand::rng", |b| b.iter(|| rand::rng().next_u64()));
    group.bench_function("getrandom", |b| b.iter(getrandom::u64));
}

/// How long `threads` threads need for `reads` reads each, all at once.
fn together(engine: &Engine, threads: usize, size_bytes: usize, reads: u64) -> Duration {
    let barrier = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        let reader = || {
            let mut buffer = vec![0; size_bytes];
            engine.fill(&mut buffer);
            barrier.wait();
            for _ in 0..reads {
                engine.fill(black_box(&mut buffer));
            }
        };
        let readers: Vec<_> = (0..threads).map(|_| scope.spawn(reader)).collect();
        barrier.wait();
        let start = Instant::now();
        readers
            .into_iter()
            .for_each(|reader| reader.join().expect("no reader panics"));
        start.elapsed()
    })
}

fn modes(criterion: &mut Criterion) {
    for size in [32, 1 << 16] {
        let mut group = criterion.benchmark_group(format!("modes, {size} bytes a reader"));
        group.throughput(Throughput::Bytes(size as u64));
        for mode in Mode::ALL {
            let engine = Engine::builder().mode(mode).build().expect("memory");
            for threads in [1, 2] {
                let name = BenchmarkId::new(mode.name(), format!("{threads} threads"));
                group.bench_function(name, |b| {
                    b.iter_custom(|reads| together(&engine, threads, size, reads));
                });
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = fill, words, modes
}
criterion_main!(benches);
