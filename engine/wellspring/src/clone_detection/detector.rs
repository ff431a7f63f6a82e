//! Watches for signs of a copy of the machine or the process, and counts which of them the engine has handled.

use super::page::{self, CLONES_OFFSET, PageError};
use core::sync::atomic::{AtomicU64, Ordering};
use std::borrow::Cow;
use std::path::Path;
use wellspring_os::clone_words::CloneWords;
use wellspring_os::descriptor::{OwnedFd, open_device};
use wellspring_os::os::{now_ns, now_with_sleep_ns};
use wellspring_os::sandbox;
use wellspring_os::shared_page::SharedPage;
use wellspring_os::signals::SignalsBlocked;

/// How often an engine looks for a page that was not there before.
const LOOK_INTERVAL_MS: u64 = 60_000;

const PAGE: usize = 0;
const VMCLOCK: usize = 1;

/// The paths of the pages that give an engine notice of copies.
#[derive(Debug)]
pub(crate) struct WatchedPaths {
    pub(crate) page: Cow<'static, Path>,
    pub(crate) vmclock: Cow<'static, Path>,
    /// In place of that path: a process that gave up privileges could not open it.
    pub(crate) vmclock_device: Option<OwnedFd>,
}

impl Default for WatchedPaths {
    fn default() -> Self {
        Self {
            page: Path::new(page::DEFAULT_PATH).into(),
            vmclock: Path::new(page::VMCLOCK_PATH).into(),
            vmclock_device: None,
        }
    }
}

/// The signs that an engine watches. In ordinary memory: parent and child watch the same page of another process.
#[derive(Debug)]
pub(crate) struct CloneDetector {
    /// Every read compares them.
    pub(crate) words: CloneWords,
    paths: WatchedPaths,
    suspend: SuspendDetector,
    looked_ms: AtomicU64,
    /// The inode of the page that is watched; 0 for none.
    page_inode: AtomicU64,
    /// 1 if the page of the hypervisor's clock is watched.
    has_vmclock: AtomicU64,
}

/// Which signs of a copy an engine watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloneDetectionStats {
    /// The [generation page](crate::clone_detection).
    pub page: PageState,
    /// Whether the hypervisor's clock is watched.
    pub vmclock: bool,
}

/// The state of the generation page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageState {
    /// No page was found.
    Absent,
    /// It is compared on every read.
    Watched,
    /// A page exists, and is not trusted for this reason.
    Refused(PageError),
}

impl CloneDetector {
    /// Watches nothing yet: [`start`](Self::start) it where it stays.
    pub(crate) fn new(paths: WatchedPaths) -> Self {
        Self {
            words: CloneWords::new(),
            paths,
            suspend: SuspendDetector::new(),
            looked_ms: AtomicU64::new(0),
            page_inode: AtomicU64::new(0),
            has_vmclock: AtomicU64::new(0),
        }
    }

    /// Watches the pages that exist now. Earlier changes count as handled: a new engine has made nothing yet.
    pub(crate) fn start(&self, now_ms: u64) {
        self.look_for_pages(now_ms);
        self.words.set_handled(self.words.sum());
    }

    /// Looks at the clocks, and once a minute for pages that were not there before. Returns whether the machine was
    /// suspended.
    ///
    /// Does neither without system calls. Pages that are watched stay watched.
    pub(crate) fn look(&self, now_ms: u64) -> bool {
        if sandbox::is_prepared() {
            return false;
        }
        let was_suspended = self.suspend.was_suspended();
        let looked_ms = self.looked_ms.load(Ordering::Relaxed);
        if now_ms.abs_diff(looked_ms) >= LOOK_INTERVAL_MS {
            // A handler that is left by siglongjmp would leave a file open.
            let _signals = SignalsBlocked::new();
            self.look_for_pages(now_ms);
        }
        was_suspended
    }

    pub(crate) fn stats(&self) -> CloneDetectionStats {
        let page = if self.page_inode.load(Ordering::Relaxed) != 0 {
            PageState::Watched
        } else {
            match page::map(&self.paths.page) {
                Err(error) if !error.is_absent() && !error.is_unsupported() => {
                    PageState::Refused(error)
                }
                // A page that exists now will be watched within a minute.
                _ => PageState::Absent,
            }
        };
        CloneDetectionStats {
            page,
            vmclock: self.has_vmclock.load(Ordering::Relaxed) != 0,
        }
    }

    fn map_vmclock(&self) -> Option<(SharedPage, usize)> {
        match &self.paths.vmclock_device {
            Some(device) => page::map_vmclock(device),
            None => page::map_vmclock(open_device(&self.paths.vmclock)?),
        }
    }

    fn look_for_pages(&self, now_ms: u64) {
        if cfg!(miri) {
            return; // It maps no files.
        }
        self.looked_ms.store(now_ms, Ordering::Relaxed);
        if let Ok((page, inode)) = page::map(&self.paths.page)
            && inode != self.page_inode.load(Ordering::Relaxed)
            && self.words.watch(PAGE, page, CLONES_OFFSET).is_ok()
        {
            self.page_inode.store(inode, Ordering::Relaxed);
        }
        if self.has_vmclock.load(Ordering::Relaxed) == 0
            && let Some((page, offset)) = self.map_vmclock()
            && self.words.watch(VMCLOCK, page, offset).is_ok()
        {
            self.has_vmclock.store(1, Ordering::Relaxed);
        }
    }
}

/// How much the two clocks must differ before it counts as a suspend.
const MIN_SUSPEND_MS: u64 = 20;

/// Notices that the machine was suspended. One atomic word: a lock would stay locked in a child process, if a thread of
/// the parent held it during the fork.
#[derive(Debug)]
pub(super) struct SuspendDetector {
    /// The time asleep at the last look, plus 1; 0 before the first look.
    last_ms: AtomicU64,
}

impl SuspendDetector {
    pub(super) const fn new() -> Self {
        Self {
            last_ms: AtomicU64::new(0),
        }
    }

    /// Whether the machine was suspended since the last call.
    pub(super) fn was_suspended(&self) -> bool {
        self.compare(asleep_ms())
    }

    /// The same, for a given time asleep since boot.
    pub(super) fn compare(&self, asleep_ms: u64) -> bool {
        match self.last_ms.swap(asleep_ms + 1, Ordering::Relaxed) {
            0 => false,
            last_ms => (asleep_ms + 1).abs_diff(last_ms) >= MIN_SUSPEND_MS,
        }
    }
}

/// The time that the machine was suspended since boot, in milliseconds: CLOCK_BOOTTIME counts it and CLOCK_MONOTONIC
/// does not. No system call.
pub(super) fn asleep_ms() -> u64 {
    if cfg!(miri) {
        return 0; // It does not know CLOCK_BOOTTIME.
    }
    // A thread that is interrupted between two clocks sees them differ: repeat until it was quick.
    loop {
        let before = now_with_sleep_ns();
        let awake = now_ns();
        if now_with_sleep_ns().saturating_sub(before) < 1_000_000 * MIN_SUSPEND_MS / 4 {
            return before.saturating_sub(awake) / 1_000_000;
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::clone_detection::GenerationPage;
    use std::path::PathBuf;

    fn detector(page: PathBuf) -> CloneDetector {
        let paths = WatchedPaths {
            page: page.into(),
            vmclock: Path::new("/none").into(),
            vmclock_device: None,
        };
        let detector = CloneDetector::new(paths);
        detector.start(0);
        detector
    }

    fn is_handled(detector: &CloneDetector) -> bool {
        detector.words.sum() == detector.words.handled()
    }

    #[test]
    fn a_page_that_comes_later_or_is_replaced_is_found_within_a_minute() {
        let name = format!("wellspring-later-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let detector = detector(path.clone());
        assert_eq!(detector.stats().page, PageState::Absent);
        let first = GenerationPage::create(&path).unwrap();
        detector.look(59_999);
        assert!(is_handled(&detector));
        detector.look(60_000);
        assert!(!is_handled(&detector));
        assert_eq!(detector.stats().page, PageState::Watched);
        detector.words.set_handled(detector.words.sum());
        first.bump();
        assert!(!is_handled(&detector));
        detector.words.set_handled(detector.words.sum());
        drop(first);
        std::fs::remove_file(&path).unwrap();
        let second = GenerationPage::create(&path).unwrap();
        detector.look(120_000);
        assert!(!is_handled(&detector));
        detector.words.set_handled(detector.words.sum());
        second.bump();
        assert!(!is_handled(&detector));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_clock_that_goes_back_looks_for_pages_again() {
        let name = format!("wellspring-back-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let detector = detector(path.clone());
        detector.look(1_000_000_000);
        let _page = GenerationPage::create(&path).unwrap();
        detector.look(5_000);
        assert_eq!(detector.stats().page, PageState::Watched);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_suspend_is_noticed_once_and_only_when_it_was_long_enough() {
        let detector = SuspendDetector::new();
        let times = [5000, 5000, 5001, 5002, 9000, 9000, 9019];
        let noticed = times.map(|ms| detector.compare(ms));
        assert_eq!(noticed, [false, false, false, false, true, false, false]);
    }

    #[test]
    fn a_machine_that_is_awake_was_not_suspended() {
        let detector = SuspendDetector::new();
        assert!((0..100_000).all(|_| !detector.was_suspended()));
    }
}
