//! A generation page whose owner does it harm while engines watch it: reads go on, and no byte comes twice.
//!
//! Pages that are refused from the beginning are in `copies.rs`.

use crate::common::process::{Fork, run_and_exit};
use crate::common::repeats::assert_nothing_in_common;
use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use wellspring::clone_detection::{self, GenerationPage};
use wellspring::{Engine, Mode};

/// Where the number lies in the page.
const WORD_OFFSET: u64 = 104;

/// A folder of a test's own, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("wellspring-hostile-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn page(&self) -> PathBuf {
        self.0.join("generation")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn on_page(path: &Path, mode: Mode) -> Engine {
    let builder = Engine::builder().sources([]).seed(&[7; 32]);
    let builder = builder.generation_page(path).vmclock("/none").mode(mode);
    builder.build().unwrap()
}

#[test]
fn a_number_that_jumps_costs_a_new_generation_and_nothing_else() {
    for mode in Mode::ALL {
        let scratch = Scratch::new(mode.name());
        drop(GenerationPage::create(&scratch.page()).unwrap());
        let file = OpenOptions::new().write(true).open(scratch.page()).unwrap();
        let engine = on_page(&scratch.page(), mode);
        let mut seen = vec![engine.bytes::<16>()];
        let mut generation = engine.generation();
        for number in [u64::MAX, 0, 1 << 63, 1, u64::MAX - 1, 0] {
            file.write_all_at(&number.to_ne_bytes(), WORD_OFFSET)
                .unwrap();
            seen.push(engine.bytes());
            seen.push(engine.bytes());
            generation += 1;
            assert_eq!(engine.generation(), generation, "{mode}: {number}");
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 13, "{mode}");
    }
}

#[test]
fn a_number_that_jumps_all_the_time_stops_no_reader() {
    let scratch = Scratch::new("storm");
    drop(GenerationPage::create(&scratch.page()).unwrap());
    let file = OpenOptions::new().write(true).open(scratch.page()).unwrap();
    let engine = on_page(&scratch.page(), Mode::PerThread);
    let is_over = AtomicBool::new(false);
    let mut seen: Vec<Vec<u8>> = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 1_u64;
            while !is_over.load(Ordering::Relaxed) {
                number = number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .rotate_left(7)
                    ^ 1;
                file.write_all_at(&number.to_ne_bytes(), WORD_OFFSET)
                    .unwrap();
            }
        });
        for length in (16..=4096).step_by(16) {
            let mut bytes = vec![0; length];
            engine.fill(&mut bytes);
            seen.push(bytes);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_nothing_in_common(&seen, "a number that jumps");
}

#[test]
fn nothing_that_happens_to_the_file_of_a_watched_page_stops_reads() {
    let scratch = Scratch::new("file");
    let path = scratch.page();
    let page = GenerationPage::create(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let engine = on_page(&path, Mode::PerThread);
    let _ = engine.u64();
    let hears_a_bump = |what: &str| {
        let before = engine.generation();
        let _ = engine.u64();
        assert!(engine.generation() >= before, "{what}");
        let before = engine.generation();
        page.bump();
        let _ = engine.u64();
        assert_eq!(engine.generation(), before + 1, "{what}");
    };
    hears_a_bump("as it was");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    hears_a_bump("every user may write it");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    hears_a_bump("no user may read it");
    if chown(&path, Some(65534), None).is_ok() {
        hears_a_bump("of another owner");
    }
    file.write_all_at(&[0; 4096], 0).unwrap();
    hears_a_bump("overwritten with zeros");
    file.set_len(1 << 20).unwrap();
    hears_a_bump("longer");
    file.set_len(4096).unwrap();
    hears_a_bump("as long as before");
    fs::remove_file(&path).unwrap();
    hears_a_bump("removed");
    fs::create_dir(&path).unwrap();
    hears_a_bump("replaced by a folder");
}

/// Neither an engine nor the command may wait for a page that is no file, or gives no answer.
#[test]
fn a_page_that_is_no_file_is_refused_at_once_and_reads_go_on() {
    let scratch = Scratch::new("kinds");
    let path = scratch.page();
    let refused = |what: &str| {
        assert!(clone_detection::current(&path).is_err(), "{what}");
        assert!(clone_detection::bump(&path).is_err(), "{what}");
        let engine = on_page(&path, Mode::PerThread);
        assert_ne!(engine.u64(), engine.u64(), "{what}");
    };
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a string with its end.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    refused("a FIFO that nothing writes");
    fs::remove_file(&path).unwrap();
    let socket = UnixListener::bind(&path).unwrap();
    refused("a socket");
    drop(socket);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("a folder");
    fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    refused("a link to itself");
}

/// The owner of the page can end a process that maps it in this way alone, as SECURITY.md says.
#[test]
fn a_page_that_was_cut_ends_the_process_and_gives_no_byte() {
    let scratch = Scratch::new("cut");
    let path = scratch.page();
    drop(GenerationPage::create(&path).unwrap());
    let child = Fork::Library.call();
    if child == 0 {
        run_and_exit(|| {
            let engine = on_page(&path, Mode::PerThread);
            let _ = engine.u64();
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(0).unwrap();
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: no pointer is kept. The test harness's handler of SIGBUS would print; the default ends the child.
            unsafe {
                libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
                libc::signal(libc::SIGBUS, libc::SIG_DFL);
            }
            let _ = engine.u64();
        });
    }
    let mut status = 0;
    // SAFETY: waits for the child above.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(libc::WIFSIGNALED(status), "it went on to read: {status:x}");
    assert_eq!(libc::WTERMSIG(status), libc::SIGBUS);
}
