use super::common::{Service, assert_random};
use super::hypervisor::{
    BUFFERS, Descriptor, GUEST, Hypervisor, INDIRECT, MEMORY_BYTES, NEXT, RING, WRITE, memfd,
    region, wait_for_end,
};
use rustix::event::{EventfdFlags, eventfd};
use std::fs::File;
use std::io::{Read, Write};
use vhost::VhostBackend;
use vhost::vhost_user::VhostUserFrontend;
use vmm_sys_util::eventfd::EventFd;

#[test]
fn a_guest_gets_random_bytes_in_all_its_buffers_and_is_counted() {
    let service = Service::start("");
    let mut guest = Hypervisor::start(&service);
    assert_random(&guest.draw());
    guest.wait_for_call();
    let length = guest.ask(&[
        (GUEST + BUFFERS, 100, WRITE | NEXT, 1),
        (GUEST + BUFFERS + 100, 0, WRITE | NEXT, 2),
        (GUEST + BUFFERS + 100, 4000, WRITE, 0),
    ]);
    assert_eq!(length, 4100);
    assert_random(&guest.read(BUFFERS, 4100));
    assert_eq!(guest.read(BUFFERS + 4100, 64), [0; 64], "over-read");
    // Many times around the ring.
    let mut seen: Vec<Vec<u8>> = (0..5 * RING).map(|_| guest.draw()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), usize::from(5 * RING), "the same bytes twice");
    let bytes = 64 + 4100 + 64 * 5 * u64::from(RING);
    assert_eq!(service.door("vhost-user")["bytes"], bytes);
    let status = service.status();
    let connections = status["connections"].as_array().unwrap();
    let row = connections
        .iter()
        .find(|row| row["door"] == "vhost-user")
        .unwrap();
    assert_eq!(row["process"], std::process::id());
    assert_eq!(row["bytes"], bytes);
    assert_eq!(row["requests"], 2 + 5 * RING);
    let metrics = service.get("/metrics");
    let line = format!("process=\"{}\"}} {bytes}", std::process::id());
    assert!(
        metrics
            .lines()
            .any(|row| row.starts_with("wellspring_guest_bytes_total") && row.ends_with(&line)),
        "{metrics}"
    );
    assert!(service.get("/").contains("vhost-user"));
}

#[test]
fn a_request_of_more_than_64_kib_gets_64_kib() {
    let service = Service::start("");
    let mut guest = Hypervisor::start(&service);
    let length = guest.ask(&[(GUEST + BUFFERS, 0x3_0000, WRITE, 0)]);
    assert_eq!(length, 0x1_0000);
    assert_random(&guest.read(BUFFERS, 0x1_0000));
}

#[test]
fn a_request_with_wrong_descriptors_gets_no_bytes_and_the_next_one_does() {
    let service = Service::start("");
    let mut guest = Hypervisor::start(&service);
    let buffer = GUEST + BUFFERS;
    let end = GUEST + MEMORY_BYTES;
    let wrong: [(&str, &[Descriptor]); 12] = [
        ("read-only", &[(buffer, 64, 0, 0)]),
        (
            "then read-only",
            &[(buffer, 64, WRITE | NEXT, 1), (buffer, 64, 0, 0)],
        ),
        ("no length", &[(buffer, 0, WRITE, 0)]),
        ("a loop of one", &[(buffer, 64, WRITE | NEXT, 0)]),
        (
            "a loop of two",
            &[(buffer, 64, WRITE | NEXT, 1), (buffer, 64, WRITE | NEXT, 0)],
        ),
        ("no such next", &[(buffer, 64, WRITE | NEXT, RING)]),
        ("below the memory", &[(GUEST - 64, 64, WRITE, 0)]),
        ("over the end", &[(end - 63, 64, WRITE, 0)]),
        ("beyond the memory", &[(end + (1 << 40), 64, WRITE, 0)]),
        (
            "around the end of all addresses",
            &[(u64::MAX - 7, 64, WRITE, 0)],
        ),
        ("a huge length", &[(buffer, u32::MAX, WRITE, 0)]),
        ("an indirect table of rubbish", &[(buffer, 17, INDIRECT, 0)]),
    ];
    for (name, descriptors) in wrong {
        guest.write(BUFFERS, &[0; 128]);
        assert_eq!(guest.ask(descriptors), 0, "{name}");
        assert_eq!(guest.read(BUFFERS, 128), [0; 128], "{name}");
        assert_random(&guest.draw());
    }
    let status = service.status();
    let connections = status["connections"].as_array().unwrap();
    let row = connections
        .iter()
        .find(|row| row["door"] == "vhost-user")
        .unwrap();
    assert_eq!(row["faulty_requests"], wrong.len());
}

/// Does something hostile on a connection of its own, which must end. Another guest and the service must live on.
fn assert_ends_alone(hostile: impl Fn(&mut Hypervisor)) {
    let service = Service::start("");
    let mut bystander = Hypervisor::start(&service);
    assert_random(&bystander.draw());
    let mut guest = Hypervisor::start(&service);
    hostile(&mut guest);
    wait_for_end(&guest.frontend);
    assert_random(&bystander.draw());
    assert_random(&Hypervisor::start(&service).draw());
    assert_eq!(service.door("vhost-user")["hostile"], 1);
}

#[test]
fn a_ring_that_counts_too_far_ends_its_connection() {
    assert_ends_alone(|guest| {
        guest.set_asked(RING + 1);
        guest.kick();
    });
}

#[test]
fn a_request_that_begins_outside_of_the_ring_ends_its_connection() {
    assert_ends_alone(|guest| {
        guest.add(RING);
        guest.kick();
    });
}

#[test]
fn memory_that_is_cut_off_under_the_service_ends_its_connection() {
    assert_ends_alone(|guest| {
        guest.draw();
        guest.memory.set_len(0).unwrap();
        guest.kick();
    });
    // The ring stays, and the buffer goes.
    assert_ends_alone(|guest| {
        guest.describe(0, (GUEST + BUFFERS, 64, WRITE, 0));
        guest.add(0);
        guest.memory.set_len(BUFFERS).unwrap();
        guest.kick();
    });
}

#[test]
fn memory_that_is_taken_away_ends_its_connection() {
    assert_ends_alone(|guest| {
        let only = region(&guest.memory, GUEST, MEMORY_BYTES);
        guest.frontend.remove_mem_region(&only).unwrap();
        guest.kick();
    });
    assert_ends_alone(|guest| {
        let other = memfd(0x1000);
        let table = [region(&other, GUEST + (1 << 30), 0x1000)];
        guest.frontend.set_mem_table(&table).unwrap();
        guest.kick();
    });
}

#[test]
fn a_region_that_is_added_can_be_used_and_one_that_overlaps_ends_the_connection() {
    assert_ends_alone(|guest| {
        let more = memfd(0x1000);
        let at = GUEST + (1 << 30);
        let added = region(&more, at, 0x1000);
        guest.frontend.add_mem_region(&added).unwrap();
        assert_eq!(guest.ask(&[(at, 64, WRITE, 0)]), 64);
        assert!(guest.frontend.add_mem_region(&added).is_err());
    });
}

#[test]
fn descriptors_of_another_kind_end_the_connection() {
    // A pipe, which the other end could let fill up, as the guest's call.
    assert_ends_alone(|guest| {
        let (_, pipe) = std::io::pipe().unwrap();
        // SAFETY: the descriptor of the pipe is given away.
        let pipe = unsafe {
            use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
            EventFd::from_raw_fd(OwnedFd::from(pipe).into_raw_fd())
        };
        assert!(guest.frontend.set_vring_call(0, &pipe).is_err());
    });
    // A file that is no memory.
    assert_ends_alone(|guest| {
        let file = File::open("/proc/self/status").unwrap();
        let table = [region(&file, GUEST, 0x1000)];
        assert!(guest.frontend.set_mem_table(&table).is_err());
    });
    // A file that is shorter than the region.
    assert_ends_alone(|guest| {
        let short = memfd(0x1000);
        let table = [region(&short, GUEST, 0x2000)];
        assert!(guest.frontend.set_mem_table(&table).is_err());
    });
}

#[test]
fn a_call_that_is_full_blocks_nothing() {
    let service = Service::start("");
    let mut guest = Hypervisor::start(&service);
    let full = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&full, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    let full = EventFdFrom(full).into();
    guest.frontend.set_vring_call(0, &full).unwrap();
    assert_random(&guest.draw());
    assert_random(&Hypervisor::start(&service).draw());
}

struct EventFdFrom(std::os::fd::OwnedFd);

impl From<EventFdFrom> for EventFd {
    fn from(descriptor: EventFdFrom) -> Self {
        use std::os::fd::{FromRawFd, IntoRawFd};
        // SAFETY: the descriptor is given away.
        unsafe { Self::from_raw_fd(descriptor.0.into_raw_fd()) }
    }
}

#[test]
fn garbage_in_place_of_messages_ends_its_connection_and_half_a_message_stops_no_other() {
    let service = Service::start("");
    let mut bystander = Hypervisor::start(&service);
    let mut halves = Vec::new();
    for round in 0..40_u8 {
        let mut stream = service.socket("vhost-user.sock");
        // The head of a message is: kind, flags (version 1), length.
        let message: [u32; 3] = match round % 5 {
            0 => [u32::from(round), 1, 0xffff_ffff],
            1 => [0, 1, 0],
            2 => [5, 1, 8],
            3 => [1, 0, 0],
            _ => [7, 1, 4096],
        };
        let mut bytes: Vec<u8> = message.iter().flat_map(|word| word.to_ne_bytes()).collect();
        if round % 5 == 4 {
            bytes.extend([round; 4096]);
        }
        if round % 5 == 2 {
            bytes.extend([round; 7]);
            stream.write_all(&bytes).unwrap();
            halves.push(stream);
            continue;
        }
        // The service may close in the middle.
        let _ = stream.write_all(&bytes);
        let mut end = Vec::new();
        let _ = stream.read_to_end(&mut end);
    }
    assert_random(&bystander.draw());
    assert_eq!(service.door("vhost-user")["hostile"], 32);
    assert_eq!(service.door("vhost-user")["open_now"], 1 + halves.len());
}

#[test]
fn a_front_end_that_reads_no_answers_ends_its_connection_and_no_other() {
    let service = Service::start("");
    let mut bystander = Hypervisor::start(&service);
    let mut stream = service.socket("vhost-user.sock");
    let request: Vec<u8> = [1_u32, 1, 0]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    // GET_FEATURES, until the service ends the connection.
    while stream.write_all(&request).is_ok() {}
    assert_random(&bystander.draw());
    assert_eq!(service.door("vhost-user")["hostile"], 1);
}

#[test]
fn a_guest_that_has_drawn_its_share_waits_and_others_do_not() {
    let service = Service::start("[limits]\nbytes_per_second_per_guest = 1000\n");
    let mut greedy = Hypervisor::start(&service);
    let mut modest = Hypervisor::start(&service);
    // It may draw once more than its share, and then waits for a minute.
    assert_eq!(
        greedy.ask(&[(GUEST + BUFFERS, 0x1_0000, WRITE, 0)]),
        0x1_0000
    );
    greedy.add(0);
    greedy.kick();
    for _ in 0..10 {
        assert_random(&modest.draw());
    }
    assert_eq!(greedy.completed(), 1);
    // Messages are answered meanwhile, and stop the ring at the request that waits.
    assert_eq!(greedy.frontend.get_vring_base(0).unwrap(), 1);
}

#[test]
fn a_ring_that_was_stopped_goes_on_where_it_was() {
    let service = Service::start("");
    let mut guest = Hypervisor::start(&service);
    let before = guest.draw();
    assert_eq!(guest.frontend.get_vring_base(0).unwrap(), 1);
    guest.describe(0, (GUEST + BUFFERS, 64, WRITE, 0));
    guest.add(0);
    guest.kick();
    // The hypervisor starts the ring at the request that was sent while it was stopped.
    guest.restart(1);
    assert_eq!(guest.wait(), (0, 64));
    assert_ne!(guest.read(BUFFERS, 64), before);
}

#[test]
fn a_twin_from_a_copy_of_the_memory_gets_other_bytes() {
    let service = Service::start("");
    let mut first = Hypervisor::start(&service);
    first.draw();
    assert_eq!(first.frontend.get_vring_base(0).unwrap(), 1);
    // Saved with a request that is not answered yet, and resumed twice.
    first.describe(0, (GUEST + BUFFERS, 64, WRITE, 0));
    first.add(0);
    let mut twin = first.twin(&service);
    for guest in [&mut first, &mut twin] {
        guest.restart(1);
        assert_eq!(guest.wait(), (0, 64));
    }
    let copies = [&first, &twin].map(|guest| guest.read(BUFFERS, 64));
    assert_random(&copies.concat());
}

#[test]
fn a_socket_for_guests_must_be_a_unix_socket() {
    let service = Service::start("[vhost_user]\nlisten = [\"127.0.0.1:0\"]\n");
    let status = service.status();
    let openings = status["openings"].as_array().unwrap();
    let row = openings.iter().find(|row| row["name"] == "vhost-user");
    let fault = row.unwrap()["fault"].as_str().unwrap();
    assert!(fault.contains("Unix socket"), "{fault}");
}
