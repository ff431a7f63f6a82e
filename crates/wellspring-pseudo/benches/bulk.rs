//! Requests of several sizes from sixteen lanes at every width this CPU has, from one generator, and
//! from `fastrand`; `memset` is the roof. Last, what it takes to set the lanes up.
//!
//! The contenders take turns of about a millisecond, so that a change of clock or a busy neighbour
//! hits all of them; the figure is the median over the turns.
//!
//! `cargo bench -p wellspring-pseudo`

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand_core::SeedableRng;
use wellspring_pseudo::{Width, Xoshiro256PlusPlus, Xoshiro256PlusPlusX16};

const REQUEST_BYTES: [usize; 8] = [8, 128, 512, 1024, 2048, 4096, 65_536, 1 << 20];
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

fn fills() -> Vec<Contender> {
    let mut one = Xoshiro256PlusPlus::seed_from_u64(1);
    let lanes = Xoshiro256PlusPlusX16::jumping_from(&one);
    let available = |width: &&Width| width.is_available();
    let mut contenders: Vec<Contender> = Width::ALL
        .iter()
        .filter(available)
        .map(|&width| {
            let mut lanes = lanes.clone();
            Contender::new(format!("x16 {width}"), move |buffer| {
                lanes.fill_at(width, buffer);
            })
        })
        .collect();
    let mut seeder = one.clone();
    contenders.push(Contender::new("x16 seeded anew", move |buffer| {
        Xoshiro256PlusPlusX16::seeded_by(&mut seeder).fill(buffer);
    }));
    contenders.push(Contender::new("one xoshiro256++", move |buffer| {
        one.fill(buffer);
    }));
    let mut fastrand = fastrand::Rng::with_seed(1);
    contenders.push(Contender::new("fastrand", move |buffer| {
        fastrand.fill(buffer);
    }));
    contenders.push(Contender::new("memset", |buffer| {
        buffer.fill(black_box(7));
    }));
    contenders
}

fn set_ups() -> Vec<Contender> {
    let first = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut seeder = first.clone();
    vec![
        Contender::new("jumping_from", move |_| {
            black_box(Xoshiro256PlusPlusX16::jumping_from(black_box(&first)));
        }),
        Contender::new("seeded_by", move |_| {
            black_box(Xoshiro256PlusPlusX16::seeded_by(&mut seeder));
        }),
    ]
}

/// The median nanoseconds of each contender's requests, all taking turns.
fn medians(contenders: &mut [Contender], buffer: &mut [u8]) -> Vec<f64> {
    let requests: Vec<u32> = contenders
        .iter_mut()
        .map(|contender| {
            let once = contender.turn(buffer, 64).max(1.0);
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
    for bytes in REQUEST_BYTES {
        println!("requests of {bytes} bytes:");
        let mut contenders = fills();
        let medians = medians(&mut contenders, &mut vec![0; bytes]);
        for (Contender { name, .. }, nanoseconds) in contenders.iter().zip(&medians) {
            let gigabytes_per_second = bytes as f64 / nanoseconds;
            println!("  {name:18} {nanoseconds:11.1} ns {gigabytes_per_second:6.2} GB/s");
        }
    }
    println!("set-up:");
    let mut contenders = set_ups();
    let medians = medians(&mut contenders, &mut []);
    for (Contender { name, .. }, nanoseconds) in contenders.iter().zip(&medians) {
        println!("  {name:18} {nanoseconds:11.1} ns");
    }
}
