//! Which file of a crate names something that another file of it defines.
//!
//! Names are followed to the file that defines them: `use super::Error` in `engine/read.rs` is an arrow to `error.rs`
//! if `engine/mod.rs` only hands the name on. Code under `#[cfg(test)]` is not looked at.

use super::graph::{Graph, Source};
use super::tokens::tokens;
use std::collections::{BTreeMap, BTreeSet};

/// The most steps by which a name is re-exported.
const MAX_STEPS: usize = 16;

/// A path of words, as in `crate::engine::Engine`.
type Words<'a> = Vec<&'a str>;

/// A file of the crate.
struct Module<'a> {
    path: &'a str,
    /// Names that other files' items have here: the name, and the path that it stands for.
    aliases: BTreeMap<&'a str, Words<'a>>,
    /// `pub use x::*`.
    globs: Vec<Words<'a>>,
    /// All paths that its code needs.
    needs: Vec<Words<'a>>,
    /// The items that it defines.
    items: BTreeSet<&'a str>,
}

/// The modules of a crate by their path.
type Modules<'a> = BTreeMap<Words<'a>, Module<'a>>;

/// The arrows between the files of a crate.
pub(super) fn graph(sources: &[Source]) -> Graph {
    let modules: Modules = sources.iter().filter_map(module).collect();
    let needs = |(name, module): (&Words, &Module)| {
        let found = module
            .needs
            .iter()
            .filter_map(|words| resolve(&modules, name, words, 0))
            .map(|name| modules[&name].path)
            .filter(|path| *path != module.path)
            .map(str::to_owned);
        (module.path.to_owned(), found.collect())
    };
    modules.iter().map(needs).collect()
}

/// Reads a file. Files of tests are none of the crate.
fn module<'a>(source: &Source<'a>) -> Option<(Words<'a>, Module<'a>)> {
    let mut name: Words = source.name.strip_suffix(".rs")?.split('/').collect();
    if name.contains(&"tests") || name[0] == "bin" {
        return None;
    }
    if name.last() == Some(&"mod") || name.len() == 1 && ["lib", "main"].contains(&name[0]) {
        name.pop();
    }
    let tokens = without_tests(tokens(source.text));
    let mut module = Module {
        path: source.path,
        aliases: BTreeMap::new(),
        globs: Vec::new(),
        needs: Vec::new(),
        items: BTreeSet::new(),
    };
    let mut children = BTreeSet::new();
    for pair in tokens.windows(2) {
        match pair {
            ["mod", child] => {
                children.insert(*child);
            }
            [
                "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static",
                item,
            ] => {
                module.items.insert(*item);
            }
            _ => {}
        }
    }
    read(&tokens, &children, &mut module);
    Some((name, module))
}

/// The tokens up to `#[cfg(test)] mod x {`, and without `#[cfg(test)] mod x;`.
fn without_tests(tokens: Words) -> Words {
    const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut rest = &tokens[..];
    while let Some(first) = rest.first() {
        if rest.starts_with(&ATTRIBUTE) && rest.get(7) == Some(&"mod") {
            if rest.get(9) == Some(&"{") {
                break;
            }
            rest = &rest[10.min(rest.len())..];
            continue;
        }
        kept.push(*first);
        rest = &rest[1..];
    }
    kept
}

/// Collects what a file imports, hands on, and names by a path.
fn read<'a>(tokens: &[&'a str], children: &BTreeSet<&'a str>, module: &mut Module<'a>) {
    let is_start =
        |word: &str| ["crate", "super", "self"].contains(&word) || children.contains(word);
    let mut handed_on = Vec::new();
    let mut used = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_path =
            tokens.get(at + 1) == Some(&"::") && at.checked_sub(1).map(|i| tokens[i]) != Some("::");
        if tokens[at] == "use" {
            let is_public = is_public(&tokens[..at]);
            let end = tokens[at..].iter().position(|token| *token == ";");
            let end = end.map_or(tokens.len(), |length| at + length);
            let mut imports = Vec::new();
            tree(&tokens[at + 1..end], &mut 0, &Vec::new(), &mut imports);
            for (words, alias) in imports.into_iter().filter(|(words, _)| is_start(words[0])) {
                match (alias, is_public) {
                    ("*", _) => module.globs.push(words.clone()),
                    _ => drop(module.aliases.insert(alias, words.clone())),
                }
                if is_public {
                    handed_on.push((alias, words));
                } else {
                    module.needs.push(words);
                }
            }
            at = end;
        } else if is_path && is_start(tokens[at]) && !tokens[..at].ends_with(&["(", "in"]) {
            let words = path(&tokens[at..]);
            at += 2 * words.len() - 1;
            module.needs.push(words);
            continue;
        } else {
            used.insert(tokens[at]);
        }
        at += 1;
    }
    // A name that a file hands on and uses as well.
    let both = handed_on
        .into_iter()
        .filter(|(alias, _)| used.contains(alias));
    module.needs.extend(both.map(|(_, words)| words));
}

/// Whether `pub` or `pub(..)` comes before.
fn is_public(before: &[&str]) -> bool {
    match before {
        [.., "pub"] => true,
        [.., ")"] => before
            .iter()
            .rposition(|token| *token == "(")
            .is_some_and(|open| open > 0 && before[open - 1] == "pub"),
        _ => false,
    }
}

/// The words of a path at the start, without what follows the last `::word`.
fn path<'a>(tokens: &[&'a str]) -> Words<'a> {
    let mut words = vec![tokens[0]];
    let mut rest = &tokens[1..];
    while let ["::", word, after @ ..] = rest {
        if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            break;
        }
        words.push(*word);
        rest = after;
    }
    words
}

/// The leaves of a tree of imports: each with its whole path, and the name that it gets here.
fn tree<'a>(
    tokens: &[&'a str],
    at: &mut usize,
    before: &Words<'a>,
    found: &mut Vec<(Words<'a>, &'a str)>,
) {
    let mut words = before.clone();
    let mut alias = None;
    while let Some(&token) = tokens.get(*at) {
        *at += 1;
        match token {
            "::" => {}
            "{" => {
                while tokens.get(*at).is_some_and(|token| *token != "}") {
                    tree(tokens, at, &words, found);
                }
                *at += 1;
                words.clear();
            }
            "}" => {
                *at -= 1;
                break;
            }
            "," => break,
            "as" => {
                alias = tokens.get(*at).copied();
                *at += 1;
            }
            "*" => alias = Some("*"),
            word => words.push(word),
        }
    }
    if words.last() == Some(&"self") && words.len() > 1 {
        words.pop();
    }
    if let Some(last) = words.last() {
        found.push((words.clone(), alias.unwrap_or(last)));
    }
}

/// The module that defines what the words name, seen from the module `here`.
fn resolve<'a>(
    modules: &Modules<'a>,
    here: &Words<'a>,
    words: &[&'a str],
    steps: usize,
) -> Option<Words<'a>> {
    if steps > MAX_STEPS {
        return None;
    }
    let mut place = here.clone();
    let mut rest = words;
    while let [first, after @ ..] = rest {
        match *first {
            "crate" => place.clear(),
            "self" => {}
            "super" => drop(place.pop()),
            _ => break,
        }
        rest = after;
    }
    while let [first, after @ ..] = rest {
        let mut child = place.clone();
        child.push(first);
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
            let target: Words = target.iter().chain(after).copied().collect();
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
        let sources: Vec<Source> = files
            .iter()
            .map(|(name, text)| Source {
                path: name,
                name,
                text,
            })
            .collect();
        let graph = graph(&sources);
        let line = |from: &str, to: &str| format!("{from}>{to}").replace(".rs", "");
        graph
            .iter()
            .flat_map(|(from, to)| to.iter().map(move |to| line(from, to)))
            .collect()
    }

    #[test]
    fn imports_and_paths_in_code_are_arrows() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\nfn f() { a::x() }"),
            ("a.rs", "use crate::{b::{self, B}, c as d};\npub fn x() {}"),
            (
                "b.rs",
                "pub struct B;\nfn f() { super::c::y(); std::mem::drop(1) }",
            ),
            ("c.rs", "use std::fmt;\npub fn y() {}"),
        ];
        assert_eq!(arrows(&files), ["a>b", "a>c", "b>c", "lib>a"]);
    }

    #[test]
    fn a_name_that_is_handed_on_is_an_arrow_to_where_it_is_defined() {
        let files = [
            ("lib.rs", "mod error;\nmod engine;\npub use error::Error;"),
            ("error.rs", "pub enum Error { A }"),
            ("engine/mod.rs", "mod read;\npub(crate) use read::fill;"),
            ("engine/read.rs", "use crate::Error;\npub fn fill() {}"),
        ];
        assert_eq!(arrows(&files), ["engine/read>error"]);
    }

    #[test]
    fn a_name_that_is_handed_on_and_used_is_an_arrow() {
        let files = [
            ("lib.rs", "mod a;\npub use a::A;\npub struct B(A);"),
            ("a.rs", "use super::B;\npub struct A;"),
        ];
        assert_eq!(arrows(&files), ["a>lib", "lib>a"]);
    }

    #[test]
    fn what_only_tests_need_is_no_arrow() {
        let files = [
            ("main.rs", "mod a;\n#[cfg(test)]\nmod tests;\nuse a::A;"),
            (
                "a.rs",
                "pub struct A;\n#[cfg(test)]\nmod tests { use crate::main; use super::*; }",
            ),
            ("tests.rs", "use super::a;"),
        ];
        assert_eq!(arrows(&files), ["main>a"]);
    }

    #[test]
    fn everything_of_a_module_is_followed_to_its_file() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::*;"),
            ("a.rs", "pub struct A;"),
            ("b.rs", "use crate::A;"),
        ];
        assert_eq!(arrows(&files), ["b>a"]);
    }
}
