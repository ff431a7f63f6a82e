//! Rules that look at one line, or at the number of lines.

use super::fault::{Fault, Rule, is_data};

/// The longest source file, in lines.
const MAX_LINES: usize = 400;

/// The longest line of a text or source, in characters.
const MAX_COLUMNS: usize = 130;

/// Sources, as opposed to texts and settings.
const SOURCES: [&str; 7] = [".rs", ".c", ".h", ".S", ".py", ".go", ".sh"];

/// The folders where `unsafe` is allowed.
const UNSAFE_ADDRESSES: [&str; 7] = [
    "crates/wellspring-cipher/",
    "crates/wellspring-os/",
    "doors/",
    "dev/bench/",
    "dev/kernel-test/",
    "dev/testkit/",
    // The edge of this door: getrandom hands over a pointer.
    "crates/wellspring-getrandom/",
];

/// Marks of work that is left for later. Split, so that this file has none.
const MARKS: [&str; 8] = [
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("dbg", "!("),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
    concat!("not yet ", "implemented"),
];

/// Folders that exist on one machine only. Split, so that this file has none.
const LOCAL: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Names that tell nothing in a backtrace or in ftrace, which show no file.
const VAGUE: [&str; 22] = [
    "map", "add", "run", "find", "make", "read", "write", "open", "close", "release", "init",
    "exit", "get", "put", "take", "show", "poll", "start", "stop", "work", "fill", "free",
];

/// Checks a file.
pub(super) fn check(path: &str, text: &str, faults: &mut Vec<Fault>) {
    if is_data(path) {
        return;
    }
    let is_source = SOURCES.iter().any(|end| path.ends_with(end));
    let lines = text.lines().count();
    if is_source && lines > MAX_LINES {
        let note = format!("{lines} lines, more than {MAX_LINES}: one idea a file");
        faults.push(Fault::new(path, 0, Rule::FileLength, note));
    }
    for (number, line) in (1..).zip(text.lines()) {
        let mut fault = |rule, note: &str| faults.push(Fault::new(path, number, rule, note));
        let may_be_long = path.ends_with(".toml") || line.starts_with('|');
        if line.chars().count() > MAX_COLUMNS && !may_be_long {
            fault(Rule::LineLength, "more than 130 characters");
        }
        if line.ends_with([' ', '\t']) {
            fault(Rule::WhiteSpace, "white space at the end");
        }
        if MARKS.iter().any(|mark| has_mark(line, mark)) {
            fault(Rule::Promise, "work that is left for later");
        }
        if LOCAL.iter().any(|folder| line.contains(folder)) {
            fault(Rule::LocalPath, "a path that exists on one machine only");
        }
        if path.ends_with(".rs") {
            check_rust(path, line, &mut fault);
        }
        if path.ends_with(".c") || path.ends_with(".h") {
            check_c(line, &mut fault);
        }
    }
}

fn check_rust(path: &str, line: &str, fault: &mut impl FnMut(Rule, &str)) {
    let code = line.trim_start();
    if code.starts_with("//") {
        return;
    }
    let may_be_unsafe = UNSAFE_ADDRESSES
        .iter()
        .any(|address| path.starts_with(address))
        || ["/tests/", "/benches/", "/examples/"]
            .iter()
            .any(|folder| path.contains(folder));
    let is_unsafe = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
        .iter()
        .any(|form| code.starts_with(form) || code.contains(&format!(" {form}")));
    if is_unsafe && !may_be_unsafe && !code.contains('"') {
        fault(
            Rule::UnsafeAddress,
            "unsafe outside of the crates that may have it",
        );
    }
}

fn check_c(line: &str, fault: &mut impl FnMut(Rule, &str)) {
    let Some(rest) = line.strip_prefix("static ") else {
        return;
    };
    let declarator = rest.split(['(', '=', ';', '[']).next().unwrap_or_default();
    let name = declarator
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
        .find(|word| !word.is_empty());
    if name.is_some_and(|name| VAGUE.contains(&name)) {
        fault(
            Rule::CName,
            "a name that tells nothing in a backtrace: add a prefix",
        );
    }
}

/// Whether the line has this mark, and not as a part of a longer word such as a template for temporary files.
fn has_mark(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(start, _)| {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_part(line[..start].chars().next_back())
            && (mark.ends_with('(') || !is_part(line[start + mark.len()..].chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<Rule> {
        let mut faults = Vec::new();
        check(path, text, &mut faults);
        faults.iter().map(|fault| fault.rule).collect()
    }

    #[test]
    fn a_good_file_passes() {
        assert_eq!(
            rules("crates/wellspring-core/src/x.rs", "fn good() {}\n"),
            []
        );
    }

    #[test]
    fn a_long_source_is_found_and_a_long_table_of_vectors_passes() {
        let long = "\n".repeat(MAX_LINES + 1);
        for path in ["src/x.rs", "kernel/x.c", "kernel/x.h", "vectors/x.py"] {
            assert_eq!(rules(path, &long), [Rule::FileLength], "{path}");
        }
        assert_eq!(rules("vectors/x.txt", &long), []);
        assert_eq!(rules("src/x.rs", &"\n".repeat(MAX_LINES)), []);
    }

    #[test]
    fn long_lines_and_white_space_are_found() {
        assert_eq!(rules("README.md", "white \n"), [Rule::WhiteSpace]);
        let long = "x".repeat(MAX_COLUMNS + 1);
        assert_eq!(rules("README.md", &long), [Rule::LineLength]);
        assert_eq!(rules("README.md", &format!("|{long}")), []);
    }

    #[test]
    fn every_mark_of_later_work_is_found_in_every_language() {
        for mark in MARKS {
            for path in ["src/x.rs", "kernel/x.c", "x.md", "vectors/x.py"] {
                assert_eq!(
                    rules(path, &format!("  {mark} x)\n")),
                    [Rule::Promise],
                    "{mark}"
                );
            }
        }
        let template = format!("mktemp {}{}\n", MARKS[5], MARKS[5]);
        assert_eq!(rules(".ci/run", &template), []);
    }

    #[test]
    fn every_local_path_is_found() {
        for folder in LOCAL {
            assert_eq!(
                rules("x.md", &format!("see {folder}x\n")),
                [Rule::LocalPath]
            );
        }
    }

    #[test]
    fn unsafe_is_found_outside_of_its_crates() {
        let code = "    let x = unsafe { y() };\n";
        assert_eq!(
            rules("crates/wellspring/src/x.rs", code),
            [Rule::UnsafeAddress]
        );
        assert_eq!(rules("dev/xtask/src/x.rs", code), [Rule::UnsafeAddress]);
        assert_eq!(rules("crates/wellspring-os/src/x.rs", code), []);
        assert_eq!(
            rules("crates/wellspring/src/x.rs", "// unsafe { is explained }\n"),
            []
        );
    }

    #[test]
    fn every_vague_static_of_the_kernel_module_is_found() {
        for name in VAGUE {
            let function = format!("static int {name}(struct file *file)\n");
            assert_eq!(rules("kernel/x.c", &function), [Rule::CName], "{name}");
            let pointer = format!("static struct node *{name}(void)\n");
            assert_eq!(rules("kernel/x.c", &pointer), [Rule::CName], "{name}");
            let table = format!("static u8 {name}[4];\n");
            assert_eq!(rules("kernel/x.c", &table), [Rule::CName], "{name}");
        }
        assert_eq!(rules("kernel/x.c", "static int ws_node_find(void)\n"), []);
    }
}
