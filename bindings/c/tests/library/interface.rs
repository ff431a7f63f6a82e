//! The interface: the header declares what the library defines and what the table of distributions has, only its functions
//! leave the library, and all is compatible with the baseline in `abi/`: symbols, and the types of arguments, results and
//! fields.

use crate::{DOOR, compile, header, is_installed, library_folder, run, scratch, succeeds, text};
use cbindgen::{Builder, Config, Language, Style};
use std::collections::BTreeSet;
use std::ops::{Bound, RangeBounds};
use std::path::Path;
use std::process::{Command, Output};
use wellspring_pseudo::distributions::table::{Entry, Kind, Number, Parameter, TABLE};

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

/// The declaration of the function for a distribution, as `declarations` writes it; `None` for a type that C does not have.
fn declaration(entry: &Entry, number: Number) -> Option<String> {
    let (name, is_default) = (entry.c?, number == entry.numbers[0]);
    let (suffix, element) = match number {
        Number::F64 if is_default => ("", "double"),
        Number::I64 if is_default => ("", "int64_t"),
        Number::F32 => ("_f32", "float"),
        _ => return None,
    };
    let mut parameters = String::new();
    for parameter in entry.parameters {
        let (kind, name) = (of_c(parameter.kind), parameter.c);
        parameters += &format!(", {kind} {name}");
    }
    if entry
        .parameters
        .iter()
        .any(|parameter| is_vector(parameter.kind))
    {
        parameters += if entry.row.is_some() {
            ", size_t k"
        } else {
            ", size_t n"
        };
    }
    Some(format!(
        "int ws_elements_{name}{suffix}(const ws_elements * name, uint64_t first, {element} * out, size_t count{parameters});"
    ))
}

fn of_c(kind: Kind) -> &'static str {
    match kind {
        Kind::Float => "double",
        Kind::I64 => "int64_t",
        Kind::U64 => "uint64_t",
        Kind::Size => "size_t",
        Kind::Vector | Kind::Matrix => "const double *",
    }
}

fn is_vector(kind: Kind) -> bool {
    matches!(kind, Kind::Vector | Kind::Matrix)
}

#[test]
fn the_functions_of_arrays_are_those_of_the_table_of_distributions() {
    let of_table = |entry: &&'static Entry| {
        let entry = *entry;
        entry
            .numbers
            .iter()
            .filter_map(|number| declaration(entry, *number))
            .collect::<Vec<_>>()
    };
    let expected: BTreeSet<String> = TABLE.iter().flat_map(of_table).collect();
    let mut written = declarations(&header());
    // Orders are no distribution.
    let orders = ["permutation(", "shuffle("].map(|name| format!("int ws_elements_{name}"));
    written.retain(|line| {
        line.starts_with("int ws_elements_") && !orders.iter().any(|order| line.starts_with(order))
    });
    assert_eq!(written, expected);
}

/// The values that the bounds of a parameter allow, and values that they refuse.
fn values(parameter: &Parameter) -> (Vec<f64>, Vec<f64>) {
    let (low, high) = parameter.bounds;
    let ends = [low, high].map(|end| match end {
        Bound::Included(end) | Bound::Excluded(end) => end,
        Bound::Unbounded => unreachable!("every parameter has bounds"),
    });
    let mut all = ends.to_vec();
    // The first number outside either end.
    all.extend([
        ends[0].next_down(),
        ends[1].next_up(),
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ]);
    if parameter.kind != Kind::Float && !is_vector(parameter.kind) {
        // Integers that the type of C has.
        let is_signed = parameter.kind == Kind::I64;
        all = ends
            .iter()
            .flat_map(|end| [end - 1.0, *end, end + 1.0])
            .collect();
        all.retain(|value| value.abs() < 1e18 && (is_signed || *value >= 0.0));
    }
    all.into_iter()
        .partition(|value| parameter.bounds.contains(value))
}

/// A call of a distribution's function. Every parameter is in its bounds, except the one at `place`.
fn call(entry: &Entry, place: usize, value: f64) -> String {
    let mut arguments = String::new();
    for (index, parameter) in entry.parameters.iter().enumerate() {
        let own = (index == place).then_some(value);
        arguments += &match parameter.kind {
            Kind::Float => format!(", {}", literal(own.unwrap_or(0.25 * (index + 1) as f64))),
            // Descending: of n numbers k are taken.
            Kind::I64 | Kind::U64 | Kind::Size => {
                let usual = if entry.row.is_some() {
                    5 - index as i64
                } else {
                    5 + index as i64
                };
                format!(", {}", own.map_or(usual, |own| own as i64))
            }
            Kind::Vector => format!(", (const double[]){{{}, 0.5}}", literal(own.unwrap_or(0.5))),
            Kind::Matrix => format!(
                ", (const double[]){{{}, 0, 0, 2}}",
                literal(own.unwrap_or(2.0))
            ),
        };
    }
    if entry
        .parameters
        .iter()
        .any(|parameter| is_vector(parameter.kind))
    {
        arguments += ", 2";
    }
    let name = entry.c.unwrap();
    format!("ws_elements_{name}(&NAME, 0, out, 1{arguments})")
}

fn literal(value: f64) -> String {
    if value.is_nan() {
        "NAN".into()
    } else if value.is_infinite() {
        if value > 0.0 {
            "INFINITY".into()
        } else {
            "-INFINITY".into()
        }
    } else {
        format!("{value:e}")
    }
}

#[test]
fn every_parameter_has_the_bounds_of_the_table_of_distributions() {
    let mut checks = String::new();
    let (mut taken, mut refused) = (0, 0);
    for entry in TABLE.iter().filter(|entry| entry.c.is_some()) {
        for (place, parameter) in entry.parameters.iter().enumerate() {
            let (inside, outside) = values(parameter);
            for value in outside {
                checks += &format!(
                    "    CHECK({} == WS_PARAMETER);\n",
                    call(entry, place, value)
                );
                refused += 1;
            }
            // Further rules connect parameters: with one at the end of its bounds a call may still be refused.
            for value in inside.into_iter().filter(|_| entry.parameters.len() == 1) {
                let call = call(entry, place, value);
                checks += &format!("    CHECK({call} == WS_OK);\n");
                taken += 1;
            }
        }
    }
    assert!(refused > 100 && taken > 8, "{refused} {taken}");
    let source = scratch("table").join("table.c");
    let program = format!(
        "#include \"check.h\"\n#include <math.h>\n\
         static const struct ws_elements NAME = {{\"chacha8\", 2026, 0, NULL, 0}};\n\
         static union {{ double floats[4000]; int64_t counts[4000]; }} place;\n\
         int main(void) {{\n    void *out = &place;\n{checks}    return 0;\n}}\n"
    );
    std::fs::write(&source, program).unwrap();
    let folder = format!("-I{DOOR}/tests/c");
    if let Some(program) = compile(source.to_str().unwrap(), &[&folder]) {
        succeeds(&run(&program, &[]));
    }
}

fn tool(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    succeeds(&output)
}

#[test]
fn only_symbols_of_the_header_leave_the_library() {
    if !is_installed("nm") {
        return;
    }
    let library = library_folder().join("libwellspring.so.0");
    let text = tool(&["nm", "-D", "--defined-only", library.to_str().unwrap()]);
    let symbols = text
        .lines()
        .filter_map(|line| line.split_whitespace().last());
    let symbols: BTreeSet<&str> = symbols.collect();
    let header = header();
    let functions = header
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '/']));
    let names = functions.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next());
    let names: BTreeSet<&str> = names.filter(|name| name.starts_with("ws_")).collect();
    assert!(names.len() > 20, "{names:?}");
    assert_eq!(symbols, names);
    // The installer makes a link to a page for each of its names.
    let pages = std::fs::read_dir(Path::new(DOOR).join("man")).unwrap();
    let pages = pages.map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap());
    let of_page = |page: String| {
        let (head, _) = page.split_once("\\- ").unwrap();
        let lines = head.lines().skip_while(|line| *line != ".SH NAME").skip(1);
        let named = lines.map(|line| line.trim_end_matches([',', ' ']).to_owned());
        named.collect::<Vec<_>>()
    };
    let described: BTreeSet<String> = pages.flat_map(of_page).collect();
    for name in names {
        assert!(described.contains(name), "{name} has no man page");
    }
}

#[test]
fn the_library_has_its_name_and_stays_loaded() {
    if !is_installed("readelf") {
        return;
    }
    let library = library_folder().join("libwellspring.so.0");
    let text = tool(&["readelf", "-d", library.to_str().unwrap()]);
    assert!(text.contains("soname: [libwellspring.so.0]"), "{text}");
    assert!(text.contains("NODELETE"), "{text}");
}

#[test]
fn the_data_of_a_thread_leaves_half_of_the_loaders_room_to_others() {
    if !is_installed("readelf") || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let library = library_folder().join("libwellspring.so.0");
    let dynamic = tool(&["readelf", "-d", library.to_str().unwrap()]);
    assert!(dynamic.contains("STATIC_TLS"), "{dynamic}");
    let segments = tool(&["readelf", "-lW", library.to_str().unwrap()]);
    let line = segments
        .lines()
        .find_map(|line| line.trim().strip_prefix("TLS "));
    // Offset, two addresses, the size in the file, the size in memory.
    let size = line.and_then(|line| line.split_whitespace().nth(4));
    let size = size.and_then(|size| u64::from_str_radix(size.trim_start_matches("0x"), 16).ok());
    // glibc keeps 1664 bytes for libraries that dlopen(3) loads.
    assert!(size.is_some_and(|size| size <= 832), "{segments}");
}

/// Records the present interface as the baseline, after a change that only adds functions:
/// `WELLSPRING_ABI=record cargo test -p wellspring-c --test library interface`.
const RECORD: &str = "WELLSPRING_ABI";

fn compare(baseline: &Path) -> Output {
    Command::new("abidiff")
        .arg("--no-architecture")
        .arg(baseline)
        .arg(library_folder().join("libwellspring.so.0"))
        .output()
        .unwrap()
}

#[test]
fn the_interface_is_that_of_the_baseline() {
    if !is_installed("abidiff") {
        return;
    }
    if cfg!(not(target_arch = "x86_64")) {
        eprintln!("SKIPPED: the baseline is that of x86-64, where a char has a sign");
        return;
    }
    let baseline = Path::new(DOOR).join("abi/libwellspring.abi");
    if std::env::var(RECORD).is_ok_and(|word| word == "record") {
        let output = Command::new("abidw")
            .args(["--no-corpus-path", "--no-architecture", "--no-show-locs"])
            .args(["--no-comp-dir-path", "--drop-undefined-syms"])
            .arg(library_folder().join("libwellspring.so.0"))
            .output()
            .unwrap();
        std::fs::write(&baseline, interface(&succeeds(&output))).unwrap();
    }
    let output = compare(&baseline);
    assert!(
        output.status.success(),
        "the interface changed: {}",
        text(&output)
    );
    // The test can fail: other types are seen. A library without debugging information has no types.
    if !succeeds(
        &Command::new("readelf")
            .arg("-S")
            .arg(library_folder().join("libwellspring.so.0"))
            .output()
            .unwrap(),
    )
    .contains(".debug_info")
    {
        eprintln!("SKIPPED: the types, because the library has no debugging information");
        return;
    }
    let recorded = std::fs::read_to_string(&baseline).unwrap();
    for (right, wrong) in [
        (
            "<type-decl name='f64' size-in-bits='64'",
            "<type-decl name='f32' size-in-bits='32'",
        ),
        (
            "<class-decl name='ws_stats' size-in-bits='704'",
            "<class-decl name='ws_stats' size-in-bits='768'",
        ),
    ] {
        let changed = scratch("abi").join("changed.abi");
        assert!(recorded.contains(right), "{right}");
        std::fs::write(&changed, recorded.replacen(right, wrong, 1)).unwrap();
        assert!(!compare(&changed).status.success(), "{right}");
    }
}

/// An element of abidw's XML, which writes each tag on a line of its own.
#[derive(Default)]
struct Element {
    line: String,
    children: Vec<Element>,
}

/// The part of a description that the exported functions reach. The rest describes what is inside the library.
fn interface(description: &str) -> String {
    let mut open = vec![Element::default()];
    for line in description.lines().map(str::trim) {
        if line.starts_with("</") {
            let closed = open.pop().unwrap();
            open.last_mut().unwrap().children.push(closed);
        } else {
            let line = line.to_owned();
            let element = Element {
                line,
                children: Vec::new(),
            };
            if element.line.ends_with("/>") {
                open.last_mut().unwrap().children.push(element);
            } else {
                open.push(element);
            }
        }
    }
    let root = open.pop().unwrap();
    let mut needed = BTreeSet::new();
    while root.reach(false, &mut needed) {}
    let mut text = String::new();
    root.children[0].print(0, false, &needed, &mut text);
    text
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.line.split_once(&format!(" {name}='"))?;
        Some(rest.split_once('\'')?.0)
    }

    /// Whether the interface contains it with all its children.
    fn is_whole(&self, needed: &BTreeSet<String>) -> bool {
        let is_type = self.attribute("id").is_some_and(|id| needed.contains(id));
        let function =
            self.line.starts_with("<function-decl") && self.attribute("elf-symbol-id").is_some();
        is_type || function || self.line.starts_with("<elf-")
    }

    /// Adds the types that needed elements name. Returns whether there are new ones.
    fn reach(&self, is_inside: bool, needed: &mut BTreeSet<String>) -> bool {
        let is_inside = is_inside || self.is_whole(needed);
        let mut is_new = false;
        if is_inside && let Some(id) = self.attribute("type-id") {
            is_new = needed.insert(id.to_owned());
        }
        for child in &self.children {
            is_new |= child.reach(is_inside, needed);
        }
        is_new
    }

    fn is_kept(&self, needed: &BTreeSet<String>) -> bool {
        self.is_whole(needed) || self.children.iter().any(|child| child.is_kept(needed))
    }

    fn print(&self, depth: usize, is_inside: bool, needed: &BTreeSet<String>, text: &mut String) {
        let is_inside = is_inside || self.is_whole(needed);
        let mut line = self.line.clone();
        if let Some(path) = self.attribute("path") {
            // Paths of this machine. They only have to differ.
            line = line.replace(path, &format!("part-{}", text.len()));
        }
        let indent = "  ".repeat(depth);
        for (index, part) in parts(&line).into_iter().enumerate() {
            let more = if index == 0 { "" } else { "    " };
            text.push_str(&format!("{indent}{more}{part}\n"));
        }
        for child in &self.children {
            if is_inside || child.is_kept(needed) {
                child.print(depth + 1, is_inside, needed, text);
            }
        }
        if !line.ends_with("/>") {
            let name = line.trim_start_matches('<').split([' ', '>']).next();
            text.push_str(&format!("{indent}</{}>\n", name.unwrap_or_default()));
        }
    }
}

/// A tag in parts of at most 90 characters, so that lines stay short. A tag may have line breaks between attributes.
fn parts(tag: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for attribute in tag.split_inclusive("' ") {
        if parts
            .last()
            .is_some_and(|last| last.len() + attribute.len() > 90)
        {
            parts.push(String::new());
        }
        parts.last_mut().unwrap().push_str(attribute);
    }
    parts
        .iter()
        .map(|part| part.trim_end().to_owned())
        .collect()
}
