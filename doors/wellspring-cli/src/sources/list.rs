//! `sources list`.

use super::bits;
use crate::failure::Failure;
use crate::output::Output;
use crate::stats::table;
use wellspring::Speed;

pub(super) fn run() -> Result<(), Failure> {
    let head = ["source", "claim", "sample", "drawn on", "now", "reason"];
    let mut rows = vec![head.map(String::from)];
    for source in wellspring_sources::all() {
        // Some learn from their first samples, and yield none of those.
        let mut sample = [0; 256];
        let draws = (0..3).map(|_| source.sample(&mut sample));
        let now = match draws.last() {
            Some(Ok(bytes)) => format!("{bytes} bytes"),
            Some(Err(error)) => error.to_string(),
            None => "-".into(),
        };
        rows.push([
            source.name().into(),
            format!("{} bits/byte", bits(source.min_entropy())),
            source.symbol().name().into(),
            match source.speed() {
                Speed::Fast => "any call".into(),
                Speed::Slow { interval_ms } => format!("every {} s", interval_ms as f64 / 1000.0),
            },
            now,
            source.reason().into(),
        ]);
    }
    Output::standard()?.print(&table(&rows))
}
