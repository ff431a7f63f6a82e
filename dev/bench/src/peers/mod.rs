//! Generators of other projects.

mod helper;
pub(crate) mod name;
mod native;
#[cfg(feature = "c-libraries")]
mod openssl;

use wellspring_bench::contender::Contender;

pub(crate) use native::peers as native;

/// All peers that this machine has.
pub(crate) fn all() -> Vec<Contender> {
    let mut peers = native::peers();
    #[cfg(feature = "c-libraries")]
    peers.extend(openssl::peers());
    peers.extend(helper::peers());
    peers
}
