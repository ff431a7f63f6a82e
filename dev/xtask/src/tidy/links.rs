//! Links in Markdown: the file exists, and so does the heading.

use super::fault::Fault;
use std::collections::BTreeMap;

/// Checks the links of a document. `files` are all files of the repository.
pub(super) fn check(
    path: &str,
    text: &str,
    files: &BTreeMap<String, String>,
    faults: &mut Vec<Fault>,
) {
    for (number, line) in outside_of_code(text) {
        for target in targets(line) {
            if let Some(note) = broken(path, target, files) {
                faults.push(Fault::new(path, number, note));
            }
        }
    }
}

/// The numbered lines that are not in a block of code.
pub(crate) fn outside_of_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The targets in `](..)` and in `src=".."`.
pub(crate) fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    let attributes = ["src=\"", "srcset=\"", "href=\""]
        .into_iter()
        .flat_map(move |attribute| line.split(attribute).skip(1))
        .filter_map(|rest| rest.split('"').next());
    links.chain(attributes)
}

/// The reason why a link is broken; `None` if it is not.
fn broken(path: &str, target: &str, files: &BTreeMap<String, String>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let found = if file.is_empty() {
        path.to_owned()
    } else {
        resolve(path, file)
    };
    let is_folder = || {
        let below = format!("{}/", found.trim_end_matches('/'));
        files.keys().any(|name| name.starts_with(&below))
    };
    let Some(text) = files.get(&found) else {
        return (!is_folder()).then(|| format!("a link to {target}, which does not exist"));
    };
    let has_heading = heading.is_empty()
        || outside_of_code(text).any(|(_, line)| {
            line.starts_with('#') && anchor(line.trim_start_matches('#')) == heading
        });
    (!has_heading).then(|| format!("a link to {target}, and there is no such heading"))
}

/// A path in the repository, from a link in the file `path`.
pub(crate) fn resolve(path: &str, link: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchor that a heading gets: lower case, `-` for spaces, no other punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(text: &str) -> usize {
        let files = [
            ("README.md", text),
            ("docs/entropy.md", "# The cutoffs, in short\n"),
            ("kernel/main.c", ""),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let mut faults = Vec::new();
        check("README.md", text, &files.into(), &mut faults);
        faults.len()
    }

    #[test]
    fn links_to_files_folders_headings_and_hosts_pass() {
        for good in [
            "[a](docs/entropy.md)",
            "[a](./docs/entropy.md#the-cutoffs-in-short)",
            "[a](kernel/) and [b](https://example.com/x)",
            "# Here\n[a](#here)",
            "```\n[a](nothing.md)\n```",
            "<img src=\"docs/entropy.md\">",
        ] {
            assert_eq!(notes(good), 0, "{good}");
        }
    }

    #[test]
    fn links_to_missing_files_and_headings_are_found() {
        for bad in [
            "[a](docs/other.md)",
            "[a](docs/entropy.md#another)",
            "[a](#nowhere)",
            "![a](docs/bench.svg)",
            "<img src=\"docs/bench.svg\">",
        ] {
            assert_eq!(notes(bad), 1, "{bad}");
        }
    }
}
