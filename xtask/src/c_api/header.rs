//! `wellspring.h`.

use super::parse::{Item, Kind, Module};
use std::fmt::Write;

const HEAD: &str = "\
/* wellspring: random numbers that scale with the machine.
 *
 * Made from the library's source by `cargo xtask c-api`. Do not edit.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WELLSPRING_H
#define WELLSPRING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

/* A result that must be looked at: without the bytes there is no key. */
#if defined(__GNUC__)
#define WS_CHECK __attribute__((warn_unused_result))
#else
#define WS_CHECK
#endif
";

const TAIL: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

/// The header.
pub(super) fn text(modules: &[Module]) -> String {
    let mut text = HEAD.to_owned();
    for module in modules {
        let _ = writeln!(text, "\n/* ---- {} ---- */", module.about);
        for item in &module.items {
            text.push('\n');
            text.push_str(&declaration(item));
        }
    }
    text.push_str(TAIL);
    text
}

fn declaration(item: &Item) -> String {
    let name = &item.name;
    let comment = comment(&item.docs, "");
    match &item.kind {
        Kind::Constant(value) => format!("{comment}#define {name} {value}\n"),
        Kind::Opaque => format!("{comment}typedef struct {name} {name};\n"),
        Kind::Struct(fields) => {
            let fields = fields.iter().map(|(field, docs)| {
                let comment = self::comment(docs, "    ");
                format!("{comment}    uint64_t {field};\n")
            });
            let fields: String = fields.collect();
            format!("{comment}struct {name} {{\n{fields}}};\n")
        }
        Kind::Function { .. } => {
            let check = if must_be_checked(item) {
                "WS_CHECK "
            } else {
                ""
            };
            format!("{comment}{check}{};\n", prototype(item))
        }
    }
}

/// Whether an ignored result leaves the caller without its bytes or its object.
fn must_be_checked(item: &Item) -> bool {
    matches!(item.kind, Kind::Function { result: "int", .. })
        && ["_fill", "_new"].iter().any(|end| item.name.ends_with(end))
}

/// A function as C declares it, in lines of at most 100 characters.
pub(super) fn prototype(item: &Item) -> String {
    let Kind::Function { result, parameters } = &item.kind else {
        return String::new();
    };
    let pair = |(kind, name): &(&str, String)| {
        let space = if kind.ends_with('*') { "" } else { " " };
        format!("{kind}{space}{name}")
    };
    let parameters: Vec<String> = parameters.iter().map(pair).collect();
    let space = if result.ends_with('*') { "" } else { " " };
    let start = format!("{result}{space}{}(", item.name);
    if parameters.is_empty() {
        return format!("{start}void)");
    }
    let line = format!("{start}{})", parameters.join(", "));
    if line.len() <= 90 {
        return line;
    }
    format!("{start}\n    {})", parameters.join(",\n    "))
}

fn comment(docs: &[String], indent: &str) -> String {
    match docs {
        [] => String::new(),
        [line] => format!("{indent}/* {line} */\n"),
        lines => {
            let mut text = format!("{indent}/*\n");
            for line in lines {
                let line = format!("{indent} * {line}");
                let _ = writeln!(text, "{}", line.trim_end());
            }
            let _ = writeln!(text, "{indent} */");
            text
        }
    }
}
