//! Measures how much stack a read takes, because an alternate signal stack usually has 8 KiB.

mod common;

use common::process::{Fork, Shared, start};
use core::ffi::c_void;
use std::time::Duration;
use wellspring::{Engine, Mode, Prf};

/// The most stack that a read may take. SECURITY.md and the crate's documentation promise it for optimised code.
const MAX_BYTES: usize = if cfg!(debug_assertions) {
    16 << 10
} else {
    4 << 10
};

const STACK_BYTES: usize = 1 << 20;

/// The distance on the stack from the start of the thread to the read. The thread's own start and exit use the part
/// above it, so they do not count.
const DISTANCE_BYTES: usize = 128 << 10;

const PAINT: u8 = 0xa5;

/// How many bytes below a read's lowest write are looked at.
const LOWEST_BYTES: usize = 1024;

/// The program's code is nearer than this to one of its functions.
const CODE_BYTES: u64 = 16 << 20;

/// The work of the thread, and the address of the stack where the work began.
struct Job<'a> {
    work: &'a dyn Fn(),
    base: usize,
}

extern "C" fn thread_main(job: *mut c_void) -> *mut c_void {
    // SAFETY: `stack_use` passes a job, which lives until this thread was joined.
    let job = unsafe { &mut *job.cast::<Job<'_>>() };
    keep_distance(job);
    core::ptr::null_mut()
}

#[inline(never)]
fn keep_distance(job: &mut Job<'_>) {
    let mut distance = core::mem::MaybeUninit::<[u8; DISTANCE_BYTES]>::uninit();
    core::hint::black_box(distance.as_mut_ptr());
    work(job);
    core::hint::black_box(distance.as_mut_ptr());
}

#[inline(never)]
fn work(job: &mut Job<'_>) {
    let mark = 0u8;
    job.base = core::ptr::from_ref(core::hint::black_box(&mark)).addr();
    (job.work)();
}

/// The stack that some work took.
struct Use {
    bytes: usize,
    /// The lowest bytes that it wrote.
    lowest: Vec<u8>,
}

/// How many bytes of the stack `work` overwrites.
fn stack_use(work: &dyn Fn()) -> usize {
    use_by(work).bytes
}

/// Runs `work` on a thread whose stack is filled with [`PAINT`].
fn use_by(work: &dyn Fn()) -> Use {
    let mut stack = Shared::new(STACK_BYTES);
    let stack = stack.bytes();
    stack.fill(PAINT);
    let mut job = Job { work, base: 0 };
    // SAFETY: the attributes are initialised, the stack outlives the thread, which gets a job of its type.
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        let mut thread: libc::pthread_t = core::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        let set = libc::pthread_attr_setstack(
            &raw mut attributes,
            stack.as_mut_ptr().cast(),
            STACK_BYTES,
        );
        assert_eq!(set, 0);
        let job = (&raw mut job).cast();
        assert_eq!(
            libc::pthread_create(&raw mut thread, &raw const attributes, thread_main, job),
            0
        );
        libc::pthread_join(thread, core::ptr::null_mut());
    }
    let lowest = stack.iter().position(|&byte| byte != PAINT).unwrap() & !7;
    Use {
        bytes: job.base - (stack.as_ptr().addr() + lowest),
        lowest: stack[lowest..][..LOWEST_BYTES].to_vec(),
    }
}

/// Like [`stack_use`], in a child process.
fn stack_use_in_child(work: &dyn Fn()) -> usize {
    let mut answer = Shared::new(8);
    start(Fork::Library, || {
        let bytes = stack_use(work) as u64;
        answer.bytes().copy_from_slice(&bytes.to_ne_bytes());
    })
    .join();
    u64::from_ne_bytes((&*answer.bytes()).try_into().unwrap()) as usize
}

fn read_all_sizes(engine: &Engine) {
    for bytes in [1, 32, 3000, 6000] {
        engine.fill(&mut vec![0; bytes]);
    }
}

#[test]
fn no_read_takes_more_stack_than_is_promised() {
    // SAFETY of the order: the first read of the process is measured in a child, before this process makes an engine.
    let mut all = vec![(
        "the first read of a process".to_owned(),
        stack_use_in_child(&|| wellspring::fill(&mut [0; 16])),
    )];
    for mode in Mode::ALL {
        for prf in [Prf::Aes256, Prf::ChaCha20] {
            let engine = Engine::builder().mode(mode).prf(prf).build().unwrap();
            let mut measure =
                |what: &str, bytes| all.push((format!("{mode}, {prf}: {what}"), bytes));
            measure(
                "an engine's first read",
                stack_use(&|| read_all_sizes(&engine)),
            );
            measure("reads", stack_use(&|| read_all_sizes(&engine)));
            let child = stack_use_in_child(&|| read_all_sizes(&engine));
            measure("a child's first read", child);
            let due = || {
                (0..8).for_each(|_| {
                    std::thread::sleep(Duration::from_millis(110));
                    engine.fill(&mut [0; 6000]);
                })
            };
            due();
            let after_sleep = stack_use(&|| {
                std::thread::sleep(Duration::from_millis(110));
                engine.fill(&mut vec![0; 6000]);
            });
            measure("a harvest due", after_sleep);
            measure(
                "a copy to handle",
                stack_use(&|| {
                    engine.diverge_from_clones();
                }),
            );
            let owned = stack_use(&|| engine.rng().fill(&mut [0; 16]));
            measure("a generator's first read", owned);
        }
    }
    for (what, bytes) in &all {
        println!("{bytes:6} {what}");
    }
    let most = all.iter().map(|(_, bytes)| *bytes).max().unwrap();
    println!("{most:6} at most");
    assert!(most <= MAX_BYTES, "{most} bytes of stack: {all:#?}");
}

/// The last wipe must reach below every earlier write: else a read's bytes stay at the bottom.
#[test]
fn the_wipe_of_a_thread_s_first_read_reaches_below_all_that_the_read_wrote() {
    if cfg!(debug_assertions) {
        return common::skipped("the size of the wipe is that of optimised code");
    }
    for prf in [Prf::Aes256, Prf::ChaCha20] {
        let engine = Engine::builder().prf(prf).build().unwrap();
        let mut read = [0; 32];
        engine.fill(&mut read);
        for wait in [Duration::ZERO, Duration::from_millis(110)] {
            let lowest = use_by(&|| {
                // After a while a reseed is due, and a node takes the seed in.
                std::thread::sleep(wait);
                engine.reseed().unwrap();
                engine.fill(&mut [0; 32]);
            });
            // The lowest words may be the frame of a function that wipes. If it calls memset, it leaves a return address
            // below the wiped bytes.
            let (words, _) = lowest.lowest[32..].as_chunks();
            let words = words.iter().map(|&word| u64::from_ne_bytes(word));
            let is_code = |word: u64| word.abs_diff(thread_main as *const () as u64) < CODE_BYTES;
            let left: Vec<u64> = words.filter(|&word| word != 0 && !is_code(word)).collect();
            assert!(left.is_empty(), "{prf}: {left:x?}");
        }
    }
}
