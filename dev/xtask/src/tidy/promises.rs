//! `SECURITY.md` names a test for each promise, and each test that it names exists.
//!
//! The text above the table gives folders letters: ``W is `engine/wellspring/tests/` ``. The last cell of a promise
//! names files after such a letter, up to the next semicolon: ``W `fork.rs`, `engine.rs`; C `loom.rs` ``. Without a letter a
//! name is a path in the repository. Words with a space or `=` are commands.
//!
//! In the table of other systems, ``P: W `fork.rs` `` says that a chore runs this test. A program of tests is a file, or a folder
//! whose files are its modules.

use super::fault::Fault;
use std::collections::BTreeMap;

const DOCUMENT: &str = "SECURITY.md";

/// The first line of a table of promises.
const HEAD: &str = "| promise | proved, model or test | shown by |";

/// The first words of the table of other systems; the marks in it, and the chores that run the tests after such a mark.
const OTHER_HEAD: &str = "| promise | FreeBSD";
const CHORES: [(&str, &str); 2] = [
    ("P: ", "dev/xtask/src/systems.rs"),
    ("V: ", "dev/xtask/src/windows.rs"),
];

/// Checks the document. `files` are all files of the repository.
pub(super) fn check(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    let Some(text) = files.get(DOCUMENT) else {
        return;
    };
    let folders = folders(text);
    let mut fault = |line, note: String| faults.push(Fault::new(DOCUMENT, line, note));
    for (line, cell) in cells(text) {
        let paths = paths(cell, &folders);
        if paths.is_empty() {
            fault(line, "a promise without a test".into());
        }
        for path in paths {
            if let Some(note) = wrong(&path, files) {
                fault(line, note);
            }
        }
    }
    for (line, path, chore) in run_elsewhere(text, &folders) {
        let name = program(&path);
        let words = files.get(chore).into_iter();
        let mut words = words.flat_map(|text| text.split([' ', '"', '\n']));
        if !words.any(|word| word == name) {
            fault(line, format!("{chore} does not run {path}"));
        } else if let Some(note) = wrong(&path, files) {
            fault(line, note);
        }
    }
    for (line, path) in module_tests(text) {
        if !files.contains_key(&path) {
            fault(line, format!("there is no {path}"));
        }
    }
}

/// The letters of folders.
fn folders(text: &str) -> BTreeMap<String, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(3).filter_map(|words| {
        let folder = words[2].strip_prefix('`')?.split('`').next()?;
        let is_pair = words[0].len() == 1 && words[1] == "is" && folder.ends_with('/');
        is_pair.then(|| (words[0].to_owned(), folder.to_owned()))
    });
    pairs.collect()
}

/// The second cells of the tables of promises, with the numbers of their lines.
fn cells(text: &str) -> Vec<(usize, &str)> {
    let mut is_table = false;
    let mut cells = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        is_table = line == HEAD || is_table && line.starts_with('|');
        if is_table && line.starts_with("| **") {
            let mut columns = line.trim_end_matches([' ', '|']).rsplit(" | ");
            cells.extend(columns.next().map(|cell| (number, cell)));
        }
    }
    cells
}

/// The tests in the table of other systems: the number of the line, the path, and the chore that is to run it.
fn run_elsewhere(
    text: &str,
    folders: &BTreeMap<String, String>,
) -> Vec<(usize, String, &'static str)> {
    let lines = (1..).zip(text.lines());
    let table = lines
        .skip_while(|(_, line)| !line.starts_with(OTHER_HEAD))
        .take_while(|(_, line)| line.starts_with('|'));
    let mut found = Vec::new();
    for (number, line) in table {
        for cell in line.split(" | ") {
            for (mark, chore) in CHORES {
                let (_, tests) = cell.split_once(mark).unwrap_or_default();
                let paths = paths(tests, folders).into_iter();
                found.extend(paths.map(|path| (number, path, chore)));
            }
        }
    }
    found
}

/// The program of tests that a file belongs to: itself, or the folder in `tests/` that it lies in.
fn program(path: &str) -> &str {
    let (_, path) = path.split_once("/tests/").unwrap_or_default();
    path.split('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".rs")
}

/// The paths that a cell names.
fn paths(cell: &str, folders: &BTreeMap<String, String>) -> Vec<String> {
    let mut paths = Vec::new();
    for part in cell.split(';') {
        let before = part.split('`').next().unwrap_or_default();
        let letter = before.split_whitespace().last().unwrap_or_default();
        let folder = folders.get(letter).map_or("", String::as_str);
        let names = part.split('`').skip(1).step_by(2);
        let names = names.filter(|name| !name.contains([' ', '=']));
        paths.extend(names.map(|name| format!("{folder}{name}")));
    }
    paths
}

/// The tests of the kernel module: the names of files in the paragraph that names their folder.
fn module_tests(text: &str) -> Vec<(usize, String)> {
    const FOLDER: &str = "kernel/tests/";
    let lines = (1..).zip(text.lines());
    let paragraph = lines
        .skip_while(|(_, line)| !line.contains(FOLDER))
        .take_while(|(_, line)| !line.is_empty());
    let names = paragraph.flat_map(|(number, line)| {
        let names = line.split('`').skip(1).step_by(2);
        let names = names.filter(|name| name.ends_with(".c") || name.ends_with(".sh"));
        names.map(move |name| (number, format!("{FOLDER}{name}")))
    });
    names.collect()
}

/// The reason why a path is not a test; `None` if it is one.
fn wrong(path: &str, files: &BTreeMap<String, String>) -> Option<String> {
    if path.ends_with('/') {
        let is_folder = files.keys().any(|name| name.starts_with(path));
        return (!is_folder).then(|| format!("there is no folder {path}"));
    }
    let Some(text) = files.get(path) else {
        return Some(format!("there is no {path}"));
    };
    let is_test = !path.ends_with(".rs") || text.contains("#[test]");
    (!is_test).then(|| format!("{path} has no test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Folders: W is `a/tests/`, D\nis `doors/`.\n\n\
         | promise | proved, model or test | shown by |\n|---|---|---|\n";

    fn notes(rows: &str) -> Vec<String> {
        let files = [
            ("SECURITY.md", &*format!("{TEXT}{rows}")),
            ("a/tests/fork.rs", "#[test]"),
            ("a/tests/fork/steps.rs", "#[test]"),
            ("a/tests/common.rs", "fn help() {}"),
            ("doors/c/tests/torture.rs", "#[test]"),
            ("vectors/x.txt", ""),
            ("kernel/tests/early.c", ""),
            ("dev/xtask/src/systems.rs", "\"--test fork --test common\""),
            ("dev/xtask/src/windows.rs", ""),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let mut faults = Vec::new();
        check(&files.into(), &mut faults);
        faults.into_iter().map(|fault| fault.note).collect()
    }

    #[test]
    fn promises_with_tests_that_exist_pass() {
        let good = "| **Fork.** A; b | W `fork.rs`; D `c/tests/torture.rs`; known: `vectors/`; `cargo xtask rig` |\n\n\
            Its tests are in\n`kernel/tests/`: `early.c` (phases).\n\nOther `text.c`.\n";
        assert_eq!(notes(good), [""; 0]);
    }

    #[test]
    fn a_test_on_another_system_is_one_that_a_chore_runs() {
        let head = "\n| promise | FreeBSD | Windows |\n|---|---|---|\n";
        let row = |cells: &str| notes(&format!("{head}| **A** | {cells} |\n"));
        for file in ["fork.rs", "fork/steps.rs"] {
            let good = format!("yes, `mlock`. P: W `{file}` | none");
            assert_eq!(row(&good), [""; 0]);
        }
        for (bad, note) in [
            (
                "yes. P: W `churn.rs` | none",
                "dev/xtask/src/systems.rs does not run a/tests/churn.rs",
            ),
            (
                "none | yes. V: W `fork.rs`",
                "dev/xtask/src/windows.rs does not run a/tests/fork.rs",
            ),
            (
                "yes. P: W `common.rs` | none",
                "a/tests/common.rs has no test",
            ),
        ] {
            assert_eq!(row(bad), [note], "{bad}");
        }
    }

    #[test]
    fn promises_without_tests_and_tests_that_do_not_exist_are_found() {
        for (bad, note) in [
            (
                "| **A.** B | W `churn.rs` |",
                "there is no a/tests/churn.rs",
            ),
            ("| **A.** B | `fork.rs` |", "there is no fork.rs"),
            (
                "| **A.** B | W `common.rs` |",
                "a/tests/common.rs has no test",
            ),
            (
                "| **A.** B | `cargo xtask rig` |",
                "a promise without a test",
            ),
            ("| **A.** B | none |", "a promise without a test"),
            (
                "In `kernel/tests/`: `late.c`",
                "there is no kernel/tests/late.c",
            ),
        ] {
            assert_eq!(notes(bad), [note], "{bad}");
        }
    }
}
