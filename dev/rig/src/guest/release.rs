//! The kernels to choose from, and where they come from.

use std::fmt;

/// The kernels to choose from. Each is the newest that its suites offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Debian 12's.
    V6_1,
    /// The same version with PREEMPT_RT.
    V6_1Rt,
    /// The one of Debian 12's security updates, and Debian 13's.
    V6_12,
    /// The same version with PREEMPT_RT.
    V6_12Rt,
    /// The one backported to Debian 12: 6.12.95, from before stable kernels took new system core operations.
    V6_12Backports,
    /// The one of Debian's unstable suite. Its number may be higher by now.
    V7_2,
    /// The one backported to Debian 13. Its number may be higher by now.
    V7_3,
    /// A kernel that we build, which checks locks and memory.
    Debug,
    /// A kernel that we build, which finds data races.
    Kcsan,
    /// A kernel that we build, which checks nothing.
    Plain,
}

impl Release {
    /// All, the oldest first, then those that we build.
    pub(crate) const ALL: [Release; 10] = [
        Release::V6_1,
        Release::V6_1Rt,
        Release::V6_12,
        Release::V6_12Rt,
        Release::V6_12Backports,
        Release::V7_2,
        Release::V7_3,
        Release::Debug,
        Release::Kcsan,
        Release::Plain,
    ];

    /// Its name on the command line, the suites of its packages, and the package that depends on the newest, less
    /// "linux-image-" or "linux-headers-".
    const fn facts(self) -> (&'static str, &'static [&'static str], &'static str) {
        const CLOUD: &str = "cloud-amd64";
        const RT: &str = "rt-amd64";
        match self {
            Release::V6_1 => ("6.1", &["bookworm", "bookworm-security"], CLOUD),
            Release::V6_1Rt => ("6.1-rt", &["bookworm", "bookworm-security"], RT),
            Release::V6_12 => ("6.12", &["bookworm-security"], "6.12-cloud-amd64"),
            Release::V6_12Rt => ("6.12-rt", &["bookworm-security"], "6.12-rt-amd64"),
            Release::V6_12Backports => ("6.12-backports", &["bookworm-backports"], CLOUD),
            Release::V7_2 => ("7.2", &["sid"], CLOUD),
            Release::V7_3 => ("7.3", &["trixie-backports"], CLOUD),
            Release::Debug => ("debug", &["bookworm-backports"], CLOUD),
            Release::Kcsan => ("kcsan", &["bookworm-backports"], CLOUD),
            Release::Plain => ("plain", &["bookworm-backports"], CLOUD),
        }
    }

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        self.facts().0
    }

    /// The suites of its packages.
    pub(super) const fn suites(self) -> &'static [&'static str] {
        self.facts().1
    }

    /// The end of the names of the packages that depend on the newest: those of an image and of headers.
    pub(super) const fn newest(self) -> &'static str {
        self.facts().2
    }

    /// The end of its packages' names.
    pub(super) const fn flavour(self) -> &'static str {
        match self {
            Release::V6_1Rt | Release::V6_12Rt => "rt-amd64",
            _ => "cloud-amd64",
        }
    }

    /// The suite of the compiler for it and the packages with it, if this is not Debian 12's. The newest headers name
    /// options that the compilers of Debian 12 do not know, and their programs need a newer C library.
    pub(super) const fn compiler(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Release::V7_3 => Some(("trixie", &["gcc", "make", "libelf1t64"])),
            Release::V7_2 => Some(("sid", &["gcc-16", "make", "libelf1t64"])),
            _ => None,
        }
    }

    /// Whether we build it. Such a kernel has everything built in.
    pub(crate) const fn is_own(self) -> bool {
        self.has_checks() || matches!(self, Release::Plain)
    }

    /// Whether it checks itself. Such a kernel takes several times as long.
    pub(crate) const fn has_checks(self) -> bool {
        matches!(self, Release::Debug | Release::Kcsan)
    }

    /// Whether Debian 12's clang fits too.
    pub(crate) const fn is_for_debian_12(self) -> bool {
        !self.is_own() && self.compiler().is_none()
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
