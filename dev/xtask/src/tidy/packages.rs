//! Published packages are complete, and say so if they are not for users. No two systemd units have the same name.

use super::fault::Fault;
use std::collections::BTreeMap;

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

/// Checks the manifest of each package.
pub(super) fn check(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
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

/// The text of a field.
fn value<'a>(manifest: &'a str, field: &str) -> Option<&'a str> {
    let start = format!("{field} = \"");
    let mut lines = manifest.lines();
    lines.find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"wellspring-x\"\ndescription = \"Internal to wellspring, no stable API. X\"\n\
        license.workspace = true\nreadme = \"README.md\"\ndocumentation = \"x\"\nkeywords.workspace = true\n\
        categories = [\"x\"]\n[package.metadata.docs.rs]\n";

    fn notes(manifest: &str, beside: &[&str]) -> usize {
        let beside = beside
            .iter()
            .map(|name| (format!("crates/x/{name}"), String::new()));
        let mut files: BTreeMap<String, String> = beside.collect();
        files.insert("crates/x/Cargo.toml".into(), manifest.into());
        let mut faults = Vec::new();
        check(&files, &mut faults);
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
        assert_eq!(notes(GOOD, &beside), 0);
        assert_eq!(notes(GOOD, &beside[1..]), 1);
        assert_eq!(notes(GOOD, &beside[..2]), 1);
        for field in FIELDS {
            let without = GOOD.replace(&format!("\n{field}"), "\n#");
            assert!(notes(&without, &beside) > 0, "{field}");
        }
        let undescribed = GOOD.replace("Internal", "Good");
        assert_eq!(notes(&undescribed, &beside), 1);
        let public = undescribed.replace("spring-x", "spring");
        assert_eq!(notes(&public, &beside), 0);
        assert_eq!(notes("[package]\npublish = false\n", &[]), 0);
    }
}
