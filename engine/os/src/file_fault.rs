//! Why a file is not trusted.

use crate::os_error::OsError;
use core::fmt;

/// The reason why a file is not trusted, or cannot be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFault {
    /// The name is a symbolic link: another file could be behind it at any time.
    Link,
    /// It is not a regular file.
    NotAFile,
    /// It belongs to a user other than root and the user of this process.
    Owner,
    /// Its owner has no number in this user namespace, like the host's root in a container. So the owner may be root
    /// or another user.
    Unmapped,
    /// Users other than its owner can write it.
    Exposed,
    /// Another process is replacing it, or holds its lock.
    Busy,
    /// An error of the operating system.
    System(OsError),
}

impl FileFault {
    /// Whether the name leads to the wrong file: a link, no regular file, or a file of another user.
    #[must_use]
    pub const fn is_wrong_file(self) -> bool {
        matches!(
            self,
            Self::Link | Self::NotAFile | Self::Owner | Self::Unmapped | Self::Exposed
        )
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "it is a symbolic link",
            Self::NotAFile => "it is not a regular file",
            Self::Owner => "it belongs to another user",
            Self::Unmapped => "its owner has no number in this user namespace",
            Self::Exposed => "other users can write it",
            Self::Busy => "another process is writing it or holds its lock",
            Self::System(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for FileFault {}
