//! The generation page, and why it changes.

use std::os::fd::BorrowedFd;
use std::path::Path;
use wellspring::clone_detection::{CloneEvent, CloneEvents, GenerationPage, PageError};

/// The page that the service writes, and the events that change it.
#[derive(Debug)]
pub struct Page {
    page: Option<GenerationPage>,
    events: CloneEvents,
    last: u64,
}

impl Page {
    /// Writes the page at `path`.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be written.
    pub fn open(path: &Path) -> Result<Self, PageError> {
        let page = GenerationPage::create(path)?;
        Ok(Self {
            last: page.current(),
            page: Some(page),
            events: CloneEvents::new(),
        })
    }

    /// Makes no file: only the service's own engine learns of clones.
    #[must_use]
    pub fn without_file() -> Self {
        Self {
            page: None,
            events: CloneEvents::new(),
            last: 0,
        }
    }

    /// Descriptors that become readable when [`notices`](Self::notices) has an event to return.
    pub fn wakes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.events.wakes()
    }

    /// Returns a notice for each event since the last call. The page has changed for each of them.
    pub fn notices(&mut self) -> Vec<&'static str> {
        let mut notices = Vec::new();
        if self
            .page
            .as_ref()
            .is_some_and(|page| page.current() != self.last)
        {
            notices.push("another process changed the generation page");
        }
        while let Some(event) = self.events.next_event() {
            self.change();
            notices.push(match event {
                CloneEvent::Cloned => {
                    "the machine was cloned or restored: the generation page changed"
                }
                CloneEvent::Slept => "the machine was asleep: the generation page changed",
                _ => "the kernel's notices were lost: the generation page changed",
            });
        }
        self.last = self.page.as_ref().map_or(0, GenerationPage::current);
        notices
    }

    /// Changes the page.
    pub fn change(&mut self) {
        if let Some(page) = &self.page {
            page.bump();
            self.last = page.current();
        }
    }
}
