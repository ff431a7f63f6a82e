//! A package depends on packages of its own room and of lower rooms alone. Tests may use what they like.

use super::fault::Fault;
use std::collections::BTreeMap;

/// The rooms, from the lowest up; the rooms of a line are at the same height. `dev` and `examples` may use all of them.
const ROOMS: [&[&str]; 6] = [
    &["engine"],
    &["streams"],
    &["bindings", "interpose"],
    &["programs"],
    &["clones", "kernel"],
    &["proofs"],
];

/// Checks the dependencies of each package.
pub(super) fn check(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
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
            check(&files.into(), &mut faults);
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
