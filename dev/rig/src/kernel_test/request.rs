//! The command line of the chore.

use super::shapes::SHAPES;
use crate::guest::{Compiler, Release, Result, Stop, at, failed};
use std::path::PathBuf;

/// The parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) releases: Vec<Release>,
    /// The first builds the module that runs in all machines. Another's runs in the first machine alone.
    pub(super) compilers: Vec<Compiler>,
    /// The source of the kernels that we build, if it is not Debian's.
    pub(super) source: Option<PathBuf>,
    pub(super) boots: usize,
    pub(super) reloads: usize,
    /// Build the module, and start no machine.
    pub(super) is_build_only: bool,
    /// All kernels that Debian has and those with checks, in all machines; and dkms.
    pub(super) is_all: bool,
    /// Install and remove the module by dkms.
    pub(super) has_dkms: bool,
    /// Only the machines whose names contain this.
    pub(super) machine: String,
}

/// How often the modules are unloaded and loaded while programs read, if no number is given.
const RELOADS: usize = 5;

/// Parses it.
pub(super) fn parse(words: impl Iterator<Item = String>) -> Result<Request> {
    let mut request = Request {
        releases: Vec::new(),
        compilers: vec![Compiler::Gcc],
        source: None,
        boots: 1,
        reloads: RELOADS,
        is_build_only: false,
        is_all: false,
        has_dkms: false,
        machine: String::new(),
    };
    let mut words = words;
    while let Some(word) = words.next() {
        let release = Release::ALL
            .into_iter()
            .find(|release| release.name() == word);
        match (release, word.as_str()) {
            (Some(release), _) => request.releases.push(release),
            (None, "all") => {
                let is_for_all = |release: &Release| *release != Release::Plain;
                request
                    .releases
                    .extend(Release::ALL.into_iter().filter(is_for_all));
                request.compilers = vec![Compiler::Gcc, Compiler::Clang];
                request.is_all = true;
                request.has_dkms = true;
            }
            (None, "dkms") => request.has_dkms = true,
            (None, "--build") => request.is_build_only = true,
            (None, "--source") => {
                let folder = words.next().ok_or(Stop::Failed("--source FOLDER".into()))?;
                // The compiler sees it by this path, from another folder.
                let folder = std::fs::canonicalize(&folder).map_err(at(folder))?;
                request.source = Some(folder);
            }
            (None, "--clang") => request.compilers = vec![Compiler::Clang],
            (None, "--boots") => request.boots = count("--boots", words.next())?,
            (None, "--reloads") => request.reloads = count("--reloads", words.next())?,
            (None, "--machine") => {
                let machine = words.next().filter(|name| {
                    let mut shapes = SHAPES.iter();
                    shapes.any(|shape| shape.name.contains(name.as_str()))
                });
                request.machine =
                    machine.ok_or(Stop::Failed("--machine PART-OF-ITS-NAME".into()))?;
            }
            _ => {
                return failed(format!(
                    "no kernel is called '{word}': {}, dkms, or all",
                    Release::ALL.map(Release::name).join(", ")
                ));
            }
        }
    }
    if request.releases.is_empty() && !request.has_dkms {
        request.releases = match request.source {
            Some(_) => vec![Release::Plain],
            None => vec![Release::V6_1, Release::V6_12],
        };
    }
    if request.source.is_some() && !request.releases.iter().all(|release| release.is_own()) {
        return failed("--source is for plain, debug and kcsan: the others come from Debian");
    }
    Ok(request)
}

/// The number after an option, which is not 0.
fn count(option: &str, word: Option<String>) -> Result<usize> {
    let count = word.and_then(|count| count.parse().ok());
    count
        .filter(|&count| count > 0)
        .ok_or(Stop::Failed(format!("{option} N")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kernels_compilers_and_numbers() {
        let parse = |words: &str| parse(words.split_whitespace().map(String::from));
        let default = parse("").unwrap();
        assert_eq!(default.releases, [Release::V6_1, Release::V6_12]);
        assert_eq!((default.boots, default.reloads), (1, RELOADS));
        assert_eq!(default.compilers, [Compiler::Gcc]);
        assert_eq!(
            parse("debug --boots 100 --reloads 50 --machine apart --clang --build"),
            Ok(Request {
                releases: vec![Release::Debug],
                compilers: vec![Compiler::Clang],
                source: None,
                boots: 100,
                reloads: 50,
                is_build_only: true,
                is_all: false,
                has_dkms: false,
                machine: "apart".into()
            })
        );
        let all = parse("all").unwrap();
        assert_eq!(all.releases, Release::ALL[..9]);
        let here = std::env::current_dir().unwrap();
        let own = parse("--source .").unwrap();
        assert_eq!(own.releases, [Release::Plain]);
        assert_eq!(own.source.as_ref(), Some(&here));
        assert_eq!(
            parse("debug --source .").unwrap().releases,
            [Release::Debug]
        );
        assert!(all.is_all && all.has_dkms && !default.is_all && !default.has_dkms);
        let dkms = parse("dkms").unwrap();
        assert!(dkms.has_dkms && dkms.releases.is_empty());
        assert_eq!(all.compilers, [Compiler::Gcc, Compiler::Clang]);
        for wrong in [
            "5.10",
            "--boots",
            "--boots 0",
            "--reloads 0",
            "6.1 x",
            "--machine",
            "--machine x",
            "--source",
            "--source no-such-folder",
            "6.1 --source .",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
