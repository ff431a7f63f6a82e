//! Generators of other projects.

mod helper;
pub(crate) mod name;
mod native;
mod openssl;

use wellspring_bench::contender::Contender;

pub(crate) use native::peers as native;

/// All peers that this machine has.
pub(crate) fn all() -> Vec<Contender> {
    let mut peers = native::peers();
    peers.extend(openssl::peers());
    peers.extend(helper::peers());
    peers
}
