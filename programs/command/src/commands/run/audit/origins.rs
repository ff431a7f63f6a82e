//! Where the state of each generator comes from, and the faults that follow: states that a fork has copied, seeds that can
//! be guessed, states of before a clone of the machine.

use super::generators::{Generator, Place};
use libc::pid_t;
use std::collections::{BTreeSet, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

/// A seed counts as the time if it is a second from this long before the audit to this long after now.
const TIME_TOLERANCE_S: u64 = 2;

/// The second in which the audit began.
#[derive(Debug)]
struct Began(u64);

impl Default for Began {
    fn default() -> Self {
        Self(now_s())
    }
}

/// A fault, with the name of the generator and the numbers of the processes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Finding {
    /// Both processes draw from copies of one state.
    SameState(&'static str, [pid_t; 2]),
    /// The seed is the time, or the number of the process.
    GuessableSeed(&'static str, pid_t),
    /// No process seeded a generator that has a fixed seed.
    NeverSeeded(&'static str, pid_t),
    /// The machine was cloned after the generator was seeded.
    OlderThanClone(&'static str, pid_t),
}

/// A generator's state in a process.
type State = (&'static Generator, Vec<u8>);

/// A state at its beginning. All that draw from copies of it return the same numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Origin {
    /// Seeded: the number of the seed.
    Seed(u64),
    /// Not seeded since this number of an exec.
    Exec(u64, State),
}

/// The states of an address space.
#[derive(Clone, Debug)]
pub(super) struct Lineage {
    exec: u64,
    /// Another one after each fork, in parent and child.
    branch: usize,
    /// The origin, and the number of the generation page when it was seeded.
    seeded: HashMap<State, (Origin, Option<u64>)>,
    page: Option<u64>,
}

/// All origins, and the findings.
#[derive(Debug, Default)]
pub(super) struct Origins {
    began: Began,
    count: u64,
    /// The branch from which each began; a first one from itself.
    branches: Vec<usize>,
    draws: HashMap<Origin, Vec<(usize, pid_t)>>,
    pub(super) findings: BTreeSet<Finding>,
}

impl Origins {
    /// A process has executed a program. `page` is the number of the generation page.
    pub(super) fn exec(&mut self, page: Option<u64>) -> Lineage {
        self.count += 1;
        let branch = self.branches.len();
        self.branches.push(branch);
        Lineage {
            exec: self.count,
            branch,
            seeded: HashMap::new(),
            page,
        }
    }

    /// A process has forked. Returns the child's.
    pub(super) fn fork(&mut self, parent: &mut Lineage) -> Lineage {
        let mut child = parent.clone();
        for lineage in [parent, &mut child] {
            self.branches.push(lineage.branch);
            lineage.branch = self.branches.len() - 1;
        }
        child
    }

    pub(super) fn seed(
        &mut self,
        lineage: &mut Lineage,
        state: State,
        seed: Option<u64>,
        process: pid_t,
        page: Option<u64>,
    ) {
        if seed.is_some_and(|seed| self.is_guessable(seed, process)) {
            self.findings
                .insert(Finding::GuessableSeed(state.0.name, process));
        }
        self.count += 1;
        lineage
            .seeded
            .insert(state, (Origin::Seed(self.count), page));
    }

    pub(super) fn draw(
        &mut self,
        lineage: &Lineage,
        state: State,
        process: pid_t,
        page: Option<u64>,
    ) {
        let generator = state.0;
        if generator.heals {
            return;
        }
        // Of a state that is all in the argument the program may change each byte.
        if let (Place::Bytes(4), Ok(seed)) = (generator.place, state.1[..].try_into())
            && self.is_guessable(u32::from_le_bytes(seed).into(), process)
        {
            self.findings
                .insert(Finding::GuessableSeed(generator.name, process));
        }
        let seeded = match generator.place {
            Place::Bytes(_) => None,
            Place::Process | Place::Object => lineage.seeded.get(&state).cloned(),
        };
        if generator.has_fixed_seed && seeded.is_none() {
            self.findings
                .insert(Finding::NeverSeeded(generator.name, process));
        }
        let unseeded = || (Origin::Exec(lineage.exec, state), lineage.page);
        let (origin, seeded_at) = seeded.unwrap_or_else(unseeded);
        if seeded_at != page {
            self.findings
                .insert(Finding::OlderThanClone(generator.name, process));
        }
        let Self {
            branches,
            draws,
            findings,
            ..
        } = self;
        let draws = draws.entry(origin).or_default();
        for (branch, other) in draws.iter() {
            if !is_descendant(branches, lineage.branch, *branch)
                && !is_descendant(branches, *branch, lineage.branch)
            {
                findings.insert(Finding::SameState(generator.name, [*other, process]));
            }
        }
        if !draws.iter().any(|(branch, _)| *branch == lineage.branch) {
            draws.push((lineage.branch, process));
        }
    }

    /// Whether a seed is the number of the process, or a second since the program began: it may have kept the time, or
    /// this command may have seen the seed late.
    fn is_guessable(&self, seed: u64, process: pid_t) -> bool {
        let first = self.began.0.saturating_sub(TIME_TOLERANCE_S);
        // The clock may have been set back.
        let last = now_s().max(self.began.0) + TIME_TOLERANCE_S;
        // Many functions take 32 bits.
        let seconds = |time_s: u64| time_s.wrapping_sub(first) as u32;
        seconds(seed) <= seconds(last) || seed as u32 == process as u32
    }
}

/// Whether a branch began from another, or is the same.
fn is_descendant(branches: &[usize], branch: usize, other: usize) -> bool {
    let mut at = branch;
    // A branch has a greater number than the one from which it began.
    while at > other && branches[at] != at {
        at = branches[at];
    }
    at == other
}

fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_since_the_beginning_is_guessable_also_when_it_is_seen_late() {
        let origins = Origins {
            began: Began(now_s() - 100),
            ..Origins::default()
        };
        for (ago_s, is_time) in [(0, true), (50, true), (101, true), (200, false)] {
            assert_eq!(origins.is_guessable(now_s() - ago_s, 7), is_time, "{ago_s}");
        }
        assert!(origins.is_guessable(7, 7) && !origins.is_guessable(8, 7));
        assert!(!origins.is_guessable(now_s() + 200, 7));
    }
}
