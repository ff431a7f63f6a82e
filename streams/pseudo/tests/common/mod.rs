//! Functions that several tests use.

pub(crate) mod distributions;
pub(crate) mod statistics;
