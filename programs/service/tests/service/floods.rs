//! Floods of one user beside root: at the sockets, and of guests and their memory. Root is answered, and nothing stays.

use super::common::{Folder, Held, Service, assert_random, is_root, quoted, raise_limit_of_files};
use super::hostile;
use super::hostile_front_ends::{FrontEnd, Region, as_user};
use super::hypervisor::{Descriptor, GUEST, Hypervisor, NEXT, WRITE, memfd};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use wellspring_client::protocol::{Answer, Request};

/// Requests of root at each door, one after the other.
const REQUESTS: usize = 20;

/// One thread, so that root and the hostile user share it. Every user may connect to every socket.
fn start(limits: &str) -> Service {
    let more = format!(
        "threads = 1\n[web]\nmode = 0o666\n[vhost_user]\nmode = 0o666\n[limits]\n{limits}\n"
    );
    Service::start_in(Folder::new(), &more)
}

fn asks(service: &Service) {
    let mut egd = service.socket("egd.sock");
    let mut bulk = service.socket("bulk.sock");
    for _ in 0..REQUESTS {
        egd.write_all(&[2, 32]).unwrap();
        egd.read_exact(&mut [0; 32]).unwrap();
        bulk.write_all(&Request::Read(32).head()).unwrap();
        let mut answer = [0; 8 + 32];
        bulk.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..8], Answer::Bytes(32).head());
        assert_eq!(service.status()["phase"], "ready");
    }
}

/// The flood ends after root's last answer, and not before: a service that serves the hostile user first never answers.
#[test]
fn root_is_answered_while_a_flood_of_any_kind_goes_on() {
    if !is_root() {
        return;
    }
    for hostile in hostile::possible(false) {
        let service = start(hostile.limits);
        println!("{}", hostile.name);
        let run = service.folder.path("run");
        hostile::beside(hostile, &run, None, || asks(&service));
    }
}

// Floods of one user beside root: guests and their memory without end. Root is answered, and nothing stays.

const TIB: u64 = 1 << 40;
const FOR_EVERY_USER: &str = "[vhost_user]\nmode = 0o666\n";

fn egd_answers(service: &Service) {
    let mut egd = service.socket("egd.sock");
    egd.write_all(&[2, 16]).unwrap();
    let mut bytes = [0; 16];
    egd.read_exact(&mut bytes).unwrap();
    assert_random(&bytes);
}

/// Root connects anew, by both doors, and draws.
fn root_is_answered(service: &Service, bystander: &mut Hypervisor) {
    egd_answers(service);
    assert_random(&bystander.draw());
    assert_random(&Hypervisor::start(service).draw());
}

/// The service with a guest of root, and what it holds before a flood.
fn begin(service: Service) -> (Service, Hypervisor, Held) {
    let mut bystander = Hypervisor::start(&service);
    root_is_answered(&service, &mut bystander);
    let before = Held::by(&service);
    (service, bystander, before)
}

/// A front end whose memory has this many regions of this length.
fn mapped(service: &Service, regions: u64, bytes: u64) -> FrontEnd {
    let end = FrontEnd::new(service);
    let place = |number| -> Region { [GUEST + number * bytes, bytes, number * bytes, 0] };
    let table: Vec<Region> = (0..regions).map(place).collect();
    end.table(&table, &memfd(bytes));
    end
}

/// The front ends whose connection is open.
fn open(ends: Vec<FrontEnd>) -> Vec<FrontEnd> {
    ends.into_iter().filter(|end| !end.is_closed()).collect()
}

#[test]
fn a_user_who_maps_all_that_it_can_leaves_addresses_to_others_and_gets_its_share_again() {
    if !is_root() {
        return;
    }
    let (service, mut bystander, before) = begin(Service::start(FOR_EVERY_USER));
    for _ in 0..2 {
        let flood = as_user(65533, || {
            open((0..200).map(|_| mapped(&service, 1, TIB)).collect())
        });
        assert_eq!(flood.len(), 8, "the share of a user is 8 TiB");
        root_is_answered(&service, &mut bystander);
        let other = as_user(65534, || mapped(&service, 1, TIB).is_closed());
        assert!(!other, "another user gets nothing");
        // Without its share a user is still a guest, with less memory.
        assert!(as_user(65533, || mapped(&service, 1, TIB).is_closed()));
        drop(flood);
        before.wait_until_back(&service);
    }
}

#[test]
fn users_with_many_guests_regions_and_connections_leave_descriptors_and_mappings_to_root() {
    if !is_root() {
        return;
    }
    raise_limit_of_files();
    let folder = Folder::new();
    let script = format!(
        "ulimit -n 1024 && exec {} --config {}",
        quoted(env!("CARGO_BIN_EXE_wellspringd")),
        quoted(folder.configure(FOR_EVERY_USER))
    );
    let service = Service::spawn(folder, Command::new("sh").args(["-c", &script]));
    let (service, mut bystander, before) = begin(service);
    let guests: Vec<_> = (65520..65530)
        .flat_map(|user| {
            as_user(user, || {
                open((0..60).map(|_| mapped(&service, 32, 4096)).collect())
            })
        })
        .collect();
    // A sixteenth of what is left to users: 1024 less 64.
    assert_eq!(guests.len(), 60);
    let connect = || (0..200).map(|_| service.socket("egd.sock")).collect();
    let clients: Vec<Vec<UnixStream>> = (65520..65530).map(|user| as_user(user, connect)).collect();
    for _ in 0..20 {
        root_is_answered(&service, &mut bystander);
    }
    assert!(!service.log().contains("no connection can be accepted"));
    drop((guests, clients));
    before.wait_until_back(&service);
}

#[test]
fn users_who_connect_and_map_without_end_delay_root_and_stop_nothing() {
    if !is_root() {
        return;
    }
    let (service, mut bystander, before) = begin(Service::start(FOR_EVERY_USER));
    let has_ended = AtomicBool::new(false);
    let mut times: Vec<Duration> = Vec::new();
    let mapped_count: usize = std::thread::scope(|scope| {
        let flood = |user| {
            let (service, has_ended) = (&service, &has_ended);
            let repeat = move || {
                let one = || drop(mapped(service, 32, 4096));
                (0..)
                    .take_while(|_| !has_ended.load(Relaxed))
                    .map(|_| one())
                    .count()
            };
            scope.spawn(move || as_user(user, repeat))
        };
        let floods = [flood(65533), flood(65534)];
        let done = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            for _ in 0..100 {
                let began = Instant::now();
                root_is_answered(&service, &mut bystander);
                times.push(began.elapsed());
            }
        }));
        has_ended.store(true, Relaxed);
        let counts = floods.map(|flood| flood.join().unwrap());
        done.unwrap();
        counts.iter().sum()
    });
    assert!(mapped_count > 100, "there was no flood: {mapped_count}");
    before.wait_until_back(&service);
    // Printed, not judged: they depend on the load.
    times.sort_unstable();
    eprintln!(
        "beside {mapped_count} connections root's connections, guest and draws took {:?}, p99 {:?}, at most {:?}",
        times[50], times[98], times[99]
    );
}

#[test]
fn a_guest_whose_buffers_are_far_apart_costs_few_page_tables() {
    const MIB: u64 = 1 << 20;
    const BUFFERS: u16 = 63;
    const REQUESTS: u64 = 100;
    let service = Service::start("[limits]\nbytes_per_second_per_guest = 0\n");
    let step = 2 * MIB;
    let bytes = (REQUESTS + 1) * u64::from(BUFFERS) * step;
    let mut guest = Hypervisor::with_memory(&service, bytes);
    assert_random(&guest.draw());
    let kib = || Held::kib(&service, "VmPTE:");
    let before_kib = kib();
    for request in 1..=REQUESTS {
        let place = |number: u16| GUEST + (request * u64::from(BUFFERS) + u64::from(number)) * step;
        let buffer = |number: u16| {
            let more = if number + 1 < BUFFERS { NEXT } else { 0 };
            (place(number), 16, WRITE | more, number + 1)
        };
        let buffers: Vec<Descriptor> = (0..BUFFERS).map(buffer).collect();
        assert_eq!(guest.ask(&buffers), 16 * u32::from(BUFFERS));
    }
    // Without limit: 4 KiB for each of 6300 buffers, 24 MiB.
    let grown_kib = kib().saturating_sub(before_kib);
    assert!(grown_kib < 2048, "{grown_kib} KiB of page tables");
    assert_random(&guest.draw());
}
