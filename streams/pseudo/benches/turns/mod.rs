//! Contenders that take turns of about a millisecond, so that a change of clock or a busy neighbour
//! hits all of them; the figure is the median over the turns.

use std::hint::black_box;
use std::time::{Duration, Instant};

const TURNS: usize = 101;
const TURN: Duration = Duration::from_millis(1);

/// Serves one request into a buffer.
type Fill = dyn FnMut(&mut [u8]);

pub(crate) struct Contender {
    pub(crate) name: String,
    fill: Box<Fill>,
}

impl Contender {
    pub(crate) fn new(name: impl ToString, fill: impl FnMut(&mut [u8]) + 'static) -> Self {
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
pub(crate) fn medians(contenders: &mut [Contender], buffer: &mut [u8]) -> Vec<f64> {
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
