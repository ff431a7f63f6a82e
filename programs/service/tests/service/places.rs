//! Users who hold every connection that there is, and users who come after them.

use super::common::{Folder, PATIENCE, Service, is_root};
use super::hostile::as_user;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use wellspring_client::protocol::{Answer, Request};

/// A user who holds nothing.
const NEWCOMER: u32 = 1234;

/// The subordinate numbers of one person.
const HOLDERS: std::ops::Range<u32> = 100_000..100_004;

fn connect(service: &Service, socket: &str) -> UnixStream {
    let stream = service.socket(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether a request is answered by EGD and by the bulk protocol.
fn assert_is_served(service: &Service, user: u32) {
    as_user(user, || {
        let mut egd = connect(service, "egd.sock");
        egd.write_all(&[2, 32]).unwrap();
        egd.read_exact(&mut [0; 32])
            .unwrap_or_else(|error| panic!("user {user}, egd: {error}"));
        let mut bulk = connect(service, "bulk.sock");
        bulk.write_all(&Request::Read(32).head()).unwrap();
        let mut answer = [0; 8 + 32];
        bulk.read_exact(&mut answer)
            .unwrap_or_else(|error| panic!("user {user}, bulk: {error}"));
        assert_eq!(answer[..8], Answer::Bytes(32).head());
    });
}

fn is_open(stream: &mut UnixStream) -> bool {
    stream.write_all(&[2, 1]).is_ok() && stream.read_exact(&mut [0]).is_ok()
}

/// Four threads, so that one accepts a newcomer, and another has the connection that gives way.
#[test]
fn four_users_who_hold_every_connection_keep_no_other_user_out() {
    if !is_root() {
        return;
    }
    let more = "threads = 4\n[limits]\nconnections = 64\nconnections_per_user = 16\n";
    let service = Service::start(more);
    let hold = |user| {
        as_user(user, || {
            (0..16).map(|_| connect(&service, "egd.sock")).collect()
        })
    };
    let mut held: Vec<Vec<UnixStream>> = HOLDERS.map(hold).collect();
    // They are not idle: each has had an answer, and has begun a request.
    for stream in held.iter_mut().flatten() {
        assert!(is_open(stream));
        stream.write_all(&[2]).unwrap();
    }
    for user in [NEWCOMER, 0, NEWCOMER + 1, NEWCOMER] {
        assert_is_served(&service, user);
    }
    // A user who holds fewer loses nothing.
    let mut kept = as_user(NEWCOMER, || connect(&service, "egd.sock"));
    for user in 200_000..200_040 {
        assert_is_served(&service, user);
        assert!(is_open(&mut kept), "after user {user}");
    }
    let gave_way = service.door("egd")["gave_way"].as_u64().unwrap();
    assert!(gave_way >= 1, "{gave_way}");
    // Only the users who held most lost connections, and most of their connections are still there.
    let open = held
        .iter_mut()
        .flatten()
        .filter_map(|stream| stream.write_all(&[1]).ok());
    assert!(open.count() >= 32);
}

/// A port that is free, as the system names it: another program may take it before the service does.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn the_metrics_are_served_by_tcp_while_every_place_is_held() {
    let [web, egd] = [free_port(), free_port()];
    let more = format!(
        "[limits]\nconnections = 40\nconnections_per_user = 32\n[web]\nlisten = [\"web.sock\", \"127.0.0.1:{web}\"]\n\
         [egd]\nlisten = [\"egd.sock\", \"127.0.0.1:{egd}\"]\n"
    );
    let service = Service::start(&more);
    let connect = |port| {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let scrape = |holder: &str| {
        let mut stream = connect(web);
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        assert!(
            answer.starts_with("HTTP/1.1 200 OK"),
            "{holder}: {read:?}: {answer}"
        );
    };
    let _at_egd: Vec<TcpStream> = (0..50).map(|_| connect(egd)).collect();
    scrape("egd");
    // Half of a request keeps no place.
    let half = |_| {
        let mut stream = connect(web);
        stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap();
        stream
    };
    let _at_web: Vec<TcpStream> = (0..50).map(half).collect();
    for _ in 0..5 {
        scrape("web");
    }
    let mut last = connect(egd);
    last.write_all(&[2, 16]).unwrap();
    last.read_exact(&mut [0; 16]).unwrap();
    assert!(service.door("egd")["gave_way"].as_u64().unwrap() >= 18);
}

#[test]
fn few_descriptors_are_shared_in_the_same_way() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let config = folder.configure("threads = 4\n");
    let mut command = Command::new("sh");
    let script = "ulimit -n 256 && exec \"$0\" --config \"$1\"";
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_wellspringd")])
        .arg(config);
    let service = Service::spawn(folder, &mut command);
    let hold = |user| {
        as_user(user, || {
            (0..100).map(|_| connect(&service, "egd.sock")).collect()
        })
    };
    let _held: Vec<Vec<UnixStream>> = HOLDERS.map(hold).collect();
    for user in [NEWCOMER, 0, NEWCOMER + 1] {
        for _ in 0..20 {
            assert_is_served(&service, user);
        }
    }
    let _newcomers: Vec<UnixStream> = (200_000..200_040)
        .map(|user| {
            assert_is_served(&service, user);
            as_user(user, || connect(&service, "egd.sock"))
        })
        .collect();
    assert_is_served(&service, 0);
}
