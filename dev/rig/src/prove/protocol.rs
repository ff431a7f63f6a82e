//! SPIN goes through all states of a model in `proofs/protocol/`, in each of its cases.
//!
//! A case is a bound on what happens, given as macros. A model may print rows: all rows of its cases are its table, a file that
//! tests of the code read too.

use super::edits::{Edit, parse};
use super::{Job, Tools, answer, jobs_of, must, read, write};
use crate::guest::{Result, failed};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A model, and its text.
#[derive(Clone)]
struct Model {
    file: &'static str,
    cases: &'static str,
    text: String,
}

/// The cases of the taps, the smallest first: they refute most mutants. Two forks, two copies, one of each; handlers that
/// interrupt handlers, without a tap of their own; handlers that leave by siglongjmp; two threads: their ends, a reseed; forks,
/// and copies, of a read and of a handler that reads: without a tap of its own, and with one; all depths; a fork, and a copy,
/// beside another thread.
const OF_TAPS: &str = "\
-DFORKS=2 -DMEMORIES=3 -DFRAMES=1
-DCOPIES=2 -DMEMORIES=3 -DFRAMES=1
-DFORKS=1 -DCOPIES=1 -DMEMORIES=3 -DFRAMES=1
-DDEPTHS=1 -DFRAMES=3 -DREADS=3
-DJUMPS=1 -DFORKS=1 -DREADS=1
-DJUMPS=2 -DFRAMES=3 -DREADS=4
-DTHREADS=2 -DFRAMES=1 -DENDS=2
-DTHREADS=2 -DFRAMES=1 -DRESEEDS=1
-DFORKS=1 -DDEPTHS=1
-DFORKS=1
-DCOPIES=1 -DDEPTHS=1
-DCOPIES=1
-DDEPTHS=4 -DFRAMES=5 -DREADS=5
-DTHREADS=2 -DFRAMES=1 -DDEPTHS=1 -DFORKS=1 -DREADS=1
-DTHREADS=2 -DFRAMES=1 -DDEPTHS=1 -DCOPIES=1 -DREADS=1 -DREADS_AGAIN=0";

const MODELS: [(&str, &str, &str); 2] = [
    ("P3 taps", "taps", OF_TAPS),
    // No bound: a line without words.
    ("P8 seed file", "seedfile", "\n"),
];

pub(super) fn jobs(root: &Path) -> Result<Vec<Job>> {
    super::steps::check(root)?;
    let mut jobs = Vec::new();
    for (name, file, cases) in MODELS {
        let text = read(&path(root, file, "pml"))?;
        let model = Model { file, cases, text };
        let mutants = parse(&read(&path(root, file, "mutants"))?)?;
        let parts = vec![(name.into(), model.clone())];
        jobs.extend(jobs_of(parts, (name, model), mutants, Model::run)?);
    }
    Ok(jobs)
}

fn path(root: &Path, file: &str, extension: &str) -> PathBuf {
    root.join(format!("proofs/protocol/{file}.{extension}"))
}

impl Model {
    /// At least one case must refute a mutant.
    fn run(&self, tools: &Tools, name: &str, mutant: Option<&Edit>) -> Result<String> {
        let Some(mutant) = mutant else {
            return self.prove(tools, name);
        };
        let text = mutant.apply(&self.text)?;
        for case in self.cases.lines() {
            let says = search(tools, name, &text, case)?;
            if says.errors > 0 {
                return Ok(format!("refuted: {}", says.claim));
            }
        }
        failed("no claim fails without it")
    }

    fn prove(&self, tools: &Tools, name: &str) -> Result<String> {
        let mut whole: Option<Says> = None;
        for case in self.cases.lines() {
            let says = search(tools, name, &self.text, case)?;
            if says.errors > 0 {
                return failed(format!("{case}: {}", says.claim));
            }
            whole = Some(match whole {
                None => says,
                Some(before) => before.with(says),
            });
        }
        let Some(whole) = whole else {
            return failed("no cases");
        };
        if !whole.unreached.is_empty() {
            return failed(format!("never reached: {:?}", whole.unreached));
        }
        self.compare_table(tools, name, &whole.rows)?;
        let (cases, rows) = (self.cases.lines().count(), whole.rows.len());
        Ok(format!(
            "{} states in {cases} cases, {rows} rows",
            whole.states
        ))
    }

    /// The rows that were found are those of the file in the repository. A model without rows has no file.
    fn compare_table(&self, tools: &Tools, name: &str, rows: &BTreeSet<String>) -> Result {
        let table: String = rows.iter().map(|row| format!("{row}\n")).collect();
        let path = path(&tools.root, self.file, "table");
        if read(&path).unwrap_or_default() == table {
            return Ok(());
        }
        let found = tools.folder(name)?.join("table");
        write(&found, &table)?;
        failed(format!(
            "{} differs from {}",
            path.display(),
            found.display()
        ))
    }
}

/// Goes through all states of a case.
fn search(tools: &Tools, name: &str, text: &str, case: &str) -> Result<Says> {
    let folder = tools.folder(name)?;
    write(&folder.join("model.pml"), text)?;
    let translate: Vec<&str> = ["-a"]
        .into_iter()
        .chain(case.split_whitespace())
        .chain(["model.pml"])
        .collect();
    must(&tools.trixie, "spin", &translate, &folder)?;
    let compile = "-O2 -w -DSAFETY -DNOREDUCE -DCOLLAPSE -DPRINTF -o pan pan.c";
    let compile: Vec<&str> = compile.split(' ').collect();
    must(&tools.trixie, "gcc", &compile, &folder)?;
    let pan = folder.join("pan");
    // Without a limit of depth that is reached: that would leave states out.
    let (_, text) = answer(
        &tools.trixie,
        &pan.to_string_lossy(),
        &["-m1000000"],
        &folder,
    )?;
    Says::of(&text)
}

/// The answers of a search.
#[derive(Debug, Default, PartialEq, Eq)]
struct Says {
    states: u64,
    errors: u64,
    claim: String,
    /// Statements that no state reached.
    unreached: BTreeSet<String>,
    rows: BTreeSet<String>,
}

impl Says {
    fn of(text: &str) -> Result<Self> {
        if text.contains("max search depth too small") || text.contains("out of memory") {
            return failed("the search is not complete");
        }
        let number = |end: &str| -> Option<u64> {
            let line = text.lines().find(|line| line.contains(end))?;
            let before = line.split(end).next()?;
            before.split_whitespace().last()?.parse().ok()
        };
        let errors = text.lines().find_map(|line| line.split("errors: ").nth(1));
        let errors = errors.and_then(|text| text.trim().parse().ok());
        let (Some(states), Some(errors)) = (number(" states, stored"), errors) else {
            let last: Vec<&str> = text.lines().rev().take(20).collect();
            return failed(format!("no answer:\n{}", last.join("\n")));
        };
        let lines = || text.lines().map(str::trim);
        let claim = lines().find(|line| line.starts_with("pan:1:"));
        // A model has no end: its reads stop at their bound.
        let is_unreached =
            |line: &&str| line.starts_with("model.pml:") && !line.contains("\"-end-\"");
        Ok(Self {
            states,
            errors,
            claim: claim.unwrap_or_default().into(),
            unreached: lines().filter(is_unreached).map(String::from).collect(),
            rows: lines().filter_map(row).collect(),
        })
    }

    /// The answers of two cases: a statement must be reached in one of them.
    fn with(self, other: Self) -> Self {
        Self {
            states: self.states + other.states,
            errors: self.errors + other.errors,
            claim: self.claim,
            unreached: &self.unreached & &other.unreached,
            rows: &self.rows | &other.rows,
        }
    }
}

/// A row of the table from a line like "row fork 0 1 1 0": does a read of a node follow, has the read a depth, has it bytes, and
/// what became of it.
fn row(line: &str) -> Option<String> {
    let mut words = line.strip_prefix("row ")?.split(' ');
    let event = words.next()?;
    let mut pick = |names: [&'static str; 2]| match words.next()? {
        "0" => Some(names[0]),
        "1" => Some(names[1]),
        _ => None,
    };
    let reader = pick(["tap", "node"])?;
    let depth = pick(["free", "taken"])?;
    let bytes = pick(["none", "some"])?;
    let read = pick(match event {
        "signal" => ["kept", "again"],
        _ => ["again", "late"],
    })?;
    Some(format!("{event:6} {reader:4}  {depth:5}  {bytes}  {read}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_and_an_unreached_statement_are_seen() {
        let good = "State-vector 88 byte, depth reached 99, errors: 0\n     4497 states, stored\n\
                    unreached in proctype all\n\t(0 of 236 states)\n";
        let says = Says::of(good).unwrap();
        assert_eq!((says.states, says.errors), (4497, 0));
        assert!(says.unreached.is_empty());
        let missed = good.replace("\t(0 of", "\tmodel.pml:9, state 4, \"x\"\n\t(1 of");
        assert_eq!(Says::of(&missed).unwrap().unreached.len(), 1);
        let bad = format!(
            "pan:1: assertion violated (a==1) (at depth 9)\n{}",
            good.replace("s: 0", "s: 1")
        );
        let says = Says::of(&bad).unwrap();
        assert_eq!((says.errors, says.claim.contains("a==1")), (1, true));
        assert!(Says::of("").is_err());
        assert!(Says::of(&format!("error: max search depth too small\n{good}")).is_err());
    }

    #[test]
    fn a_statement_is_reached_if_one_case_reaches_it() {
        let says = |text: &str| Says::of(&format!("errors: 0\n5 states, stored\n{text}")).unwrap();
        let one = says("\tmodel.pml:9, state 4, \"x\"\n\tmodel.pml:10, state 5, \"y\"\n");
        let whole = one.with(says("\tmodel.pml:9, state 4, \"x\"\n row fork 0 1 1 0\n"));
        assert_eq!((whole.states, whole.unreached.len()), (10, 1));
        let row = "fork   tap   taken  some  again".to_owned();
        assert_eq!(whole.rows, BTreeSet::from([row]));
    }
}
