//! The views of the service: its status for people and for programs, and metrics.
//!
//! ```text
//! problems  problems that an operator should solve, in sentences
//! json      everything as JSON; text: the same for people
//! metrics   counters for Prometheus
//! ```

mod json;
mod metrics;
mod problems;
mod text;

pub use json::json;
pub use metrics::metrics;
pub use problems::problems;
pub use text::text;

use crate::state::State;

/// A document that the web sockets send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its media type.
    pub media_type: &'static str,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// The document at `path`.
pub fn document(state: &State, path: &str) -> Option<Document> {
    let (media_type, body) = match path {
        "/" => ("text/plain; charset=utf-8", text(&json(state))),
        "/status.json" => ("application/json", json(state).to_string()),
        "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", metrics(state)),
        _ => return None,
    };
    Some(Document {
        media_type,
        body: body.into_bytes(),
    })
}
