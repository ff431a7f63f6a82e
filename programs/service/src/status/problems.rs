//! Problems that an operator should solve, in sentences.

use crate::sources;
use crate::state::State;
use wellspring::Phase;

/// A node with less credit than this, in bits, waits for seeds.
const LITTLE_CREDIT_BITS: u32 = 64;

/// Every problem there is now, the worst first.
pub fn problems(state: &State) -> Vec<String> {
    let stats = state.engine.stats();
    let mut problems = Vec::new();
    if stats.phase != Phase::Ready {
        problems.push(format!(
            "The engine is {}: it has not been seeded with 128 bits, and readers wait.",
            stats.phase
        ));
    }
    for (number, node) in stats.nodes.iter().enumerate() {
        let is_starved = node.credit_bits < LITTLE_CREDIT_BITS;
        if stats.phase == Phase::Ready && stats.nodes.len() > 1 && is_starved {
            problems.push(format!(
                "Node {number} is starved: {} bits of credit are left.",
                node.credit_bits
            ));
        }
    }
    if stats.harvester.is_some_and(|harvester| !harvester.alive) {
        problems.push("The harvester is late: readers gather noise themselves.".into());
    }
    let openings = state.doors.openings();
    for opening in openings.iter().filter(|opening| opening.fault.is_some()) {
        let fault = opening.fault.as_deref().unwrap_or_default();
        problems.push(format!(
            "{} at {} is not open: {fault}.",
            opening.name, opening.place
        ));
    }
    problems.extend(stats.sources.iter().filter_map(sources::problem));
    if let Some(seed_file) = &stats.seed_file {
        if seed_file.found.is_fault() {
            problems.push(format!("The seed file was not used: {}.", seed_file.found));
        }
        if let Some(error) = seed_file.last_error {
            problems.push(format!("The seed file was not written: {error}."));
        }
    }
    problems
}
