//! Reseeds go on wherever the readers are.

use std::time::{Duration, Instant};
use wellspring::{Engine, Harvester, Mode, Topology};
use wellspring_core::topology::SystemNode;

/// Two nodes; all CPUs of this machine belong to node 1. No more CPUs than that: each has a queue, and a read looks at
/// 8 of them.
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

/// Enough events for each pool to get two: a reseed needs 64 bytes in pool 0, and an event has 32.
fn fill_pools(engine: &Engine) {
    (0..64).for_each(|_| engine.mix(&[0; 32]));
}

/// Reads until the engine has had four more reseeds. Without any scheduled reseed one a minute remains, so that the
/// limit of 60 s is not reached by accident.
fn assert_reseeds_go_on(engine: &Engine) {
    engine.fill(&mut [0; 32]);
    let start = Instant::now();
    let first = engine.stats();
    loop {
        engine.fill(&mut [0; 6000]);
        fill_pools(engine);
        let stats = engine.stats();
        if stats.generation >= first.generation + 4
            && stats.nodes[1].reseeds >= first.nodes[1].reseeds + 3
        {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{stats:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn inline_reseeds_reach_readers_of_another_node_while_nothing_reads_node_0() {
    for mode in [Mode::PerNode, Mode::PerThread] {
        let engine = Engine::builder()
            .mode(mode)
            .topology(all_readers_on_node_1());
        assert_reseeds_go_on(&engine.build().unwrap());
    }
}

#[test]
fn a_harvester_reseeds_readers_of_another_node_while_nothing_reads_node_0() {
    for mode in [Mode::PerNode, Mode::PerThread] {
        let engine = Engine::builder()
            .mode(mode)
            .topology(all_readers_on_node_1());
        let engine = engine.harvester(Harvester::default());
        assert_reseeds_go_on(&engine.build().unwrap());
    }
}

#[test]
fn an_engine_that_nothing_reads_is_not_reseeded() {
    let engine = Engine::builder().topology(all_readers_on_node_1());
    let harvester = Harvester::default().idle_pace_ms(100);
    let engine = engine.harvester(harvester).build().unwrap();
    engine.fill(&mut [0; 32]);
    // Each node takes at most one seed that waits for its next read. A reseed in each round would make 8.
    let rounds = || engine.stats().harvester.unwrap().rounds;
    let (generation, end) = (engine.stats().generation, rounds() + 8);
    let start = Instant::now();
    // Both: a harvester that takes the engine for a read one makes a round every 10 ms.
    while rounds() < end || start.elapsed() < Duration::from_millis(800) {
        assert!(start.elapsed() < Duration::from_secs(60), "no rounds");
        fill_pools(&engine);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(engine.stats().generation <= generation + 3);
}
