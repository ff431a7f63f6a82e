//! Generators of other projects.

pub(crate) mod names;
mod native;
#[cfg(feature = "c-libraries")]
mod openssl;

use wellspring_bench::generators::Generator;

pub(crate) use native::peers as native;

/// All peers that this machine has.
pub(crate) fn all() -> Vec<Generator> {
    let peers = native::peers();
    #[cfg(feature = "c-libraries")]
    let peers = peers.into_iter().chain(openssl::peers()).collect();
    peers
}
