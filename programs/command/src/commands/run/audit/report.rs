//! The findings of an audit, as text and as JSON.

use super::origins::Finding;
use super::tracer::Audit;
use crate::failure::say;
use serde_json::{Value, json};

/// Kind, generator, processes and words of a finding.
fn parts(finding: &Finding) -> (&'static str, &'static str, Vec<i32>, &'static str) {
    match finding {
        Finding::SameState(name, processes) => {
            let words = "draw from copies of one state, which nothing seeded after the fork";
            ("same-state", name, processes.to_vec(), words)
        }
        Finding::GuessableSeed(name, process) => {
            let words = "seeds by the time or by its own number";
            ("guessable-seed", name, vec![*process], words)
        }
        Finding::NeverSeeded(name, process) => (
            "never-seeded",
            name,
            vec![*process],
            "draws, and nothing seeded",
        ),
        Finding::OlderThanClone(name, process) => {
            let words = "draws, and the machine was cloned since the last seed";
            ("older-than-clone", name, vec![*process], words)
        }
    }
}

/// The sorted paths of files.
fn files(audit: &Audit, is_wanted: impl Fn(&super::breakpoints::Code) -> bool) -> Vec<String> {
    let wanted = audit.codes.all().filter(|code| is_wanted(code));
    let mut paths: Vec<String> = wanted.map(|code| code.path.clone()).collect();
    paths.sort();
    paths
}

/// Prints everything to stderr.
pub(super) fn print(audit: &Audit) {
    for ((name, file), draws) in &audit.draws {
        let (calls, processes) = (draws.calls, draws.processes.len());
        say(&format!(
            "wellspring: draws on {name} ({file}): {calls} calls, {processes} processes"
        ));
    }
    if audit.draws.is_empty() {
        say("wellspring: no draw was seen");
    }
    for path in files(audit, |code| code.has_rdrand) {
        say(&format!("wellspring: contains RDRAND or RDSEED: {path}"));
    }
    for path in files(audit, |code| code.hides_functions) {
        say(&format!(
            "wellspring: static and without symbols, so only its system calls are seen (build it without `strip`): {path}"
        ));
    }
    for finding in &audit.origins.findings {
        let (kind, name, processes, words) = parts(finding);
        let processes: Vec<String> = processes.iter().map(i32::to_string).collect();
        let processes = processes.join(" and ");
        say(&format!(
            "wellspring: fault {kind}: {name}: process {processes} {words}"
        ));
    }
    let count = audit.origins.findings.len();
    say(&format!("wellspring: {count} faults"));
}

/// Everything for programs.
pub(super) fn json(audit: &Audit) -> Value {
    let draws = audit.draws.iter().map(|((name, file), draws)| {
        json!({
            "generator": name,
            "file": file,
            "calls": draws.calls,
            "processes": draws.processes,
        })
    });
    let faults = audit.origins.findings.iter().map(|finding| {
        let (kind, name, processes, _) = parts(finding);
        json!({ "kind": kind, "generator": name, "processes": processes })
    });
    json!({
        "draws": draws.collect::<Vec<_>>(),
        "faults": faults.collect::<Vec<_>>(),
        "contain_rdrand": files(audit, |code| code.has_rdrand),
        "only_system_calls": files(audit, |code| code.hides_functions),
    })
}
