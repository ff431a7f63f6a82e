//! The bulk protocol by vsock. A machine that cannot connect to itself by vsock shows only that the socket opens; the
//! rig has a machine that can (`cargo xtask rig`).

use super::common::{Folder, PATIENCE, Service, assert_random};
use super::sockets::assert_draws_until_the_end;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use wellspring_client::vsock;
use wellspring_client::{Client, ServiceSource};
use wellspring_core::source::MinEntropy;

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
