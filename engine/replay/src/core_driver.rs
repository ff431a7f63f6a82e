//! Drives the pipeline of `wellspring-core`: the pools, one inlet, one node.

use crate::{Event, Pipeline, ReplayError, State};
use wellspring_core::distribution::Distribution;
use wellspring_core::generator::Reservation;
use wellspring_core::node::{Inlet, Node};
use wellspring_core::pool::{RESEED_INTERVAL_MS, Trigger};
use wellspring_core::{Backend, KEY_BYTES, Prf};

pub(crate) struct CoreDriver {
    /// The backend asked for, for its function.
    wanted: Option<Backend>,
    backend: Backend,
    concurrent: bool,
    distribution: Distribution,
    inlet: Inlet,
    node: Node,
    /// The clock: it moves by 100 ms with every `pre`, so that each may reseed.
    now_ms: u64,
}

impl CoreDriver {
    pub(crate) fn new(wanted: Option<Backend>) -> Self {
        Self {
            wanted,
            backend: Backend::detect(Prf::Aes256),
            concurrent: false,
            distribution: Distribution::ZERO,
            inlet: Inlet::ZERO,
            node: Node::ZERO,
            now_ms: 0,
        }
    }
}

impl Pipeline for CoreDriver {
    fn begin(&mut self, prf: Prf, concurrent: bool) -> Result<(), ReplayError> {
        let given = self.wanted.filter(|backend| backend.prf() == prf);
        *self = Self {
            backend: given.unwrap_or_else(|| Backend::detect(prf)),
            concurrent,
            ..Self::new(self.wanted)
        };
        Ok(())
    }

    fn force(&mut self, key: [u8; KEY_BYTES], counter: u128) -> Result<(), ReplayError> {
        self.node.force(&key, counter);
        Ok(())
    }

    fn absorb(&mut self, event: &Event) -> Result<(), ReplayError> {
        self.distribution.absorb(event);
        Ok(())
    }

    fn reseed_if_due(&mut self) -> Result<(), ReplayError> {
        self.now_ms += RESEED_INTERVAL_MS;
        // With one node there are no other seeds to hand out.
        let _ = self
            .distribution
            .deliver(self.now_ms, Trigger::Scheduled, 1, &self.inlet);
        self.node.receive(&self.inlet);
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), ReplayError> {
        if self.concurrent {
            let mut reservation = Reservation::ZERO;
            self.node
                .reserve(self.backend, bytes.len(), &mut reservation);
            reservation.generate(self.backend, bytes);
        } else {
            let mut rest = bytes;
            loop {
                rest = self.node.generator().read_chunk(self.backend, rest);
                if rest.is_empty() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<State, ReplayError> {
        let accumulator = self.distribution.accumulator();
        let (reseeds, first_pool_bytes) = (accumulator.reseeds(), accumulator.first_pool_bytes());
        let (key, counter) = self.node.generator().state();
        Ok(State {
            reseeds: reseeds.into(),
            first_pool_bytes: first_pool_bytes.into(),
            counter,
            key: *key,
        })
    }
}
