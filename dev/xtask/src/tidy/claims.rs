//! Documents and manifests claim what is there: a test for each promise and threat, the fields of published packages,
//! and the rooms on which a package depends.

use super::Fault;
use std::collections::{BTreeMap, BTreeSet};

const DOCUMENT: &str = "SECURITY.md";

const HEAD: &str = "| promise | proved, model or test | shown by |";

/// The first words of the table of other systems; the marks in it, and the chores that run the tests after such a mark.
const OTHER_HEAD: &str = "| promise | FreeBSD";
const CHORES: [(&str, &str); 2] = [("P: ", "chore_systems"), ("V: ", "chore_windows")];
const STEPS: &str = ".ci/steps";

/// Checks the document. `files` are all files of the repository.
pub(super) fn check_promises(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
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
        let steps = files.get(STEPS).map_or("", String::as_str);
        let function = steps.split_once(&format!("{chore}() {{\n"));
        let lines = function.map_or("", |(_, rest)| {
            rest.split("\n}\n").next().unwrap_or_default()
        });
        if !lines.split_whitespace().any(|word| word == name) {
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

// ---- threats ----
// `docs/explanation/threat-model.md` names a test for each threat, by its function. Each test that the documents name exists.

const MODEL: &str = "docs/explanation/threat-model.md";

/// Other documents that name tests by their functions.
const OTHERS: [&str; 2] = [
    "docs/explanation/compliance.md",
    "docs/explanation/states.md",
];

/// Names of tests are sentences.
const LEAST_WORDS: usize = 5;

/// Checks the documents. `files` are all files of the repository.
pub(super) fn check_threats(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    let tests = tests(files);
    for path in OTHERS.into_iter().chain([MODEL]) {
        let lines = (1..).zip(files.get(path).map_or("", String::as_str).lines());
        for (number, line) in lines {
            let mut fault = |note: String| faults.push(Fault::new(path, number, note));
            let named: Vec<&str> = named(line).collect();
            for name in named.iter().filter(|name| !tests.contains(*name)) {
                fault(format!("there is no test {name}"));
            }
            if path == MODEL && line.starts_with("| **") && named.is_empty() {
                fault("a threat without a test".into());
            }
        }
    }
}

/// The functions that follow `#[test]`.
fn tests(files: &BTreeMap<String, String>) -> BTreeSet<&str> {
    let sources = files.iter().filter(|(path, _)| path.ends_with(".rs"));
    let parts = sources.flat_map(|(_, text)| text.split("#[test]\n").skip(1));
    let names = parts.filter_map(|part| {
        let (_, rest) = part.split_once("fn ")?;
        rest.split('(').next()
    });
    names.collect()
}

/// The names of functions of a line that are sentences, in backticks.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|word| {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        word.chars().all(is_name) && word.split('_').count() >= LEAST_WORDS
    })
}

// ---- packages ----
// Published packages are complete, and say so if they are not for users. No two systemd units have the same name.

/// The packages for users. All others are published only because these depend on them.
const PUBLIC: [&str; 7] = [
    "wellspring",
    "wellspring-pseudo",
    "wellspring-pseudo-thread",
    "wellspring-cli",
    "wellspring-client",
    "wellspring-getrandom",
    "wellspring-service",
];

/// How the description of another package begins.
const INTERNAL: &str = "Internal to wellspring, no stable API. ";

/// The fields that every manifest must have. The part behind the name may be a value or `.workspace = true`.
const FIELDS: [&str; 7] = [
    "description",
    "license",
    "readme",
    "documentation",
    "keywords",
    "categories",
    "[package.metadata.docs.rs]",
];

pub(super) fn check_packages(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    for (path, text) in files {
        if !path.ends_with("/Cargo.toml") || text.contains("\npublish = false") {
            continue;
        }
        let mut fault = |note: String| faults.push(Fault::new(path, 0, note));
        for field in FIELDS {
            if !text.lines().any(|line| line.starts_with(field)) {
                fault(format!("no {field}"));
            }
        }
        let name = value(text, "name").unwrap_or_default();
        let description = value(text, "description").unwrap_or_default();
        if !PUBLIC.contains(&name) && !description.starts_with(INTERNAL) {
            fault(format!("the description does not begin with '{INTERNAL}'"));
        }
        let folder = path.trim_end_matches("Cargo.toml");
        let readme = value(text, "readme").filter(|readme| !readme.contains('/'));
        for file in ["LICENSE-MIT", "LICENSE-APACHE"].into_iter().chain(readme) {
            if !files.contains_key(&format!("{folder}{file}")) {
                fault(format!("there is no {file} beside it"));
            }
        }
    }
}

/// Checks that no two systemd units have the same name. Of two such units systemd would start one alone.
pub(super) fn check_units(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    let mut seen = BTreeMap::new();
    for path in files.keys() {
        let name = path.rsplit('/').next().unwrap_or(path);
        if !name.ends_with(".service") && !name.ends_with(".socket") {
            continue;
        }
        if let Some(other) = seen.insert(name, path) {
            let note = format!("{other} has the same name");
            faults.push(Fault::new(path, 0, note));
        }
    }
}

fn value<'a>(manifest: &'a str, field: &str) -> Option<&'a str> {
    let start = format!("{field} = \"");
    let mut lines = manifest.lines();
    lines.find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'))
}

// ---- rooms ----
// A package depends on packages of its own room and of lower rooms alone. Tests may use what they like.

/// The rooms, from the lowest up; the rooms of a line are at the same height. `dev` and `examples` may use all of them.
const ROOMS: [&[&str]; 6] = [
    &["engine"],
    &["streams"],
    &["bindings", "interpose"],
    &["programs"],
    &["clones", "kernel"],
    &["proofs"],
];

pub(super) fn check_rooms(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    let manifests = || {
        files
            .iter()
            .filter(|(path, _)| path.ends_with("/Cargo.toml"))
    };
    let height_of = |path: &str| {
        let room = path.split('/').next();
        ROOMS
            .iter()
            .position(|rooms| rooms.contains(&room.unwrap_or_default()))
    };
    let heights: BTreeMap<&str, usize> = manifests()
        .filter_map(|(path, text)| {
            let name = text
                .lines()
                .find_map(|line| line.strip_prefix("name = \""))?;
            Some((name.trim_end_matches('"'), height_of(path)?))
        })
        .collect();
    for (path, text) in manifests() {
        let Some(height) = height_of(path) else {
            continue;
        };
        let mut is_list = false;
        for (number, line) in text.lines().enumerate() {
            if line.starts_with('[') {
                is_list = line.ends_with("dependencies]") && !line.contains("dev-dependencies]");
                continue;
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if is_list && heights.get(name).is_some_and(|&of_name| of_name > height) {
                let note = format!("{name} is in a higher room");
                faults.push(Fault::new(path, number + 1, note));
            }
        }
    }
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
            (
                STEPS,
                "chore_systems() {\n    --test fork --test common\n}\nchore_windows() {\n}\n",
            ),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let mut faults = Vec::new();
        check_promises(&files.into(), &mut faults);
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
                "chore_systems does not run a/tests/churn.rs",
            ),
            (
                "none | yes. V: W `fork.rs`",
                "chore_windows does not run a/tests/fork.rs",
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

    fn threat_notes(row: &str) -> Vec<String> {
        let files = [
            (MODEL, row),
            (
                "a.rs",
                "#[test]\n#[cfg(unix)]\nfn a_child_reads_other_bytes() {}\nfn a_helper_of_no_test_at_all() {}\n",
            ),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let mut faults = Vec::new();
        check_threats(&files.into(), &mut faults);
        faults.into_iter().map(|fault| fault.note).collect()
    }

    #[test]
    fn a_threat_with_a_test_that_exists_passes() {
        let row = "| **A.** | `try_fill` | `a_child_reads_other_bytes`, `cargo xtask rig` |";
        assert_eq!(threat_notes(row), [""; 0]);
    }

    #[test]
    fn a_threat_without_a_test_and_a_test_that_does_not_exist_are_found() {
        assert_eq!(
            threat_notes("| **A.** | b | none |"),
            ["a threat without a test"]
        );
        for name in ["a_test_that_is_not_there", "a_helper_of_no_test_at_all"] {
            let row = format!("| **A.** | b | `{name}` |");
            assert_eq!(threat_notes(&row), [format!("there is no test {name}")]);
        }
    }

    const GOOD: &str = "[package]\nname = \"wellspring-x\"\ndescription = \"Internal to wellspring, no stable API. X\"\n\
        license.workspace = true\nreadme = \"README.md\"\ndocumentation = \"x\"\nkeywords.workspace = true\n\
        categories = [\"x\"]\n[package.metadata.docs.rs]\n";

    fn lacks(manifest: &str, beside: &[&str]) -> usize {
        let beside = beside
            .iter()
            .map(|name| (format!("crates/x/{name}"), String::new()));
        let mut files: BTreeMap<String, String> = beside.collect();
        files.insert("crates/x/Cargo.toml".into(), manifest.into());
        let mut faults = Vec::new();
        check_packages(&files, &mut faults);
        faults.len()
    }

    #[test]
    fn two_units_with_one_name_are_found() {
        let notes = |paths: [&str; 3]| {
            let files = paths.map(|path| (path.to_owned(), String::new()));
            let mut faults = Vec::new();
            check_units(&files.into(), &mut faults);
            faults.len()
        };
        assert_eq!(notes(["a/x.service", "b/x.socket", "b/x.txt"]), 0);
        assert_eq!(notes(["a/x.service", "b/x.service", "b/y.service"]), 1);
    }

    #[test]
    fn everything_that_a_package_lacks_is_found() {
        let beside = ["LICENSE-MIT", "LICENSE-APACHE", "README.md"];
        assert_eq!(lacks(GOOD, &beside), 0);
        assert_eq!(lacks(GOOD, &beside[1..]), 1);
        assert_eq!(lacks(GOOD, &beside[..2]), 1);
        for field in FIELDS {
            let without = GOOD.replace(&format!("\n{field}"), "\n#");
            assert!(lacks(&without, &beside) > 0, "{field}");
        }
        let undescribed = GOOD.replace("Internal", "Good");
        assert_eq!(lacks(&undescribed, &beside), 1);
        let public = undescribed.replace("spring-x", "spring");
        assert_eq!(lacks(&public, &beside), 0);
        assert_eq!(lacks("[package]\npublish = false\n", &[]), 0);
    }

    #[test]
    fn an_arrow_to_a_higher_room_is_found() {
        let notes = |lists: &str| {
            let package = |name: &str| format!("[package]\nname = \"{name}\"\n");
            let files = [
                ("engine/low/Cargo.toml", package("low") + lists),
                (
                    "streams/high/Cargo.toml",
                    package("high") + "[dependencies]\nlow = 1\n",
                ),
                (
                    "dev/tool/Cargo.toml",
                    package("tool") + "[dependencies]\nhigh = 1\n",
                ),
            ];
            let files = files.map(|(path, text)| (path.to_owned(), text));
            let mut faults = Vec::new();
            check_rooms(&files.into(), &mut faults);
            faults.len()
        };
        assert_eq!(notes("[dependencies]\nserde.workspace = true\n"), 0);
        assert_eq!(notes("[dev-dependencies]\nhigh.workspace = true\n"), 0);
        assert_eq!(
            notes("[dependencies]\nlibc = \"1\"\nhigh.workspace = true\n"),
            1
        );
        assert_eq!(
            notes("[target.'cfg(unix)'.dependencies]\nhigh = { path = \"x\" }\n"),
            1
        );
    }
}
