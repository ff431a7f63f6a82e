//! Which C file calls a function that another one defines. Headers only declare, so they are not looked at.

use super::graph::{Graph, Source};
use super::tokens::tokens;
use std::collections::BTreeMap;

/// The arrows between the files of one folder; a subfolder is another module.
pub(super) fn graph(sources: &[Source]) -> Graph {
    let sources = || sources.iter().filter(|source| !source.name.contains('/'));
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for source in sources() {
        for name in defined(source.text) {
            owners.insert(name, source.path);
        }
    }
    let needs = |source: &Source| {
        tokens(source.text)
            .into_iter()
            .filter_map(|token| owners.get(token))
            .filter(|owner| **owner != source.path)
            .map(|owner| (*owner).to_owned())
            .collect()
    };
    sources()
        .map(|source| (source.path.to_owned(), needs(source)))
        .collect()
}

/// The functions that others may call: the word before the first parenthesis of a definition, in the first column
/// as the kernel's style has it.
fn defined(text: &str) -> impl Iterator<Item = &str> {
    let starts = text
        .lines()
        .map(|line| line.as_ptr().addr() - text.as_ptr().addr());
    starts.filter_map(|start| {
        let definition = &text[start..];
        let is_public = definition.starts_with(|c: char| c.is_alphabetic())
            && !definition.starts_with("static ")
            && !definition.starts_with("typedef ");
        let end = definition.find(['{', ';', '='])?;
        let head = &definition[..end];
        let is_function = is_public && definition[end..].starts_with('{');
        let before = head.split_once('(')?.0.trim_end();
        let name = before
            .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
            .next()?;
        (is_function && !name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_told_from_declarations_calls_and_statics() {
        let text = "\
static int own(void)\n{\n\treturn ws_other();\n}\n\
void ws_declared(void);\n\
struct ws_node *ws_node_of(int cpu,\n\t\t\t  int node)\n{\n\tif (cpu) {\n\t}\n}\n\
int ws_table[] = { 1 };\n\
EXPORT_SYMBOL_GPL(ws_node_of);\n";
        assert_eq!(defined(text).collect::<Vec<_>>(), ["ws_node_of"]);
    }

    #[test]
    fn a_call_is_an_arrow_and_a_comment_is_none() {
        let sources = [
            ("kernel/a.c", "int ws_a(void)\n{\n\treturn ws_b();\n}\n"),
            ("kernel/b.c", "/* ws_a() */\nint ws_b(void)\n{\n}\n"),
        ];
        let sources = sources.map(|(path, text)| Source {
            path,
            name: &path[7..],
            text,
        });
        let graph = graph(&sources);
        assert!(graph["kernel/a.c"].contains("kernel/b.c") && graph["kernel/b.c"].is_empty());
    }
}
