//! Copies of a process and of a machine part: by the page, the hypervisor's clock, the kernel's notice, an order; and by a
//! notice at every instruction of a read.
//!
//! The engines here have a seed and no sources: two engines of one seed are like a snapshot that was restored
//! twice, and only the notice makes them differ.

mod common;

use common::process::{Fork, run_and_exit};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wellspring::clone_detection::{self, GenerationPage, KernelReseed, PageError};
use wellspring::{Engine, EngineBuilder, FileFault, Mode, OsError};

/// Held by the test that forks, and by those that let go of a page's lock and take it again: a child that was forked meanwhile
/// would keep the lock for as long as it lives.
static ALONE: Mutex<()> = Mutex::new(());

/// A file of a test's own, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("wellspring-copies-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn builder() -> EngineBuilder {
    let builder = Engine::builder().sources([]).seed(&[7; 32]);
    builder.generation_page("/none").vmclock("/none")
}

fn on_page(path: &Path, mode: Mode) -> Engine {
    builder().generation_page(path).mode(mode).build().unwrap()
}

/// A pipe: where to read, where to write.
fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: the two descriptors are new, and each becomes one file.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    }
}

/// The bytes that a process reads at once, by all kinds of reads.
fn draw(engine: &Engine, rng: &mut wellspring::LocalRng) -> [u8; 128] {
    let mut bytes = [0; 128];
    engine.fill(&mut bytes[..8]);
    engine.fill(&mut bytes[8..64]);
    rng.fill(&mut bytes[64..96]);
    rng.fill(&mut bytes[96..]);
    bytes
}

#[test]
fn two_processes_of_one_seed_part_at_their_next_read_after_a_bump() {
    let _alone = ALONE.lock();
    for mode in Mode::ALL {
        let scratch = Scratch::new(mode.name());
        let page = GenerationPage::create(&scratch.0).unwrap();
        let ((mut theirs, mut to_us), (mut from_us, mut to_them)) = (pipe(), pipe());
        let child = Fork::Library.call();
        if child == 0 {
            run_and_exit(|| {
                let engine = on_page(&scratch.0, mode);
                let mut rng = engine.rng();
                for _ in 0..3 {
                    from_us.read_exact(&mut [0]).unwrap();
                    to_us.write_all(&draw(&engine, &mut rng)).unwrap();
                }
                std::mem::forget(scratch);
            });
        }
        let engine = on_page(&scratch.0, mode);
        let mut rng = engine.rng();
        let mut both = || {
            to_them.write_all(&[0]).unwrap();
            let mut copy = [0; 128];
            theirs.read_exact(&mut copy).unwrap();
            (draw(&engine, &mut rng), copy)
        };
        for _ in 0..2 {
            let (ours, copy) = both();
            assert_eq!(ours, copy, "{mode}: the copies do the same");
        }
        page.bump();
        let (ours, copy) = both();
        for part in [0..8, 8..64, 64..96, 96..128] {
            assert_ne!(ours[part.clone()], copy[part], "{mode}");
        }
        let mut status = 0;
        // SAFETY: waits for the child above.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
    }
}

#[test]
fn a_page_has_one_writer_and_outlives_it() {
    let _alone = ALONE.lock();
    let scratch = Scratch::new("writer");
    let page = GenerationPage::create(&scratch.0).unwrap();
    let held = GenerationPage::create(&scratch.0).unwrap_err();
    assert_eq!(held, PageError::Held(std::process::id()));
    let engine = on_page(&scratch.0, Mode::PerThread);
    engine.fill(&mut [0; 8]);
    let (number, before) = (page.current(), engine.generation());
    assert_eq!(clone_detection::current(&scratch.0), Ok(number));
    drop(page);
    engine.fill(&mut [0; 8]);
    assert_eq!(engine.generation(), before);
    // A clone may have happened meanwhile.
    let next = GenerationPage::create(&scratch.0).unwrap();
    assert_ne!(next.current(), number);
    engine.fill(&mut [0; 8]);
    assert_eq!(engine.generation(), before + 1);
}

#[test]
fn a_page_that_other_users_could_write_is_not_trusted() {
    let _alone = ALONE.lock();
    let scratch = Scratch::new("hostile");
    let path = &scratch.0;
    let refused = |reason| {
        assert_eq!(clone_detection::current(path), Err(reason));
        let engine = on_page(path, Mode::PerThread);
        engine.fill(&mut [0; 8]);
        let before = engine.generation();
        if let Ok(file) = OpenOptions::new().write(true).open(path) {
            let _ = file.write_all_at(&[0xff; 8], 64);
        }
        engine.fill(&mut [0; 8]);
        assert_eq!(engine.generation(), before);
    };
    refused(PageError::File(FileFault::System(OsError::new(
        libc::ENOENT,
    ))));
    let good = || drop(GenerationPage::create(path).unwrap());
    let with_mode = |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    good();
    assert!(clone_detection::current(path).is_ok());
    for mode in [0o664, 0o646] {
        with_mode(mode);
        refused(PageError::File(FileFault::Exposed));
    }
    fs::remove_file(path).unwrap();
    good();
    assert!(clone_detection::current(path).is_ok());
    if std::os::unix::fs::chown(path, Some(65534), None).is_ok() {
        // SAFETY: asks who we are.
        let root = unsafe { libc::geteuid() } == 0;
        assert!(root);
        refused(PageError::File(FileFault::Owner));
    }
    fs::remove_file(path).unwrap();
    for content in [&[][..], &[0; 100], &[0; 4095], &[0; 4096], &[0; 4097]] {
        fs::write(path, content).unwrap();
        refused(PageError::NotAPage);
    }
    fs::remove_file(path).unwrap();
    let target = Scratch::new("target");
    drop(GenerationPage::create(&target.0).unwrap());
    symlink(&target.0, path).unwrap();
    refused(PageError::File(FileFault::Link));
}

#[test]
fn a_file_of_another_kind_never_becomes_a_page() {
    let _alone = ALONE.lock();
    let page = Scratch::new("another-kind");
    let path = &page.0;
    let stays = |reason: PageError| {
        let before = fs::symlink_metadata(path).unwrap();
        assert_eq!(clone_detection::bump(path), Err(reason));
        assert_eq!(GenerationPage::create(path).unwrap_err(), reason);
        let after = fs::symlink_metadata(path).unwrap();
        assert_eq!((before.ino(), before.len()), (after.ino(), after.len()));
    };
    for content in [&b"precious"[..], &[0; 4096], &[0; 100]] {
        fs::write(path, content).unwrap();
        stays(PageError::NotAPage);
    }
    fs::remove_file(path).unwrap();
    symlink("/dev/null", path).unwrap();
    stays(PageError::File(FileFault::Link));
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
    stays(PageError::File(FileFault::NotAFile));
    fs::remove_dir(path).unwrap();
    for cut in [&b""[..], b"VC", b"VCLK"] {
        fs::write(path, cut).unwrap();
        clone_detection::bump(path).unwrap();
        assert_eq!(fs::metadata(path).unwrap().len(), 4096);
    }
}

#[test]
fn the_page_says_for_which_number_the_kernel_took_new_keys() {
    let _alone = ALONE.lock();
    let path = Scratch::new("kernel");
    let page = GenerationPage::create(&path.0).unwrap();
    let word = || {
        let bytes = fs::read(&path.0).unwrap();
        u64::from_le_bytes(bytes[2048..2056].try_into().unwrap())
    };
    assert!(!page.is_kernel_noted() && word() == 0, "nothing was tried");
    let number = page.bump_after(KernelReseed::Done);
    assert!(page.is_kernel_noted() && word() == number);
    let next = clone_detection::bump(&path.0).unwrap();
    assert!(
        !page.is_kernel_noted() && word() == number,
        "an earlier one"
    );
    page.note_failure(number);
    assert!(!page.is_kernel_noted(), "the number has changed since");
    page.note_failure(next);
    assert!(page.is_kernel_noted() && word() == !next);
    let last = clone_detection::bump_after(&path.0, KernelReseed::Done).unwrap();
    assert!(page.is_kernel_noted() && word() == last);
}

#[test]
fn a_secret_in_an_order_makes_new_keys_and_bumps_the_generation() {
    let engine = builder().build().unwrap();
    let (mut before, mut after) = ([0; 64], [0; 64]);
    engine.fill(&mut before);
    let generation = engine.generation();
    assert!(engine.diverge_with(&[7; 32]) > generation);
    engine.fill(&mut after);
    assert_ne!(before, after);
}

/// A file that looks as the hypervisor's page does, of `size` bytes as it says itself.
fn vmclock(path: &Path, size: u32, flags: u64) -> File {
    let mut content = [0; 4096];
    content[..4].copy_from_slice(&0x4b4c_4356u32.to_le_bytes());
    content[4..8].copy_from_slice(&size.to_le_bytes());
    content[8] = 1;
    content[24..32].copy_from_slice(&flags.to_le_bytes());
    fs::write(path, content).unwrap();
    OpenOptions::new().write(true).open(path).unwrap()
}

#[test]
fn the_hypervisors_clock_parts_copies_before_their_next_byte() {
    let scratch = Scratch::new("vmclock");
    let (clones, disruption) = (104, 16);
    for (size, flags, moves, stays) in [
        (112, 1 << 8, clones, disruption),
        (112, 0, disruption, clones),
        (104, 1 << 8, disruption, clones),
    ] {
        let clock = vmclock(&scratch.0, size, flags);
        let engine = builder().vmclock(&scratch.0).build().unwrap();
        let twin = builder().build().unwrap();
        assert_eq!(engine.bytes::<32>(), twin.bytes::<32>());
        clock.write_all_at(&[1], stays).unwrap();
        assert_eq!(engine.bytes::<32>(), twin.bytes::<32>());
        clock.write_all_at(&[1], moves).unwrap();
        assert_ne!(engine.bytes::<32>(), twin.bytes::<32>());
        assert_eq!(engine.generation(), twin.generation() + 1);
    }
    for not_the_magic_number_or_version in [0, 8] {
        let clock = vmclock(&scratch.0, 112, 1 << 8);
        clock
            .write_all_at(b"x", not_the_magic_number_or_version)
            .unwrap();
        let engine = builder().vmclock(&scratch.0).build().unwrap();
        let before = engine.generation();
        clock.write_all_at(&[1], 104).unwrap();
        engine.fill(&mut [0; 8]);
        assert_eq!(engine.generation(), before, "it is no such page");
    }
}

#[test]
fn a_clock_that_was_opened_before_its_device_was_out_of_reach_is_watched() {
    let scratch = Scratch::new("vmclock-open");
    let clock = vmclock(&scratch.0, 112, 1 << 8);
    let device = File::open(&scratch.0).unwrap();
    fs::remove_file(&scratch.0).unwrap();
    let engine = builder().vmclock_device(device.into()).build().unwrap();
    let twin = builder().build().unwrap();
    assert_eq!(engine.bytes::<32>(), twin.bytes::<32>());
    clock.write_all_at(&[1], 104).unwrap();
    assert_ne!(engine.bytes::<32>(), twin.bytes::<32>());
}

#[test]
fn an_order_parts_a_copy_on_every_node() {
    let engines = || {
        builder()
            .topology("nodes=2,cpus=2".parse().unwrap())
            .build()
            .unwrap()
    };
    let (one, other) = (engines(), engines());
    assert_eq!(one.bytes::<32>(), other.bytes::<32>());
    let before = one.generation();
    assert_eq!(one.diverge_from_clones(), before + 1);
    assert_ne!(one.bytes::<32>(), other.bytes::<32>());
}

#[test]
fn a_bump_in_every_moment_holds_no_reader_up() {
    let scratch = Scratch::new("storm");
    let page = GenerationPage::create(&scratch.0).unwrap();
    let engine = on_page(&scratch.0, Mode::PerThread);
    let end = Instant::now() + Duration::from_millis(300);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while Instant::now() < end {
                page.bump();
            }
        });
        let mut bytes = vec![0; 1 << 20];
        while Instant::now() < end {
            engine.fill(&mut bytes);
            engine.fill(&mut bytes[..32]);
        }
    });
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod steps {
    //! A notice of a copy of the machine, at every instruction of a read.

    use crate::ALONE;
    use crate::common::rows::{Rows, Step};
    use crate::common::stepping::{Next, step};
    use std::path::{Path, PathBuf};
    use wellspring::clone_detection::GenerationPage;
    use wellspring::{Engine, Mode};
    use wellspring_os::thread_state::CurrentThread;

    type Value = [u8; 16];

    /// The steps at the end of a read that each get a notice: all of a short read. The rest of a long read gets
    /// [`SPREAD_NOTICES`], and the first step of each kind one.
    const LAST_STEPS: usize = 160;
    const SPREAD_NOTICES: usize = 20;

    /// The engine's bytes depend on nothing but its seed, until it is told of a copy.
    fn engine(page: &Path, mode: Mode) -> Engine {
        let builder = Engine::builder().sources([]).seed(&[7; 32]).mode(mode);
        let builder = builder.generation_page(page).vmclock("/none");
        builder.build().unwrap()
    }

    /// A read, on a thread of its own, with `on_step` before each of its instructions. Returns the value.
    fn read(engine: &Engine, mut on_step: impl FnMut(usize, Step) -> Next + Send) -> Value {
        let read = || {
            // The second read finds the tap current, with bytes in its buffer.
            (0..2).for_each(|_| engine.fill(&mut [0; 8]));
            let mut value = Value::default();
            let (place, depth) = (&raw const value, CurrentThread::find().depth());
            let mut on_step = |number| on_step(number, Step::now(depth, place));
            step(&mut on_step, || engine.fill(&mut value));
            value
        };
        std::thread::scope(|scope| scope.spawn(read).join().unwrap())
    }

    /// The steps at which a notice is to come.
    fn chosen_steps(engine: &Engine) -> Vec<usize> {
        let mut steps = Vec::new();
        read(engine, |_, step| {
            steps.push(step);
            Next::Step
        });
        let stride = steps.len().div_ceil(SPREAD_NOTICES);
        let is_chosen = |&number: &usize| {
            let is_new = number < 2 || steps[number - 2] != steps[number - 1];
            number + LAST_STEPS > steps.len() || number.is_multiple_of(stride) || is_new
        };
        (1..=steps.len()).filter(is_chosen).collect()
    }

    /// The steps of a read at which a notice comes too late for it, and the rows of all steps.
    fn late_steps(path: &Path, mode: Mode, rows: &mut Rows, in_handler: fn(&Engine)) -> Vec<usize> {
        let page = GenerationPage::create(path).unwrap();
        // What every process does once, like asking for the features of the processor, is done.
        let untold = read(&engine(path, mode), |_, _| Next::Step);
        let mut late = Vec::new();
        for number in chosen_steps(&engine(path, mode)) {
            let engine = engine(path, mode);
            let mut interrupted = None;
            let value = read(&engine, |now, step| {
                if now < number {
                    return Next::Step;
                }
                interrupted = Some(step);
                page.bump();
                in_handler(&engine);
                Next::Run
            });
            // A read that looks at the clock may have had fewer steps.
            let Some(step) = interrupted else {
                continue;
            };
            assert_ne!(value, Value::default(), "at step {number}");
            let is_late = value == untold;
            rows.see(step, if is_late { "late" } else { "again" });
            if is_late {
                late.push(number);
            }
        }
        late
    }

    fn path(mode: Mode) -> PathBuf {
        let name = format!("wellspring-copy-steps-{mode}-{}", std::process::id());
        std::env::temp_dir().join(name)
    }

    /// A late notice is a notice after the read: between the last look at the page and the return to the caller.
    fn check(path: &Path, mode: Mode, of: &'static str) -> Vec<usize> {
        let mut rows = Rows::of(of);
        let late = late_steps(path, mode, &mut rows, |_| ());
        rows.check(of);
        println!("{of}: late at the steps {late:?}");
        late
    }

    #[test]
    fn a_read_from_a_buffer_is_made_again_after_a_copy_at_any_of_its_steps() {
        let _alone = ALONE.lock();
        let path = path(Mode::PerThread);
        let late = check(&path, Mode::PerThread, "copy tap");
        // The handler reads too, and so handles the copy. The read that it interrupted has to notice the copy all the same.
        let mut rows = Rows::of("copy tap");
        let handled = late_steps(&path, Mode::PerThread, &mut rows, |engine| {
            engine.fill(&mut [0; 8]);
        });
        std::fs::remove_file(&path).unwrap();
        assert_eq!(handled, late, "a read in the handler");
    }

    #[test]
    fn a_read_from_a_node_is_made_again_after_a_copy_at_any_of_its_steps() {
        let _alone = ALONE.lock();
        let path = path(Mode::Canonical);
        check(&path, Mode::Canonical, "copy node");
        std::fs::remove_file(&path).unwrap();
    }
}
