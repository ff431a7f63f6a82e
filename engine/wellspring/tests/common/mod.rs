//! Functions that the tests of taps share.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test file uses its part of this"
)]

// musl has no contexts.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use testkit::stepping;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(crate) use testkit::{faults, tracer};
#[cfg(target_os = "linux")]
pub(crate) use testkit::{filter, timer};
pub(crate) use testkit::{memory as wanted, process, repeats, skipped};

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(target_env = "musl")))]
pub(crate) mod abandon {
    //! Code that is abandoned at one of its instructions, as by siglongjmp from a signal handler.

    use super::stepping;
    use super::stepping::{Next, step};
    use core::cell::Cell;
    use core::ptr;

    /// The context that a handler jumps to instead of returning, and the context of the code.
    struct Contexts {
        back: libc::ucontext_t,
        abandoned: libc::ucontext_t,
        stack: Vec<u8>,
    }

    struct Work<'a> {
        code: Cell<Option<&'a mut dyn FnMut()>>,
        number: usize,
        back: *const libc::ucontext_t,
        ended: Cell<bool>,
    }

    thread_local! {
        static WORK: Cell<*const Work<'static>> = const { Cell::new(ptr::null()) };
    }

    /// Runs `code` on its own stack and abandons it at its step `number`, like siglongjmp from the handler. Returns whether
    /// it had ended before.
    pub(crate) fn abandon(number: usize, code: &mut dyn FnMut()) -> bool {
        // SAFETY: all zeros is a value of it, which the calls below fill in before they use it.
        let unset = || unsafe { core::mem::zeroed() };
        let mut contexts = Box::new(Contexts {
            back: unset(),
            abandoned: unset(),
            stack: vec![0; 256 << 10],
        });
        let work = Work {
            code: Cell::new(Some(code)),
            number,
            back: &raw const contexts.back,
            ended: Cell::new(false),
        };
        WORK.set((&raw const work).cast());
        // SAFETY: the contexts live until the swap returns, which it does once: when `run` goes back.
        unsafe {
            assert_eq!(libc::getcontext(&raw mut contexts.abandoned), 0);
            contexts.abandoned.uc_stack.ss_sp = contexts.stack.as_mut_ptr().cast();
            contexts.abandoned.uc_stack.ss_size = contexts.stack.len();
            libc::makecontext(&raw mut contexts.abandoned, run, 0);
            libc::swapcontext(&raw mut contexts.back, &raw const contexts.abandoned);
        }
        stepping::stop();
        work.ended.get()
    }

    extern "C" fn run() {
        // SAFETY: `abandon` set it and waits.
        let work = unsafe { &*WORK.get() };
        let mut leave = |number: usize| {
            if number == work.number {
                // SAFETY: the context was saved by the swap that runs this.
                unsafe { libc::setcontext(work.back) };
            }
            Next::Step
        };
        if let Some(code) = work.code.take() {
            step(&mut leave, code);
        }
        work.ended.set(true);
        // SAFETY: as above.
        unsafe { libc::setcontext(work.back) };
    }
}

pub(crate) mod door {
    //! Every way to draw.

    use rand_core::Rng as _;
    use wellspring::{Engine, LocalRng, Mode, ThreadRng};

    /// A way to draw. No two of them repeat a byte.
    pub(crate) enum Door {
        Engine(Engine),
        Global,
        ThreadRng(ThreadRng),
        Owned(LocalRng),
        Pseudo,
    }

    impl Door {
        /// One of each, on engines of their own where they have one.
        pub(crate) fn all() -> Vec<Door> {
            let engines = Mode::ALL.map(|mode| Door::Engine(engine(mode)));
            let others = [
                Door::Global,
                Door::ThreadRng(wellspring::rng()),
                Door::Owned(engine(Mode::PerThread).rng()),
                Door::Pseudo,
            ];
            engines.into_iter().chain(others).collect()
        }

        pub(crate) fn fill(&mut self, destination: &mut [u8]) {
            match self {
                Door::Engine(engine) => engine.fill(destination),
                Door::Global => wellspring::fill(destination),
                Door::ThreadRng(rng) => rng.fill_bytes(destination),
                Door::Owned(rng) => rng.fill(destination),
                Door::Pseudo => wellspring_pseudo_thread::fill(destination),
            }
        }

        /// Fills `destination` by reads of `bytes` each.
        pub(crate) fn fill_by(&mut self, bytes: usize, destination: &mut [u8]) {
            for read in destination.chunks_mut(bytes) {
                self.fill(read);
            }
        }

        pub(crate) fn name(&self) -> String {
            match self {
                Door::Engine(engine) => format!("an engine in mode {}", engine.mode()),
                Door::Global => "the functions of the crate".into(),
                Door::ThreadRng(_) => "the handle of a thread".into(),
                Door::Owned(_) => "an owned generator".into(),
                Door::Pseudo => "the statistical tier".into(),
            }
        }
    }

    /// An engine of two nodes, whatever the machine has.
    pub(crate) fn engine(mode: Mode) -> Engine {
        let topology = "nodes=2,cpus=2".parse().unwrap();
        let builder = Engine::builder().mode(mode).topology(topology);
        builder.build().unwrap()
    }
}

pub(crate) mod rows {
    //! The table that the proof P3 prints: at which steps of a read something may come, and what becomes of the read then. Tests
    //! that step through reads see these rows and no other.

    use std::collections::BTreeSet;
    use wellspring_os::thread_state::CurrentThread;

    const TABLE: &str = include_str!("../../../../proofs/protocol/taps.table");

    /// A step of a read, as a handler sees it that interrupts the read there.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Step {
        has_depth: bool,
        has_bytes: bool,
    }

    impl Step {
        /// The step of a read on this thread into `destination`, which had zeros before. `depth`: the thread's before that read.
        pub(crate) fn now<const N: usize>(depth: usize, destination: *const [u8; N]) -> Self {
            // SAFETY: the memory of the caller, initialised; what the interrupted read writes on this thread it writes later.
            let bytes = unsafe { destination.read_volatile() };
            Self {
                has_depth: CurrentThread::find().depth() > depth,
                has_bytes: bytes != [0; N],
            }
        }
    }

    /// The rows that a test sees.
    pub(crate) struct Rows {
        /// The event and the reader.
        of: &'static str,
        seen: BTreeSet<String>,
    }

    impl Rows {
        /// Rows that begin with these two words.
        pub(crate) fn of(of: &'static str) -> Self {
            Self {
                of,
                seen: BTreeSet::new(),
            }
        }

        /// Notes what became of a read when it was interrupted at this step: the last word of the row.
        pub(crate) fn see(&mut self, step: Step, read: &str) {
            let depth = if step.has_depth { "taken" } else { "free" };
            let bytes = if step.has_bytes { "some" } else { "none" };
            self.seen
                .insert(format!("{} {depth} {bytes} {read}", self.of));
        }

        /// Asserts that the test saw the rows of the table, all of them and no other.
        pub(crate) fn check(&self, what: &str) {
            assert_eq!(
                self.seen,
                self.expected(),
                "{what}: proofs/protocol/taps.table"
            );
        }

        /// Whether the test saw all of them.
        pub(crate) fn are_all(&self) -> bool {
            self.seen.is_superset(&self.expected())
        }

        /// Asserts that the test saw no other row: for a read whose last steps it may not have reached.
        pub(crate) fn check_seen(&self, what: &str) {
            let (seen, expected) = (&self.seen, self.expected());
            assert!(
                seen.is_subset(&expected),
                "{what}: {seen:?}, but {expected:?}"
            );
        }

        fn expected(&self) -> BTreeSet<String> {
            let rows = TABLE.lines().map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                words.join(" ")
            });
            let expected: BTreeSet<String> = rows.filter(|row| row.starts_with(self.of)).collect();
            assert!(!expected.is_empty(), "no row of {}", self.of);
            expected
        }
    }
}

pub(crate) mod windows {
    //! Tries every 32 bytes of this process's memory as a key or a seed: can a past output be computed from them?

    use testkit::memory::{Part, find};
    use wellspring::Engine;
    use wellspring_cipher::Keystream;
    use wellspring_cipher::sha256::Sha256;
    use wellspring_core::{Backend, KEY_BYTES, Prf};

    /// How many zero bytes among 32 no key has: a random one has 8 of them once in 10^12.
    const ZERO_BYTES: usize = 8;

    pub(crate) const OUTPUT_BYTES: usize = 16;

    /// The first outputs of engines, all of one backend.
    pub(crate) struct FirstOutputs {
        backend: Backend,
        outputs: Vec<[u8; OUTPUT_BYTES]>,
    }

    impl FirstOutputs {
        pub(crate) fn new(prf: Prf) -> Self {
            Self {
                backend: Backend::detect(prf),
                outputs: Vec::new(),
            }
        }

        /// Reads the first 16 bytes of an engine of this backend.
        pub(crate) fn read_from(&mut self, engine: &Engine) {
            assert_eq!(engine.backend(), self.backend);
            self.add(engine.bytes());
        }

        /// Adds the first 16 bytes of an engine of this backend.
        pub(crate) fn add(&mut self, output: [u8; OUTPUT_BYTES]) {
            self.outputs.push(output);
        }

        /// Tries every window of 32 bytes in `bytes`, such as the content of a file, at every fourth byte. Returns the
        /// places of windows that give one of the outputs, and how many windows were tried.
        pub(crate) fn search_in(&self, bytes: &[u8]) -> (Vec<usize>, usize) {
            search_bytes(bytes, &mut |window| self.can_be_computed_from(window))
        }

        /// The same in the memory of this process.
        pub(crate) fn search(&self) -> (Vec<usize>, usize) {
            search_memory(&mut |window| self.can_be_computed_from(window))
        }

        /// Tries the window as the key of a generator or of a tap, and as the first seed of an engine.
        fn can_be_computed_from(&self, window: &[u8; KEY_BYTES]) -> bool {
            let mut key = [0; KEY_BYTES];
            let mut hash = Sha256::ZERO;
            hash.update(&[0; 64]);
            hash.update(window);
            hash.finish_into(&mut key);
            hash.update(&key);
            hash.finish_into(&mut key);
            // The key of a tap is the first output of its node.
            [window, &key].into_iter().any(|key| {
                let mut tap_key = [0; KEY_BYTES];
                Keystream::new(self.backend, key, 1).fill(&mut tap_key);
                self.has_output_of(key) || self.has_output_of(&tap_key)
            })
        }

        /// A node's first output is block 1 of its key. A tap's first output comes after its next key: with AES-256 that has
        /// two blocks, so it is block 2; with ChaCha20 it has a part of block 0, so it is block 1.
        fn has_output_of(&self, key: &[u8; KEY_BYTES]) -> bool {
            let mut blocks = [0; 2 * OUTPUT_BYTES];
            Keystream::new(self.backend, key, 1).fill(&mut blocks);
            let (blocks, _) = blocks.as_chunks();
            self.outputs.iter().any(|output| blocks.contains(output))
        }
    }

    /// Whether something secret can be computed from these bytes.
    type Tells<'a> = &'a mut dyn FnMut(&[u8; KEY_BYTES]) -> bool;

    /// The places in `bytes`, at every fourth byte, where a window of 32 bytes tells something; and how many windows were tried.
    fn search_bytes(bytes: &[u8], tells: Tells<'_>) -> (Vec<usize>, usize) {
        let (mut found, mut tried) = (Vec::new(), 0);
        for (number, window) in bytes.windows(KEY_BYTES).step_by(4).enumerate() {
            let window = window.try_into().unwrap();
            if !is_no_key(window) {
                tried += 1;
                if tells(window) {
                    found.push(4 * number);
                }
            }
        }
        (found, tried)
    }

    /// The same at every fourth address of the pages that this process can write, shares with no other and has in memory.
    pub(crate) fn search_memory(tells: Tells<'_>) -> (Vec<usize>, usize) {
        let mut tried = 0;
        let found = find(
            "self",
            Part::PrivateResident,
            (KEY_BYTES, 4),
            &mut |window| {
                let window = window.try_into().unwrap();
                if is_no_key(window) {
                    return false;
                }
                tried += 1;
                tells(window)
            },
        );
        (found.unwrap(), tried)
    }

    fn is_no_key(window: &[u8; KEY_BYTES]) -> bool {
        window.iter().filter(|&&byte| byte == 0).count() >= ZERO_BYTES
    }
}
