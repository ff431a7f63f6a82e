//! The pipeline that a replay drives: the harvest side, one inlet, one node, as an engine has them.

use super::fields::{Fields, encode_hex};
use sha2::{Digest, Sha256};
use wellspring_core::generator::Claim;
use wellspring_core::harvest::Event;
use wellspring_core::node::{Harvest, Inlet, Node, Pace};
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_core::{KEY_BYTES, Kernel};

/// Reads up to this length are shown whole, unless the file asks for a digest.
const MAX_SHOWN_BYTES: usize = 300;

pub(super) struct Machine {
    kernel: Kernel,
    concurrent: bool,
    harvest: Harvest,
    inlet: Inlet,
    node: Node,
    /// The clock: stands still, except that every `pre` may reseed.
    now_ms: u64,
}

impl Machine {
    pub(super) fn new(kernel: Kernel, concurrent: bool) -> Self {
        Self {
            kernel,
            concurrent,
            harvest: Harvest::default(),
            inlet: Inlet::default(),
            node: Node::default(),
            now_ms: 0,
        }
    }

    pub(super) fn with_state(mut self, key: [u8; KEY_BYTES], counter: u128) -> Self {
        self.node.force(key, counter);
        self
    }

    pub(super) fn absorb(&mut self, event: &Event) {
        self.harvest.absorb(event);
    }

    pub(super) fn reseed_if_due(&mut self) {
        self.now_ms += RESEED_INTERVAL_MS;
        self.harvest
            .deliver(self.now_ms, Pace::Fortuna, 1, |_| &self.inlet);
        self.node.receive(&self.inlet);
    }

    pub(super) fn read(&mut self, length: usize) -> Output {
        let mut bytes = vec![0; length];
        if self.concurrent {
            let mut claim = Claim::default();
            self.node.claim(self.kernel, length, &mut claim);
            claim.generate(self.kernel, &mut bytes);
        } else {
            let mut rest = bytes.as_mut_slice();
            loop {
                rest = self.node.generator().read_chunk(self.kernel, rest);
                if rest.is_empty() {
                    break;
                }
            }
        }
        Output(bytes)
    }

    pub(super) fn state(&mut self) -> String {
        let accumulator = self.harvest.accumulator();
        let (reseeds, length) = (accumulator.reseeds(), accumulator.first_pool_bytes());
        let (key, counter) = self.node.generator().state();
        let counter = encode_hex(&counter.to_le_bytes());
        let key = match (reseeds, key.iter().all(|&byte| byte == 0)) {
            (0, true) => "none".into(),
            _ => encode_hex(key),
        };
        format!("reseeds={reseeds} len0={length} C={counter} K={key}")
    }
}

/// What a read returned.
pub(super) struct Output(Vec<u8>);

impl Output {
    /// The bytes in the form that a line asks for; if it asks for none, in the form that suits their number.
    pub(super) fn describe(&self, asked: Fields<'_>) -> String {
        let bytes = &self.0;
        let asked = |names: &[&str]| names.iter().any(|name| asked.get(name).is_some());
        let (whole, digest) = (asked(&["out"]), asked(&["sha256", "first", "last"]));
        let is_short = bytes.len() <= MAX_SHOWN_BYTES;
        let mut text = format!("n={}", bytes.len());
        if whole || !digest && is_short {
            text += &format!(" out={}", encode_hex(bytes));
        }
        if digest || !whole && !is_short {
            let end = bytes.len().min(32);
            let digest = encode_hex(&Sha256::digest(bytes));
            let (first, last) = (&bytes[..end], &bytes[bytes.len() - end..]);
            text += &format!(
                " sha256={digest} first={} last={}",
                encode_hex(first),
                encode_hex(last)
            );
        }
        text
    }
}
