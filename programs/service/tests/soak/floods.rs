//! Hostile users beside root, one after the other. Root's requests stay short, and what each flood took is given back.

use super::common::is_root;
use super::host::{Host, wait_for_cpu};
use super::hostile::{self, Hostile};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use wellspring_client::protocol::Request;

/// 99 of 100 requests of root at a door take no longer than this, without the waits for a CPU.
const P99: Duration = Duration::from_millis(50);

/// No request of root at a door takes longer than this, without the waits for a CPU.
const LONGEST: Duration = Duration::from_millis(200);

/// Memory that a flood may leave in the allocator: buffers of 64 connections with a page of some 0.1 MiB.
const MORE_KIB: u64 = 16 * 1024;

/// The requests of root.
const DOORS: [&str; 5] = ["egd", "bulk", "web", "file, read", "file, write"];

/// The times of requests at one door.
#[derive(Default)]
struct Times {
    /// As a clock shows them.
    whole: Vec<Duration>,
    /// Without the time for which a thread of the service, or this one, was ready and waited for a CPU: that depends on
    /// the other programs of the machine.
    without_waits: Vec<Duration>,
}

impl Times {
    fn take(&mut self, host: &Host, request: impl FnOnce() -> io::Result<()>) {
        let own = || wait_for_cpu(Path::new("/proc/thread-self/schedstat"));
        let (before, own_before) = (host.waits_for_cpu(), own());
        let began = Instant::now();
        request().unwrap();
        let took = began.elapsed();
        let own_wait = own().saturating_sub(own_before);
        let after = host.waits_for_cpu();
        let waits = after.iter().zip(&before);
        let wait = waits
            .map(|(after, before)| after.saturating_sub(*before))
            .max();
        let without_waits = took.saturating_sub(own_wait + wait.unwrap_or_default());
        self.whole.push(took);
        self.without_waits.push(without_waits);
    }
}

/// The 99th of 100 in the order of their lengths, and the longest.
fn p99_and_longest(times: &mut [Duration]) -> (Duration, Duration) {
    times.sort_unstable();
    let last = times.len() - 1;
    (times[last * 99 / 100], times[last])
}

/// All floods, each for this time.
pub(crate) fn all(host: &mut Host, time: Duration) {
    if !is_root() {
        return;
    }
    for hostile in hostile::possible(host.files().is_some()) {
        one(host, hostile, time);
    }
}

fn one(host: &mut Host, hostile: &Hostile, time: Duration) {
    host.set_limits(hostile.limits);
    let (run, files) = (host.run(), host.files());
    let (idle, idle_kib) = (host.resources(), host.memory_kib());
    let dropped = host.dropped_samples();
    let mut doors = DOORS.map(|_| Times::default());
    let done = hostile::beside(hostile, &run, files.as_deref(), || {
        let began = Instant::now();
        let mut kept = UnixStream::connect(run.join("egd.sock")).unwrap();
        let [egd, bulk, web, read, write] = &mut doors;
        while began.elapsed() < time {
            egd.take(host, || exchange(&mut kept, &[2, 32], 32));
            bulk.take(host, || {
                let mut new = UnixStream::connect(run.join("bulk.sock"))?;
                exchange(&mut new, &Request::Read(32).head(), 8 + 32)
            });
            web.take(host, || {
                let mut new = UnixStream::connect(run.join("web.sock"))?;
                exchange(&mut new, b"GET /metrics HTTP/1.1\r\n\r\n", 1000)
            });
            if let Some(files) = &files {
                let path = files.join("random");
                read.take(host, || File::open(&path)?.read_exact(&mut [0; 32]));
                let write_only = || File::options().write(true).open(&path);
                write.take(host, || write_only()?.write_all(&[7; 16]));
            }
        }
    });
    let (flood_kib, name) = (host.memory_kib(), hostile.name);
    host.returns_to(idle);
    let after_kib = host.memory_kib();
    println!("beside '{name}' ({done} times):");
    println!("  memory {idle_kib} KiB before, {flood_kib} KiB at its end, {after_kib} KiB after");
    let mut is_fair = true;
    for (door, times) in DOORS.iter().zip(&mut doors) {
        let count = times.whole.len();
        if count == 0 {
            continue;
        }
        let (whole_p99, whole_longest) = p99_and_longest(&mut times.whole);
        let (p99, longest) = p99_and_longest(&mut times.without_waits);
        println!(
            "  {door}: {count} requests, p99 {whole_p99:?}, longest {whole_longest:?}; \
             without waits for a CPU {p99:?}, {longest:?}"
        );
        is_fair &= p99 <= P99 && longest <= LONGEST;
    }
    assert!(is_fair, "beside '{name}' root has to wait");
    assert_eq!(host.dropped_samples(), dropped, "beside '{name}'");
    host.has_not_grown(idle_kib, MORE_KIB);
}

fn exchange(stream: &mut UnixStream, request: &[u8], answer: usize) -> io::Result<()> {
    stream.set_read_timeout(Some(super::common::PATIENCE))?;
    stream.write_all(request)?;
    stream.read_exact(&mut vec![0; answer])
}
