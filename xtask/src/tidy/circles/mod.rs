//! No circles: files of a crate, or of the kernel module, that need each other cannot be read one after the other.
//!
//! ```text
//! tokens   a source without comments and strings, as words and signs
//! graph    files, and the arrows between them
//! rust     which file of a crate names something that another file defines
//! c        which file of a folder calls a function that another file defines
//! strong   the circles of a graph (Tarjan's strongly connected components)
//! ```

mod c;
mod graph;
mod rust;
mod strong;
mod tokens;

use super::fault::{Fault, Rule};
use graph::{Graph, Source};
use std::collections::BTreeMap;

/// Checks all crates and the kernel module.
pub(super) fn check(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    for folder in crates(files) {
        report(&rust::graph(&below(files, &folder, ".rs")), faults);
    }
    report(&c::graph(&below(files, "kernel/", ".c")), faults);
}

fn report(graph: &Graph, faults: &mut Vec<Fault>) {
    for circle in strong::circles(graph) {
        let note = format!("files that need each other: {}", circle.join(", "));
        faults.push(Fault::new(&circle[0], 0, Rule::Circle, note));
    }
}

/// The folders with the sources of a crate, each with a slash at the end.
fn crates(files: &BTreeMap<String, String>) -> Vec<String> {
    files
        .keys()
        .filter_map(|path| path.strip_suffix("Cargo.toml"))
        .map(|folder| format!("{folder}src/"))
        .collect()
}

/// The files directly or indirectly in a folder, by their path in the repository, with the path in the folder.
fn below<'a>(files: &'a BTreeMap<String, String>, folder: &str, end: &str) -> Vec<Source<'a>> {
    files
        .iter()
        .filter(|(path, _)| path.ends_with(end))
        .filter_map(|(path, text)| {
            let name = path.strip_prefix(folder)?;
            Some(Source { path, name, text })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(files: &[(&str, &str)]) -> Vec<String> {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let mut faults = Vec::new();
        check(&files, &mut faults);
        faults.into_iter().map(|fault| fault.note).collect()
    }

    #[test]
    fn circles_of_a_crate_and_of_the_module_are_found() {
        let rust = [
            ("crates/x/Cargo.toml", ""),
            ("crates/x/src/lib.rs", "mod a;\nmod b;"),
            ("crates/x/src/a.rs", "use crate::b::B;\npub struct A;"),
            ("crates/x/src/b.rs", "use crate::a::A;\npub struct B;"),
        ];
        assert_eq!(notes(&rust).len(), 1);
        let c = [
            ("kernel/a.c", "int ws_a(void)\n{\n\treturn ws_b();\n}\n"),
            ("kernel/b.c", "int ws_b(void)\n{\n\treturn ws_a();\n}\n"),
        ];
        assert_eq!(
            notes(&c),
            ["files that need each other: kernel/a.c, kernel/b.c"]
        );
    }
}
