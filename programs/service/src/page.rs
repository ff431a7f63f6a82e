//! The generation page, and who may order that it changes.

use crate::users::Peer;
use rustix::process::geteuid;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use wellspring::clone_detection::{GenerationPage, PageError};
use wellspring_client::vsock::HOST;

/// The page that the service writes.
#[derive(Debug)]
pub struct Page {
    /// `None`: only the service's own engine learns of clones.
    file: Option<GenerationPage>,
    /// The number that the service saw or made last.
    last: Mutex<u64>,
    /// The user who started the service, to whom the page belongs.
    owner: u32,
}

impl Page {
    /// Writes the page at `path`.
    pub fn open(path: &Path) -> Result<Self, PageError> {
        let file = GenerationPage::create(path)?;
        Ok(Self {
            last: file.current().into(),
            file: Some(file),
            ..Self::without_file()
        })
    }

    /// Makes no file.
    pub fn without_file() -> Self {
        Self {
            file: None,
            last: 0.into(),
            owner: geteuid().as_raw(),
        }
    }

    /// Changes the page, once.
    pub(crate) fn change(&self) {
        if let Some(file) = &self.file {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            file.bump();
            // Not what is there now: another process may have changed it meanwhile.
            *last = last.wrapping_add(1);
        }
    }

    /// Whether another process has changed the page since the last call.
    pub(crate) fn was_changed_by_another(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.file.as_ref().map_or(0, GenerationPage::current);
        core::mem::replace(&mut *last, now) != now
    }

    /// Whether the other end of a connection may order a change: root, the page's owner, and the host of this machine.
    /// The first two can write the page anyway.
    pub(crate) fn obeys(&self, peer: Peer) -> bool {
        [Peer::ROOT, Peer::User(self.owner), Peer::Machine(HOST)].contains(&peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_users_other_machines_and_tcp_order_nothing() {
        let page = Page::without_file();
        let owner = page.owner;
        for peer in [Peer::ROOT, Peer::User(owner), Peer::Machine(2)] {
            assert!(page.obeys(peer), "{peer}");
        }
        for peer in [
            Peer::User(owner + 1),
            Peer::Loopback,
            // This machine itself, in which any user may connect, and a guest.
            Peer::Machine(1),
            Peer::Machine(3),
        ] {
            assert!(!page.obeys(peer), "{peer}");
        }
    }
}
