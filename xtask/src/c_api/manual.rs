//! Man pages of section 3: one for each module, and a link to it for each of its functions.

use super::header::prototype;
use super::parse::{Item, Kind, Module};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The date in the pages: of the last change in what the library does.
const DATE: &str = "2026-11-22";

/// Names and texts of all pages.
pub(super) fn pages(modules: &[Module]) -> impl Iterator<Item = (String, String)> {
    let mut pages = BTreeMap::new();
    for module in modules {
        let is_function = |item: &&Item| matches!(item.kind, Kind::Function { .. });
        for item in module.items.iter().filter(is_function) {
            let link = format!(".so man3/{}.3\n", module.page);
            pages.insert(format!("{}.3", item.name), link);
        }
        pages.insert(format!("{}.3", module.page), page(module, modules));
    }
    pages.into_iter()
}

fn page(module: &Module, all: &[Module]) -> String {
    let functions = || {
        let items = module.items.iter();
        items.filter(|item| matches!(item.kind, Kind::Function { .. }))
    };
    let mut names: Vec<&str> = functions().map(|item| item.name.as_str()).collect();
    if !names.contains(&module.page) {
        names.insert(0, module.page);
    }
    let mut text = format!(
        ".TH {} 3 {DATE} \"wellspring {}\" \"Library Functions Manual\"\n.SH NAME\n{} \\- {}\n",
        module.page.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        names.join(",\n"),
        escaped(module.about)
    );
    text.push_str(".SH SYNOPSIS\n.nf\n.B #include <wellspring.h>\n.sp\n");
    for item in functions() {
        for line in prototype(item).lines() {
            let _ = writeln!(
                text,
                ".B \"{};\"",
                escaped(line).replace("    ", "\\ \\ \\ \\ ")
            );
        }
    }
    let text = text.replace("(;\"", "(\"").replace(",;\"", ",\"");
    let mut text = format!("{text}.fi\n.sp\nLink with \\fB\\-lwellspring\\fP.\n.SH DESCRIPTION\n");
    for item in &module.items {
        describe(item, &mut text);
    }
    text.push_str(
        ".SH ATTRIBUTES\nThe functions without an object are safe in threads, in signal handlers and after\n.BR fork (2).\n\
         An object is for one thread at a time.\n.SH SEE ALSO\n",
    );
    let others: Vec<String> = all
        .iter()
        .filter(|other| other.page != module.page)
        .map(|other| format!(".BR {} (3)", other.page))
        .collect();
    let _ = writeln!(text, "{}", others.join(",\n"));
    text
}

fn describe(item: &Item, text: &mut String) {
    let title = match &item.kind {
        Kind::Function { .. } => format!("{}()", item.name),
        Kind::Struct(_) => format!("struct {}", item.name),
        Kind::Constant(value) => format!("{} ({value})", item.name),
        Kind::Opaque => item.name.clone(),
    };
    let _ = writeln!(text, ".TP\n.B {title}");
    for line in &item.docs {
        let line = if line.is_empty() {
            ".sp".into()
        } else {
            escaped(line)
        };
        let _ = writeln!(text, "{line}");
    }
    if let Kind::Struct(fields) = &item.kind {
        text.push_str(".RS\n");
        for (field, docs) in fields {
            let _ = writeln!(text, ".TP\n.I {field}\n{}", escaped(&docs.join(" ")));
        }
        text.push_str(".RE\n");
    }
}

/// Returns a line in which roff reads backslashes, hyphens and a leading dot or quote as text.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    match line.chars().next() {
        Some('.' | '\'') => format!("\\&{line}"),
        _ => line,
    }
}
