//! The kernels to choose from, and where they come from.

use std::fmt;

/// The kernels to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Debian 12's.
    V6_1,
    /// The same version with PREEMPT_RT.
    V6_1Rt,
    /// The one backported to Debian 12, and Debian 13's.
    V6_12,
    /// The same version with PREEMPT_RT.
    V6_12Rt,
    /// The one of Debian's unstable suite. Its number may be higher by now.
    V7_2,
    /// A kernel that we build, which checks locks and memory.
    Debug,
}

impl Release {
    /// All, the oldest first.
    pub(crate) const ALL: [Release; 6] = [
        Release::V6_1,
        Release::V6_1Rt,
        Release::V6_12,
        Release::V6_12Rt,
        Release::V7_2,
        Release::Debug,
    ];

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Release::V6_1 => "6.1",
            Release::V6_1Rt => "6.1-rt",
            Release::V6_12 => "6.12",
            Release::V6_12Rt => "6.12-rt",
            Release::V7_2 => "7.2",
            Release::Debug => "debug",
        }
    }

    /// The suite of its packages.
    pub(super) const fn suite(self) -> &'static str {
        match self {
            Release::V6_1 | Release::V6_1Rt => "bookworm",
            Release::V6_12 | Release::V6_12Rt | Release::Debug => "bookworm-backports",
            Release::V7_2 => "sid",
        }
    }

    /// The end of its packages' names.
    pub(super) const fn flavour(self) -> &'static str {
        match self {
            Release::V6_1Rt | Release::V6_12Rt => "rt-amd64",
            _ => "cloud-amd64",
        }
    }

    /// Whether Debian 12's compilers fit. The newest headers name options that these do not know, and their programs need
    /// a newer C library.
    pub(crate) const fn is_for_debian_12(self) -> bool {
        !matches!(self, Release::V7_2 | Release::Debug)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
