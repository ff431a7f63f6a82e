//! Every backend this CPU runs, and RustCrypto's ciphers as their users would call them, over the
//! same requests.
//!
//! The contenders take turns of about a millisecond, so that a change of clock or a busy neighbour
//! hits all of them; the figure is the median over the turns. `keyed` sets up a new key for every
//! request, as a tap does at each refill; `running` goes on under one key.
//!
//! `cargo bench -p wellspring-cipher`, or with `-- TEXT` for the contenders whose name has TEXT.

use ctr::cipher::{KeyIvInit, StreamCipher};
use std::hint::black_box;
use std::time::{Duration, Instant};
use wellspring_cipher::{Backend, Keystream, Prf};

const REQUEST_BYTES: [usize; 8] = [32, 64, 128, 512, 2048, 4096, 65_536, 1 << 20];
const TURNS: usize = 61;
const TURN: Duration = Duration::from_millis(1);
const KEY: [u8; 32] = [0x42; 32];

/// Serves one request into a buffer.
type Fill = dyn FnMut(&mut [u8]);

struct Contender {
    name: String,
    prf: Prf,
    fill: Box<Fill>,
}

impl Contender {
    fn new(name: impl ToString, prf: Prf, fill: impl FnMut(&mut [u8]) + 'static) -> Self {
        let (name, fill) = (name.to_string(), Box::new(fill));
        Self { name, prf, fill }
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

type AesCtr = ctr::Ctr128BE<aes::Aes256>;

fn running() -> Vec<Contender> {
    let mut contenders: Vec<Contender> = available()
        .map(|backend| {
            let mut stream = Keystream::new(backend, &KEY, 0);
            Contender::new(backend, backend.prf(), move |buffer| stream.fill(buffer))
        })
        .collect();
    let mut aes = AesCtr::new(&KEY.into(), &[0; 16].into());
    let aes = move |buffer: &mut [u8]| aes.write_keystream(buffer);
    contenders.push(Contender::new("aes+ctr crates", Prf::Aes256, aes));
    // The 64-bit counter: the 32-bit one would run out in the middle of the measurement.
    let mut chacha = chacha20::ChaCha20Legacy::new(&KEY.into(), &[0; 8].into());
    let chacha = move |buffer: &mut [u8]| chacha.write_keystream(buffer);
    contenders.push(Contender::new("chacha20 crate", Prf::ChaCha20, chacha));
    contenders
}

fn keyed() -> Vec<Contender> {
    let mut contenders: Vec<Contender> = available()
        .map(|backend| {
            Contender::new(backend, backend.prf(), move |buffer| {
                Keystream::new(backend, black_box(&KEY), 0).fill(buffer);
            })
        })
        .collect();
    contenders.push(Contender::new("aes+ctr crates", Prf::Aes256, |buffer| {
        AesCtr::new(black_box(&KEY).into(), &[0; 16].into()).write_keystream(buffer);
    }));
    contenders.push(Contender::new("chacha20 crate", Prf::ChaCha20, |buffer| {
        let key = black_box(&KEY).into();
        chacha20::ChaCha20Legacy::new(key, &[0; 8].into()).write_keystream(buffer);
    }));
    contenders
}

fn available() -> impl Iterator<Item = Backend> {
    let available = |backend: &Backend| backend.is_available();
    Backend::ALL.iter().copied().filter(available)
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

fn report(title: &str, contenders: &mut [Contender]) {
    for &bytes in &REQUEST_BYTES {
        let mut buffer = vec![0; bytes];
        println!("{title}, requests of {bytes} bytes:");
        let medians = medians(contenders, &mut buffer);
        for (contender, nanoseconds) in contenders.iter().zip(&medians) {
            let Contender { name, prf, .. } = contender;
            let gigabytes_per_second = bytes as f64 / nanoseconds;
            println!("  {prf:8} {name:20} {nanoseconds:11.1} ns {gigabytes_per_second:6.2} GB/s");
        }
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| !text.starts_with('-'))
        .collect();
    let filter = |contenders: Vec<Contender>| -> Vec<Contender> {
        let named = |contender: &Contender| wanted.iter().any(|text| contender.name.contains(text));
        contenders
            .into_iter()
            .filter(|contender| wanted.is_empty() || named(contender))
            .collect()
    };
    report("running", &mut filter(running()));
    report("keyed", &mut filter(keyed()));
}
