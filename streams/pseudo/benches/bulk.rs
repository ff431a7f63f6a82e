//! Requests of several sizes from sixteen lanes at every width this CPU has, from one generator, and
//! from `fastrand`; `memset` is the upper limit. Last, the cost of setting the lanes up.
//!
//! `cargo bench -p wellspring-pseudo`

mod turns;

use std::hint::black_box;

use rand_core::SeedableRng;
use turns::{Contender, medians};
use wellspring_pseudo::{Width, Xoshiro256PlusPlus, Xoshiro256PlusPlusX16};

const REQUEST_BYTES: [usize; 8] = [8, 128, 512, 1024, 2048, 4096, 65_536, 1 << 20];
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
