//! Whatever surrounds an engine fails it: a read waits, is refused, or goes on, and none hangs.
//!
//! ```text
//! limits        below 128 bits of credit: who waits, who is told, who is served
//! own_sources   sources that read their engine, end it, or panic
//! hostile_page  a generation page whose owner does it harm
//! ```

mod common;

mod limits {
    //! Below 128 bits of credit: who waits, who is told, who is served.

    use crate::common::process;
    use crate::common::process::Fork;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use wellspring::{Engine, Error, MinEntropy, Mode, Phase, Source, SourceError};

    /// Yields nothing until it is told to.
    #[derive(Default)]
    struct Late {
        yields: AtomicBool,
        draws: AtomicUsize,
    }

    impl Source for Late {
        fn name(&self) -> &'static str {
            "late"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::FULL
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            let draw = self.draws.fetch_add(1, Ordering::Relaxed);
            if !self.yields.load(Ordering::Relaxed) {
                return Err(SourceError::Busy);
            }
            for (index, byte) in destination.iter_mut().enumerate() {
                *byte = (draw * 31 + index * 7) as u8;
            }
            Ok(destination.len())
        }
    }

    fn engine(mode: Mode, seed: &[u8]) -> (Arc<Late>, Engine) {
        let source = Arc::new(Late::default());
        let sources: [Arc<dyn Source>; 1] = [source.clone()];
        let builder = Engine::builder().mode(mode).sources(sources).seed(seed);
        (source, builder.build().unwrap())
    }

    #[test]
    fn below_128_bits_a_try_is_refused_and_only_an_early_read_is_served() {
        for mode in Mode::ALL {
            // 15 bytes are 120 bits.
            let (_, engine) = engine(mode, &[7; 15]);
            let mut untouched = [0x5a; 5000];
            for bytes in [1, 16, 5000] {
                let place = &mut untouched[..bytes];
                assert_eq!(engine.try_fill(place), Err(Error::NotSeeded), "{mode}");
                let owned = engine.rng().try_fill(place);
                assert_eq!(owned, Err(Error::NotSeeded), "{mode}");
            }
            assert_eq!(untouched, [0x5a; 5000], "{mode}");
            assert_eq!(engine.stats().phase, Phase::Early, "{mode}");
            engine.fill_early(&mut untouched).unwrap();
            assert_ne!(untouched, [0x5a; 5000], "{mode}");
        }
    }

    #[test]
    fn a_seed_of_128_bits_is_enough() {
        for mode in Mode::ALL {
            let (_, engine) = engine(mode, &[7; 16]);
            assert_eq!(engine.try_fill(&mut [0; 16]), Ok(()), "{mode}");
            assert_eq!(engine.rng().try_fill(&mut [0; 16]), Ok(()), "{mode}");
        }
    }

    #[test]
    fn below_128_bits_a_fill_waits_and_goes_on_when_they_come() {
        for mode in Mode::ALL {
            for is_owned in [false, true] {
                // In a child: if it waits without end, it is killed.
                process::start(Fork::Library, || {
                    let (source, engine) = engine(mode, &[7; 15]);
                    let is_done = AtomicBool::new(false);
                    std::thread::scope(|scope| {
                        scope.spawn(|| {
                            if is_owned {
                                engine.rng().fill(&mut [0; 16]);
                            } else {
                                engine.fill(&mut [0; 16]);
                            }
                            is_done.store(true, Ordering::Release);
                        });
                        // It tried, was not served, and tries again.
                        while source.draws.load(Ordering::Relaxed) < 200 {
                            assert!(!is_done.load(Ordering::Acquire), "{mode}, {is_owned}");
                            std::thread::yield_now();
                        }
                        source.yields.store(true, Ordering::Relaxed);
                    });
                    assert_eq!(engine.stats().phase, Phase::Ready);
                })
                .join();
            }
        }
    }
}

mod own_sources {
    //! Sources that read the engine which draws on them, that end it, or that panic; also while it asks them about
    //! themselves.

    use crate::common::process;
    use crate::common::process::Fork;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Mutex, OnceLock};
    use wellspring::{
        Engine, Error, Harvester, MinEntropy, Mode, Source, SourceError, Speed, Symbol,
    };

    type Read = fn(&Engine) -> Result<(), Error>;

    /// Every read that a source may try, except reads that panic.
    const READS: [(&str, Read); 3] = [
        ("try_fill", |engine| engine.try_fill(&mut [0; 5000])),
        ("the try_fill of a LocalRng", |engine| {
            engine.rng().try_fill(&mut [0; 5000])
        }),
        ("reseed", |engine| engine.reseed().map(|_| ())),
    ];

    /// Yields nothing; reads its engine and keeps the answers.
    struct ReadsEngine {
        engine: OnceLock<Engine>,
        read: Read,
        answers: Mutex<Vec<Result<(), Error>>>,
    }

    impl Source for ReadsEngine {
        fn name(&self) -> &'static str {
            "reads-engine"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::NONE
        }

        fn sample(&self, _: &mut [u8]) -> Result<usize, SourceError> {
            if let Some(engine) = self.engine.get() {
                let answer = (self.read)(engine);
                self.answers.lock().unwrap().push(answer);
            }
            Err(SourceError::Busy)
        }
    }

    fn reads_engine(mode: Mode, read: Read, seed: &[u8]) -> (Arc<ReadsEngine>, Engine) {
        let source = Arc::new(ReadsEngine {
            engine: OnceLock::new(),
            read,
            answers: Mutex::default(),
        });
        let sources: [Arc<dyn Source>; 1] = [source.clone()];
        let builder = Engine::builder().mode(mode).sources(sources).seed(seed);
        let engine = builder.build().unwrap();
        assert!(source.engine.set(engine.clone()).is_ok());
        (source, engine)
    }

    #[test]
    fn before_it_is_ready_an_engine_refuses_its_own_source_by_name() {
        for mode in Mode::ALL {
            for (name, read) in READS {
                // In a child: a deadlock has all signals blocked.
                process::start(Fork::Library, || {
                    let (source, engine) = reads_engine(mode, read, &[]);
                    assert_eq!(engine.try_fill(&mut [0; 16]), Err(Error::NotSeeded));
                    let _ = engine.reseed();
                    let answers = source.answers.lock().unwrap();
                    assert!(!answers.is_empty(), "{mode}, {name}");
                    let refused =
                        |answer: &Result<(), Error>| *answer == Err(Error::SourceReadsEngine);
                    assert!(answers.iter().all(refused), "{mode}, {name}: {answers:?}");
                })
                .join();
            }
        }
    }

    #[test]
    fn a_ready_engine_answers_its_own_source_and_refuses_to_reseed_for_it() {
        for mode in Mode::ALL {
            for (name, read) in READS {
                process::start(Fork::Library, || {
                    let (source, engine) = reads_engine(mode, read, &[7; 32]);
                    engine.fill(&mut [0; 16]);
                    let _ = engine.reseed();
                    let answers = source.answers.lock().unwrap();
                    assert!(!answers.is_empty(), "{mode}, {name}");
                    // A read takes no lock that the draw holds.
                    let expected = if name == "reseed" {
                        Err(Error::SourceReadsEngine)
                    } else {
                        Ok(())
                    };
                    let is_right = |answer: &Result<(), Error>| *answer == expected;
                    assert!(answers.iter().all(is_right), "{mode}, {name}: {answers:?}");
                })
                .join();
            }
        }
    }

    /// Panics itself, or by a read that would wait without end.
    struct Panics {
        engine: OnceLock<Engine>,
    }

    impl Source for Panics {
        fn name(&self) -> &'static str {
            "panics"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::FULL
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            destination.fill(1);
            match self.engine.get() {
                Some(engine) => engine.fill(&mut [0; 5000]),
                None => panic!("in a source"),
            }
            Ok(destination.len())
        }
    }

    fn panicking(mode: Mode, reads: bool, seed: &[u8]) -> Engine {
        let source = Arc::new(Panics {
            engine: OnceLock::new(),
        });
        let sources: [Arc<dyn Source>; 1] = [source.clone()];
        let builder = Engine::builder().mode(mode).sources(sources).seed(seed);
        let engine = builder.build().unwrap();
        assert!(!reads || source.engine.set(engine.clone()).is_ok());
        engine
    }

    /// In a process whose panics say nothing.
    fn quietly(work: impl FnOnce()) {
        process::start(Fork::Library, || {
            std::panic::set_hook(Box::new(|_| {}));
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            // SAFETY: _exit may be called in any child.
            unsafe { libc::_exit(i32::from(ended.is_err())) }
        })
        .join();
    }

    #[test]
    fn a_panic_of_a_source_reaches_no_reader_and_counts_as_its_error() {
        for mode in Mode::ALL {
            for reads in [false, true] {
                quietly(|| {
                    let engine = panicking(mode, reads, &[]);
                    assert_eq!(engine.try_fill(&mut [0; 16]), Err(Error::NotSeeded));
                    assert_eq!(engine.reseed(), Err(Error::NotSeeded));
                    let source = &engine.stats().sources[0];
                    assert_eq!(source.last_error, Some(SourceError::Panicked));
                    assert!(source.errors > 1, "it was drawn on again");
                });
            }
            quietly(|| {
                let engine = panicking(mode, false, &[7; 32]);
                let _ = engine.reseed();
                engine.fill(&mut [0; 5000]);
                assert!(engine.stats().sources[0].errors > 0);
            });
        }
    }

    /// Drops the last clone of its engine when the harvester draws on it, and says when that is done.
    struct DropsEngine {
        engine: Mutex<Option<Engine>>,
        done: Mutex<Sender<()>>,
    }

    impl Source for DropsEngine {
        fn name(&self) -> &'static str {
            "drops-engine"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::NONE
        }

        fn sample(&self, _: &mut [u8]) -> Result<usize, SourceError> {
            let engine = self.engine.lock().unwrap().take();
            if engine.is_some() {
                drop(engine);
                self.done.lock().unwrap().send(()).unwrap();
            }
            Err(SourceError::Busy)
        }
    }

    #[test]
    fn a_source_that_drops_the_last_clone_of_its_engine_ends_the_harvester_without_a_panic() {
        let (done, is_done) = channel();
        let source = Arc::new(DropsEngine {
            engine: Mutex::default(),
            done: Mutex::new(done),
        });
        let sources: [Arc<dyn Source>; 1] = [source.clone()];
        let builder = Engine::builder().sources(sources).seed(&[7; 32]);
        let engine = builder.harvester(Harvester::default()).build().unwrap();
        *source.engine.lock().unwrap() = Some(engine);
        drop(source);
        // If the drop panics, the source is dropped with the engine and sends nothing.
        is_done.recv().expect("the engine was dropped");
    }

    /// Yields noise. From a moment on, its answers about itself panic or read its engine.
    #[derive(Default)]
    struct Describes {
        engine: OnceLock<Engine>,
        panics: AtomicBool,
    }

    impl Describes {
        fn say<T>(&self, fact: T) -> T {
            if let Some(engine) = self.engine.get() {
                engine.fill(&mut [0; 5000]);
            }
            assert!(!self.panics.load(Ordering::Relaxed), "in a source");
            fact
        }
    }

    impl Source for Describes {
        fn name(&self) -> &'static str {
            self.say("describes")
        }

        fn min_entropy(&self) -> MinEntropy {
            self.say(MinEntropy::per_byte_256ths(512))
        }

        fn symbol(&self) -> Symbol {
            self.say(Symbol::Byte)
        }

        fn speed(&self) -> Speed {
            self.say(Speed::Fast)
        }

        fn makes_system_calls(&self) -> bool {
            self.say(true)
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            getrandom::fill(destination).map_err(|_| SourceError::Absent)?;
            Ok(destination.len())
        }
    }

    #[test]
    fn what_a_source_says_about_itself_is_asked_where_no_reader_waits_for_it() {
        for mode in Mode::ALL {
            for reads in [false, true] {
                quietly(|| {
                    let source = Arc::new(Describes::default());
                    let sources: [Arc<dyn Source>; 1] = [source.clone()];
                    let engine = Engine::builder().mode(mode).sources(sources);
                    let engine = engine.build().unwrap();
                    if reads {
                        assert!(source.engine.set(engine.clone()).is_ok());
                    } else {
                        source.panics.store(true, Ordering::Relaxed);
                    }
                    engine.fill(&mut [0; 5000]);
                    engine.reseed().unwrap();
                    assert_eq!(engine.stats().sources[0].name, "describes");
                    assert!(engine.stats().sources[0].credited_bits >= 128);
                });
            }
        }
    }
}

mod hostile_page {
    //! A generation page whose owner does it harm while engines watch it: reads go on, and no byte comes twice.
    //!
    //! Pages that are refused from the beginning are in `copies.rs`.

    use crate::common::process::{Fork, run_and_exit};
    use crate::common::repeats::assert_nothing_in_common;
    use std::ffi::CString;
    use std::fs;
    use std::fs::OpenOptions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{FileExt, PermissionsExt, chown};
    use std::os::unix::net::UnixListener;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, Ordering};
    use wellspring::clone_detection::GenerationPage;
    use wellspring::{Engine, Mode, clone_detection};

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
}
