//! Nothing that is left in the process gives a past output: not from its stacks, not from its heap, not from any other
//! page.

mod common;

use common::process::{self, Fork};
use common::wanted::{MASK, Wanted, places};
use common::windows::FirstOutputs;
use std::io::{Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use wellspring::{Engine, MinEntropy, Mode, Prf, Source, SourceError};
use wellspring_cipher::sha256::Sha256;
use wellspring_cipher::{Keystream, erase_stack};
use wellspring_core::{Backend, KEY_BYTES};
use zeroize::Zeroize;

/// One at a time: each searches the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Modes and functions; the last two with `WELLSPRING_LONG=1` only.
const ENGINES: [(Mode, Prf); 6] = [
    (Mode::Concurrent, Prf::Aes256),
    (Mode::Canonical, Prf::Aes256),
    (Mode::PerThread, Prf::Aes256),
    (Mode::PerThread, Prf::ChaCha20),
    (Mode::Concurrent, Prf::ChaCha20),
    (Mode::Canonical, Prf::ChaCha20),
];

fn engines() -> impl Iterator<Item = (Mode, Prf)> {
    let is_long = testkit::programs::is_long("two of six engines");
    ENGINES.into_iter().take(if is_long { 6 } else { 4 })
}

/// A secret that the test keeps masked, so that a search does not find it where it is kept.
struct Secret {
    masked: [u128; 2],
}

impl Secret {
    fn new() -> Self {
        let mut masked = [0; KEY_BYTES];
        getrandom::fill(&mut masked).unwrap();
        let half = |at: usize| u128::from_ne_bytes(masked[at..at + 16].try_into().unwrap());
        Self {
            masked: [half(0), half(16)],
        }
    }

    /// Writes it to `place` for as long as `work` runs.
    fn with<R>(&self, place: &mut [u8; KEY_BYTES], work: impl FnOnce(&[u8; KEY_BYTES]) -> R) -> R {
        let (words, _) = place.as_chunks_mut::<8>();
        for (number, word) in words.iter_mut().enumerate() {
            let shift = 64 * (number % 2);
            let masked = (self.masked[number / 2] >> shift) as u64;
            *word = (masked ^ (MASK >> shift) as u64).to_ne_bytes();
        }
        let result = work(place);
        place.zeroize();
        result
    }

    /// The secret, and what an engine makes of it as its first seed: the digest that is hashed once more, the key of
    /// the node, and the key of the first tap, if there are taps. All in both orders of bytes, as SHA-256 holds them in
    /// registers.
    #[inline(never)]
    fn take_all_into(&self, wanted: &mut Wanted, mode: Mode, prf: Prf) {
        let (mut value, mut copy) = (Box::new([0; KEY_BYTES]), Box::new([0; KEY_BYTES]));
        let mut take = |value: &[u8; KEY_BYTES]| {
            copy.copy_from_slice(value);
            wanted.take(&mut *copy);
            copy.copy_from_slice(value);
            let (words, _) = copy.as_chunks_mut::<4>();
            words.iter_mut().for_each(|word| word.reverse());
            wanted.take(&mut *copy);
        };
        self.with(&mut value, |secret| take(secret));
        let mut hash = Sha256::ZERO;
        hash.update(&[0; 64]);
        self.with(&mut value, |secret| hash.update(secret));
        hash.finish_into(&mut value);
        take(&value);
        hash.update(&*value);
        hash.finish_into(&mut value);
        take(&value);
        if mode == Mode::PerThread {
            fill_with_tap_key(&mut value, prf);
            take(&value);
        }
        value.zeroize();
        // Wipes the vector registers, which a later call may save on the stack.
        fill_with_tap_key(&mut value, prf);
    }
}

/// Writes the key of the first tap over the key of its node.
fn fill_with_tap_key(key: &mut [u8; KEY_BYTES], prf: Prf) {
    let mut node = Keystream::new(Backend::detect(prf), key, 1);
    node.fill(key);
}

fn builder(mode: Mode, prf: Prf) -> wellspring::EngineBuilder {
    let topology = "nodes=1,cpus=2".parse().unwrap();
    Engine::builder().mode(mode).prf(prf).topology(topology)
}

#[track_caller]
fn assert_nothing_is_left(outputs: &FirstOutputs, wanted: &Wanted, when: &str) {
    let found = places(&wanted.search());
    assert!(
        found.is_empty(),
        "a seed or a digest of it, {when}: {found:#?}"
    );
    let (found, tried) = outputs.search();
    let found = places(&found);
    assert!(
        found.is_empty(),
        "a past output can be computed, {when}: {found:#?}"
    );
    assert!(tried > 1000, "{when}: {tried} windows");
    println!("{when}: {tried} windows tried");
}

/// Lets a thread make an engine and read from it, and searches from another thread, whose frames cover nothing that
/// the reads left: after the first read, after 1000 more, in a child, after the end of the thread, after the end of the
/// engine.
fn search_at_every_stage(prf: Prf, make: impl FnOnce() -> Engine + Send, wanted: &Wanted) {
    let outputs = Mutex::new(FirstOutputs::new(prf));
    let stage = AtomicU64::new(0);
    let end_stage = |number: u64| {
        stage.store(number, Ordering::Release);
        while stage.load(Ordering::Acquire) == number {
            std::thread::yield_now();
        }
    };
    let search_in_stage = |number: u64, when: &str| {
        while stage.load(Ordering::Acquire) != number {
            std::thread::yield_now();
        }
        let search = || assert_nothing_is_left(&outputs.lock().unwrap(), wanted, when);
        let searched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(search));
        stage.store(number + 1, Ordering::Release);
        searched
    };
    let engine = std::thread::scope(|scope| {
        let reads = scope.spawn(|| {
            let engine = make();
            outputs.lock().unwrap().read_from(&engine);
            end_stage(1);
            (1..=1000).for_each(|bytes| engine.fill(&mut [0; 1000][..bytes]));
            end_stage(3);
            engine
        });
        let first = search_in_stage(1, "after the first read");
        let later = search_in_stage(3, "after 1000 reads");
        let engine = reads.join().unwrap();
        for searched in [first, later] {
            searched.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        engine
    });
    let outputs = outputs.into_inner().unwrap();
    assert_nothing_is_left(&outputs, wanted, "after the end of the thread");
    process::start(Fork::Library, || {
        assert_nothing_is_left(&outputs, wanted, "in a child");
    })
    .join();
    drop(engine);
    assert_nothing_is_left(&outputs, wanted, "after the end of the engine");
}

#[test]
fn of_a_given_seed_nothing_is_left_from_which_a_past_output_can_be_computed() {
    let _alone = ALONE.lock();
    for (mode, prf) in engines() {
        let secret = Secret::new();
        let mut wanted = Wanted::default();
        secret.take_all_into(&mut wanted, mode, prf);
        // Wipes the traces of the test itself; nothing after this wipes the traces of the engine.
        erase_stack::<{ 16 << 10 }>();
        let make = || {
            let mut place = Box::new([0; KEY_BYTES]);
            let builder = builder(mode, prf).sources([]);
            secret.with(&mut place, |secret| builder.seed(secret).build().unwrap())
        };
        search_at_every_stage(prf, make, &wanted);
    }
}

#[test]
fn of_the_noise_of_sources_nothing_is_left_from_which_a_past_output_can_be_computed() {
    let _alone = ALONE.lock();
    for (mode, prf) in engines() {
        search_at_every_stage(
            prf,
            || builder(mode, prf).build().unwrap(),
            &Wanted::default(),
        );
    }
}

#[test]
fn of_a_seed_file_nothing_is_left_from_which_a_past_output_can_be_computed() {
    let _alone = ALONE.lock();
    for (mode, prf) in engines() {
        let name = format!("wellspring-secrets-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        drop(builder(mode, prf).seed_file(&path).build().unwrap());
        let mut wanted = Wanted::default();
        // Its sections; they begin after 72 bytes.
        let (mut file, mut section) = (std::fs::File::open(&path).unwrap(), [0; KEY_BYTES]);
        file.seek(SeekFrom::Start(72)).unwrap();
        for _ in 0..2 {
            file.read_exact(&mut section).unwrap();
            wanted.take(&mut section);
        }
        // Wipes the traces of the test itself; nothing after this wipes the traces of the engine.
        erase_stack::<{ 16 << 10 }>();
        search_at_every_stage(
            prf,
            || builder(mode, prf).seed_file(&path).build().unwrap(),
            &wanted,
        );
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn the_search_finds_a_seed_and_every_key_that_is_made_of_it() {
    let _alone = ALONE.lock();
    for (mode, prf) in engines() {
        let secret = Secret::new();
        let mut place = Box::new([0; KEY_BYTES]);
        let builder = builder(mode, prf).sources([]);
        let engine = secret.with(&mut place, |secret| builder.seed(secret).build().unwrap());
        let mut outputs = FirstOutputs::new(prf);
        outputs.read_from(&engine);
        let at = place.as_ptr().addr();
        let assert_found = |place: &[u8; KEY_BYTES], what: &str| {
            let (found, _) = outputs.search();
            assert_eq!(found, [at], "{mode}, {prf}: {what}: {:#?}", places(&found));
            assert_eq!(place.as_ptr().addr(), at);
        };
        secret.with(&mut place, |place| assert_found(place, "the seed"));
        let mut hash = Sha256::ZERO;
        hash.update(&[0; 64]);
        secret.with(&mut place, |place| hash.update(place));
        hash.finish_into(&mut place);
        hash.update(&*place);
        hash.finish_into(&mut place);
        assert_found(&place, "the key of the node");
        if mode == Mode::PerThread {
            fill_with_tap_key(&mut place, prf);
            assert_found(&place, "the key of the tap");
        }
        place.zeroize();
    }
}

/// A source whose samples the test can make again.
struct Known {
    key: Secret,
    draws: AtomicU64,
}

impl Known {
    fn write(&self, draw: u64, destination: &mut [u8]) {
        let backend = Backend::detect(Prf::Aes256);
        let mut place = [0; KEY_BYTES];
        let mut samples = self.key.with(&mut place, |key| {
            Keystream::new(backend, key, u128::from(draw) << 32)
        });
        samples.fill(destination);
    }
}

impl Source for Known {
    fn name(&self) -> &'static str {
        "known"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::FULL
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let draw = self.draws.fetch_add(1, Ordering::Relaxed);
        self.write(draw, destination);
        Ok(destination.len())
    }
}

/// The mappings that a fork wipes.
fn wiped_on_fork() -> Vec<std::ops::Range<usize>> {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut mappings, mut last) = (Vec::new(), 0..0);
    for line in smaps.lines() {
        let bounds = line
            .split(' ')
            .next()
            .and_then(|bounds| bounds.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).ok();
        if let Some((Some(start), Some(end))) = bounds.map(|(a, b)| (number(a), number(b))) {
            last = start..end;
        }
        if let Some(flags) = line.strip_prefix("VmFlags:")
            && flags.split_whitespace().any(|flag| flag == "wf")
        {
            mappings.push(last.clone());
        }
    }
    mappings
}

#[test]
fn samples_lie_in_memory_that_a_fork_wipes_and_are_gone_with_the_engine() {
    let _alone = ALONE.lock();
    for (mode, prf) in engines() {
        let source = Arc::new(Known {
            key: Secret::new(),
            draws: AtomicU64::new(0),
        });
        let sources: [Arc<dyn Source>; 1] = [source.clone()];
        let engine = builder(mode, prf).sources(sources).build().unwrap();
        let _ = engine.u64();
        engine.reseed().unwrap();
        let _ = engine.u64();
        let draws = source.draws.load(Ordering::Relaxed);
        let mut wanted = Wanted::default();
        let mut sample = [0; 256];
        for draw in 0..draws {
            source.write(draw, &mut sample);
            wanted.take(&mut sample);
        }
        let mappings = wiped_on_fork();
        let (inside, outside): (Vec<_>, Vec<_>) = wanted
            .search()
            .into_iter()
            .partition(|at| mappings.iter().any(|mapping| mapping.contains(at)));
        assert_eq!(outside, [], "{mode}: a sample outside of the pools");
        // The pools that no reseed has used hold their newest noise as it came.
        assert!(!inside.is_empty(), "{mode}: the search finds what is there");
        process::start(Fork::Library, || {
            assert_eq!(wanted.search(), [], "{mode}: in a child")
        })
        .join();
        drop(engine);
        assert_eq!(wanted.search(), [], "{mode}: after the end of the engine");
    }
}
