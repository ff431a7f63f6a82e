//! `sources list`.

use crate::failure::Failure;
use crate::output::Output;
use crate::table::table;
use crate::values::bits_per_byte;
use clap::Args;
use serde_json::json;
use std::sync::Arc;
use wellspring::{Source, SourceError, Speed};

/// Print a table of the sources of this machine, after a few draws from each
#[derive(Args)]
pub(super) struct ListRequest {
    /// Print one JSON object a line for each source
    #[arg(long)]
    json: bool,
}

pub(super) fn run(request: &ListRequest) -> Result<(), Failure> {
    let sources = wellspring_sources::all();
    let text = if request.json {
        sources.iter().map(object).collect()
    } else {
        let head = ["source", "claim", "sample", "drawn on", "now", "reason"];
        let mut rows = vec![head.map(String::from)];
        rows.extend(sources.iter().map(row));
        table(&rows)
    };
    Output::standard()?.print(&text)
}

/// How many bytes a draw gives now.
fn draw(source: &dyn Source) -> Result<usize, SourceError> {
    let mut sample = [0; 256];
    // Some sources learn from their first samples and return none of them.
    let _ = source.sample(&mut sample);
    let _ = source.sample(&mut sample);
    source.sample(&mut sample)
}

fn row(source: &Arc<dyn Source>) -> [String; 6] {
    [
        source.name().into(),
        format!("{} bits/byte", bits_per_byte(source.min_entropy())),
        source.symbol().name().into(),
        match source.speed() {
            Speed::Fast => "any call".into(),
            Speed::Slow { interval_ms } => format!("every {} s", interval_ms as f64 / 1000.0),
        },
        match draw(&**source) {
            Ok(bytes) => format!("{bytes} bytes"),
            Err(error) => error.to_string(),
        },
        source.reason().into(),
    ]
}

fn object(source: &Arc<dyn Source>) -> String {
    let drawn = draw(&**source);
    let object = json!({
        "name": source.name(),
        "claim_bits_per_byte": bits_per_byte(source.min_entropy()),
        "sample": source.symbol().name(),
        "interval_ms": match source.speed() {
            Speed::Fast => 0,
            Speed::Slow { interval_ms } => interval_ms,
        },
        "drawn_bytes": drawn.as_ref().ok(),
        "error": drawn.as_ref().err().map(ToString::to_string),
        "reason": source.reason(),
    });
    format!("{object}\n")
}
