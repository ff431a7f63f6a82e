//! Children whose system calls a tracer counts, forbids, or makes fail. A tracer makes them by a raw clone(2), in which a lock of
//! malloc(3) that another thread held would stay locked: so one test runs at a time.
//!
//! ```text
//! hot_path         the hot path makes no system call
//! faults_of_parts  system calls of the page, the sources and the harvester may fail
//! faults           every system call that the library makes may fail
//! ```

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod common;

use std::sync::Mutex;

/// Each test holds it.
static ALONE: Mutex<()> = Mutex::new(());

mod hot_path {
    //! The hot path makes no system call: counted, and forbidden.

    use crate::ALONE;
    use crate::common::process::{Fork, run_and_exit};
    use crate::common::tracer;
    use crate::common::tracer::{End, Registers, silent, silent_once};
    use core::ptr;
    use libc::pid_t;
    use std::time::Instant;
    use wellspring::{Engine, LocalRng, Mode};

    /// A call that no other code makes, and that fails: the calls between two of these are counted.
    const MARKER: libc::c_long = 100_000;

    /// A harvest of two sources, every 100 ms; then new keys for the tap.
    const CALLS_PER_HARVEST: usize = 60;

    /// Any read may have to make a step of a harvest. On a slow machine that happens often, but not always.
    const TRIES: usize = 20;

    /// Tries until the result is good, or all tries are made.
    fn until_good<T>(mut attempt: impl FnMut() -> T, is_good: impl Fn(&T) -> bool) -> T {
        let mut result = attempt();
        for _ in 1..TRIES {
            if is_good(&result) {
                break;
            }
            result = attempt();
        }
        result
    }

    fn mark() {
        // SAFETY: there is no such call.
        unsafe { libc::syscall(MARKER) };
    }

    /// Runs `work` in a traced child and counts its system calls between marks. `None`: tracing is not permitted.
    fn count_calls(work: impl FnOnce()) -> Option<usize> {
        let pid = match Fork::Library.call() {
            0 => run_and_exit(|| {
                // SAFETY: asks to be traced by the parent, which waits for the stop.
                unsafe {
                    if libc::ptrace(libc::PTRACE_TRACEME, 0, ptr::null_mut::<u8>(), 0) != 0 {
                        libc::_exit(0);
                    }
                    libc::raise(libc::SIGSTOP);
                }
                work();
            }),
            pid => pid,
        };
        if !libc::WIFSTOPPED(wait(pid)) {
            return None;
        }
        let (mut marks, mut stops) = (0, 0);
        loop {
            // SAFETY: the child is stopped and ours to trace.
            unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, ptr::null_mut::<u8>(), 0) };
            let status = wait(pid);
            if libc::WIFEXITED(status) {
                assert_eq!((libc::WEXITSTATUS(status), marks), (0, 4));
                // Each call stops twice, when it begins and when it ends.
                return Some(stops / 2);
            }
            assert!(libc::WIFSTOPPED(status), "the child failed: {status:#x}");
            if Registers::of(pid).call() == MARKER {
                marks += 1;
            } else if marks == 2 {
                stops += 1;
            }
        }
    }

    fn wait(pid: pid_t) -> i32 {
        let mut status = 0;
        // SAFETY: the pointer is to the status.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        status
    }

    /// An engine of this thread whose buffer is full but for a little.
    fn full() -> Engine {
        let engine = Engine::builder().mode(Mode::PerThread).build().unwrap();
        // The first read seeds; the second takes a key of the generation after that, and fills a part of the buffer. The
        // third takes that part and makes the rest in place, so that the last one fills the whole buffer.
        for length in [8, 8, 8192, 8] {
            engine.fill(&mut vec![0; length]);
        }
        engine
    }

    #[test]
    fn reads_from_a_buffer_make_no_system_call() {
        let _alone = ALONE.lock();
        let reads = || {
            let engine = full();
            let mut rng = engine.rng();
            let prepare = |rng: &mut LocalRng| {
                for length in [8192, 8] {
                    let mut bytes = vec![0; length];
                    engine.fill(&mut bytes);
                    rng.fill(&mut bytes);
                    wellspring::fill(&mut bytes);
                }
            };
            let read = |rng: &mut LocalRng| {
                for _ in 0..25 {
                    assert_ne!(engine.u64(), wellspring::u64());
                    assert_ne!(wellspring::ids::uuid7(), wellspring::ids::uuid4());
                    engine.fill(&mut [0; 16]);
                    engine.fill(&mut [0; 32]);
                    rng.fill(&mut [0; 32]);
                }
            };
            silent_once(&mut rng, prepare, read);
        };
        let pseudo = || {
            let _ = wellspring_pseudo_thread::u64();
            silent(|| {
                for _ in 0..100_000 {
                    assert_ne!(wellspring_pseudo_thread::u64(), 0);
                }
            });
        };
        for end in [
            tracer::run(reads, &mut |_| None),
            tracer::run(pseudo, &mut |_| None),
        ] {
            match end {
                End::Untraceable => crate::common::skipped("ptrace is not permitted"),
                end => assert_eq!(end, End::Good),
            }
        }
    }

    #[test]
    fn a_million_reads_make_the_system_calls_of_a_few_harvests() {
        let _alone = ALONE.lock();
        let begin = Instant::now();
        let calls = count_calls(|| {
            let engine = full();
            mark();
            for _ in 0..1_000_000 {
                assert_ne!(engine.u64(), 0);
            }
            for _ in 0..100_000 {
                engine.fill(&mut [0; 16]);
                engine.fill(&mut [0; 32]);
            }
            engine.fill(&mut vec![0; 1 << 16]);
            mark();
        });
        let harvests = begin.elapsed().as_millis() as usize / 100 + 1;
        match calls {
            Some(calls) => {
                println!(
                    "{calls} system calls in 1,200,000 reads, with {harvests} harvests at most"
                );
                assert!(calls <= harvests * CALLS_PER_HARVEST, "{calls} calls");
            }
            None => crate::common::skipped("ptrace is not permitted"),
        }
    }

    #[test]
    fn a_child_that_may_make_no_system_call_draws_on() {
        let _alone = ALONE.lock();
        let status = until_good(child_without_system_calls, |&status| {
            status == 0 || libc::WIFEXITED(status)
        });
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 2 {
            return crate::common::skipped("seccomp is not there");
        }
        assert_eq!(status, 0, "killed for a system call, if this is 9");
    }

    /// Returns how the child ended.
    fn child_without_system_calls() -> i32 {
        let pid = match Fork::Library.call() {
            0 => {
                let engine = full();
                let _ = wellspring_pseudo_thread::u64();
                let mut drawn = 0;
                // SAFETY: from here on the child may read, write, return from a signal and exit; a call of
                // another kind kills it.
                unsafe {
                    if libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT, 0, 0, 0) != 0 {
                        libc::_exit(2);
                    }
                    for _ in 0..100 {
                        drawn |= engine.u64() ^ wellspring_pseudo_thread::u64();
                    }
                    libc::syscall(libc::SYS_exit, i64::from(drawn == 0));
                }
                unreachable!("the process has ended");
            }
            pid => pid,
        };
        wait(pid)
    }
}

mod faults_of_parts {
    //! System calls of the parts beside reads may fail: of the generation page, the sources, the harvester, and of
    //! `prepare_for_sandbox`. Then the part returns an error or goes on, reads go on, no file and no process is left, and
    //! without the fault the part works.
    //!
    //! As in `../faults.rs`, a tracer makes one call fail in each run.

    use crate::ALONE;
    use crate::common::faults::{Folder, open_files};
    use crate::common::process::Shared;
    use crate::common::repeats::assert_nothing_in_common;
    use crate::common::tracer::{End, begin_or_end_counting, counted, silent};
    use crate::common::{faults, tracer};
    use libc::c_long;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use wellspring::clone_detection::{GenerationPage, PageState};
    use wellspring::{Engine, Harvester, MinEntropy, Source, SourceError, clone_detection};
    use wellspring_sources::{Hwrng, Interrupts, NoiseCommand, NoiseFile, Os, Wakeups};

    const READ_BYTES: usize = 6000;

    /// The bytes that a run reports.
    const REPORT_BYTES: usize = 3 * READ_BYTES;

    /// Runs `work` without a fault, and then once for each fault that is chosen. It gets an empty folder and space for
    /// what it read.
    fn with_each_fault(name: &str, max_runs: usize, work: fn(&Path, &mut [u8])) {
        let _alone = ALONE.lock();
        let folder = Folder::new(name);
        let run = |what: &str, choose: tracer::Choose<'_>| {
            let mut report = Shared::new(REPORT_BYTES);
            let folder = folder.empty();
            let checked = || {
                // SAFETY: the signal ends a run that waits without end.
                unsafe { libc::alarm(180) };
                let files = open_files();
                work(folder, report.bytes());
                assert_eq!(open_files(), files, "files are left open");
                // A process that was killed ends. A forgotten process does not, and the alarm ends this one.
                // SAFETY: the pointer may be null.
                while unsafe { libc::waitpid(-1, core::ptr::null_mut(), 0) } > 0 {}
            };
            let end = tracer::run(checked, choose);
            if end == End::Untraceable {
                return false;
            }
            assert_eq!(end, End::Good, "{what}");
            let reads: Vec<&[u8]> = report.bytes().chunks(READ_BYTES).collect();
            assert_nothing_in_common(&reads, what);
            true
        };
        let mut calls: Vec<c_long> = Vec::new();
        let record = &mut |call| {
            calls.push(call);
            None
        };
        if !run("no fault", record) {
            return crate::common::skipped("ptrace is not permitted");
        }
        let faults = faults::of(&calls);
        assert!(faults.len() > 5, "{calls:?}");
        let step = faults::step(&faults, max_runs);
        for fault in faults.iter().step_by(step) {
            run(&fault.to_string(), &mut fault.make());
        }
        let (calls, faults) = (calls.len(), faults.len());
        println!("{name}: {calls} calls, {faults} faults, every {step}. made");
    }

    fn read(engine: &Engine, reads: &mut [u8]) {
        reads.chunks_mut(1000).for_each(|bytes| engine.fill(bytes));
    }

    fn serve_a_page(folder: &Path, reads: &mut [u8]) {
        let path = folder.join("generation");
        let build = || Engine::builder().generation_page(&path).build();
        let page = counted(|| GenerationPage::create(&path));
        let page = page.or_else(|_| GenerationPage::create(&path)).unwrap();
        let before = page.current();
        let bumped = counted(|| clone_detection::bump(&path));
        assert_eq!(page.current(), before + u64::from(bumped.is_ok()));
        let seen = counted(|| clone_detection::current(&path));
        assert!(seen.is_err() || seen == Ok(page.current()));
        let engine = counted(build).or_else(|_| build()).unwrap();
        let mut reads = reads.chunks_mut(READ_BYTES);
        read(&engine, reads.next().unwrap());
        let before = engine.generation();
        page.bump();
        read(&engine, reads.next().unwrap());
        // An engine that could not map the page says so.
        let is_watched = engine.stats().clone_detection.page == PageState::Watched;
        assert!(engine.generation() > before || !is_watched);
        counted(|| drop(page));
        drop(GenerationPage::create(&path).unwrap());
        let later = build().unwrap();
        assert_eq!(later.stats().clone_detection.page, PageState::Watched);
        read(&later, reads.next().unwrap());
        let names = std::fs::read_dir(folder).unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name(), entry.metadata().unwrap().len())
        });
        for (name, bytes) in names {
            let is_page = name == "generation" && bytes == 4096;
            assert!(is_page || name == ".generation.lock", "{name:?}: {bytes}");
        }
    }

    #[test]
    fn whatever_call_fails_a_page_is_whole_and_is_served_later() {
        with_each_fault("faults-page", 40, serve_a_page);
    }

    /// Draws three times. Each draw yields bytes or says why not.
    fn draw(source: &dyn Source) {
        for _ in 0..3 {
            let drawn = source.sample(&mut [0; 64]);
            assert!(drawn.is_err() || drawn.is_ok_and(|length| length <= 64));
        }
    }

    fn draw_on_sources(folder: &Path, reads: &mut [u8]) {
        let noise = folder.join("noise");
        std::fs::write(&noise, [7; 4096]).unwrap();
        let open = || NoiseFile::open(&noise, MinEntropy::per_byte_256ths(16));
        let file = counted(open).or_else(|_| open()).unwrap();
        let (interrupts, wakeups) = (Interrupts::default(), Wakeups::default());
        let hwrng = Hwrng::default();
        let sources: [&dyn Source; 5] = [&Os, &interrupts, &wakeups, &hwrng, &file];
        for source in sources {
            counted(|| draw(source));
        }
        let (os, file): (&dyn Source, &dyn Source) = (&Os, &file);
        for source in [os, file] {
            assert!(source.sample(&mut [0; 64]).is_ok_and(|length| length > 0));
        }
        getrandom::fill(reads).unwrap();
    }

    #[test]
    fn whatever_call_fails_a_source_says_so_and_works_later() {
        with_each_fault("faults-sources", 25, draw_on_sources);
    }

    fn draw_on_a_command(_: &Path, reads: &mut [u8]) {
        let command = |program: &str, argument: &str| {
            let words = vec![program.into(), argument.into()];
            NoiseCommand::new(words, MinEntropy::per_byte_256ths(16)).unwrap()
        };
        // It never writes, and a draw does not wait for it.
        let silent = command("sleep", "1000");
        counted(|| draw(&silent));
        counted(|| drop(silent));
        let again = command("cat", "/dev/zero");
        let mut drawn = Err(SourceError::Busy);
        while drawn == Err(SourceError::Busy) {
            drawn = again.sample(&mut [0; 64]);
        }
        assert_eq!(drawn, Ok(64));
        drop(again);
        getrandom::fill(reads).unwrap();
    }

    #[test]
    fn whatever_call_fails_no_draw_waits_for_a_command_and_none_is_left() {
        with_each_fault("faults-command", 25, draw_on_a_command);
    }

    /// Counts the calls of the harvester's thread, from its first draw to its last.
    #[derive(Default)]
    struct Counting(AtomicUsize);

    /// The draws on [`Counting`] by the harvester.
    const DRAWS: usize = 2;

    impl Source for Counting {
        fn name(&self) -> &'static str {
            "counting"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::NONE
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            if std::thread::current().name() == Some("wellspring") {
                let draw = self.0.fetch_add(1, Ordering::Relaxed);
                if draw == 0 || draw == DRAWS {
                    begin_or_end_counting();
                }
            }
            getrandom::fill(destination).map_err(|_| SourceError::Busy)?;
            Ok(destination.len())
        }
    }

    fn harvest(_: &Path, reads: &mut [u8]) {
        let source = Arc::new(Counting::default());
        let sources: [Arc<dyn Source>; 3] = [
            Arc::new(Os),
            Arc::new(Interrupts::default()),
            source.clone(),
        ];
        let engine = Engine::builder().sources(sources);
        let engine = engine.harvester(Harvester::default()).build().unwrap();
        let mut reads = reads.chunks_mut(READ_BYTES);
        read(&engine, reads.next().unwrap());
        while source.0.load(Ordering::Relaxed) <= DRAWS {
            let _ = engine.u64();
            std::thread::sleep(Duration::from_millis(5));
        }
        read(&engine, reads.next().unwrap());
        let before = engine.generation();
        engine.reseed().unwrap();
        assert!(engine.generation() > before);
        read(&engine, reads.next().unwrap());
    }

    #[test]
    fn whatever_call_of_the_harvester_fails_it_goes_on() {
        with_each_fault("faults-harvester", 15, harvest);
    }

    fn prepare_for_sandbox(_: &Path, reads: &mut [u8]) {
        let engine = Engine::builder().build().unwrap();
        // Not seeded yet: this draws on the sources.
        let prepared = counted(|| engine.prepare_for_sandbox());
        prepared.or_else(|_| engine.prepare_for_sandbox()).unwrap();
        let (at_once, later) = reads.split_at_mut(READ_BYTES);
        silent(|| read(&engine, at_once));
        // More than the least time between two reseeds.
        std::thread::sleep(Duration::from_millis(120));
        silent(|| read(&engine, later));
    }

    #[test]
    fn whatever_call_fails_before_a_sandbox_none_is_made_in_it() {
        with_each_fault("faults-sandbox", 40, prepare_for_sandbox);
    }
}

mod faults {
    //! Every system call that the library makes may fail: then reads succeed or return an error, no bytes come twice, and
    //! no file or mapping is left open.
    //!
    //! A run builds an engine with a seed file, reads from it, also on a thread and in a child, reseeds it and drops it. A
    //! tracer makes one call of the run fail. After that everything must work again at full speed. By default the test
    //! makes up to 60 runs, with faults spread evenly over all calls and errors; with `WELLSPRING_LONG=1` one for every
    //! call and every error.

    use crate::ALONE;
    use crate::common::faults::{self, Folder, open_files};
    use crate::common::process::{Fork, Shared, mappings, start};
    use crate::common::repeats::assert_nothing_in_common;
    use crate::common::tracer::{self, End, counted, silent_once};
    use std::path::Path;
    use wellspring::{Engine, Error};

    /// The most runs by default.
    const MAX_RUNS: usize = 60;

    const SHORT_BYTES: usize = 48;
    const LONG_BYTES: usize = 6000;

    /// The bytes that one reader draws.
    const REPORT_BYTES: usize = SHORT_BYTES + LONG_BYTES;

    /// The number of readers: the engine twice, its owned generator, a thread, a child, the engine after the child, the
    /// engine after all faults.
    const READERS: usize = 7;

    /// The size of two numbers that a run reports before its bytes: the files that it left open, and its mappings.
    const COUNTS_BYTES: usize = 16;

    fn build(folder: &Path) -> Result<Engine, Error> {
        Engine::builder().seed_file(folder.join("seed")).build()
    }

    /// Reads while a call may fail. If the read fails, reads again while no call fails.
    fn read(mut try_fill: impl FnMut(&mut [u8]) -> Result<(), Error>, report: &mut [u8]) {
        let (short, long) = report.split_at_mut(SHORT_BYTES);
        for destination in [short, long] {
            if let Err(error) = counted(|| try_fill(destination)) {
                assert_eq!(error, Error::NotSeeded);
                assert!(destination.iter().all(|&byte| byte == 0), "untouched");
                try_fill(destination).unwrap();
            }
        }
    }

    /// The work of each traced process.
    fn run(folder: &Path, report: &mut [u8]) {
        let (counts, reports) = report.split_at_mut(COUNTS_BYTES);
        let mut reports = reports.chunks_mut(REPORT_BYTES);
        let mut next = || reports.next().unwrap();
        let files = open_files();
        let built = counted(|| build(folder));
        let engine = built.or_else(|_| build(folder)).unwrap();
        read(|bytes| engine.try_fill(bytes), next());
        let _ = counted(|| engine.reseed());
        counted(|| engine.diverge_from_clones());
        read(|bytes| engine.try_fill(bytes), next());
        let mut rng = engine.rng();
        read(|bytes| rng.try_fill(bytes), next());
        let report = next();
        std::thread::scope(|scope| {
            scope.spawn(|| read(|bytes| engine.try_fill(bytes), report));
        });
        let report = next();
        start(Fork::Library, || {
            read(|bytes| engine.try_fill(bytes), report)
        })
        .join();
        read(|bytes| engine.try_fill(bytes), next());
        let _ = counted(|| engine.save_seed());
        let report = next();
        engine.fill(report);
        silent_once(
            &mut (),
            |()| {
                engine.fill(&mut [0; LONG_BYTES]);
                engine.fill(&mut [0; 8]);
            },
            |()| (0..25).for_each(|_| engine.fill(&mut [0; 32])),
        );
        counted(|| drop((rng, engine)));
        let numbers = [open_files() - files, mappings()];
        for (place, number) in counts.chunks_mut(8).zip(numbers) {
            place.copy_from_slice(&(number as u64).to_ne_bytes());
        }
    }

    /// Runs with one fault or without a fault, and checks what holds after every run. Returns how many mappings are left.
    fn check(
        folder: &Folder,
        choose: tracer::Choose<'_>,
        what: impl Fn() -> String,
    ) -> Option<u64> {
        let mut report = Shared::new(COUNTS_BYTES + READERS * REPORT_BYTES);
        let folder = folder.empty();
        let end = tracer::run(|| run(folder, report.bytes()), choose);
        if end == End::Untraceable {
            return None;
        }
        assert_eq!(end, End::Good, "{}", what());
        let (counts, reports) = report.bytes().split_at(COUNTS_BYTES);
        let readers: Vec<&[u8]> = reports.chunks(REPORT_BYTES).collect();
        assert_nothing_in_common(&readers, &what());
        let number = |at: usize| u64::from_ne_bytes(counts[at..at + 8].try_into().unwrap());
        assert_eq!(number(0), 0, "open files are left: {}", what());
        Some(number(8))
    }

    #[test]
    fn whatever_call_fails_reads_go_on_and_nothing_comes_twice_or_is_lost() {
        let _alone = ALONE.lock();
        let folder = Folder::new("faults");
        let mut calls = Vec::new();
        let record = &mut |call| {
            calls.push(call);
            None
        };
        let Some(mappings) = check(&folder, record, || "no fault".into()) else {
            return crate::common::skipped("ptrace is not permitted");
        };
        let faults = faults::of(&calls);
        assert!(faults.len() > 50, "{calls:?}");
        let step = faults::step(&faults, MAX_RUNS);
        for fault in faults.iter().step_by(step) {
            let what = || fault.to_string();
            let left = check(&folder, &mut fault.make(), what).unwrap();
            // Memory that could not be mapped at first may be mapped later, as a separate mapping.
            assert!(
                left <= mappings + 4,
                "{}: {left} mappings, not {mappings}",
                what()
            );
        }
        println!(
            "{} calls, {} faults, every {step}. made",
            calls.len(),
            faults.len()
        );
    }
}
