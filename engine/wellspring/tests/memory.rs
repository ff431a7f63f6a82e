//! Returned bytes are nowhere in the process, and secrets are in the right kind of memory.

mod common;

use common::door::Door;
use common::process::{self, Fork};
use common::wanted::Wanted;
use std::sync::Mutex;
use wellspring::{Engine, Mode};

/// One at a time: each searches the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn nothing_that_was_handed_out_is_found_in_the_process() {
    let _alone = ALONE.lock();
    let mut wanted = Wanted::default();
    let mut planted = vec![0; 64];
    let mut long = vec![0; 20_000];
    for mut door in Door::all() {
        if matches!(door, Door::Pseudo) {
            continue;
        }
        for _ in 0..20 {
            let mut short = [0; 48];
            door.fill(&mut short[..32]);
            wanted.take(&mut short[..32]);
            door.fill(&mut short);
            wanted.take(&mut short);
        }
        door.fill(&mut long);
        wanted.take(&mut long);
        door.fill(&mut planted);
        assert_eq!(wanted.search(), [], "{}", door.name());
        wanted.take(&mut planted.clone());
        let found = wanted.search();
        let at = planted.as_ptr() as usize;
        assert!(found.contains(&at), "the search finds what is there");
        planted.fill(0);
    }
    println!("{} values looked for", wanted.count());
}

/// Two engines of one seed, without sources: each shows what the other will hand out.
fn twins(mode: Mode) -> [Engine; 2] {
    [(); 2].map(|()| {
        let builder = Engine::builder().mode(mode).sources([]).seed(&[42; 32]);
        builder.build().unwrap()
    })
}

/// The 1024 bytes that come after the first 64.
///
/// The 1024 after them replace them in the vector registers: the first call between two libraries through lazy
/// binding, as in `pthread_create`, writes all registers to the stack.
fn foretell(mut draw: impl FnMut(&mut [u8])) -> Wanted {
    let mut wanted = Wanted::default();
    let mut next = vec![0; 1024];
    draw(&mut [0; 64]);
    draw(&mut next);
    wanted.take(&mut next);
    draw(&mut next);
    wanted
}

#[test]
fn what_would_have_come_next_is_gone_with_its_owner() {
    let _alone = ALONE.lock();
    let [engine, twin] = twins(Mode::PerThread);
    let wanted = foretell(|destination| twin.fill(destination));
    drop(twin);
    assert_eq!(wanted.search(), [], "gone with the twin");
    engine.fill(&mut [0; 64]);
    assert!(!wanted.search().is_empty(), "in the buffer");
    drop(engine);
    assert_eq!(wanted.search(), [], "gone with the engine");

    let [engine, twin] = twins(Mode::PerThread);
    let mut other = twin.rng();
    let wanted = foretell(|destination| other.fill(destination));
    drop(other);
    let mut rng = engine.rng();
    rng.fill(&mut [0; 64]);
    assert!(!wanted.search().is_empty(), "in the generator's buffer");
    drop(rng);
    assert_eq!(wanted.search(), [], "gone with the generator");

    let [engine, twin] = twins(Mode::PerThread);
    let wanted = foretell(|destination| twin.fill(destination));
    drop(twin);
    std::thread::scope(|scope| {
        let draws = scope.spawn(|| {
            engine.fill(&mut [0; 64]);
            assert!(!wanted.search().is_empty(), "in the thread's buffer");
        });
        draws.join().unwrap();
    });
    assert_eq!(wanted.search(), [], "gone with the thread");

    let [engine, twin] = twins(Mode::PerThread);
    let wanted = foretell(|destination| twin.fill(destination));
    drop(twin);
    engine.fill(&mut [0; 64]);
    let _ = engine.reseed();
    engine.fill(&mut [0; 64]);
    assert_eq!(wanted.search(), [], "gone with the generation");
}

/// How many mappings in use are wiped on fork, and how many of those lack the flag `wanted`.
fn secret_mappings(wanted: &str) -> (usize, usize) {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut resident_kib, mut all, mut without) = (0, 0, 0);
    for line in smaps.lines() {
        if let Some(kib) = line.strip_prefix("Rss:") {
            resident_kib = kib.trim().trim_end_matches(" kB").parse().unwrap();
        }
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            let has = |flag| flags.split_whitespace().any(|other| other == flag);
            // Memory of the kernel's own making for the vDSO is wiped too, and droppable.
            if has("wf") && !has("dp") && resident_kib > 0 {
                all += 1;
                without += usize::from(!has(wanted));
            }
        }
    }
    (all, without)
}

#[test]
fn secret_memory_is_wiped_on_fork_not_dumped_and_locked_in_a_child_too() {
    let _alone = ALONE.lock();
    let engines = Mode::ALL.map(|mode| Engine::builder().mode(mode).build().unwrap());
    let draw = || engines.each_ref().map(Engine::u64);
    draw();
    let check = || {
        let (all, dumped) = secret_mappings("dd");
        assert!(all > 0, "none is wiped on fork");
        assert_eq!(dumped, 0, "mappings of {all} are dumped");
        if engines[0].stats().unlocked_bytes > 0 {
            return common::skipped("the limit of locked memory is too low");
        }
        let (all, unlocked) = secret_mappings("lo");
        assert_eq!(unlocked, 0, "mappings of {all} are not locked");
    };
    check();
    process::start(Fork::Library, || {
        draw();
        check();
    })
    .join();
}
