//! EGD, the bulk protocol, limits, garbage; the same between machines; many guests and clients at once.

use super::common::{
    Folder, PATIENCE, Service, assert_random, is_installed, is_root, quoted, raise_limit_of_files,
    sh,
};
use super::hypervisor::{BUFFERS, GUEST, Hypervisor, RING, WRITE};
use std::io::{Read, Write};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use wellspring_client::protocol::{Answer, Request};
use wellspring_client::vsock;
use wellspring_client::{Client, ClientError, ServiceSource};
use wellspring_core::source::{MinEntropy, Source, SourceError};

#[test]
fn egd_answers_every_request_of_its_protocol_also_in_pieces() {
    let service = Service::start("");
    let mut stream = service.socket("egd.sock");
    let mut read = |request: &[u8], length: usize| {
        for byte in request {
            stream.write_all(&[*byte]).unwrap();
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).unwrap();
        answer
    };
    assert_eq!(read(&[0], 4), [0, 0, 16, 0]);
    assert_eq!(read(&[1, 200], 201)[0], 200);
    assert_random(&read(&[2, 255], 255));
    let process = service.child.id().to_string();
    // A write has no answer: this is the answer to the request after it.
    let answer = read(&[3, 0, 16, 2, 1, 2, 4], 1 + process.len());
    assert_eq!(usize::from(answer[0]), process.len());
    assert_eq!(&answer[1..], process.as_bytes());
    let door = service.door("egd");
    assert_eq!(door["bytes"], 455);
    assert_eq!(door["mixed_bytes"], 2);
    assert_eq!(door["open_now"], 1);
}

#[test]
fn the_client_gets_what_it_asked_for_and_the_service_counts_it() {
    let service = Service::start("");
    let path = service.folder.path("run/bulk.sock");
    let mut client = Client::connect(&path, super::common::PATIENCE).unwrap();
    let mut bytes = vec![0; (1 << 24) + 5];
    client.fill(&mut bytes).unwrap();
    assert_random(&bytes[..1 << 20]);
    assert_random(&bytes[(1 << 24) - 64..(1 << 24)]);
    client.mix(&[7; 5000]).unwrap();
    client.fill(&mut []).unwrap();
    let door = service.door("bulk");
    assert_eq!(
        (&door["bytes"], &door["mixed_bytes"]),
        (&bytes.len().into(), &5000.into())
    );
    let user = rustix::process::geteuid().as_raw().to_string();
    let status = service.status();
    let users = status["users"].as_array().unwrap();
    let found = users.iter().find(|one| one["user"] == *user).unwrap();
    assert_eq!(found["bytes"], bytes.len());
    let connection = &status["connections"][0];
    assert_eq!(connection["process"], std::process::id());
}

#[test]
fn an_engine_elsewhere_takes_the_service_as_a_source_and_survives_its_end() {
    let mut service = Service::start("[bulk]\nlisten = [\"bulk.sock\", \"[::1]:0\"]\n");
    let path = service.folder.path("run/bulk.sock");
    let source = ServiceSource::unix(&path, MinEntropy::NONE);
    assert_draws_until_the_end(&source, &mut service);
}

/// The source draws on the service, and is absent when the service has ended.
pub(crate) fn assert_draws_until_the_end(source: &ServiceSource, service: &mut Service) {
    let mut sample = [0; 256];
    // A draw waits for 10 ms at most, and on a busy machine that may be too short.
    let length = (0..1000).find_map(|_| source.sample(&mut sample).ok());
    assert_eq!(length, Some(64));
    assert_random(&sample[..64]);
    service.end("-TERM");
    let ended = (0..3).map(|_| source.sample(&mut sample).unwrap_err());
    assert_eq!(ended.last(), Some(SourceError::Absent));
}

#[test]
fn garbage_ends_its_own_connection_and_no_other() {
    let service = Service::start("");
    let mut bystander = service.socket("bulk.sock");
    let mut state = 1_u64;
    let mut random_byte = || {
        // Knuth's MMIX numbers: the same garbage in every run.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for round in 0..300 {
        let name = ["egd.sock", "bulk.sock", "web.sock"][round % 3];
        let mut stream = service.socket(name);
        let length = usize::from(random_byte()) * 40;
        let garbage: Vec<u8> = (0..length).map(|_| random_byte()).collect();
        // The service may close in the middle.
        let _ = stream.write_all(&garbage);
        if round % 2 == 0 {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
        }
    }
    let mut answer = [0; 8 + 64];
    bystander.write_all(&Request::Read(64).head()).unwrap();
    bystander.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..8], Answer::Bytes(64).head());
    assert!(service.door("bulk")["hostile"].as_u64().unwrap() > 50);
    assert!(service.door("web")["hostile"].as_u64().unwrap() > 50);
}

#[test]
fn a_client_of_another_protocol_is_told_that_it_is_wrong() {
    let service = Service::start("");
    let mut stream = service.socket("bulk.sock");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(answer, Answer::Malformed.head());
    let mut client =
        Client::connect(service.folder.path("run/web.sock"), super::common::PATIENCE).unwrap();
    assert!(matches!(client.fill(&mut [0]), Err(ClientError::Protocol)));
    assert!(
        matches!(client.fill(&mut [0]), Err(ClientError::Connection(_))),
        "used again"
    );
}

#[test]
fn requests_that_are_sent_ahead_are_answered_in_their_order() {
    let service = Service::start("");
    let mut stream = service.socket("bulk.sock");
    let requests: Vec<u8> = (1..=500)
        .flat_map(|length| Request::Read(length).head())
        .collect();
    stream.write_all(&requests).unwrap();
    for length in 1..=500_u32 {
        let mut answer = vec![0; 8 + length as usize];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..8], Answer::Bytes(length).head());
    }
}

#[test]
fn a_client_that_does_not_read_blocks_no_other_client() {
    let service = Service::start("");
    let lazy: Vec<_> = (0..20)
        .map(|_| {
            let mut stream = service.socket("bulk.sock");
            stream.write_all(&Request::Read(1 << 24).head()).unwrap();
            stream
        })
        .collect();
    let mut client = Client::connect(
        service.folder.path("run/bulk.sock"),
        super::common::PATIENCE,
    )
    .unwrap();
    let mut bytes = vec![0; 1 << 20];
    client.fill(&mut bytes).unwrap();
    assert_random(&bytes);
    drop(lazy);
}

#[test]
fn a_thousand_clients_at_once_are_all_served_and_each_costs_little() {
    let (most_clients, _) = fitting();
    let service = Arc::new(Service::start(""));
    let resident = || {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", service.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<usize>()
            .unwrap()
    };
    // The first request has a cost of its own, which does not count for the others.
    let mut first = service.socket("bulk.sock");
    first.write_all(&Request::Read(32).head()).unwrap();
    first.read_exact(&mut [0; 40]).unwrap();
    let before_kib = resident();
    let mut streams: Vec<_> = (0..most_clients)
        .map(|_| service.socket("bulk.sock"))
        .collect();
    for stream in &mut streams {
        stream.write_all(&Request::Read(32).head()).unwrap();
    }
    for stream in &mut streams {
        let mut answer = [0; 40];
        stream.read_exact(&mut answer).unwrap();
    }
    let each_kib = resident().saturating_sub(before_kib) / streams.len();
    assert!(each_kib < 64, "{each_kib} KiB for each connection");
    assert_eq!(service.door("bulk")["open_now"], 1 + most_clients);
}

#[test]
fn a_user_beyond_its_limit_is_refused_and_root_is_not() {
    if !is_root() || !is_installed("setpriv") || !is_installed("python3") {
        return;
    }
    let service =
        Service::start("[limits]\nconnections_per_user = 2\nbytes_per_second_per_user = 100000\n");
    let path = service.folder.path("run/egd.sock");
    // As user 65534: the third connection is closed without an answer.
    let script = format!(
        "import socket\nall=[]\nfor i in range(3):\n s=socket.socket(socket.AF_UNIX); s.connect('{}'); all.append(s)\n\
         answers=[]\nfor s in all:\n\x20try:\n\x20 s.sendall(b'\\x02\\x08'); answers.append(len(s.recv(8)))\n\
         \x20except OSError:\n\x20 answers.append(0)\nprint(sorted(answers))",
        path.display()
    );
    let file = service.folder.path("client.py");
    std::fs::write(&file, script).unwrap();
    let open = format!(
        "chmod 755 {0} {0}/run; chmod 644 {1}",
        quoted(&service.folder.0),
        quoted(&file)
    );
    sh(&open);
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "/usr/bin/python3",
        ])
        .arg(&file);
    let output = command.output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "[0, 8, 8]\n",
        "{output:?}"
    );
    assert_eq!(service.door("egd")["refused"], 1);
    let _root: Vec<_> = (0..3).map(|_| service.socket("egd.sock")).collect();
    let mut fourth = service.socket("egd.sock");
    fourth.write_all(&[2, 1]).unwrap();
    fourth.read_exact(&mut [0]).unwrap();
}

#[test]
fn socat_speaks_egd() {
    if !is_installed("socat") {
        return;
    }
    let service = Service::start("");
    let path = service.folder.path("run/egd.sock");
    let output = sh(&format!(
        "printf '\\002\\100' | socat -t 10 - UNIX-CONNECT:{}",
        quoted(path)
    ));
    assert_eq!(output.stdout.len(), 64);
}

/// The kernel names no process to a service that cannot see it.
#[test]
fn a_client_outside_of_the_namespace_of_the_service_is_shown_without_a_process() {
    if !is_root() || !is_installed("unshare") {
        return;
    }
    let folder = Folder::new();
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--"]);
    command
        .arg(env!("CARGO_BIN_EXE_wellspringd"))
        .arg("--config");
    command.arg(folder.configure(""));
    let mut service = Service::spawn(folder, &mut command);
    let _client = service.socket("egd.sock");
    let status = service.status();
    // unshare(1) hands no signals on.
    service.end("-KILL");
    let connections = status["connections"].as_array().unwrap();
    assert!(!connections.is_empty());
    assert!(
        connections
            .iter()
            .all(|one| one["process"].is_null() && one["user"] == "0"),
        "{connections:?}"
    );
}

// The bulk protocol by vsock. A machine that cannot connect to itself by vsock shows only that the socket opens; the
// rig has a machine that can (`cargo xtask rig`).

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port that nothing else in this run takes.
fn port() -> u32 {
    100_000 + 16 * std::process::id() + NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Whether the kernel has vsock.
fn has_vsock() -> bool {
    match vsock::listen(vsock::EVERY_MACHINE, port()) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("SKIPPED: there is no vsock: {error}");
            false
        }
    }
}

/// Whether this machine can connect to itself.
fn has_loopback() -> bool {
    let port = port();
    let _listener = vsock::listen(vsock::EVERY_MACHINE, port).unwrap();
    match vsock::connect(vsock::THIS_MACHINE, port, Duration::from_millis(500)) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("SKIPPED: no vsock to this machine itself: {error}");
            false
        }
    }
}

#[test]
fn a_client_draws_by_vsock_and_its_machine_is_counted_and_limited() {
    if !has_vsock() {
        return;
    }
    let port = port();
    let service = Service::start(&format!(
        "[bulk]\nlisten = [\"bulk.sock\", \"vsock::{port}\"]\n[limits]\nconnections_per_user = 2\n"
    ));
    let status = service.status();
    let place = format!("vsock::{port}");
    let openings = status["openings"].as_array().unwrap();
    let opening = openings.iter().find(|one| one["place"] == *place).unwrap();
    assert_eq!(opening["open"], true, "{opening}");
    if !has_loopback() {
        return;
    }
    let connect = || Client::connect_vsock(vsock::THIS_MACHINE, port, PATIENCE).unwrap();
    let mut client = connect();
    let mut bytes = vec![0; 3 << 20];
    client.fill(&mut bytes).unwrap();
    assert_random(&bytes);
    client.mix(&[7; 5000]).unwrap();
    let mut second = connect();
    second.fill(&mut [0; 32]).unwrap();
    assert!(connect().fill(&mut [0]).is_err(), "beyond the limit");
    let status = service.status();
    let users = status["users"].as_array().unwrap();
    let machine = users.iter().find(|one| one["user"] == "vsock:1").unwrap();
    assert_eq!(machine["bytes"], bytes.len() + 32);
    assert!(service.get("/metrics").contains("user=\"vsock:1\""));
}

#[test]
fn an_engine_takes_a_service_by_vsock_as_a_source() {
    if !has_vsock() || !has_loopback() {
        return;
    }
    let port = port();
    let mut service = Service::start(&format!("[bulk]\nlisten = [\"vsock::{port}\"]\n"));
    let source = ServiceSource::vsock(vsock::THIS_MACHINE, port, MinEntropy::NONE);
    assert_draws_until_the_end(&source, &mut service);
}

#[test]
fn the_status_and_guests_are_not_served_by_vsock() {
    let folder = Folder::new();
    let more = format!(
        "[web]\nlisten = [\"web.sock\", \"vsock::{}\"]\n[vhost_user]\nlisten = [\"vsock::{}\"]\n",
        port(),
        port()
    );
    let service = Service::start_in(folder, &more);
    service.wait_for_log("web: not open: vsock::");
    service.wait_for_log("vhost-user: not open: vsock::");
    assert_eq!(service.status()["phase"], "ready");
}

// Many guests and clients at once.

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
