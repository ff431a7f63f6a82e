//! A hostile user beside root.

use super::common::{Folder, Service, is_root};
use super::hostile;
use std::io::{Read, Write};
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
