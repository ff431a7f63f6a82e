//! Reseeds go on wherever the readers are. With a clock that the test sets: `src/engine/noise_tests.rs`.

use std::time::{Duration, Instant};
use wellspring::{Engine, Harvester, Mode, Topology};
use wellspring_core::topology::SystemNode;

/// Two nodes; all CPUs of this machine belong to node 1.
fn all_readers_on_node_1() -> Topology {
    let node = |number, cpus| SystemNode {
        number,
        cpus,
        has_memory: true,
        distances: vec![],
    };
    // A list like 0-3,8-11.
    let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = possible.trim().rsplit([',', '-']).next();
    let cpus = last.unwrap().parse::<u32>().map_or(4095, |last| 1 + last);
    Topology::from_system(&[node(0, vec![cpus]), node(1, (0..cpus).collect())]).unwrap()
}

/// Reads until node 1 has had another seed.
fn assert_reseeds_go_on(engine: &Engine) {
    engine.fill(&mut [0; 32]);
    let start = Instant::now();
    let reseeds = || engine.stats().nodes[1].reseeds;
    let first = reseeds();
    while reseeds() == first {
        engine.fill(&mut [0; 6000]);
        // Less than the minute after which a reseed is overdue.
        let is_in_time = start.elapsed() < Duration::from_secs(50);
        assert!(is_in_time, "{:?}", engine.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Both at once: each waits for some seconds.
#[test]
fn reseeds_reach_readers_of_another_node_while_nothing_reads_node_0() {
    std::thread::scope(|scope| {
        let engine = |mode| {
            Engine::builder()
                .mode(mode)
                .topology(all_readers_on_node_1())
        };
        scope.spawn(move || assert_reseeds_go_on(&engine(Mode::PerThread).build().unwrap()));
        scope.spawn(move || {
            let engine = engine(Mode::PerNode).harvester(Harvester::default());
            assert_reseeds_go_on(&engine.build().unwrap());
        });
    });
}

#[test]
fn a_harvester_feeds_every_node_of_an_engine_that_nothing_reads() {
    let engine = Engine::builder().topology(all_readers_on_node_1());
    let harvester = Harvester::default().idle_pace_ms(100);
    let engine = engine.harvester(harvester).build().unwrap();
    engine.fill(&mut [0; 32]);
    let (first, start) = (engine.stats(), Instant::now());
    let is_fed = |number: usize| {
        // It takes a seed only when the next one is posted.
        engine.stats().nodes[number].reseeds > first.nodes[number].reseeds
    };
    while !(is_fed(0) && is_fed(1)) {
        assert!(start.elapsed() < Duration::from_secs(50), "not fed");
        std::thread::sleep(Duration::from_millis(20));
    }
}
