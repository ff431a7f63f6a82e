//! The header declares what the library defines. The header is written by hand; the linker does not compare types.

mod common;

use cbindgen::{Builder, Config, Language, Style};
use common::{DOOR, header};
use std::collections::BTreeSet;

/// The declarations in a header, each on one line: `#define` of numbers, structures, functions. `struct` is left out, since
/// the header has another name for an opaque structure.
fn declarations(header: &str) -> BTreeSet<String> {
    let mut text = header.to_owned();
    while let Some(start) = text.find("/*") {
        let end = text[start..].find("*/").expect("every comment ends");
        text.replace_range(start..start + end + 2, " ");
    }
    let (mut found, mut code) = (BTreeSet::new(), String::new());
    for line in text.lines() {
        match line.strip_prefix("#define WS_") {
            Some(number) if !number.starts_with("CHECK") => drop(found.insert(line.to_owned())),
            None if !line.starts_with('#') => code = code + " " + line,
            _ => {}
        }
    }
    for (from, to) in [
        ("extern \"C\" {", ""),
        ("WS_CHECK ", ""),
        ("struct ", ""),
        ("*", " * "),
    ] {
        code = code.replace(from, to);
    }
    let (mut declaration, mut depth) = (String::new(), 0_usize);
    for character in code.chars() {
        declaration.push(character);
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => {
                let words: Vec<&str> = declaration.split_whitespace().collect();
                let is_opaque = words[0] == "typedef" || words.contains(&"_0[0];");
                if !is_opaque {
                    found.insert(words.join(" ").replace("( ", "("));
                }
                declaration.clear();
            }
            _ => {}
        }
    }
    found
}

#[test]
fn the_types_in_the_header_are_those_of_the_library() {
    let config = Config {
        language: Language::C,
        style: Style::Tag,
        documentation: false,
        usize_is_size_t: true,
        ..Config::default()
    };
    let derived = Builder::new()
        .with_crate(DOOR)
        .with_config(config)
        .generate();
    let mut bytes = Vec::new();
    derived.expect("the sources can be read").write(&mut bytes);
    let derived = declarations(&String::from_utf8(bytes).unwrap());
    let header = header();
    let written = declarations(&header);
    assert!(derived.len() > 30, "{derived:#?}");
    let missing: Vec<_> = derived.difference(&written).collect();
    let surplus: Vec<_> = written.difference(&derived).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "not in the header: {missing:#?}\nnot in the library: {surplus:#?}"
    );
}
