//! A clock that goes back is a sign of a copy: of a process that was restored on a machine with less uptime.

use super::Engine;
use super::collector_memory::Due;
use crate::mode::Mode;
use wellspring_os::os;

/// Before the copy was made, the clock showed ten years more, and the engine harvested then.
fn let_the_clock_go_back(engine: &Engine) {
    let then_ms = os::now_ms() + 10 * 365 * 24 * 3600 * 1000;
    engine.inner.harvest_or_leave(
        Due {
            now_ms: then_ms,
            clock_went_back: false,
        },
        false,
    );
}

/// Too long for a buffer.
fn read(engine: &Engine) -> Vec<u8> {
    let mut bytes = vec![0; 10_000];
    engine.fill(&mut bytes);
    bytes
}

#[test]
fn a_clock_that_goes_back_makes_a_harvest_due_at_once() {
    let engine = Engine::builder().build().unwrap();
    read(&engine);
    let collector = &engine.inner.collector;
    let far_ms = os::now_ms() + 3_600_000;
    collector.schedule_inline_harvest(os::now_ms(), far_ms);
    assert!(collector.inline_harvest_due().is_none(), "the time runs on");
    let_the_clock_go_back(&engine);
    let due = collector.inline_harvest_due().expect("it went back");
    assert!(due.clock_went_back);
    read(&engine);
    let due = collector.inline_harvest_due();
    assert!(due.is_none_or(|due| !due.clock_went_back), "once");
}

#[test]
fn when_the_clock_goes_back_the_next_slow_read_diverges_from_the_copy() {
    for mode in Mode::ALL {
        let twins = [(); 2].map(|()| {
            let builder = Engine::builder().mode(mode).sources([]).seed(&[42; 32]);
            builder.build().unwrap()
        });
        let both = || twins.each_ref().map(read);
        let [one, other] = both();
        assert_eq!(one, other, "{mode}: twins");
        let generation = twins[0].generation();
        let_the_clock_go_back(&twins[0]);
        let [one, other] = both();
        assert_ne!(one, other, "{mode}");
        assert!(twins[0].generation() > generation, "{mode}");
        assert_eq!(
            twins[1].generation(),
            generation,
            "{mode}: the other's did not"
        );
    }
}

#[test]
fn when_the_clock_goes_back_an_engine_with_sources_reseeds() {
    for mode in Mode::ALL {
        let engine = Engine::builder().mode(mode).build().unwrap();
        read(&engine);
        let_the_clock_go_back(&engine);
        let before = engine.stats();
        read(&engine);
        // The seed of the harvest ten years later, the divergence, and a seed of now.
        let after = engine.stats();
        assert_eq!(
            after.nodes[0].reseeds,
            before.nodes[0].reseeds + 3,
            "{mode}"
        );
    }
}
