//! The names of rows, and what the project wants of them.

pub(crate) const RAND_SMALL: &str = "RAND_bytes, 16 bytes";
pub(super) const RAND_LARGE: &str = "RAND_bytes, 1 MiB";
pub(super) const ARC4RANDOM: &str = "arc4random_buf(32)";
pub(crate) const GETRANDOM: &str = "getrandom(32)";
pub(super) const JAVA_BYTES: &str = "Java SecureRandom, 16 bytes";
pub(super) const UUID_4: &str = "ids::uuid4, beside Uuid::new_v4";
pub(super) const UUID_7: &str = "ids::uuid7, beside Uuid::now_v7";
pub(super) const UUID_TEXT: &str = "the text of ids::uuid4, beside that of Uuid::new_v4";
pub(crate) const C_NUMBER: &str = "ws_u64, beside the Rust call";
pub(super) const C_OWNED: &str = "ws_rng_u64, beside the Rust call";

/// The least speed of these doors, as a multiple of the speed of the functions that they replace.
pub(crate) const WANTED: [(&str, f64); 5] = [
    (RAND_SMALL, 3.0),
    (RAND_LARGE, 2.0),
    (ARC4RANDOM, 15.0),
    (GETRANDOM, 15.0),
    (JAVA_BYTES, 10.0),
];
/// The most time of these calls, as a multiple of the time of the Rust call.
pub(crate) const WANTED_COST: [(&str, f64); 2] = [(C_NUMBER, 1.5), (C_OWNED, 1.5)];
/// The most nanoseconds of these calls.
pub(crate) const WANTED_NS: [(&str, f64); 3] = [(UUID_4, 10.0), (UUID_7, 10.0), (UUID_TEXT, 10.0)];
