//! The views of the service: status, metrics and the live page.
//!
//! ```text
//! problems  problems that an operator should solve, in sentences
//! status    everything as JSON
//! metrics   counters for Prometheus
//! charts    the drawings of the page
//! page      the live page
//! ```

mod charts;
mod metrics;
mod page;
mod problems;
mod status;

pub use metrics::metrics;
pub use problems::problems;
pub use status::status;

use crate::document::Document;
use crate::state::State;

/// The document at `path`.
#[must_use]
pub fn document(state: &State, path: &str) -> Option<Document> {
    let (media_type, text) = match path {
        "/" => ("text/html; charset=utf-8", page::page(state)),
        "/live" => ("text/html; charset=utf-8", page::live(state)),
        "/status.json" => ("application/json", status(state).to_string()),
        "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", metrics(state)),
        _ => return None,
    };
    Some(Document {
        media_type,
        body: text.into_bytes(),
    })
}
