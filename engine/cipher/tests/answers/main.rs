//! Every implementation gives the right bytes.
//!
//! ```text
//! model          the plain generator that backends are compared with
//! known_answers  published answers
//! equivalence    every length, split and address
//! counter        the counter carries over all of its 128 bits
//! rounds         ChaCha with fewer rounds, from any block on
//! sha256         SHA-256: published answers, an oracle, what a hash holds
//! backends       the list of backends and the choice among them
//! width          the widths for which work is compiled
//! constant_time  no branch and no address depends on a key
//! ```

mod backends;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
mod constant_time;
mod counter;
mod equivalence;
mod known_answers;
#[path = "../common/model.rs"]
mod model;
mod rounds;
mod sha256;
mod width;

use proptest::prelude::ProptestConfig;

/// No file of failed seeds beside the tests: a failure prints its values. Miri interprets: about a thousandth of the speed.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if cfg!(miri) { 2 } else { cases })
    }
}
