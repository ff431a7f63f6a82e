//! No key of a past read is left in the process: neither right after the reads, nor after 1000 more, nor when the thread
//! has ended.
//!
//! Every 32 bytes of memory are tried as a key, with every counter that the reads can have used. The results must not
//! match the output of any read.

mod common;

use common::wanted::{Wanted, places};
use common::windows::search_memory;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use wellspring::{Engine, LocalRng, Mode, Prf};
use wellspring_cipher::Keystream;
use wellspring_core::{Backend, KEY_BYTES};
use zeroize::Zeroize;

/// One at a time: each searches the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// The last two with `WELLSPRING_LONG=1` only.
const CASES: [(Mode, Prf); 5] = [
    (Mode::PerThread, Prf::Aes256),
    (Mode::Concurrent, Prf::Aes256),
    (Mode::PerThread, Prf::ChaCha20),
    (Mode::Canonical, Prf::Aes256),
    (Mode::Concurrent, Prf::ChaCha20),
];

/// Reads of one block, which empty the buffer of a tap twice.
const SHORT_READS: usize = 700;
const SHORT_BYTES: usize = 16;
/// A read that a tap writes straight to the caller's memory.
const LONG_BYTES: usize = 6000;

/// How much output of a key is tried. A tap's counter goes on over its keys. A short read of a node takes one block and
/// those for the next key: three of 16 bytes, or two of 64.
const fn tried_bytes(mode: Mode, prf: Prf) -> usize {
    match (mode, prf) {
        (Mode::PerThread, _) => 24 << 10,
        (_, Prf::Aes256) => 48 << 10,
        (_, Prf::ChaCha20) => 100 << 10,
    }
}

fn cases() -> impl Iterator<Item = (Mode, Prf)> {
    let is_long = testkit::programs::is_long("two of five cases");
    CASES.into_iter().take(if is_long { 5 } else { 3 })
}

/// Bytes that were read, for a search of the keys that made it.
struct PastReads {
    backend: Backend,
    outputs: Wanted,
    /// Holds the output of the key that is tried.
    tried: Mutex<Vec<u8>>,
}

impl PastReads {
    fn new(mode: Mode, prf: Prf) -> Self {
        Self {
            backend: Backend::detect(prf),
            outputs: Wanted::default(),
            tried: Mutex::new(vec![0; tried_bytes(mode, prf)]),
        }
    }

    /// Keeps what these reads return, masked.
    fn read_from(&mut self, mut fill: impl FnMut(&mut [u8])) {
        let mut long = vec![0; LONG_BYTES];
        fill(&mut long);
        self.outputs.take(&mut long);
        for _ in 0..SHORT_READS {
            let mut short = [0; SHORT_BYTES];
            fill(&mut short);
            self.outputs.take(&mut short);
        }
    }

    /// Whether the key makes one of the outputs. ChaCha20's blocks have 64 bytes, and a tap's next key takes 32 of
    /// them: pieces of 16 bytes fit both.
    fn are_made_by(&self, key: &[u8; KEY_BYTES]) -> bool {
        let mut tried = self.tried.lock().unwrap();
        Keystream::new(self.backend, key, 0).fill(&mut tried);
        let mut pieces = tried.chunks_exact(SHORT_BYTES);
        let is_made = pieces.any(|piece| self.outputs.has(piece));
        tried.fill(0);
        is_made
    }

    #[track_caller]
    fn assert_keys_are_gone(&self, when: &str) {
        let (found, tried) = search_memory(&mut |window| self.are_made_by(window));
        let found = places(&found);
        assert!(
            found.is_empty(),
            "the key of a past read, {when}: {found:#?}"
        );
        assert!(tried > 100, "{when}: {tried} windows");
        println!("{when}: {tried} windows tried");
    }
}

fn engine(mode: Mode, prf: Prf) -> Engine {
    let topology = "nodes=1,cpus=2".parse().unwrap();
    let builder = Engine::builder().mode(mode).prf(prf).topology(topology);
    builder.build().unwrap()
}

/// Reads on a thread of its own, and searches from another thread, whose frames cover no bytes of the reads.
fn search_beside_reads(past: PastReads, what: &str, fill: impl FnMut(&mut [u8]) + Send) {
    let past = Mutex::new(past);
    let stage = AtomicU64::new(0);
    let wait_for = |number| {
        while stage.load(Ordering::Acquire) < number {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        let mut fill = fill;
        let reads = scope.spawn({
            let (past, stage, wait_for) = (&past, &stage, &wait_for);
            move || {
                past.lock().unwrap().read_from(&mut fill);
                stage.store(1, Ordering::Release);
                wait_for(2);
                (1..=1000).for_each(|bytes| fill(&mut [0; 1000][..bytes]));
                stage.store(3, Ordering::Release);
                wait_for(4);
            }
        });
        let search = |begin, when: &str| {
            wait_for(begin);
            let when = format!("{what}, {when}");
            let search = || past.lock().unwrap().assert_keys_are_gone(&when);
            let searched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(search));
            stage.store(begin + 1, Ordering::Release);
            searched
        };
        let both = [search(1, "after the reads"), search(3, "after 1000 more")];
        reads.join().unwrap();
        for searched in both {
            searched.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    let past = past.into_inner().unwrap();
    past.assert_keys_are_gone(&format!("{what}, after the end of the thread"));
}

#[test]
fn no_key_of_a_past_read_is_left() {
    let _alone = ALONE.lock();
    for (mode, prf) in cases() {
        let engine = engine(mode, prf);
        let past = PastReads::new(mode, prf);
        search_beside_reads(past, &format!("{mode}, {prf}"), |bytes| engine.fill(bytes));
    }
}

#[test]
fn no_key_of_a_past_read_of_an_owned_generator_is_left() {
    let _alone = ALONE.lock();
    let engine = engine(Mode::PerThread, Prf::Aes256);
    let mut rng: LocalRng = engine.rng();
    let past = PastReads::new(Mode::PerThread, Prf::Aes256);
    search_beside_reads(past, "an owned generator", move |bytes| {
        rng.fill(bytes);
    });
}

/// The reads of one key, made as a node and as a tap make them.
#[test]
fn the_search_finds_the_key_of_every_read() {
    let _alone = ALONE.lock();
    for (mode, prf) in cases() {
        let mut past = PastReads::new(mode, prf);
        let mut key = Box::new([0; KEY_BYTES]);
        getrandom::fill(&mut *key).unwrap();
        let mut at = 0;
        let mut whole = vec![0; tried_bytes(mode, prf)];
        Keystream::new(past.backend, &key, 0).fill(&mut whole);
        // The last reads are the last block that the search tries.
        past.read_from(|bytes| {
            at = (at + bytes.len()).min(whole.len());
            bytes.copy_from_slice(&whole[at - bytes.len()..at]);
        });
        whole.zeroize();
        let (found, _) = search_memory(&mut |window| past.are_made_by(window));
        assert_eq!(
            found,
            [key.as_ptr().addr()],
            "{mode}, {prf}: {:#?}",
            places(&found)
        );
        key.zeroize();
        let (found, _) = search_memory(&mut |window| past.are_made_by(window));
        assert_eq!(found, [], "{mode}, {prf}: {:#?}", places(&found));
    }
}
