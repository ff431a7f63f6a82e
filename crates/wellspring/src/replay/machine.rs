//! The engine's pipeline, as a replay drives it: the harvest side, one inlet, one node.

use super::{Event, Pipeline, ReplayError, State};
use wellspring_core::generator::Reservation;
use wellspring_core::node::{Harvest, Inlet, Node, Pace};
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_core::{Backend, KEY_BYTES, Prf};

pub(super) struct Machine {
    /// The backend asked for, for its function.
    wanted: Option<Backend>,
    backend: Backend,
    concurrent: bool,
    harvest: Harvest,
    inlet: Inlet,
    node: Node,
    /// The clock: stands still, except that every `pre` may reseed.
    now_ms: u64,
}

impl Machine {
    pub(super) fn new(wanted: Option<Backend>) -> Self {
        Self {
            wanted,
            backend: Backend::detect(Prf::Aes256),
            concurrent: false,
            harvest: Harvest::default(),
            inlet: Inlet::default(),
            node: Node::default(),
            now_ms: 0,
        }
    }
}

impl Pipeline for Machine {
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
        self.node.force(key, counter);
        Ok(())
    }

    fn absorb(&mut self, event: &Event) -> Result<(), ReplayError> {
        self.harvest.absorb(event);
        Ok(())
    }

    fn reseed_if_due(&mut self) -> Result<(), ReplayError> {
        self.now_ms += RESEED_INTERVAL_MS;
        self.harvest
            .deliver(self.now_ms, Pace::Fortuna, 1, |_| &self.inlet);
        self.node.receive(&self.inlet);
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), ReplayError> {
        if self.concurrent {
            let mut reservation = Reservation::default();
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
        let accumulator = self.harvest.accumulator();
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
