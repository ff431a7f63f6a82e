//! The command line of the chore.

use super::shapes::SHAPES;
use crate::guest::{Release, Result, Stop, failed};

/// The parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) releases: Vec<Release>,
    pub(super) boots: usize,
    /// Only the machines whose names contain this.
    pub(super) machine: String,
}

/// Parses it.
pub(super) fn parse(words: impl Iterator<Item = String>) -> Result<Request> {
    let mut request = Request {
        releases: Vec::new(),
        boots: 1,
        machine: String::new(),
    };
    let mut words = words;
    while let Some(word) = words.next() {
        let release = Release::ALL
            .into_iter()
            .find(|release| release.name() == word);
        match (release, word.as_str()) {
            (Some(release), _) => request.releases.push(release),
            (None, "--boots") => {
                let boots = words.next().and_then(|count| count.parse().ok());
                request.boots = boots
                    .filter(|&boots| boots > 0)
                    .ok_or(Stop::Failed("--boots N".into()))?;
            }
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
                    "no kernel is called '{word}': 6.1, 6.12, 7.2 or debug"
                ));
            }
        }
    }
    if request.releases.is_empty() {
        request.releases = vec![Release::V6_1, Release::V6_12];
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kernels_and_a_number_of_boots() {
        let parse = |words: &str| parse(words.split_whitespace().map(String::from));
        let both = vec![Release::V6_1, Release::V6_12];
        assert_eq!(
            parse(""),
            Ok(Request {
                releases: both,
                boots: 1,
                machine: String::new()
            })
        );
        let debug = vec![Release::Debug];
        assert_eq!(
            parse("debug --boots 100 --machine apart"),
            Ok(Request {
                releases: debug,
                boots: 100,
                machine: "apart".into()
            })
        );
        for wrong in [
            "5.10",
            "--boots",
            "--boots 0",
            "6.1 x",
            "--machine",
            "--machine x",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
