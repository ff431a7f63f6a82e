//! The kernels to choose from, and where they come from.

use super::vm::Processor;
use std::fmt;

/// A kernel to choose: the newest that its suites offer, or a kernel that we build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The suites of its packages.
    pub(super) suites: &'static [&'static str],
    /// The end of the names of the packages that depend on the newest image, and on the newest headers.
    pub(super) newest: &'static str,
    /// The end of its packages' names.
    pub(super) flavour: &'static str,
    /// The suite of the compiler for it and the packages with it, if this is not Debian 12's. The newest headers name
    /// options that the compilers of Debian 12 do not know, and their programs need a newer C library.
    pub(super) compiler: Option<(&'static str, &'static [&'static str])>,
    pub(crate) processor: Processor,
    /// Whether we build it. Such a kernel has everything built in.
    pub(crate) is_own: bool,
}

const CLOUD: &str = "cloud-amd64";
const RT: &str = "rt-amd64";
const CLOUD_ARM64: &str = "cloud-arm64";

/// The compilers of Debian 13, for both processors.
const TRIXIE: (&str, &[&str]) = (
    "trixie",
    &["gcc", "gcc-aarch64-linux-gnu", "make", "libelf1t64"],
);

impl Release {
    /// Debian 12's.
    pub(crate) const V6_1: Self = debian("6.1", &["bookworm", "bookworm-security"], CLOUD, CLOUD);
    /// The same version with PREEMPT_RT.
    pub(super) const V6_1_RT: Self = debian("6.1-rt", &["bookworm", "bookworm-security"], RT, RT);
    /// From Debian 12's security updates; Debian 13 has the same.
    pub(crate) const V6_12: Self =
        debian("6.12", &["bookworm-security"], "6.12-cloud-amd64", CLOUD);
    /// Backported to Debian 13. Its number may be higher by now.
    pub(crate) const V7_3: Self = Self {
        compiler: Some(TRIXIE),
        ..debian("7.3", &["trixie-backports"], CLOUD, CLOUD)
    };
    /// Debian 12's for arm64.
    const V6_1_ARM64: Self = arm64("6.1-arm64", &["bookworm", "bookworm-security"], CLOUD_ARM64);
    pub(super) const V6_12_ARM64: Self =
        arm64("6.12-arm64", &["bookworm-security"], "6.12-cloud-arm64");
    /// The one backported to Debian 13.
    const V7_3_ARM64: Self = Self {
        compiler: Some(TRIXIE),
        ..arm64("7.3-arm64", &["trixie-backports"], CLOUD_ARM64)
    };
    /// A kernel that we build, which checks locks and memory.
    pub(crate) const DEBUG: Self = own("debug");
    /// A kernel that we build, which finds data races.
    pub(crate) const KCSAN: Self = own("kcsan");
    /// A kernel that we build, which checks nothing.
    pub(crate) const PLAIN: Self = own("plain");

    /// All, the oldest first, then the kernels that we build.
    pub(crate) const ALL: [Self; 13] = [
        Self::V6_1,
        Self::V6_1_RT,
        Self::V6_12,
        // The same version with PREEMPT_RT.
        debian("6.12-rt", &["bookworm-security"], "6.12-rt-amd64", RT),
        // Backported to Debian 12: 6.12.95, from before stable kernels took new system core operations.
        debian("6.12-backports", &["bookworm-backports"], CLOUD, CLOUD),
        // From Debian's unstable suite. Its number may be higher by now.
        Self {
            compiler: Some(("sid", &["gcc-16", "make", "libelf1t64"])),
            ..debian("7.2", &["sid"], CLOUD, CLOUD)
        },
        Self::V7_3,
        Self::V6_1_ARM64,
        Self::V6_12_ARM64,
        Self::V7_3_ARM64,
        Self::DEBUG,
        Self::KCSAN,
        Self::PLAIN,
    ];

    /// Whether it checks itself. Such a kernel takes several times as long.
    pub(crate) fn has_checks(self) -> bool {
        [Self::DEBUG, Self::KCSAN].contains(&self)
    }

    /// Whether Debian 12's clang fits too.
    pub(crate) fn is_for_debian_12(self) -> bool {
        !self.is_own && self.compiler.is_none() && self.processor == Processor::X86_64
    }
}

const fn debian(
    name: &'static str,
    suites: &'static [&'static str],
    newest: &'static str,
    flavour: &'static str,
) -> Release {
    Release {
        name,
        suites,
        newest,
        flavour,
        compiler: None,
        processor: Processor::X86_64,
        is_own: false,
    }
}

const fn arm64(
    name: &'static str,
    suites: &'static [&'static str],
    newest: &'static str,
) -> Release {
    Release {
        processor: Processor::Arm64,
        ..debian(name, suites, newest, CLOUD_ARM64)
    }
}

const fn own(name: &'static str) -> Release {
    Release {
        is_own: true,
        ..debian(name, &[], "", "")
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
