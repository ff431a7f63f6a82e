//! FreeBSD's answers and counters that carry, for every backend.

use super::{Check, Outcome, Stop, broken, failed, skipped};
use wellspring::replay::{Comparison, Replay};
use wellspring::{Backend, Prf};
use wellspring_cipher::{KEY_BYTES, Keystream};

const FREEBSD: &str = include_str!("../../../../vectors/fortuna-freebsd.txt");

/// Two tests for each backend, also for those that this CPU does not run: they say so.
pub(super) fn checks() -> Vec<Check> {
    type Test = fn(Backend) -> Outcome;
    let groups: [(&str, Test); 2] = [("known-answers", answers), ("counter-carry", carries)];
    let checks_of = |(group, test): (&str, Test)| {
        let check = move |&backend: &Backend| {
            Check::new(format!("{group}/{backend}"), move || {
                match backend.is_available() {
                    true => test(backend),
                    false => skipped("this CPU does not run it"),
                }
            })
        };
        Backend::ALL.iter().map(check).collect::<Vec<_>>()
    };
    groups.into_iter().flat_map(checks_of).collect()
}

/// Replays the vectors of the backend's function.
fn answers(backend: Backend) -> Outcome {
    gives_freebsds_answers(Replay::with_backend(backend), backend.prf()).map(drop)
}

/// Replays the vectors of one function, and says how many answers it compared.
pub(crate) fn gives_freebsds_answers(mut replay: Replay, prf: Prf) -> Result<u64, Stop> {
    let ours = match prf {
        Prf::Aes256 => "cipher=aes ",
        Prf::ChaCha20 => "cipher=chacha ",
    };
    let (mut is_ours, mut compared) = (false, 0);
    for (number, line) in (1..).zip(FREEBSD.lines()) {
        if line.starts_with("begin ") || line.starts_with("gen ") {
            is_ours = line.contains(ours);
        }
        if !is_ours {
            continue;
        }
        let answer = replay
            .line(line)
            .map_err(|error| broken(&format!("line {number}"), error))?;
        match answer.map(|answer| answer.comparison) {
            Some(Comparison::Different) => {
                return Err(Stop::Failed(format!("another answer to line {number}")));
            }
            Some(Comparison::Same) => compared += 1,
            _ => {}
        }
    }
    match compared {
        0 => Err(Stop::Failed("there was nothing to compare".into())),
        _ => Ok(compared),
    }
}

/// Compares a run of blocks across each carry with single blocks of the portable backend. In every lane of the
/// widest backend, which has 32 blocks in flight, the counter once passes the boundary.
fn carries(backend: Backend) -> Outcome {
    let portable = match backend.prf() {
        Prf::Aes256 => Backend::Aes256Portable,
        Prf::ChaCha20 => Backend::ChaCha20Portable,
    };
    let key: [u8; KEY_BYTES] = core::array::from_fn(|index| index as u8);
    let block_bytes = backend.prf().block_bytes();
    let mut run = vec![0; 70 * block_bytes];
    let mut block = vec![0; block_bytes];
    for bits in [32, 64, 96, 128] {
        let boundary = 1u128.checked_shl(bits).unwrap_or(0);
        for lane in 0..=33 {
            let start = boundary.wrapping_sub(lane);
            Keystream::new(backend, &key, start).fill(&mut run);
            for (index, got) in (0..).zip(run.chunks(block_bytes)) {
                Keystream::new(portable, &key, start.wrapping_add(index)).fill(&mut block);
                if got != block {
                    return failed(format!(
                        "block {index} after counter 2^{bits} - {lane} is wrong"
                    ));
                }
            }
        }
    }
    Ok(())
}
