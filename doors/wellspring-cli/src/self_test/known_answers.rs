//! FreeBSD's answers through any pipeline.

use super::check::{Stop, broken};
use wellspring::Prf;
use wellspring_replay::{Comparison, Replay};

const FREEBSD: &str = include_str!("../../vectors/fortuna-freebsd.txt");

/// Replays the vectors of one function, and returns how many answers it compared.
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
    if compared == 0 {
        return Err(Stop::Failed("there was nothing to compare".into()));
    }
    Ok(compared)
}
