//! Tests of a worker, which they move round by round: nothing depends on time.

use super::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use wellspring::Engine;
use wellspring_client::protocol::Request;
use wellspring_service_core::config::{Address, Bounded, LimitsSection};
use wellspring_service_core::doors::get;
use wellspring_service_core::doors::{Door, Doors};
use wellspring_service_core::reseeder::Reseeder;
use wellspring_service_core::state::Heartbeats;
use wellspring_service_core::state::Page;
use wellspring_service_core::users::{Peer, Users};

/// A request for 8 bytes by the protocol of EGD.
const REQUEST: [u8; 2] = [2, 8];

/// The listener whose connections are named by the kernel: here the user of the test.
const OF_USERS: usize = 1;

/// A worker with a listener of each kind, which the test moves round by round.
struct Bench {
    worker: Worker,
    address: SocketAddr,
    /// The path of the listener whose connections are named.
    path: PathBuf,
}

impl Bench {
    fn new(door: Door, limits: &LimitsSection) -> Self {
        let engine = Engine::builder().sources([]).seed(&[7; 32]);
        let users = Users::new(limits);
        let engine = engine.build().unwrap();
        let state = State::new(
            engine,
            Reseeder::default(),
            Page::without_file(),
            Doors::default(),
            users,
        );
        let open = |address| Listener::open(door, &address, 0o666).unwrap();
        let of_loopback = open(Address::Tcp(([127, 0, 0, 1], 0).into()));
        let address = rustix::net::getsockname(&of_loopback).unwrap();
        let address = SocketAddr::try_from(address).unwrap();
        // No other socket has this port while it is open.
        let name = format!("wellspring-worker-{}", address.port());
        let path = std::env::temp_dir().join(name);
        let of_users = open(Address::Unix(path.clone()));
        let listeners = [of_loopback, of_users];
        let end = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
        let heartbeat = Heartbeats::default().watch("test".into());
        let worker = Worker::new(Arc::new(state), listeners.into(), &end, heartbeat);
        Self {
            worker: worker.unwrap(),
            address,
            path,
        }
    }

    fn round(&mut self) {
        self.worker.round().unwrap();
    }

    /// Rounds until something is so. One without an event takes up to a second.
    fn rounds_until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !is_so(self) {
            assert!(Instant::now() < until, "{} open", self.open_now());
            self.round();
        }
    }

    /// A connection of the user of the test.
    fn client(&mut self) -> UnixStream {
        let (client, theirs) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        self.worker.add(OF_USERS, theirs.into(), Instant::now());
        client
    }

    /// A connection of loopback, admitted.
    fn loopback(&mut self) -> TcpStream {
        let client = TcpStream::connect(self.address).unwrap();
        let before = self.open_now();
        self.rounds_until(|bench| bench.open_now() > before);
        client
    }

    fn open_now(&self) -> u64 {
        let meters = Door::ALL.map(|door| get(&self.worker.state.doors.meter(door).open_now));
        meters.iter().sum()
    }

    fn requests_of_loopback(&self) -> u64 {
        get(&self.worker.state.users.meter(Peer::Loopback).requests)
    }

    /// Rounds until the client has an answer or an end, at most this many.
    fn rounds_until_answer(&mut self, client: &mut UnixStream, most: usize) {
        for _ in 0..most {
            self.round();
            match client.read(&mut [0; 64]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                answer => return assert_ne!(answer.unwrap(), 0, "it is closed"),
            }
        }
        panic!("no answer after {most} rounds");
    }
}

/// The connections that are put into the queue of a socket: one more has room.
const QUEUED: usize = 127;

/// A round takes 16 of them.
const ROUNDS_OF_A_QUEUE: usize = 9;

/// They are all in the queue before the request: as many processes as a user likes do not add one.
#[test]
fn connections_that_were_closed_at_once_hold_up_a_request_for_the_rounds_of_one_queue() {
    let mut bench = Bench::new(Door::Egd, &LimitsSection::default());
    for _ in 0..QUEUED {
        drop(UnixStream::connect(&bench.path).unwrap());
    }
    let mut client = UnixStream::connect(&bench.path).unwrap();
    client.set_nonblocking(true).unwrap();
    client.write_all(&REQUEST).unwrap();
    bench.rounds_until_answer(&mut client, ROUNDS_OF_A_QUEUE);
    assert_eq!(bench.open_now(), 1);
}

/// Connections of another user, with garbage or a request in them, and connections that are over its share.
#[test]
fn a_queue_of_another_user_holds_up_a_request_for_the_rounds_of_one_queue() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: this needs root, to have another user");
        return;
    }
    let limits = LimitsSection {
        connections_per_user: Bounded::clamped(40),
        ..LimitsSection::default()
    };
    for (request, stays) in [
        (&[7][..], false),
        (&REQUEST, false),
        (&REQUEST, true),
        (&[2], true),
    ] {
        let mut bench = Bench::new(Door::Egd, &limits);
        let flood = || {
            let user = rustix::thread::Uid::from_raw(65_534);
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            let connect = |_| {
                let mut stream = UnixStream::connect(&bench.path).unwrap();
                stream.write_all(request).unwrap();
                stays.then_some(stream)
            };
            (0..QUEUED).filter_map(connect).collect::<Vec<_>>()
        };
        let _held = std::thread::scope(|scope| scope.spawn(flood).join().unwrap());
        let mut client = UnixStream::connect(&bench.path).unwrap();
        client.set_nonblocking(true).unwrap();
        client.write_all(&REQUEST).unwrap();
        bench.rounds_until_answer(&mut client, ROUNDS_OF_A_QUEUE);
    }
}

/// With 128 in a round, and a queue of 1024, root waited 5 ms for an open connection's turn and 16 ms for a new one.
#[test]
fn an_open_connection_waits_for_few_new_ones_and_not_for_the_rest_of_the_queue() {
    let mut bench = Bench::new(Door::Egd, &LimitsSection::default());
    let mut client = bench.client();
    bench.round();
    let connect = |_| UnixStream::connect(&bench.path).unwrap();
    let _queued: Vec<_> = (0..100).map(connect).collect();
    client.write_all(&REQUEST).unwrap();
    bench.rounds_until_answer(&mut client, 1);
    assert_eq!(bench.open_now(), 1 + 16);
}

/// The status lists 50 of them, and the metrics none: they took 4 ms with 2000 connections, in place of 0.4.
#[test]
fn the_metrics_take_no_work_for_each_connection() {
    let mut bench = Bench::new(Door::Egd, &LimitsSection::default());
    let _clients: Vec<_> = (0..200).map(|_| bench.client()).collect();
    let listed = |status: serde_json::Value| status["connections"].as_array().unwrap().len();
    let state = &bench.worker.state;
    assert_eq!((bench.open_now(), listed(status::json(state))), (200, 50));
    assert_eq!(listed(status::with_guests(state)), 0);
}

/// The connection that gives way is closed in the same round, whatever else the worker has to do.
#[test]
fn of_many_behind_one_name_the_longest_idle_makes_room() {
    let limits = LimitsSection {
        connections_per_user: Bounded::clamped(3),
        ..LimitsSection::default()
    };
    let mut bench = Bench::new(Door::Egd, &limits);
    let mut clients: Vec<TcpStream> = (0..3).map(|_| bench.loopback()).collect();
    let answers = |bench: &mut Bench, client: &mut TcpStream| {
        let before = bench.requests_of_loopback();
        client.write_all(&REQUEST).unwrap();
        bench.rounds_until(|bench| bench.requests_of_loopback() > before);
        client.read_exact(&mut [0; 8]).unwrap();
    };
    answers(&mut bench, &mut clients[0]);
    let mut fourth = TcpStream::connect(bench.address).unwrap();
    answers(&mut bench, &mut fourth);
    assert_eq!(clients[1].read(&mut [0]).unwrap(), 0, "it gave way");
    assert_eq!((bench.open_now(), bench.worker.clients.count()), (3, 3));
    for client in [&mut clients[0], &mut fourth] {
        answers(&mut bench, client);
    }
}

#[test]
fn a_panic_in_the_work_for_a_connection_ends_that_connection_alone() {
    let mut bench = Bench::new(Door::Egd, &LimitsSection::default());
    let mut other = bench.client();
    bench.round();
    let mut client = bench.client();
    client.write_all(&REQUEST).unwrap();
    // Any answer is longer than this buffer.
    let scratch = std::mem::replace(&mut bench.worker.clients.scratch, Scratch::new(0));
    bench.round();
    bench.worker.clients.scratch = scratch;
    // A process that another test has just started may hold the worker's end until it runs its program.
    client.set_nonblocking(false).unwrap();
    client
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    assert_eq!(client.read(&mut [0; 8]).unwrap(), 0, "it is closed");
    assert_eq!(bench.open_now(), 1);
    // It was no error of the other end, and the log and the status report it.
    let state = &bench.worker.state;
    assert_eq!(get(&state.doors.meter(Door::Egd).hostile), 0);
    let last = state.event_log.last().remove(0);
    assert!(last.is_fault && last.words.contains("panicked"), "{last:?}");

    other.write_all(&REQUEST).unwrap();
    bench.round();
    other.read_exact(&mut [0; 8]).unwrap();
}

/// Many connections of one user, each with more input than many turns can take, and then a request of another user.
#[test]
fn between_a_request_and_its_answer_another_user_has_one_turn_whatever_it_sends() {
    let mix = |length: u32| [&Request::Mix(length).head()[..], &vec![7; length as usize]].concat();
    let read = Request::Read(8).head();
    let page = b"GET / HTTP/1.1\\r\\n\\r\\n".to_vec();
    // The most requests of one turn: a request costs at least 1 KiB of the 64 KiB.
    let cases: [(Door, &str, Vec<u8>, u64); 7] = [
        (Door::Egd, "no answer", vec![3, 0, 0, 0], 64),
        (Door::Egd, "short answers", vec![0], 64),
        (
            Door::Egd,
            "mixing",
            [&[3, 0, 0, 255][..], &[7; 255]].concat(),
            64,
        ),
        (Door::Bulk, "mixing nothing", mix(0), 64),
        (Door::Bulk, "mixing a byte", mix(1), 64),
        (
            Door::Bulk,
            "long answers",
            Request::Read(1 << 24).head().to_vec(),
            1,
        ),
        (Door::Web, "pages", page.clone(), 1),
    ];
    for (door, name, request, most) in cases {
        let mut bench = Bench::new(door, &LimitsSection::default());
        let mut client = bench.client();
        let flood: Vec<TcpStream> = (0..32).map(|_| bench.loopback()).collect();
        for mut stream in &flood {
            let count = match door {
                Door::Web => 1,
                _ => 32 * 1024 / request.len(),
            };
            stream.write_all(&request.repeat(count)).unwrap();
        }
        bench.round();
        client
            .write_all(match door {
                Door::Egd => &REQUEST,
                Door::Bulk => &read,
                _ => &page,
            })
            .unwrap();
        let before = bench.requests_of_loopback();
        bench.rounds_until_answer(&mut client, 6);
        let served = bench.requests_of_loopback() - before;
        assert!(
            served <= 2 * most,
            "{name}: {served} requests of another user"
        );
    }
}

#[test]
fn a_connection_that_closes_during_its_pause_leaves_nothing_behind() {
    let limits = LimitsSection {
        bytes_per_second_per_user: 1,
        connections_per_user: Bounded::clamped(10),
        ..LimitsSection::default()
    };
    let mut bench = Bench::new(Door::Egd, &limits);
    // This draws the user's share of four minutes.
    let mut first = bench.loopback();
    first.write_all(&[2, 255]).unwrap();
    bench.rounds_until(|bench| bench.requests_of_loopback() > 0);
    for _ in 0..20 {
        let clients: Vec<TcpStream> = (0..9).map(|_| bench.loopback()).collect();
        for mut client in &clients {
            client.write_all(&REQUEST).unwrap();
        }
        bench.rounds_until(|bench| bench.worker.clients.events.pauses.count() == 9);
        for client in clients {
            // Closed with a reset: the kernel reports that to the other end without a read.
            rustix::net::sockopt::set_socket_linger(&client, Some(Default::default())).unwrap();
        }
        bench.rounds_until(|bench| bench.worker.clients.events.pauses.count() == 0);
        assert_eq!(bench.open_now(), 1);
    }
    assert_eq!(bench.worker.clients.count(), 1, "closed ones are forgotten");
}
