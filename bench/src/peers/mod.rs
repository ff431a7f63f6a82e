//! Everyone else.

mod helper;
mod native;
mod openssl;

use wellspring_bench::contender::Contender;

/// All peers that this machine has.
pub(crate) fn all() -> Vec<Contender> {
    let mut peers = native::peers();
    peers.extend(openssl::peers());
    peers.extend(helper::peers());
    peers
}
