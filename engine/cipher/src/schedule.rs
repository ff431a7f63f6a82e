//! The key in the form that a backend needs.

use zeroize::{ZeroizeOnDrop, optimization_barrier};

/// A key as the backends of its function write and read it; wiped on drop.
///
/// Its rows are aligned to 16 bytes: an instruction of AES then reads its round key from memory.
#[repr(align(16))]
#[allow(
    clippy::large_enum_variant,
    reason = "the owner chose and locked the memory of the key: it does not go behind a pointer"
)]
pub(crate) enum Schedule {
    /// The round keys, in the order of the backend.
    Aes256([Row; 16]),
    /// Rows 1 and 2 of the state.
    ChaCha20([Row; 2]),
}

/// 16 bytes, as a little-endian number.
pub(crate) type Row = u128;

impl Schedule {
    /// The rows of a key of AES-256.
    #[inline]
    pub(crate) fn aes256(&self) -> &[Row; 16] {
        match self {
            Schedule::Aes256(rows) => rows,
            Schedule::ChaCha20(_) => wrong_function(),
        }
    }

    /// The rows of a key of ChaCha20.
    #[inline]
    pub(crate) fn chacha20(&self) -> &[Row; 2] {
        match self {
            Schedule::ChaCha20(rows) => rows,
            Schedule::Aes256(_) => wrong_function(),
        }
    }
}

/// `Keystream` gives each backend the schedule that it made.
#[cold]
#[inline(never)]
fn wrong_function() -> ! {
    panic!("the key was set up for another function");
}

impl Drop for Schedule {
    fn drop(&mut self) {
        match self {
            Schedule::Aes256(rows) => *rows = [0; 16],
            Schedule::ChaCha20(rows) => *rows = [0; 2],
        }
        optimization_barrier(self);
    }
}

impl ZeroizeOnDrop for Schedule {}
