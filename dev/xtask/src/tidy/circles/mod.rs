//! No circles: files of a crate that need each other cannot be read one after the other.
//!
//! An arrow leads from a file to each file that defines a name which the first file imports or writes as a path. Names are
//! followed to their definition: `use super::Error` in `engine/read.rs` is an arrow to `error.rs` if `engine/mod.rs` only
//! hands the name on. An `impl` spread over files has arrows that no import shows, so a call of a method on `self` is an
//! arrow to the file with that method. Code under `#[cfg(test)]` is not looked at. The C files of the module have
//! `kernel/tests/call-order.sh`.

mod module;

use super::fault::Fault;
use module::{Method, Module, Words};
use std::collections::{BTreeMap, BTreeSet};

/// The most steps by which a name is re-exported.
const MAX_STEPS: usize = 16;

/// From each file to the files that it needs.
type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Checks all crates.
pub(super) fn check(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    let manifests = files
        .keys()
        .filter_map(|path| path.strip_suffix("Cargo.toml"));
    for folder in manifests.map(|folder| format!("{folder}src/")) {
        for circle in circles(&graph(&modules(files, &folder))) {
            let note = format!("files that need each other: {}", circle.join(", "));
            faults.push(Fault::new(circle[0], 0, note));
        }
    }
}

/// The files that reach each other, sorted.
fn circles<'a>(graph: &Graph<'a>) -> BTreeSet<Vec<&'a str>> {
    let reached = |from: &str| {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = graph[from].iter().copied().collect();
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(&graph[next]);
            }
        }
        found
    };
    let reached: Graph = graph.keys().map(|from| (*from, reached(from))).collect();
    let back = |from: &str, to: &&str| reached[*to].contains(from);
    let circle = |(from, to): (&&str, &BTreeSet<&'a str>)| -> Vec<&'a str> {
        to.iter().copied().filter(|to| back(from, to)).collect()
    };
    let all = reached.iter().map(circle);
    all.filter(|circle| circle.len() > 1).collect()
}

/// The modules of a crate by their path.
type Modules<'a> = BTreeMap<Words, Module<'a>>;

fn modules<'a>(files: &'a BTreeMap<String, String>, folder: &str) -> Modules<'a> {
    let read = |(path, text): (&'a String, &String)| {
        let mut name: Words = path
            .strip_prefix(folder)?
            .strip_suffix(".rs")?
            .split('/')
            .map(String::from)
            .collect();
        if name.iter().any(|word| word == "tests") || name[0] == "bin" {
            return None;
        }
        let is_root = name.len() == 1 && ["lib", "main"].contains(&name[0].as_str());
        if is_root || name.last().is_some_and(|last| last == "mod") {
            name.pop();
        }
        let module = Module::read(path, text)?;
        Some((name, module))
    };
    files.iter().filter_map(read).collect()
}

fn graph<'a>(modules: &Modules<'a>) -> Graph<'a> {
    let mut owners: BTreeMap<&Method, &str> = BTreeMap::new();
    for module in modules.values() {
        owners.extend(module.methods.iter().map(|method| (method, module.path)));
    }
    let needs = |(name, module): (&Words, &Module<'a>)| {
        let is_local = |words: &Words| {
            let first = words[0].as_str();
            ["crate", "super", "self"].contains(&first) || module.children.contains(first)
        };
        // A name that a file hands on is needed if its code uses the name as well.
        let used = |alias: &String| module.paths.iter().any(|words| words[0] == *alias);
        let handed_on = module.handed_on.iter();
        let both = handed_on.filter_map(|(alias, words)| used(alias).then_some(words));
        let paths = module
            .paths
            .iter()
            .chain(both)
            .filter(|words| is_local(words));
        let defined = paths.filter_map(|words| resolve(modules, name, words, 0));
        let defined = defined.map(|name| modules[&name].path);
        let called = module.calls.iter().filter_map(|call| {
            let is_here = module.methods.contains(call);
            (!is_here).then(|| owners.get(call).copied()).flatten()
        });
        let all = defined.chain(called).filter(|path| *path != module.path);
        // From the files, which outlive the graph.
        let all: BTreeSet<&str> = all.collect();
        let kept = modules.values().map(|module| module.path);
        (
            module.path,
            kept.filter(|path| all.contains(path)).collect(),
        )
    };
    modules.iter().map(needs).collect()
}

/// The module that defines what the words name, seen from the module `here`.
fn resolve(modules: &Modules<'_>, here: &Words, words: &[String], steps: usize) -> Option<Words> {
    if steps > MAX_STEPS {
        return None;
    }
    let mut place = here.clone();
    let mut rest = words;
    while let [first, after @ ..] = rest {
        match first.as_str() {
            "crate" => place.clear(),
            "self" => {}
            "super" => drop(place.pop()),
            _ => break,
        }
        rest = after;
    }
    while let [first, after @ ..] = rest {
        let mut child = place.clone();
        child.push(first.clone());
        if modules.contains_key(&child) {
            place = child;
            rest = after;
            continue;
        }
        let module = modules.get(&place)?;
        if module.items.contains(first) {
            break;
        }
        if let Some(target) = module.aliases.get(first) {
            let target: Words = target.iter().chain(after).cloned().collect();
            return resolve(modules, &place, &target, steps + 1);
        }
        let by_glob = module.globs.iter().find_map(|glob| {
            let owner = resolve(modules, &place, glob, steps + 1)?;
            modules[&owner].items.contains(first).then_some(owner)
        });
        return by_glob.or(Some(place));
    }
    modules.contains_key(&place).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arrows as `from>to`, without the ending of the names.
    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let own = |(name, text): &(&str, &str)| (format!("src/{name}"), (*text).to_owned());
        let files = files.iter().map(own).collect();
        let modules = modules(&files, "src/");
        let lines = graph(&modules).into_iter().flat_map(|(from, to)| {
            let line = move |to| {
                format!("{from}>{to}")
                    .replace(".rs", "")
                    .replace("src/", "")
            };
            to.into_iter().map(line).collect::<Vec<_>>()
        });
        lines.collect()
    }

    #[test]
    fn imports_and_paths_in_code_are_arrows() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; fn f() { a::x() }"),
            ("a.rs", "use crate::{b::{self, B}, c as d}; pub fn x() {}"),
            (
                "b.rs",
                "pub struct B; fn f() { assert!(super::c::y()); std::mem::drop(1) }",
            ),
            ("c.rs", "use std::fmt; pub(in crate::a) fn y() -> bool {}"),
        ];
        assert_eq!(arrows(&files), ["a>b", "a>c", "b>c", "lib>a"]);
    }

    #[test]
    fn a_name_that_is_handed_on_is_an_arrow_to_where_it_is_defined() {
        let files = [
            ("lib.rs", "mod error; mod engine; pub use error::Error;"),
            ("error.rs", "pub enum Error { A }"),
            ("engine/mod.rs", "mod read; pub(crate) use read::fill;"),
            ("engine/read.rs", "use crate::Error; pub fn fill() {}"),
        ];
        assert_eq!(arrows(&files), ["engine/read>error"]);
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::*;"),
            ("a.rs", "pub struct A;"),
            ("b.rs", "use crate::A;"),
        ];
        assert_eq!(arrows(&files), ["b>a"]);
    }

    #[test]
    fn a_name_that_is_handed_on_and_used_is_an_arrow() {
        let files = [
            ("lib.rs", "mod a; pub use a::A; pub struct B(A);"),
            ("a.rs", "use super::B; pub struct A;"),
        ];
        assert_eq!(arrows(&files), ["a>lib", "lib>a"]);
    }

    #[test]
    fn what_only_tests_need_is_no_arrow() {
        let files = [
            ("main.rs", "mod a; #[cfg(test)] mod tests; use a::A;"),
            (
                "a.rs",
                "pub struct A; #[cfg(test)] mod tests { use crate::main; use super::*; }",
            ),
            ("tests.rs", "use super::a;"),
        ];
        assert_eq!(arrows(&files), ["main>a"]);
    }

    #[test]
    fn a_call_of_a_method_in_another_file_is_an_arrow() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub struct A; impl A { fn x(&self) { self.y() } }"),
            (
                "b.rs",
                "use crate::a::A; impl A { fn y(&self) {} } struct B; impl B { fn x(&self) {} }",
            ),
        ];
        assert_eq!(arrows(&files), ["a>b", "b>a"]);
    }

    #[test]
    fn every_circle_is_found_once_and_a_chain_is_none() {
        let found = |arrows: &[(&'static str, &'static str)]| {
            let mut graph = Graph::new();
            for (from, to) in arrows {
                graph.entry(to).or_default();
                graph.entry(from).or_default().insert(to);
            }
            circles(&graph)
                .iter()
                .map(|circle| circle.concat())
                .collect::<Vec<_>>()
        };
        assert!(found(&[("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]).is_empty());
        assert_eq!(
            found(&[("c", "a"), ("a", "b"), ("b", "c"), ("c", "d")]),
            ["abc"]
        );
        let two = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")];
        assert_eq!(found(&two), ["ab", "cd"]);
    }
}
