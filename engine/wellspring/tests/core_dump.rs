//! A core dump gives no past output.

mod common;

use common::process::{Fork, run_and_exit};
use common::windows::{FirstOutputs, OUTPUT_BYTES};
use std::fs;
use std::path::{Path, PathBuf};
use wellspring::{Engine, Mode, Prf};

/// Makes an engine in a child, reads, and ends the child with SIGABRT in `folder`. Returns its first output and its core
/// dump, or `None` if the system writes none there.
fn crash(folder: &Path, make: impl FnOnce() -> Engine) -> Option<([u8; OUTPUT_BYTES], Vec<u8>)> {
    let output = folder.join("output");
    let pid = Fork::Library.call();
    if pid == 0 {
        run_and_exit(|| {
            std::env::set_current_dir(folder).unwrap();
            let limit = libc::rlimit {
                rlim_cur: libc::RLIM_INFINITY,
                rlim_max: libc::RLIM_INFINITY,
            };
            let engine = make();
            let first: [u8; OUTPUT_BYTES] = engine.bytes();
            fs::write(&output, first).unwrap();
            let _ = engine.reseed();
            (1..=1000).for_each(|bytes| engine.fill(&mut [0; 1000][..bytes]));
            // SAFETY: no pointer is kept. The signal ends the process with its default action.
            unsafe {
                libc::setrlimit(libc::RLIMIT_CORE, &raw const limit);
                libc::signal(libc::SIGABRT, libc::SIG_DFL);
                libc::abort();
            }
        });
    }
    // SAFETY: waits for our child.
    unsafe { libc::waitpid(pid, core::ptr::null_mut(), 0) };
    let first = fs::read(&output).unwrap().try_into().unwrap();
    fs::remove_file(&output).unwrap();
    let core: PathBuf = fs::read_dir(folder).unwrap().next()?.unwrap().path();
    let bytes = fs::read(&core).unwrap();
    fs::remove_file(core).unwrap();
    Some((first, bytes))
}

fn folder(name: &str) -> PathBuf {
    let name = format!("wellspring-core-{}-{name}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir(&folder).unwrap();
    folder
}

#[test]
fn from_a_core_dump_no_past_output_can_be_computed() {
    let folder = folder("engines");
    for (mode, prf) in [
        (Mode::PerThread, Prf::Aes256),
        (Mode::PerThread, Prf::ChaCha20),
        (Mode::Concurrent, Prf::Aes256),
        (Mode::Canonical, Prf::Aes256),
    ] {
        let make = || Engine::builder().mode(mode).prf(prf).build().unwrap();
        let Some((first, core)) = crash(&folder, make) else {
            common::skipped("the system writes no core dump into the working directory");
            break;
        };
        let mut outputs = FirstOutputs::new(prf);
        outputs.add(first);
        let (found, tried) = outputs.search_in(&core);
        assert_eq!(found, [], "{mode}, {prf}: places in the core dump");
        assert!(tried > 1000, "{mode}, {prf}: {tried} windows");
        println!("{mode}, {prf}: {} bytes, {tried} windows tried", core.len());
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_search_finds_a_seed_that_a_program_left_in_its_heap() {
    let folder = folder("control");
    let leak = || {
        let mut seed = Box::new([0; 32]);
        getrandom::fill(&mut *seed).unwrap();
        let engine = Engine::builder().sources([]).seed(&*Box::leak(seed));
        engine.build().unwrap()
    };
    match crash(&folder, leak) {
        Some((first, core)) => {
            let mut outputs = FirstOutputs::new(Prf::Aes256);
            outputs.add(first);
            assert_eq!(outputs.search_in(&core).0.len(), 1);
        }
        None => common::skipped("the system writes no core dump into the working directory"),
    }
    fs::remove_dir_all(folder).unwrap();
}
