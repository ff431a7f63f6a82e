//! The command line of the chore.

use super::shapes::SHAPES;
use crate::guest::{Compiler, Release};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::num::NonZero;
use std::path::PathBuf;

/// Test the kernel module on these kernels, the newest that apt offers
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Kernels [default: 6.1 and 6.12]; uml and uml-debug, User Mode Linux, the second with lockdep, KASAN, UBSAN and
    /// kmemleak; dkms, which installs and removes the module; or all: all kernels that Debian has
    /// and those with checks, in all machines, and dkms
    #[arg(value_name = "KERNEL", value_parser = PossibleValuesParser::new(names()))]
    words: Vec<String>,

    /// Boot each machine N times, all but the first only to load, read and unload
    #[arg(long, value_name = "N", default_value = "1")]
    pub(super) boots: NonZero<usize>,

    /// Unload and load the modules N times while programs read
    #[arg(long, value_name = "N", default_value = "5")]
    pub(super) reloads: NonZero<usize>,

    /// Only the machines whose names contain NAME
    #[arg(long, value_name = "NAME", default_value = "", value_parser = machine)]
    pub(super) machine: String,

    /// The source of a kernel to build, called plain, or debug and kcsan if they are named; by default Debian's
    // The compiler sees it by this path, from another folder.
    #[arg(long, value_name = "FOLDER", value_parser = |folder: &str| std::fs::canonicalize(folder))]
    pub(super) source: Option<PathBuf>,

    /// Build the module by clang
    #[arg(long)]
    clang: bool,

    /// Measure in User Mode Linux by `kernel-test bench`, in place of the tests
    #[arg(long = "bench")]
    pub(super) is_bench: bool,

    /// Build the module, and start no machine
    #[arg(long = "build")]
    pub(super) is_build_only: bool,
}

impl Request {
    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|other| other == word)
    }

    /// All kernels that Debian has and those with checks, in all machines; and dkms.
    pub(super) fn is_all(&self) -> bool {
        self.has("all")
    }

    /// Install and remove the module by dkms.
    pub(super) fn has_dkms(&self) -> bool {
        self.is_all() || self.has("dkms")
    }

    /// The kernels of User Mode Linux, and whether they have checks.
    pub(super) fn user_modes(&self) -> Vec<(&'static str, bool)> {
        let all = [("uml", false), ("uml-debug", true)];
        let is_wanted = |(name, _): &(&str, bool)| self.has(name) || self.is_all();
        all.into_iter().filter(is_wanted).collect()
    }

    /// The first builds the module that runs in all machines. Another's runs in the first machine alone.
    pub(super) fn compilers(&self) -> &'static [Compiler] {
        match (self.clang, self.is_all()) {
            (true, _) => &[Compiler::Clang],
            (false, true) => &[Compiler::Gcc, Compiler::Clang],
            (false, false) => &[Compiler::Gcc],
        }
    }

    /// The kernels. An error if one cannot be built from the source that was given.
    pub(super) fn releases(&self) -> Result<Vec<Release>, String> {
        let is_named = |release: &Release| {
            self.has(release.name) || self.is_all() && *release != Release::PLAIN
        };
        let mut releases: Vec<Release> = Release::ALL.into_iter().filter(is_named).collect();
        if releases.is_empty() && !self.has_dkms() && self.user_modes().is_empty() {
            releases = match self.source {
                Some(_) => vec![Release::PLAIN],
                None => vec![Release::V6_1, Release::V6_12],
            };
        }
        if self.source.is_some() && !releases.iter().all(|release| release.is_own) {
            return Err(
                "--source is for plain, debug and kcsan: the others come from Debian".into(),
            );
        }
        Ok(releases)
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    let releases = Release::ALL.into_iter().map(|release| release.name);
    releases.chain(["uml", "uml-debug", "dkms", "all"])
}

fn machine(name: &str) -> Result<String, String> {
    let is_part = SHAPES.iter().any(|shape| shape.name.contains(name));
    let names = SHAPES.map(|shape| shape.name).join("; ");
    is_part
        .then(|| name.into())
        .ok_or(format!("expected a part of a name: {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        request: Request,
    }

    fn parse(words: &str) -> Result<(Request, Vec<Release>), String> {
        let words = ["x"].into_iter().chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let releases = line.request.releases()?;
        Ok((line.request, releases))
    }

    #[test]
    fn words_are_kernels_compilers_and_numbers() {
        let (default, releases) = parse("").unwrap();
        assert_eq!(releases, [Release::V6_1, Release::V6_12]);
        assert_eq!((default.boots.get(), default.reloads.get()), (1, 5));
        assert_eq!(default.compilers(), [Compiler::Gcc]);
        let line = "debug --boots 100 --reloads 50 --machine apart --clang --build";
        let (request, releases) = parse(line).unwrap();
        assert_eq!(releases, [Release::DEBUG]);
        assert_eq!(request.compilers(), [Compiler::Clang]);
        assert_eq!((request.boots.get(), request.reloads.get()), (100, 50));
        assert!(request.is_build_only && !request.is_all() && !request.has_dkms());
        assert_eq!((request.machine.as_str(), request.source), ("apart", None));
        let (all, releases) = parse("all").unwrap();
        assert_eq!(releases, Release::ALL[..12]);
        let here = std::env::current_dir().unwrap();
        let (own, releases) = parse("--source .").unwrap();
        assert_eq!(releases, [Release::PLAIN]);
        assert_eq!(own.source.as_ref(), Some(&here));
        assert_eq!(parse("debug --source .").unwrap().1, [Release::DEBUG]);
        assert!(all.is_all() && all.has_dkms() && !default.is_all() && !default.has_dkms());
        assert_eq!(all.user_modes(), [("uml", false), ("uml-debug", true)]);
        assert!(parse("uml --bench").unwrap().0.is_bench && !all.is_bench);
        let (uml, releases) = parse("uml-debug").unwrap();
        assert!(releases.is_empty() && !uml.has_dkms());
        assert_eq!(uml.user_modes(), [("uml-debug", true)]);
        let (dkms, releases) = parse("dkms").unwrap();
        assert!(dkms.has_dkms() && releases.is_empty());
        assert_eq!(all.compilers(), [Compiler::Gcc, Compiler::Clang]);
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
