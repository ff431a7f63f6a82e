//! SPIN goes through all states of a model in `proofs/protocol/`.

use super::edits::{Edit, parse};
use super::{Tools, answer, must, read, write};
use crate::guest::{Result, failed};
use std::path::Path;

/// The models.
const MODELS: [(&str, &str); 1] = [("P3 forks and copies", "taps")];

/// A model, or one with a mutant.
pub(super) struct Job {
    pub(super) name: String,
    model: String,
    mutant: Option<Edit>,
}

/// All models and mutants.
pub(super) fn jobs(root: &Path) -> Result<Vec<super::Job>> {
    let mut jobs = Vec::new();
    for (name, file) in MODELS {
        let file = root.join("proofs/protocol").join(file);
        let model = read(&file.with_extension("pml"))?;
        jobs.push(Job {
            name: name.into(),
            model: model.clone(),
            mutant: None,
        });
        let mutants = parse(&read(&file.with_extension("mutants"))?)?;
        if mutants.len() < 2 {
            return failed(format!("{name}: a model has at least two mutants"));
        }
        jobs.extend(mutants.into_iter().map(|mutant| Job {
            name: format!("{name} without: {}", mutant.name),
            model: model.clone(),
            mutant: Some(mutant),
        }));
    }
    Ok(jobs.into_iter().map(super::Job::Protocol).collect())
}

impl Job {
    pub(super) fn run(&self, tools: &Tools) -> Result<String> {
        let folder = tools.folder(&self.name)?;
        let model = match &self.mutant {
            Some(mutant) => mutant.apply(&self.model)?,
            None => self.model.clone(),
        };
        write(&folder.join("model.pml"), &model)?;
        must(&tools.trixie, "spin", &["-a", "model.pml"], &folder)?;
        let compile = ["-O2", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"];
        must(&tools.trixie, "gcc", &compile, &folder)?;
        let pan = folder.join("pan");
        // Without a limit of depth that is reached: that would leave states out.
        let (_, text) = answer(
            &tools.trixie,
            &pan.to_string_lossy(),
            &["-m1000000"],
            &folder,
        )?;
        let says = Says::of(&text)?;
        match &self.mutant {
            None if says.errors > 0 => failed(says.claim),
            None if says.unreached > 0 => failed(format!("never reached:\n{text}")),
            None => Ok(format!("{} states", says.states)),
            Some(_) if says.errors > 0 => Ok(format!("refuted: {}", says.claim)),
            Some(_) => failed("no claim fails without it"),
        }
    }
}

/// The answers of a search.
#[derive(Debug, Default, PartialEq, Eq)]
struct Says {
    states: u64,
    errors: u64,
    claim: String,
    /// Statements that no state reached.
    unreached: usize,
}

impl Says {
    fn of(text: &str) -> Result<Self> {
        if text.contains("max search depth too small") || text.contains("out of memory") {
            return failed(format!("the search is not complete:\n{text}"));
        }
        let number = |end: &str| -> Option<u64> {
            let line = text.lines().find(|line| line.contains(end))?;
            let before = line.split(end).next()?;
            before.split_whitespace().last()?.parse().ok()
        };
        let errors = text.lines().find_map(|line| line.split("errors: ").nth(1));
        let errors = errors.and_then(|text| text.trim().parse().ok());
        let (Some(states), Some(errors)) = (number(" states, stored"), errors) else {
            return failed(format!("no answer:\n{text}"));
        };
        let claim = text.lines().find(|line| line.starts_with("pan:1:"));
        Ok(Self {
            states,
            errors,
            claim: claim.unwrap_or_default().into(),
            unreached: text
                .lines()
                .filter(|line| line.trim_start().starts_with("model.pml:"))
                .count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_and_an_unreached_statement_are_seen() {
        let good = "State-vector 88 byte, depth reached 99, errors: 0\n     4497 states, stored\n\
                    unreached in proctype all\n\t(0 of 236 states)\n";
        let says = Says::of(good).unwrap();
        assert_eq!((says.states, says.errors, says.unreached), (4497, 0, 0));
        let missed = good.replace("\t(0 of", "\tmodel.pml:9, state 4, \"x\"\n\t(1 of");
        assert_eq!(Says::of(&missed).unwrap().unreached, 1);
        let bad = format!(
            "pan:1: assertion violated (a==1) (at depth 9)\n{}",
            good.replace("s: 0", "s: 1")
        );
        let says = Says::of(&bad).unwrap();
        assert_eq!((says.errors, says.claim.contains("a==1")), (1, true));
        assert!(Says::of("").is_err());
        assert!(Says::of(&format!("error: max search depth too small\n{good}")).is_err());
    }
}
