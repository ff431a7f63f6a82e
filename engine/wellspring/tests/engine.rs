//! An engine as its callers see it.
//!
//! ```text
//! modes      the four modes against the generator that they are made of
//! seed_file  the seed file: read, replaced, mixed, credited at most once
//! ids        identifiers in many threads and in great numbers
//! ```

mod common;

mod modes {
    //! The four modes against the generator that they are made of, and the states of an engine.

    use crate::common::repeats::{assert_no_value_twice, assert_nothing_in_common};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use wellspring::{
        Engine, Error, MinEntropy, Mode, Phase, Prf, Source, SourceError, SourceHealth,
    };
    use wellspring_core::Backend;
    use wellspring_core::generator::{Generator, Reservation};

    const SEED: [u8; 32] = *b"a seed of thirty-two octets long";

    fn seeded(mode: Mode, prf: Prf) -> Engine {
        let builder = Engine::builder().mode(mode).prf(prf).sources([]);
        builder.seed(&SEED).build().unwrap()
    }

    /// Keeps this thread on a CPU. `false`: there is no such CPU.
    fn pin(cpu: usize) -> bool {
        // SAFETY: all zeros is an empty set, and the pointer is to it.
        unsafe {
            let mut cpus: libc::cpu_set_t = core::mem::zeroed();
            libc::CPU_SET(cpu, &mut cpus);
            libc::sched_setaffinity(0, size_of_val(&cpus), &raw const cpus) == 0
        }
    }

    /// Yields numbers that never come again, claims what it is told to, and is busy at first.
    struct Counter {
        claim: MinEntropy,
        calls: AtomicUsize,
        busy_calls: usize,
        stuck: bool,
    }

    impl Counter {
        fn claiming(claim: MinEntropy) -> Self {
            Self {
                claim,
                calls: AtomicUsize::new(0),
                busy_calls: 0,
                stuck: false,
            }
        }
    }

    impl Source for Counter {
        fn name(&self) -> &'static str {
            if self.stuck { "stuck" } else { "counter" }
        }

        fn min_entropy(&self) -> MinEntropy {
            self.claim
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            if call < self.busy_calls {
                return Err(SourceError::Busy);
            }
            for (index, byte) in destination.iter_mut().enumerate() {
                *byte = if self.stuck {
                    7
                } else {
                    (call * 31 + index * 7) as u8
                };
            }
            Ok(destination.len())
        }
    }

    #[test]
    fn canonical_and_concurrent_reads_are_fortunas() {
        for prf in [Prf::Aes256, Prf::ChaCha20] {
            let backend = Backend::detect(prf);
            let mut canonical = Generator::ZERO;
            let mut concurrent = Generator::ZERO;
            canonical.reseed(&SEED);
            concurrent.reseed(&SEED);
            let engines = [Mode::Canonical, Mode::Concurrent].map(|mode| seeded(mode, prf));
            for length in [
                1,
                16,
                32,
                33,
                4096,
                4097,
                10_000,
                1 << 20,
                (1 << 20) + 1,
                3 << 20,
            ] {
                let (mut drawn, mut expected) = (vec![0; length], vec![0; length]);
                engines[0].fill(&mut drawn);
                let mut rest = &mut expected[..];
                while !rest.is_empty() {
                    rest = canonical.read_chunk(backend, rest);
                }
                assert!(drawn == expected, "canonical, {prf:?}, {length} bytes");
                engines[1].fill(&mut drawn);
                let mut reservation = Reservation::ZERO;
                concurrent.reserve(backend, length, &mut reservation);
                reservation.generate(backend, &mut expected);
                assert!(drawn == expected, "concurrent, {prf:?}, {length} bytes");
            }
        }
    }

    #[test]
    fn nodes_of_one_seed_and_taps_of_one_engine_never_give_the_same() {
        for mode in [Mode::PerNode, Mode::PerThread] {
            let builder = Engine::builder().mode(mode).sources([]).seed(&SEED);
            let engine = builder.topology("nodes=2,cpus=2".parse().unwrap());
            let engine = engine.build().unwrap();
            let draw_on = |cpu| {
                let engine = &engine;
                move || {
                    let is_pinned = pin(cpu);
                    let mut drawn = vec![0; 20_000];
                    drawn.chunks_mut(48).for_each(|read| engine.fill(read));
                    is_pinned.then_some(drawn)
                }
            };
            let drawn: Vec<_> = std::thread::scope(|scope| {
                let threads = [0, 1, 0, 1].map(|cpu| scope.spawn(draw_on(cpu)));
                threads.map(|thread| thread.join().unwrap()).into()
            });
            if drawn.iter().any(Option::is_none) {
                return crate::common::skipped("this machine has one CPU");
            }
            let drawn: Vec<_> = drawn.into_iter().flatten().collect();
            assert_nothing_in_common(&drawn, &format!("mode {mode}"));
            let stats = engine.stats();
            assert!(stats.nodes.iter().all(|node| node.fetches > 0), "{stats:?}");
        }
    }

    #[test]
    fn before_128_bits_every_cpu_is_served_by_the_first_node() {
        // One bit for each 256 bytes. An engine draws on it 34 times when it is asked for a seed, and 16 times by order.
        let source = Arc::new(Counter::claiming(MinEntropy::per_byte_256ths(1)));
        let builder = Engine::builder()
            .mode(Mode::PerNode)
            .sources([source as Arc<dyn Source>]);
        let engine = builder.topology("nodes=2,cpus=2".parse().unwrap());
        let engine = engine.build().unwrap();
        if !pin(1) {
            return crate::common::skipped("this machine has one CPU");
        }
        let mut bytes = [0; 8];
        assert_eq!(engine.try_fill(&mut bytes), Err(Error::NotSeeded));
        assert_eq!(bytes, [0; 8]);
        engine.fill_early(&mut bytes).unwrap();
        assert_ne!(bytes, [0; 8]);
        let early = engine.stats();
        assert_eq!(early.phase, Phase::Early);
        assert!(early.nodes[0].fetches > 0, "{early:?}");
        assert_eq!(early.nodes[1].fetches, 0, "{early:?}");
        for _ in 0..300 {
            if engine.stats().phase == Phase::Ready {
                break;
            }
            assert_eq!(engine.try_fill(&mut bytes), Err(Error::NotSeeded));
            engine.fill_early(&mut bytes).unwrap();
            let _ = engine.reseed();
        }
        assert_ne!(engine.u64(), 0);
        let before = engine.stats();
        assert_eq!(before.phase, Phase::Ready, "{before:?}");
        let pooled = before.sources[0].credited_bits;
        assert!(pooled >= 128, "{pooled} bits in all");
        (0..10).for_each(|_| assert_ne!(engine.u64(), 0));
        let after = engine.stats();
        assert_eq!(after.nodes[0].fetches, before.nodes[0].fetches, "{after:?}");
        assert_eq!(
            after.nodes[1].fetches,
            before.nodes[1].fetches + 10,
            "{after:?}"
        );
    }

    /// Yields 32 bytes for each time that it is allowed to.
    struct Sparing {
        claim: MinEntropy,
        allowed: AtomicUsize,
        numbers: AtomicUsize,
    }

    impl Source for Sparing {
        fn name(&self) -> &'static str {
            "sparing"
        }

        fn min_entropy(&self) -> MinEntropy {
            self.claim
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            let take = |allowed: usize| allowed.checked_sub(1);
            let is_allowed = self
                .allowed
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
            is_allowed.map_err(|_| SourceError::Busy)?;
            let (bytes, _) = destination.split_at_mut(32);
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            for (index, byte) in bytes.iter_mut().enumerate() {
                *byte = (number * 31 + index * 7) as u8;
            }
            Ok(bytes.len())
        }
    }

    #[test]
    fn credits_of_8_bits_make_no_engine_ready_one_by_one() {
        // Without early reads 16 of them do, together. An early read may spend one.
        for reads_early in [false, true] {
            let sparing = Arc::new(Sparing {
                claim: MinEntropy::per_byte_256ths(64),
                // The samples of the start-up test.
                allowed: AtomicUsize::new(1024 / 32),
                numbers: AtomicUsize::new(0),
            });
            let filler = Arc::new(Counter::claiming(MinEntropy::NONE));
            let engine = Engine::builder().sources([sparing.clone() as Arc<dyn Source>, filler]);
            let engine = engine.build().unwrap();
            let is_ready = || engine.try_fill(&mut [0; 16]).is_ok();
            assert!(!is_ready());
            let mut bits = 0;
            while !is_ready() {
                assert_eq!(engine.stats().sources[0].credited_bits, bits);
                assert!(bits <= 17 * 8, "{bits} bits do not suffice");
                if reads_early {
                    engine.fill_early(&mut [0; 16]).unwrap();
                }
                sparing.allowed.store(1, Ordering::Relaxed);
                bits += 8;
                assert_eq!(engine.reseed().is_ok(), is_ready());
            }
            assert!(bits >= 128, "ready with {bits} bits");
        }
    }

    #[test]
    fn a_source_that_is_stuck_is_put_out_and_the_other_goes_on() {
        let mut stuck = Counter::claiming(MinEntropy::FULL);
        stuck.stuck = true;
        let sources: [Arc<dyn Source>; 2] = [
            Arc::new(stuck),
            Arc::new(Counter::claiming(MinEntropy::FULL)),
        ];
        for mode in Mode::ALL {
            let engine = Engine::builder()
                .mode(mode)
                .sources(sources.clone())
                .build()
                .unwrap();
            assert_ne!(engine.u64(), 0);
            engine.reseed().unwrap();
            let stats = engine.stats();
            let health = stats.sources.iter().map(|source| source.health);
            let expected = [SourceHealth::Disabled, SourceHealth::Active];
            assert_eq!(health.collect::<Vec<_>>(), expected);
            assert_eq!(stats.sources[0].credited_bits, 0);
            assert!(stats.sources[1].credited_bits > 0);
        }
    }

    #[test]
    fn a_read_without_a_seed_waits_and_a_try_says_so() {
        for mode in Mode::ALL {
            let empty = Engine::builder().mode(mode).sources([]).build().unwrap();
            let mut untouched = [0x5a; 40];
            assert_eq!(empty.try_fill(&mut untouched), Err(Error::NotSeeded));
            assert_eq!(empty.rng().try_fill(&mut untouched), Err(Error::NotSeeded));
            assert_eq!(untouched, [0x5a; 40]);

            let mut busy = Counter::claiming(MinEntropy::FULL);
            busy.busy_calls = 60;
            let busy: Arc<dyn Source> = Arc::new(busy);
            let engine = Engine::builder()
                .mode(mode)
                .sources([busy])
                .build()
                .unwrap();
            assert_eq!(engine.try_fill(&mut untouched), Err(Error::NotSeeded));
            engine.fill(&mut untouched);
            assert_ne!(untouched, [0x5a; 40]);
            assert!(engine.stats().sources[0].errors >= 35);
        }
    }

    #[test]
    fn a_reseed_moves_every_thread_to_a_fresh_key() {
        // Two engines of one seed: the second shows how the first would have gone on.
        let engines = [(); 2].map(|()| seeded(Mode::PerThread, Prf::ChaCha20));
        let [moved, stays] = &engines;
        let (go, went) = (std::sync::Barrier::new(3), std::sync::Barrier::new(3));
        let thread = |engine: &Engine| {
            let before = engine.bytes::<32>();
            go.wait();
            went.wait();
            (before, engine.bytes::<32>())
        };
        let drawn = std::thread::scope(|scope| {
            let thread = &thread;
            let threads = [moved, stays].map(|engine| scope.spawn(move || thread(engine)));
            go.wait();
            assert_eq!(moved.reseed(), Err(Error::NotSeeded), "there is no source");
            went.wait();
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(drawn[0].0, drawn[1].0, "of one seed");
        assert_ne!(drawn[0].1, drawn[1].1, "of the same buffer still");
    }

    #[test]
    fn no_value_of_long_reads_comes_twice() {
        for mode in Mode::ALL {
            for prf in [Prf::Aes256, Prf::ChaCha20] {
                let engine = seeded(mode, prf);
                let mut rng = engine.rng();
                let mut values: Vec<[u8; 16]> = Vec::new();
                for length in [
                    6655,
                    6656,
                    6657,
                    3839,
                    3840,
                    3841,
                    4096,
                    8192,
                    (1 << 20) - 16,
                    1 << 20,
                    (1 << 20) + 16,
                ] {
                    let mut drawn = vec![0; length];
                    engine.fill(&mut drawn);
                    values.extend(drawn.as_chunks().0);
                    if length < 1 << 20 {
                        rng.fill(&mut drawn);
                        values.extend(drawn.as_chunks().0);
                    }
                }
                assert_no_value_twice(&mut values, &format!("{mode}, {prf:?}"));
            }
        }
    }

    #[test]
    fn an_engine_that_was_never_reseeded_is_so_by_its_next_slow_read() {
        let engine = Engine::builder().seed(&[3; 32]).build().unwrap();
        assert_eq!(engine.generation(), 1);
        engine.fill(&mut [0; 16]);
        assert_eq!(
            engine.generation(),
            2,
            "the seed alone is overdue, also in the first minute after a boot"
        );
    }
}

mod seed_file {
    //! The seed file: read, replaced, mixed; credited at most once. No fault of the file stops an engine.

    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use wellspring::seed_file::{
        Damage, Identity, Report, SeedFileError, SeedFileStats, SeedFound, Uncredited, inspect,
    };
    use wellspring::{Engine, Error, FileFault, OsError, Phase};

    /// A folder of a test's own, as private as a seed file's should be.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("wellspring-seed-{}-{name}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
            Self(folder)
        }

        fn file(&self) -> PathBuf {
            self.0.join("seed")
        }

        /// The names in the folder.
        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
            let mut names: Vec<String> = entries
                .map(|entry| name(entry).into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn boot(number: u8) -> Identity {
        Identity::new(b"a machine", [number; 16])
    }

    /// An engine that has nothing but its seed file.
    fn bare(path: &Path, identity: Identity) -> Engine {
        let engine = Engine::builder().sources([]).seed_file(path);
        engine.identity(identity).build().unwrap()
    }

    /// An engine that is ready at once.
    fn ready(path: &Path, identity: Identity, topology: &str) -> Engine {
        let engine = Engine::builder().sources([]).seed(&[1; 32]).seed_file(path);
        let engine = engine.topology(topology.parse().unwrap());
        let engine = engine.identity(identity).build().unwrap();
        engine.fill(&mut [0; 32]);
        engine
    }

    fn stats(engine: &Engine) -> SeedFileStats {
        engine.stats().seed_file.unwrap()
    }

    /// The result of an engine that has only this seed file.
    fn found(path: &Path, identity: Identity) -> SeedFound {
        stats(&bare(path, identity)).found
    }

    /// Whether the file system gives a file an identity that its copies do not have. If not, prints that a test is limited.
    fn tells_copies(report: &Report) -> bool {
        if !report.has_file_id {
            eprintln!("SKIPPED: the file system does not know when a file was born, or has layers");
        }
        report.has_file_id
    }

    #[test]
    fn a_seed_outlives_a_boot_and_is_credited_once() {
        let folder = Folder::new("boots");
        let path = folder.file();
        let engine = ready(&path, boot(1), "nodes=4,cpus=8");
        assert_eq!(stats(&engine).found, SeedFound::Nothing);
        drop(engine);
        let report = inspect(&path, &boot(2)).unwrap();
        assert_eq!((report.sections, report.counter), (4, 2));
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
        assert_eq!(folder.names(), ["seed"]);
        if !tells_copies(&report) {
            return;
        }
        assert_eq!(report.found, SeedFound::Credited(256));
        let engine = bare(&path, boot(2));
        assert_eq!(stats(&engine).found, SeedFound::Credited(256));
        assert_eq!(engine.stats().phase, Phase::Ready);
        engine.try_fill(&mut [0; 32]).unwrap();
        // Killed here: the present file was written in this boot.
        let same_boot = SeedFound::Mixed(Uncredited::SameBoot);
        assert_eq!(inspect(&path, &boot(2)).unwrap().found, same_boot);
        let again = bare(&path, boot(2));
        assert_eq!(stats(&again).found, same_boot);
        assert_eq!(again.try_fill(&mut [0; 32]), Err(Error::NotSeeded));
    }

    #[test]
    fn no_content_of_the_file_is_used_twice() {
        let folder = Folder::new("once");
        let mut contents = vec![];
        let mut outputs = vec![];
        for number in 1..5 {
            let engine = ready(&folder.file(), boot(number), "nodes=1,cpus=1");
            contents.push(fs::read(folder.file()).unwrap());
            outputs.push(engine.bytes::<32>());
            assert_eq!(engine.save_seed(), Ok(()));
            contents.push(fs::read(folder.file()).unwrap());
            // Without anything new since the save, the engine would not write at its end.
            engine.diverge_from_clones();
            drop(engine);
            contents.push(fs::read(folder.file()).unwrap());
        }
        let count = (contents.len(), outputs.len());
        contents.sort();
        contents.dedup();
        outputs.sort();
        outputs.dedup();
        assert_eq!((contents.len(), outputs.len()), count);
    }

    #[test]
    fn a_copy_is_mixed_and_credited_nothing() {
        let folder = Folder::new("copies");
        let path = folder.file();
        drop(ready(&path, boot(1), "nodes=2,cpus=2"));
        let report = inspect(&path, &boot(2)).unwrap();
        if !tells_copies(&report) {
            return;
        }
        let elsewhere = SeedFound::Mixed(Uncredited::Elsewhere);
        // `cp`, `tar`, a backup put back: another file.
        let copy = folder.0.join("copy");
        fs::copy(&path, &copy).unwrap();
        assert_eq!(inspect(&copy, &boot(2)).unwrap().found, elsewhere);
        let original = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, original).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(found(&path, boot(2)), elsewhere);
        // The disk in another machine.
        drop(ready(&path, boot(3), "nodes=2,cpus=2"));
        let other = Identity::new(b"another machine", [4; 16]);
        assert_eq!(found(&path, other), elsewhere);
    }

    #[test]
    fn a_file_that_others_can_read_or_replace_is_credited_nothing() {
        let folder = Folder::new("exposed");
        let path = folder.file();
        let with_mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        drop(ready(&path, boot(1), "nodes=1,cpus=1"));
        if !tells_copies(&inspect(&path, &boot(2)).unwrap()) {
            return;
        }
        let exposed = SeedFound::Mixed(Uncredited::Exposed);
        with_mode(&path, 0o640);
        assert_eq!(found(&path, boot(2)), exposed);
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
        drop(ready(&path, boot(3), "nodes=1,cpus=1"));
        with_mode(&folder.0, 0o770);
        assert_eq!(found(&path, boot(4)), exposed);
        with_mode(&folder.0, 0o700);
        drop(ready(&path, boot(5), "nodes=1,cpus=1"));
        fs::hard_link(&path, folder.0.join("second")).unwrap();
        assert_eq!(found(&path, boot(6)), exposed);
    }

    #[test]
    fn a_file_of_another_user_is_left_alone() {
        let folder = Folder::new("owner");
        let path = folder.file();
        fs::write(&path, "theirs").unwrap();
        if std::os::unix::fs::chown(&path, Some(65534), None).is_err() {
            return eprintln!("SKIPPED: only root can give a file away");
        }
        assert_eq!(
            found(&path, boot(1)),
            SeedFound::Refused(SeedFileError::File(FileFault::Owner))
        );
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(folder.names(), ["seed"]);
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let folder = Folder::new("kinds");
        let target = folder.0.join("target");
        fs::write(&target, "precious").unwrap();
        let path = folder.file();
        symlink(&target, &path).unwrap();
        let engine = ready(&path, boot(1), "nodes=1,cpus=1");
        let symbolic_link = SeedFileError::File(FileFault::Link);
        assert_eq!(stats(&engine).found, SeedFound::Refused(symbolic_link));
        assert_eq!(engine.save_seed(), Err(symbolic_link));
        drop(engine);
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        assert!(path.symlink_metadata().unwrap().is_symlink());
        fs::remove_file(&path).unwrap();

        fs::create_dir(&path).unwrap();
        let not_a_file = SeedFound::Refused(SeedFileError::File(FileFault::NotAFile));
        assert_eq!(found(&path, boot(1)), not_a_file);
        fs::remove_dir(&path).unwrap();

        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        assert_eq!(found(&path, boot(1)), not_a_file);
        // Only who can make the new file beside it learns that it is a device.
        // SAFETY: access(2) reads a string that ends with a zero.
        let is_writable = unsafe { libc::access(c"/dev".as_ptr(), libc::W_OK) } == 0;
        let refused = SeedFileError::File(FileFault::System(OsError::new(libc::EACCES)));
        let expected = if is_writable {
            not_a_file
        } else {
            SeedFound::Refused(refused)
        };
        assert_eq!(found(Path::new("/dev/null"), boot(1)), expected);
        assert_eq!(folder.names(), ["seed", "target"]);

        let missing = folder.0.join("none/seed");
        let no_folder = SeedFileError::File(FileFault::System(OsError::new(2)));
        assert_eq!(found(&missing, boot(1)), SeedFound::Refused(no_folder));
    }

    #[test]
    fn a_seed_file_that_was_cut_or_changed_is_said_and_replaced() {
        let folder = Folder::new("damage");
        let path = folder.file();
        drop(ready(&path, boot(1), "nodes=2,cpus=2"));
        let whole = fs::read(&path).unwrap();
        let mut cases: Vec<(Vec<u8>, Damage)> = (0..whole.len())
            .step_by(7)
            .map(|length| (whole[..length].to_vec(), Damage::Length))
            .collect();
        cases.push((b"wellseed".repeat(10_000), Damage::Length));
        let mut flipped = whole.clone();
        flipped[100] ^= 1;
        cases.push((flipped, Damage::Checksum));
        for (content, damage) in cases {
            fs::write(&path, &content).unwrap();
            assert_eq!(found(&path, boot(2)), SeedFound::Damaged(damage));
            let now = inspect(&path, &boot(3)).unwrap();
            assert_eq!(now.counter, 1, "a file that is whole again");
        }
    }

    #[test]
    fn a_file_of_another_kind_is_refused_and_stays() {
        let folder = Folder::new("another-kind");
        let path = folder.file();
        for content in [&b"precious\n"[..], b"#", &[0; 200], &[0; 100_000]] {
            fs::write(&path, content).unwrap();
            let refused = SeedFound::Refused(SeedFileError::NotASeedFile);
            assert_eq!(found(&path, boot(1)), refused);
            let engine = ready(&path, boot(1), "nodes=1,cpus=1");
            assert_eq!(engine.save_seed(), Err(SeedFileError::NotASeedFile));
            drop(engine);
            assert_eq!(fs::read(&path).unwrap(), content);
        }
    }

    #[test]
    fn at_its_end_an_engine_writes_only_what_it_has_not_saved() {
        let folder = Folder::new("saved");
        let path = folder.file();
        let engine = ready(&path, boot(1), "nodes=2,cpus=2");
        engine.save_seed().unwrap();
        let saved = fs::read(&path).unwrap();
        drop(engine);
        assert_eq!(fs::read(&path).unwrap(), saved, "the same again");

        let engine = ready(&path, boot(1), "nodes=2,cpus=2");
        engine.save_seed().unwrap();
        let saved = fs::read(&path).unwrap();
        engine.diverge_from_clones();
        drop(engine);
        assert_ne!(
            fs::read(&path).unwrap(),
            saved,
            "what came in after the save was lost"
        );
    }

    #[test]
    fn what_a_killed_writer_left_is_removed() {
        let folder = Folder::new("stale");
        fs::write(folder.0.join(".seed.next"), "half a secr").unwrap();
        let engine = ready(&folder.file(), boot(1), "nodes=1,cpus=1");
        assert!(stats(&engine).removed_unfinished);
        assert_eq!(folder.names(), ["seed"]);
        assert_eq!(stats(&engine).writes, 1);
        drop(engine);
        // A link that someone planted there is not followed.
        let target = folder.0.join("target");
        fs::write(&target, "precious").unwrap();
        symlink(&target, folder.0.join(".seed.next")).unwrap();
        drop(ready(&folder.file(), boot(1), "nodes=1,cpus=1"));
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        assert_eq!(folder.names(), ["seed", "target"]);
    }

    #[test]
    fn engines_that_start_at_once_use_different_seeds() {
        let folder = Folder::new("race");
        drop(ready(&folder.file(), boot(1), "nodes=1,cpus=1"));
        let start = || bare(&folder.file(), boot(2));
        let engines: Vec<Engine> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let found: Vec<SeedFound> = engines.iter().map(|engine| stats(engine).found).collect();
        let report = inspect(&folder.file(), &boot(3)).unwrap();
        assert_eq!(report.counter, 2 + 8, "each read what the one before wrote");
        if tells_copies(&report) {
            let credited = |found: &&SeedFound| matches!(found, SeedFound::Credited(_));
            assert_eq!(found.iter().filter(credited).count(), 1, "{found:?}");
        }
    }

    #[test]
    fn a_required_file_that_cannot_be_used_is_an_error_of_build() {
        let folder = Folder::new("required");
        let require = |path: &Path| {
            let builder = Engine::builder().require_seed_file(path).identity(boot(1));
            builder.build().map(|engine| stats(&engine).found)
        };
        let absent = FileFault::System(OsError::new(libc::ENOENT));
        let fault = require(&folder.0.join("nowhere/seed")).unwrap_err();
        assert_eq!(fault, Error::SeedFile(SeedFileError::File(absent)));
        let words = "the seed file cannot be used: No such file or directory (os error 2)";
        assert_eq!(fault.to_string(), words);
        fs::write(folder.file(), "a file of another kind").unwrap();
        let fault = require(&folder.file()).unwrap_err();
        assert_eq!(fault, Error::SeedFile(SeedFileError::NotASeedFile));
        fs::remove_file(folder.file()).unwrap();
        assert_eq!(require(&folder.file()), Ok(SeedFound::Nothing));
        // Written in this boot, so without credit: that is no error.
        assert!(matches!(require(&folder.file()), Ok(SeedFound::Mixed(_))));
    }

    #[test]
    fn a_child_does_not_write_its_parents_file() {
        let folder = Folder::new("child");
        let engine = ready(&folder.file(), boot(1), "nodes=1,cpus=1");
        let before = fs::read(folder.file()).unwrap();
        // SAFETY: the child calls nothing but the engine and _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(engine);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: waits for the child above.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(fs::read(folder.file()).unwrap(), before);
    }

    #[test]
    fn an_engine_without_a_seed_or_a_file_says_so() {
        let folder = Folder::new("unseeded");
        let engine = bare(&folder.file(), boot(1));
        assert_eq!(engine.save_seed(), Err(SeedFileError::NotSeeded));
        let engine = Engine::builder().build().unwrap();
        assert_eq!(engine.save_seed(), Err(SeedFileError::Absent));
        assert_eq!(engine.stats().seed_file, None);
    }
}

mod ids {
    //! Identifiers in many threads and in great numbers. Their layouts are tested in `src/ids/tests.rs`, and children, signal
    //! handlers and cancelled threads in the C library's torture tests.

    use std::thread;
    use testkit::programs::is_long;
    use wellspring::ids;

    const THREADS: usize = 4;

    /// Each thread makes `count` identifiers, which ascend if they are ordered, and keeps those whose last byte is a multiple
    /// of `share`. No two of all that were kept are equal.
    fn all_differ(make: fn() -> [u8; 16], is_ordered: bool, count: usize, share: u8) {
        let kept = move || {
            let (mut kept, mut last) = (Vec::new(), [0; 16]);
            for _ in 0..count {
                let id = make();
                assert!(!is_ordered || id > last);
                last = id;
                if id[15].is_multiple_of(share) {
                    kept.push(id);
                }
            }
            kept
        };
        let threads: Vec<_> = (0..THREADS).map(|_| thread::spawn(kept)).collect();
        let mut all: Vec<_> = threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect();
        let number = all.len();
        assert!(number > THREADS * count / usize::from(share) / 2);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), number);
    }

    #[test]
    fn identifiers_of_threads_all_differ_and_those_of_each_ascend() {
        all_differ(ids::uuid4, false, 100_000, 1);
        all_differ(ids::uuid7, true, 100_000, 1);
        all_differ(ids::ulid, true, 100_000, 1);
    }

    /// If a block of 64 identifiers comes twice, the test sees one of them.
    #[test]
    fn a_billion_identifiers_differ() {
        if is_long("it takes two to five minutes and 400 MB") {
            all_differ(ids::uuid4, false, 250_000_000, 64);
            all_differ(ids::uuid7, true, 250_000_000, 64);
            all_differ(ids::ulid, true, 250_000_000, 64);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_identifier_has_the_time_of_the_coarse_clock() {
        let clock_ms = || {
            // SAFETY: all zeros is a `timespec`, and the pointer is to one.
            let time = unsafe {
                let mut time: libc::timespec = core::mem::zeroed();
                libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time);
                time
            };
            time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
        };
        let before_ms = clock_ms();
        let id = ids::uuid7();
        let after_ms = clock_ms();
        let time_ms = u64::from_be_bytes(id[..8].try_into().unwrap()) >> 16;
        assert!((before_ms..=after_ms).contains(&time_ms));
    }
}
