//! FreeBSD's answers and carries of the counter, for every backend.

use super::outcome::{Check, Outcome, broken, failed, skipped};
use wellspring::{Backend, Prf};
use wellspring_cipher::{KEY_BYTES, Keystream};
use wellspring_replay::{Replay, run_function};

const FREEBSD: &str = include_str!("../../../vectors/fortuna-freebsd.txt");

/// Two tests for each backend. Those of a backend that this CPU does not run are skipped.
pub(super) fn checks() -> Vec<Check> {
    type Test = fn(Backend) -> Outcome;
    let groups: [(&str, Test); 2] = [("known-answers", answers), ("counter-carry", carries)];
    let checks_of = |(group, test): (&str, Test)| {
        let check = move |&backend: &Backend| {
            Check::new(format!("{group}/{backend}"), move || {
                if backend.is_available() {
                    test(backend)
                } else {
                    skipped("this CPU does not run it")
                }
            })
        };
        Backend::ALL.iter().map(check).collect::<Vec<_>>()
    };
    groups.into_iter().flat_map(checks_of).collect()
}

/// Replays the vectors of the backend's function.
fn answers(backend: Backend) -> Outcome {
    let replay = Replay::with_backend(backend);
    match run_function(replay, backend.prf(), FREEBSD) {
        Ok(summary) if summary.different > 0 => {
            failed(format!("{} answers are wrong", summary.different))
        }
        Ok(summary) if summary.same == 0 => failed("there was nothing to compare"),
        Ok(_) => Ok(()),
        Err((line, error)) => Err(broken(&format!("line {line}"), error)),
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
