//! Streams at 1 MiB beside their bare keystream, small reads at random places, and arrays of elements
//! beside `memset`. Contenders take turns of about a millisecond, so that a change of clock or a busy neighbour hits all of them;
//! the figure is the median over the turns.
//!
//! `cargo bench -p wellspring-pseudo --bench streams`

use std::hint::black_box;
use std::time::{Duration, Instant};
use wellspring_cipher::{Backend, Keystream, Prf};
use wellspring_pseudo::{Algorithm, Elements, Stream};

const MEBIBYTE: usize = 1 << 20;
const ELEMENTS: usize = 1 << 16;

const FUNCTIONS: [(Algorithm, Prf, usize); 4] = [
    (Algorithm::Aes256Ctr, Prf::Aes256, 20),
    (Algorithm::ChaCha8, Prf::ChaCha20, 8),
    (Algorithm::ChaCha12, Prf::ChaCha20, 12),
    (Algorithm::ChaCha20, Prf::ChaCha20, 20),
];

fn bare_keystreams() -> impl Iterator<Item = Contender> {
    FUNCTIONS.into_iter().map(|(algorithm, prf, rounds)| {
        let keystream = Keystream::new(Backend::detect(prf), &[7; 32], 0);
        let mut block = 0;
        Contender::new(format!("bare {algorithm}"), move |buffer| {
            keystream.fill_at(rounds, block, buffer);
            block += buffer.len().div_ceil(prf.block_bytes()) as u128;
        })
    })
}

fn streams() -> impl Iterator<Item = Contender> {
    Algorithm::ALL.into_iter().map(|algorithm| {
        let mut stream = Stream::new(algorithm, 7, &[]);
        // Not on the boundary of a block.
        stream.advance(5);
        Contender::new(algorithm, move |buffer| stream.fill(buffer))
    })
}

fn seeks() -> impl Iterator<Item = Contender> {
    Algorithm::ALL.into_iter().map(|algorithm| {
        let mut stream = Stream::new(algorithm, 7, &[]);
        let mut position = 1_u128;
        Contender::new(algorithm, move |buffer| {
            position = position.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
            stream.seek(position);
            stream.fill(buffer);
        })
    })
}

fn words() -> impl Iterator<Item = Contender> {
    Algorithm::ALL.into_iter().map(|algorithm| {
        let mut stream = Stream::new(algorithm, 7, &[]);
        Contender::new(algorithm, move |_| {
            for _ in 0..1000 {
                black_box(stream.next_u64());
            }
        })
    })
}

/// Fills an array again and again, each time with the next elements.
fn array<T: Default + Clone + 'static>(
    name: &str,
    algorithm: Algorithm,
    fill: impl Fn(&Elements, u64, &mut [T]) + 'static,
) -> Contender {
    let elements = Elements::new(algorithm, 7, &[]).unwrap();
    let mut out = vec![T::default(); ELEMENTS];
    let mut first = 0;
    Contender::new(format!("{name} {algorithm}"), move |_| {
        fill(&elements, first, black_box(&mut out));
        first += ELEMENTS as u64;
    })
}

fn arrays(algorithm: Algorithm) -> [Contender; 10] {
    [
        array::<f64>("uniform f64", algorithm, |e, i, out| {
            e.uniform(i, out).unwrap();
        }),
        array::<f32>("uniform f32", algorithm, |e, i, out| {
            e.uniform(i, out).unwrap();
        }),
        array::<f64>("normal f64", algorithm, |e, i, out| {
            e.standard_normal(i, out).unwrap();
        }),
        array::<f32>("normal f32", algorithm, |e, i, out| {
            e.standard_normal(i, out).unwrap();
        }),
        array::<f64>("exponential f64", algorithm, |e, i, out| {
            e.standard_exponential(i, out).unwrap();
        }),
        array::<i64>("integers i64", algorithm, |e, i, out| {
            e.integers(0..=999, i, out).unwrap();
        }),
        array::<i32>("integers i32", algorithm, |e, i, out| {
            e.integers(0..=999, i, out).unwrap();
        }),
        array::<u64>("shuffle u64", algorithm, |e, _, out| e.shuffle(out)),
        array::<u64>("permutation", algorithm, |e, _, out| {
            e.permutation(1 << 40).fill(0, out).unwrap();
        }),
        array::<f64>("memset", algorithm, |_, _, out| out.fill(black_box(7.0))),
    ]
}

fn report(title: &str, contenders: &mut [Contender], bytes: usize, each: (usize, &str)) {
    println!("{title}:");
    let medians = medians(contenders, &mut vec![0; bytes]);
    let (count, unit) = each;
    for (Contender { name, .. }, nanoseconds) in contenders.iter().zip(medians) {
        let each = nanoseconds / count as f64;
        println!("  {name:28} {each:10.3} ns {unit}");
    }
}

const TURNS: usize = 101;
const TURN: Duration = Duration::from_millis(1);

/// Serves one request into a buffer.
type Fill = dyn FnMut(&mut [u8]);

struct Contender {
    name: String,
    fill: Box<Fill>,
}

impl Contender {
    fn new(name: impl ToString, fill: impl FnMut(&mut [u8]) + 'static) -> Self {
        let (name, fill) = (name.to_string(), Box::new(fill));
        Self { name, fill }
    }

    /// Nanoseconds of one request, over a turn of `requests`.
    fn turn(&mut self, buffer: &mut [u8], requests: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..requests {
            (self.fill)(black_box(&mut *buffer));
        }
        start.elapsed().as_nanos() as f64 / f64::from(requests)
    }
}

/// The median nanoseconds of each contender's requests.
fn medians(contenders: &mut [Contender], buffer: &mut [u8]) -> Vec<f64> {
    let requests: Vec<u32> = contenders
        .iter_mut()
        .map(|contender| {
            let once = contender.turn(buffer, 8).max(1.0);
            (TURN.as_nanos() as f64 / once).clamp(1.0, 1e6) as u32
        })
        .collect();
    let mut turns = vec![Vec::with_capacity(TURNS); contenders.len()];
    for _ in 0..TURNS {
        for (index, contender) in contenders.iter_mut().enumerate() {
            turns[index].push(contender.turn(buffer, requests[index]));
        }
    }
    let median = |turns: &mut Vec<f64>| *turns.select_nth_unstable_by(TURNS / 2, f64::total_cmp).1;
    turns.iter_mut().map(median).collect()
}

fn main() {
    let mut contenders: Vec<_> = bare_keystreams().chain(streams()).collect();
    report(
        "requests of 1 MiB",
        &mut contenders,
        MEBIBYTE,
        (MEBIBYTE, "a byte"),
    );
    let mut contenders: Vec<_> = words().collect();
    report("next_u64", &mut contenders, 0, (1000, "a word"));
    let mut contenders: Vec<_> = seeks().collect();
    report(
        "16 bytes at a random place",
        &mut contenders,
        16,
        (1, "a read"),
    );
    for algorithm in [
        Algorithm::Aes256Ctr,
        Algorithm::ChaCha8,
        Algorithm::Philox4x64,
    ] {
        let mut contenders: Vec<_> = arrays(algorithm).into();
        report("arrays", &mut contenders, 0, (ELEMENTS, "an element"));
    }
}
