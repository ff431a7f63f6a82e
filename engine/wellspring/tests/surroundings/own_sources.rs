//! Sources that read the engine which draws on them, that end it, or that panic; also while it asks them about
//! themselves.

use crate::common::process::{self, Fork};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use wellspring::{Engine, Error, Harvester, MinEntropy, Mode, Source, SourceError, Speed, Symbol};

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
                let refused = |answer: &Result<(), Error>| *answer == Err(Error::SourceReadsEngine);
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
