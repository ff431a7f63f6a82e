//! Files, and the arrows between them.

use std::collections::{BTreeMap, BTreeSet};

/// From each file to the files that it needs.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

/// A file.
pub(super) struct Source<'a> {
    /// In the repository.
    pub(super) path: &'a str,
    /// In the folder.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}
