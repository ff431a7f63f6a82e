//! The interface is compatible with the baseline in `abi/`: symbols, and the types of arguments, results and fields.

mod common;

use common::{DOOR, is_installed, library_folder, scratch, succeeds, text};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Records the present interface as the baseline, after a change that only adds functions:
/// `WELLSPRING_ABI=record cargo test -p wellspring-c --test abi`.
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

/// The part of a description that the exported functions reach. The rest describes what is inside of the library.
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
