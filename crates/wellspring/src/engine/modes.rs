//! The read modes that work on nodes: `Canonical`, and reservations of output for `Concurrent` and `PerNode`.

use super::nodes::Nodes;
use super::phase::Phase;
use crate::error::Error;
use wellspring_core::generator::Reservation;
use wellspring_os::signals::Blocked;

/// A function of the engine: draws and reseeds until the engine has reached a phase.
pub(super) type SeedEngine<'a> = &'a dyn Fn(Phase, &Blocked) -> Result<(), Error>;

/// random(4) with concurrent_read=1, on one node: the lock is held to set the output aside, not to make it.
#[inline]
pub(super) fn read_reserved(
    nodes: &Nodes,
    number: usize,
    need: Phase,
    seed_engine: SeedEngine<'_>,
    destination: &mut [u8],
) -> Result<(), Error> {
    loop {
        let stamp = {
            // Wiped in place at the end of this block: `drop` would move it and leave the key here.
            let mut reservation = Reservation::ZERO;
            let stamp = loop {
                let signals = Blocked::new();
                let bytes = destination.len();
                match nodes.reserve(number, need, bytes, &signals, &mut reservation) {
                    Some(stamp) => break stamp,
                    None => seed_engine(need, &signals)?,
                }
            };
            reservation.generate(nodes.backend(), destination);
            stamp
        };
        // The last fork check: a fork between it and the return to the caller would repeat these bytes.
        if nodes.is_same_process(stamp) {
            return Ok(());
        }
    }
}

/// Keys for taps, made while signals are blocked: no handler can fork in between.
pub(super) fn fetch_keys(
    nodes: &Nodes,
    number: usize,
    seed_engine: SeedEngine<'_>,
    keys: &mut [u8],
    signals: &Blocked,
) -> Result<(), Error> {
    let mut reservation = Reservation::ZERO;
    let need = Phase::Ready;
    while nodes
        .reserve(number, need, keys.len(), signals, &mut reservation)
        .is_none()
    {
        seed_engine(need, signals)?;
    }
    reservation.generate(nodes.backend(), keys);
    Ok(())
}

/// random(4) with concurrent_read=0: the lock of node 0 is held while a chunk of at most 4096 bytes is made.
#[inline(always)]
pub(super) fn read_canonical(
    nodes: &Nodes,
    need: Phase,
    seed_engine: SeedEngine<'_>,
    destination: &mut [u8],
) -> Result<(), Error> {
    'from_the_start: loop {
        let mut first_stamp = None;
        let mut rest = &mut *destination;
        loop {
            let signals = Blocked::new();
            match nodes.read_chunk(need, &signals, rest) {
                Ok((stamp, next)) => {
                    if *first_stamp.get_or_insert(stamp) != stamp {
                        continue 'from_the_start;
                    }
                    rest = next;
                }
                Err(same) => {
                    seed_engine(need, &signals)?;
                    rest = same;
                    continue;
                }
            }
            if rest.is_empty() {
                break;
            }
        }
        if first_stamp.is_some_and(|stamp| nodes.is_same_process(stamp)) {
            return Ok(());
        }
    }
}
