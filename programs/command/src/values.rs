//! Values that several commands read from the command line.

use crate::failure::Failure;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use wellspring::{Backend, MinEntropy};

/// A parser of a fixed set of values, each by its name.
pub(crate) fn named<T: Copy + Send + Sync + 'static>(
    values: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(move |&value| name(value));
    PossibleValuesParser::new(names).map(move |text| {
        let found = values.iter().find(|&&value| name(value) == text);
        *found.expect("clap accepts no other name")
    })
}

/// The backend, if this CPU runs it.
pub(crate) fn available(backend: Backend) -> Result<Backend, Failure> {
    if backend.is_available() {
        return Ok(backend);
    }
    Err(Failure::Input(format!(
        "--backend {backend}: this CPU does not run it"
    )))
}

/// A source's claim, in bits of min-entropy per byte.
pub(crate) fn bits_per_byte(claim: MinEntropy) -> f64 {
    f64::from(claim.as_256ths()) / 256.0
}
