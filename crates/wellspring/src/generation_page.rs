//! A page by which one writer has all taps of all processes take fresh keys.
//!
//! A small file under a runtime directory, by default [`DEFAULT_PATH`]. Every engine maps it if it is there when the
//! engine is built, or within a minute of its appearance, and compares a word of it on every read. Whoever learns that
//! the machine was cloned or restored bumps the word once, for everyone: `wellspring generation serve` does.
//!
//! It is believed only if it belongs to root or to the reader's own user, nobody else can write it, and it looks as it
//! should. Its writer replaces it and never truncates it: a process that reads a truncated page is ended by the
//! system.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `wellpage` |
//! | 8 | 8 | the process id of the writer |
//! | 64 | 8 | the word |
//! | 4096 | | the end |

use core::fmt;
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RenameFlags, fchmod, flock, fstat,
    openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::{Errno, write};
use rustix::process::{geteuid, getpid};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use wellspring_sys::watched::{SharedPage, SharedPageMut};

use crate::noise::Noise;

/// Where the page is unless someone says otherwise.
pub const DEFAULT_PATH: &str = "/run/wellspring/generation";

const MAGIC: [u8; 8] = *b"wellpage";
const WRITER: usize = 8;
/// On a cache line of its own.
pub(crate) const WORD: usize = 64;
const PAGE_BYTES: usize = 4096;

/// Why a page cannot be written or is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageError {
    /// Another process is its writer: the one with this id.
    Held(u32),
    /// It belongs to another user, or others can write it.
    Owner,
    /// It is no regular file, or does not look as a page should.
    NotAPage,
    /// An error number of the system: `ENOENT` where there is none.
    System(i32),
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageError::Held(process) => write!(f, "process {process} is its writer"),
            PageError::Owner => f.write_str("it belongs to another user, or others can write it"),
            PageError::NotAPage => f.write_str("not a generation page"),
            PageError::System(number) => {
                write!(f, "{}", std::io::Error::from_raw_os_error(*number))
            }
        }
    }
}

impl core::error::Error for PageError {}

impl From<Errno> for PageError {
    fn from(error: Errno) -> Self {
        Self::System(error.raw_os_error())
    }
}

/// The page, in the hands of its one writer. It stays where it is when the writer goes: nothing parts then, and the
/// next writer takes it over.
#[derive(Debug)]
pub struct GenerationPage {
    page: SharedPageMut,
    /// Locked for as long as this lives.
    _file: OwnedFd,
}

impl GenerationPage {
    /// Becomes the writer of the page at `path`, makes it if there is none, and bumps it: nobody knows what happened
    /// while it had no writer. A folder that is missing is made, for its parent must be there.
    ///
    /// # Errors
    ///
    /// [`PageError::Held`] while it has another writer; [`PageError::System`].
    pub fn create(path: &Path) -> Result<Self, PageError> {
        let _ = path.parent().map(std::fs::create_dir);
        for _ in 0..10 {
            let held = match open(path, OFlags::RDWR) {
                Ok(file) => Self::hold(path, file)?,
                Err(PageError::System(number)) if number == Errno::NOENT.raw_os_error() => {
                    make(path, RenameFlags::NOREPLACE)?;
                    None
                }
                // What is there is no page that anybody believes.
                Err(PageError::NotAPage | PageError::Owner) => {
                    make(path, RenameFlags::empty())?;
                    None
                }
                Err(error) => return Err(error),
            };
            if let Some(page) = held {
                page.bump();
                return Ok(page);
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// Takes the lock; `None` if the page was replaced meanwhile.
    fn hold(path: &Path, file: OwnedFd) -> Result<Option<Self>, PageError> {
        let page = SharedPage::map_to_write(&file).map_err(PageError::System)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(PageError::Held(page.word(WRITER) as u32));
        }
        let named = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
        if fstat(&file)?.st_ino != named.st_ino {
            return Ok(None);
        }
        page.store(WRITER, getpid().as_raw_nonzero().get() as u64);
        Ok(Some(Self { page, _file: file }))
    }

    /// Has all taps of all processes part at their next read. Returns the new number.
    pub fn bump(&self) -> u64 {
        let next = self.current().wrapping_add(1);
        self.page.store(WORD, next);
        next
    }

    /// The number now.
    #[must_use]
    pub fn current(&self) -> u64 {
        self.page.word(WORD)
    }
}

/// The number on the page at `path`.
///
/// # Errors
///
/// Why an engine would not believe it.
pub fn current(path: &Path) -> Result<u64, PageError> {
    map(path).map(|(page, _)| page.word(WORD))
}

/// Maps the page to be watched; with what tells it from one that replaces it.
pub(crate) fn map(path: &Path) -> Result<(SharedPage, u64), PageError> {
    let file = open(path, OFlags::RDONLY)?;
    let page = SharedPage::map(&file).map_err(PageError::System)?;
    match page.word(0) == u64::from_ne_bytes(MAGIC) {
        true => Ok((page, fstat(&file)?.st_ino)),
        false => Err(PageError::NotAPage),
    }
}

/// Opens what can be believed.
fn open(path: &Path, access: OFlags) -> Result<OwnedFd, PageError> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(CWD, path, flags, Mode::empty()) {
        Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Err(PageError::NotAPage),
        file => file?,
    };
    let status = fstat(&file)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile
        || status.st_size != PAGE_BYTES as i64
    {
        return Err(PageError::NotAPage);
    }
    let others = Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH);
    let ours = [0, geteuid().as_raw()].contains(&status.st_uid);
    match ours && !others {
        true => Ok(file),
        false => Err(PageError::Owner),
    }
}

/// Puts a new page there, whole, or leaves what is there.
fn make(path: &Path, replace: RenameFlags) -> Result<(), PageError> {
    let mut next = PathBuf::from(path).into_os_string();
    next.push(format!(".{}", getpid().as_raw_nonzero()));
    let _ = unlinkat(CWD, &next, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let file = openat(CWD, &next, flags, mode)?;
    let mut content = [0; PAGE_BYTES];
    content[..8].copy_from_slice(&MAGIC);
    // Not a number that a page before this one had: who watched that one sees another.
    content[WORD..WORD + 8].copy_from_slice(&Noise::now().digest()[..8]);
    let made = fchmod(&file, mode)
        .and_then(|()| write(&file, &content))
        .and_then(|length| match length {
            PAGE_BYTES => Ok(()),
            _ => Err(Errno::NOSPC),
        })
        .and_then(|()| match replace.is_empty() {
            true => renameat(CWD, &next, CWD, path),
            false => renameat_with(CWD, &next, CWD, path, replace),
        });
    if made.is_err() {
        let _ = unlinkat(CWD, &next, AtFlags::empty());
    }
    match made {
        // Someone else made one: that is as good.
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
