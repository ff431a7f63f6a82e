//! Debian's language runtimes, for a guest.

use super::cache::Cache;
use super::outcome::{Result, at};
use super::packages::Apt;
use std::fs;
use std::path::PathBuf;

const PACKAGES: [&str; 4] = ["nodejs", "openjdk-17-jre-headless", "python3.11", "ruby3.1"];

/// Folders that no runtime reads.
const REMOVED: [&str; 4] = ["usr/share/doc", "usr/share/man", "usr/share/locale", "apt"];

/// Fetches them. Returns a folder laid out like a system's root, of about 0.5 GB.
pub(crate) fn runtimes(cache: &Cache) -> Result<PathBuf> {
    cache.once("runtimes", |folder| {
        let apt = Apt::new(folder, &["bookworm", "bookworm-security"])?;
        apt.unpack_whole(&PACKAGES, folder)?;
        for name in REMOVED {
            let unused = folder.join(name);
            if unused.exists() {
                fs::remove_dir_all(&unused).map_err(at(unused.display()))?;
            }
        }
        Ok(())
    })
}
