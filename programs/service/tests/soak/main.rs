//! The soak: clients at every door, while sources fail and recover, the configuration is read again, notices of clones
//! arrive, and the service is killed and started again.
//!
//! It fails if one of the blocks of 32 bytes that it keeps comes twice, if a block is zero, if descriptors or threads of
//! the service leak, if the service panics, or if a door served nothing. The service is killed again and again in the
//! first half, and never in the second: there a soak of more than two minutes also fails if the memory of the service grows
//! by more than 8 MiB. Requests of more than 50 ms are counted and printed, not judged: they depend on the load of the
//! machine. An echo in the test itself, asked in the same run, shows how many of its requests take as long. It takes a
//! minute with `WELLSPRING_LONG`, and an hour with `WELLSPRING_SOAK_MINUTES=60`.
//!
//! After that hostile users flood the service, each for two seconds (30 s in an hour's soak), while root asks at every
//! door. It fails if 1 of 100 requests of root takes more than 50 ms, or one more than 200 ms, without the time for which
//! the threads were ready and waited for a CPU; if a sample of a source is dropped; or if a flood leaves descriptors,
//! threads or 16 MiB of memory behind. This part needs root.
//!
//! ```text
//! clients  one thread for each door, an echo beside the service, and every block that was ever handed out
//! floods   hostile users beside root; hostile: what each of them does
//! host     the service: kills, orders, and the source that fails
//! ```

mod clients;
#[path = "../service/common.rs"]
#[allow(dead_code, reason = "the other tests of the service use the rest")]
mod common;
mod floods;
mod host;
#[path = "../service/hostile.rs"]
mod hostile;

use clients::{Blocks, Counts, Target, start_echo};
use host::Host;
use hostile::EndOnDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A soak ends its service itself.
const LIFE: Duration = Duration::MAX;

/// The time after which memory is measured for the first time: every client has come and gone many times.
const WARM: Duration = Duration::from_secs(60);

/// The length of the soak, or `None` in the short form of the tests.
fn duration() -> Option<Duration> {
    if let Some(minutes) = std::env::var_os("WELLSPRING_SOAK_MINUTES") {
        let minutes = minutes
            .to_str()
            .and_then(|minutes| minutes.parse::<u64>().ok());
        let minutes = minutes.expect("WELLSPRING_SOAK_MINUTES is a whole number");
        return Some(Duration::from_secs(60 * minutes));
    }
    let is_long = testkit::programs::is_long("it takes a minute");
    is_long.then_some(Duration::from_secs(60))
}

#[test]
fn no_byte_comes_twice_and_nothing_leaks_whatever_happens_to_the_service() {
    let Some(duration) = duration() else {
        return;
    };
    let mut host = Host::start();
    let idle = host.resources();
    let blocks = Blocks::for_soak(duration);
    let ends = AtomicBool::new(false);
    let target = Target {
        run: host.run(),
        echo: host.run().join("echo.sock"),
        files: host.files(),
        blocks: &blocks,
        ends: &ends,
    };
    start_echo(&target.echo);
    let began = Instant::now();
    let mut memory_kib = None;
    let counts: Vec<(&str, Counts)> = std::thread::scope(|scope| {
        let clients = clients::all(&target);
        let threads = clients.map(|(name, client)| {
            let target = &target;
            (name, scope.spawn(move || client(target)))
        });
        // A panic of the host must end the clients too, or the scope would wait for them without end.
        let _end = EndOnDrop(&ends);
        while began.elapsed() < duration / 2 || host.lives() < 2 {
            host.trouble(true);
        }
        // The last life lasts half of the soak, so that what leaks slowly is seen.
        let last_life = Instant::now();
        while began.elapsed() < duration {
            host.trouble(false);
            if memory_kib.is_none() && last_life.elapsed() > WARM {
                memory_kib = Some(host.memory_kib());
            }
        }
        if let Some(memory_kib) = memory_kib {
            let end_kib = host.memory_kib();
            println!(
                "memory in the last life: {memory_kib} KiB after a minute, {end_kib} KiB at its end"
            );
            host.has_not_grown(memory_kib, host::MORE_KIB);
        }
        ends.store(true, Ordering::Relaxed);
        let joined = threads.map(|(name, thread)| (name, thread.join().unwrap()));
        joined.into_iter().collect()
    });
    let mut sum = Counts::default();
    for (name, counts) in &counts {
        println!("{name}: {counts}");
        if *name != clients::CONTROL {
            sum.add(counts);
        }
        let is_mounted = target.files.is_some() || !name.starts_with("file");
        assert!(counts.requests > 0 || !is_mounted, "{name} served nothing");
    }
    println!(
        "{:?}: {} blocks of 32 bytes kept, none twice, none zero; {} of {} requests took more than 50 ms, the longest {:?}; \
         {} starts, {} orders",
        began.elapsed(),
        blocks.count(),
        sum.slow,
        sum.requests,
        sum.longest,
        host.lives(),
        host.orders(),
    );
    host.returns_to(idle);
    let time = (duration / 120).clamp(Duration::from_secs(2), Duration::from_secs(30));
    floods::all(&mut host, time);
    host.ends_cleanly();
}
