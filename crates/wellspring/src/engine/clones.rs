//! Parting from copies: of the process, of the machine, and after a sleep.
//!
//! A copy has the same nodes, so a new generation alone would have it draw the same keys. So every node is reseeded
//! with what is different in each copy, *then* the generation is bumped, and then the words that told of the copy
//! are settled. A read looks at the settled words first and at the words themselves last: between the two it was
//! not copied without notice.

use super::Shared;
use super::chore::Chore;
use crate::Error;
use crate::copies::{CloneEvents, Sleep, asleep_ms, map_vmclock};
use crate::generation_page::{WORD, map};
use crate::noise::Noise;
use core::sync::atomic::{AtomicU64, Ordering};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Mutex;
use wellspring_sys::signals::Blocked;
use wellspring_sys::watched::Watched;

/// How often an engine looks whether there is a page that it did not find before: every minute.
const LOOK_MS: u64 = 60_000;

/// How often the chore looks at clocks and words.
const PACE_MS: u64 = 1000;

/// How often a read is made again because of one more copy.
const MAX_READS: usize = 4;

/// Where an engine learns of copies.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) page: PathBuf,
    pub(super) vmclock: PathBuf,
}

/// What an engine knows about copies of it. In ordinary memory: a child is no copy that anyone gives notice of.
#[derive(Debug)]
pub(crate) struct Copies {
    pub(crate) watched: Watched,
    places: Places,
    /// When the places were last looked at; and what was found there: the page's inode, and 1 for a vmclock.
    looked_ms: AtomicU64,
    page: AtomicU64,
    vmclock: AtomicU64,
    sleep: Mutex<Sleep>,
}

impl Copies {
    /// Watches what is there now.
    pub(super) fn new(places: Places, now_ms: u64) -> Self {
        let copies = Self {
            watched: Watched::new(),
            places,
            looked_ms: AtomicU64::new(0),
            page: AtomicU64::new(0),
            vmclock: AtomicU64::new(0),
            sleep: Mutex::new(Sleep::default()),
        };
        copies.look(now_ms);
        // An engine that has not made anything yet has nothing to part from.
        copies.watched.settle(copies.watched.now());
        copies
    }

    fn look(&self, now_ms: u64) {
        self.looked_ms.store(now_ms, Ordering::Relaxed);
        if let Ok((page, inode)) = map(&self.places.page)
            && inode != self.page.load(Ordering::Relaxed)
            && self.watched.watch(0, page, WORD)
        {
            self.page.store(inode, Ordering::Relaxed);
        }
        if self.vmclock.load(Ordering::Relaxed) == 0
            && let Some((page, offset)) = map_vmclock(&self.places.vmclock)
            && self.watched.watch(1, page, offset)
        {
            self.vmclock.store(1, Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// The sum of the watched words up to which this engine has parted from its copies: now.
    #[inline]
    pub(super) fn settled(&self) -> u64 {
        let seen = self.copies.watched.seen();
        match self.copies.watched.now() == seen {
            true => seen,
            false => self.part_if_copied(),
        }
    }

    /// Reads after parting from the copies that are known of; and again, if there is one more when it is done. Not
    /// for ever: where copies are made faster than bytes, the last bytes stand.
    #[inline]
    pub(super) fn unless_copied(
        &self,
        mut read: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        for _ in 0..MAX_READS {
            let seen = self.settled();
            read()?;
            if self.copies.watched.now() == seen {
                break;
            }
        }
        Ok(())
    }

    #[cold]
    fn part_if_copied(&self) -> u64 {
        let signals = Blocked::new();
        let _parting = self.pools.parting.lock(&signals);
        let now = self.copies.watched.now();
        if now != self.copies.watched.seen() {
            self.part_locked(&signals);
            self.copies.watched.settle(now);
        }
        now
    }

    /// Parts from all copies, whatever the words say.
    pub(super) fn part(&self) -> u64 {
        let signals = Blocked::new();
        let _parting = self.pools.parting.lock(&signals);
        self.part_locked(&signals)
    }

    fn part_locked(&self, signals: &Blocked) -> u64 {
        let noise = Noise::now();
        for (number, memory) in self.nodes.iter().enumerate() {
            let mut node = memory.node.lock(signals);
            self.receive(number, &mut node);
            node.stir(number, noise.digest());
        }
        self.mix(noise.digest());
        self.generation.bump()
    }

    /// Looks for sleep, and once a minute for places to watch that were not there before. On a reader's slow path,
    /// or by the harvester's thread.
    pub(super) fn look_for_copies(&self, now_ms: u64) {
        let slept = |mut sleep: std::sync::MutexGuard<'_, Sleep>| sleep.noticed(asleep_ms());
        if self.copies.sleep.try_lock().is_ok_and(slept) {
            self.part();
        }
        let looked_ms = self.copies.looked_ms.load(Ordering::Relaxed);
        if now_ms.saturating_sub(looked_ms) >= LOOK_MS {
            self.copies.look(now_ms);
        }
        self.settled();
    }
}

/// Listens for notices of copies.
pub(super) struct Listen(CloneEvents);

impl Listen {
    pub(super) fn new() -> Self {
        Self(CloneEvents::new())
    }
}

impl Chore for Listen {
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.0.wakes()
    }

    fn run(&mut self, engine: &Shared, now_ms: u64) -> u64 {
        // Any number of notices is one reason.
        if std::iter::from_fn(|| self.0.next_event()).count() > 0 {
            engine.part();
        }
        engine.look_for_copies(now_ms);
        now_ms + PACE_MS
    }
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::copies::asleep_ms;
    use crate::generation_page::GenerationPage;
    use wellspring_sys::system::now_ms;

    fn engine(page: &std::path::Path) -> Engine {
        let engine = Engine::builder().sources([]).seed(&[1; 32]);
        let engine = engine.generation_page(page).build().unwrap();
        engine.fill(&mut [0; 32]);
        engine
    }

    #[test]
    fn a_sleep_moves_every_tap() {
        let engine = engine("/none".as_ref());
        let (shared, before) = (&engine.shared, engine.generation());
        shared.look_for_copies(now_ms());
        assert_eq!(engine.generation(), before);
        // As if the machine had been awake five seconds longer until now.
        let mut sleep = shared.copies.sleep.lock().unwrap();
        sleep.noticed(asleep_ms() + 5000);
        drop(sleep);
        shared.look_for_copies(now_ms());
        assert_eq!(engine.generation(), before + 1);
    }

    #[test]
    fn a_page_that_comes_later_or_is_replaced_is_found_within_a_minute() {
        let name = format!("wellspring-later-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let engine = engine(&path);
        let generation = || {
            engine.fill(&mut [0; 32]);
            engine.generation()
        };
        let before = generation();
        let first = GenerationPage::create(&path).unwrap();
        first.bump();
        assert_eq!(generation(), before);
        engine.shared.look_for_copies(now_ms() + 60_000);
        let found = generation();
        assert_eq!(found, before + 1);
        first.bump();
        assert_eq!(generation(), found + 1);
        std::fs::remove_file(&path).unwrap();
        let second = GenerationPage::create(&path).unwrap();
        engine.shared.look_for_copies(now_ms() + 120_000);
        assert_eq!(generation(), found + 2);
        second.bump();
        assert_eq!(generation(), found + 3);
        std::fs::remove_file(&path).unwrap();
    }
}
