//! The engine of the process.

use crate::Engine;
use wellspring_sys::once::Once;

/// The engine of the process, made with the defaults by whoever comes first.
///
/// # Panics
///
/// When the system has no memory that is wiped on fork.
#[inline(always)]
pub(crate) fn engine() -> &'static Engine {
    static ENGINE: Once<Engine> = Once::new();
    ENGINE.get_or_make(|| match Engine::builder().build() {
        Ok(engine) => engine,
        Err(error) => panic!("wellspring: {error}"),
    })
}
