//! Many guests and clients at once.

use super::common::{Service, assert_random, raise_limit_of_files};
use super::hypervisor::{BUFFERS, GUEST, Hypervisor, RING, WRITE};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use wellspring_client::protocol::Request;

/// A field of /proc/PID/status, in KiB.
fn memory_kib(service: &Service, field: &str) -> u64 {
    let path = format!("/proc/{}/status", service.child.id());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The clients and guests for which there are descriptors, here and in the service, which has the same limit.
pub(crate) fn fitting() -> (usize, usize) {
    let limit = raise_limit_of_files();
    if limit >= 4096 {
        return (1000, 64);
    }
    // One user may have half of the guests, which have a quarter of the descriptors. Other tests run beside this one.
    let (clients, guests) = (limit / 4, limit / 64);
    eprintln!("SKIPPED: {limit} descriptors are too few: {clients} clients and {guests} guests");
    (clients, guests)
}

#[test]
fn sixty_four_guests_beside_a_thousand_clients_get_fair_shares_and_cost_little() {
    const RATE: u64 = 64;
    let (most_clients, most_guests) = fitting();
    let limit = format!("[limits]\nbytes_per_second_per_guest = {RATE}\n");
    let service = Service::start(&limit);
    let resident = || memory_kib(&service, "RssAnon:") + memory_kib(&service, "VmPTE:");
    assert_random(&Hypervisor::start(&service).draw());
    let before_kib = resident();
    let started = Instant::now();
    let mut clients: Vec<_> = (0..most_clients)
        .map(|_| service.socket("bulk.sock"))
        .collect();
    let mut guests: Vec<_> = (0..most_guests)
        .map(|_| Hypervisor::start(&service))
        .collect();
    // Each asks for 64 bytes many times, and may draw once more than the share of a second at once.
    for guest in &mut guests {
        for number in 0..RING {
            let at = GUEST + BUFFERS + 64 * u64::from(number);
            guest.describe(number, (at, 64, WRITE, 0));
            guest.add(number);
        }
        guest.kick();
    }
    for client in &mut clients {
        client.write_all(&Request::Read(32).head()).unwrap();
    }
    for client in &mut clients {
        let mut answer = [0; 8 + 32];
        client.read_exact(&mut answer).unwrap();
        assert_random(&answer[8..]);
    }
    for guest in &mut guests {
        for _ in 0..2 {
            guest.wait();
        }
        assert_random(&guest.read(BUFFERS, 128));
    }
    let completed: Vec<u16> = guests.iter().map(Hypervisor::completed).collect();
    let most = 2 + started.elapsed().as_secs() as u16 + 1;
    assert!(
        completed.iter().all(|count| (2..=most).contains(count)),
        "at most {most}: {completed:?}"
    );
    let grown_kib = resident().saturating_sub(before_kib);
    assert!(grown_kib < 64 * 64, "{grown_kib} KiB for all of them");
    // Requests in turn, while the guests wait for their shares. The times are printed, not judged: they depend on the load.
    let mut times: Vec<Duration> = Vec::new();
    for number in 0..5000 {
        let client = &mut clients[number % most_clients];
        let began = Instant::now();
        client.write_all(&Request::Read(32).head()).unwrap();
        client.read_exact(&mut [0; 8 + 32]).unwrap();
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let [median, p99, longest] = [2500, 4950, 4999].map(|place| times[place]);
    eprintln!(
        "{most_guests} guests and {most_clients} clients cost {grown_kib} KiB; 32 bytes take {median:?}, \
         p99 {p99:?}, at most {longest:?}"
    );
}
