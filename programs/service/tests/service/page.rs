use super::common::{PATIENCE, Service, is_installed, is_root, quoted};
use super::hostile::become_unprivileged;
use std::fs;
use std::process::Command;
use wellspring::clone_detection::{bump, current};
use wellspring_client::{Client, ClientError};

#[test]
fn an_order_changes_the_page_and_the_services_own_engine() {
    let service = Service::start("");
    let path = service.folder.path("run/generation");
    let before = current(&path).unwrap();
    let generation = service.status()["generation"].as_u64().unwrap();
    service.signal("-USR1");
    service.wait_for_log("an operator's order (SIGUSR1): the generation page changed");
    assert_ne!(current(&path).unwrap(), before);
    assert!(service.status()["generation"].as_u64().unwrap() > generation);
    bump(&path).unwrap();
    service.wait_for_log("another process changed the generation page");
    let notices = service.status()["notices"].to_string();
    assert!(
        notices.contains("SIGUSR1") && notices.contains("another process"),
        "{notices}"
    );
}

#[test]
fn a_container_sees_the_page_by_one_bind_mount() {
    if !is_root() || !is_installed("unshare") {
        return;
    }
    let service = Service::start("");
    let page = service.folder.path("run/generation");
    let inside = service.folder.path("container-generation");
    fs::write(&inside, "").unwrap();
    // Another mount namespace, with the page read-only in another place: its word changes when the service says so.
    let script = format!(
        "mount --bind {0} {1} && mount -o remount,bind,ro {1} && od -An -tx8 -j104 -N8 {1} && kill -USR1 {2} && \
         i=0; first=$(od -An -tx8 -j104 -N8 {1}); \
         while [ \"$(od -An -tx8 -j104 -N8 {1})\" = \"$first\" ] && [ $i -lt 3000 ]; do i=$((i+1)); \
         kill -USR1 {2}; sleep 0.01; done; od -An -tx8 -j104 -N8 {1}",
        quoted(&page),
        quoted(&inside),
        service.child.id()
    );
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words.len(), 2, "{said}");
    assert_ne!(words[0], words[1]);
    assert_eq!(
        fs::read(&inside).unwrap(),
        b"",
        "the bind mount was the container's alone"
    );
}

#[test]
fn an_order_by_the_socket_is_taken_from_the_pages_owner_and_refused_to_another_user() {
    let service = Service::start("");
    let (page, socket) = (
        service.folder.path("run/generation"),
        service.folder.path("run/bulk.sock"),
    );
    let mut client = Client::connect(&socket, PATIENCE).unwrap();
    let before = current(&page).unwrap();
    client.bump_generation().unwrap();
    let after = current(&page).unwrap();
    assert_ne!(before, after, "the page changes before the answer");
    service.wait_for_log("an order by the bulk protocol, of ");
    client.fill(&mut [0; 32]).unwrap();
    if !is_root() {
        return eprintln!("SKIPPED: only root can become another user");
    }
    let refused = std::thread::spawn(move || {
        become_unprivileged();
        let mut client = Client::connect(&socket, PATIENCE).unwrap();
        let refused = client.bump_generation();
        client.fill(&mut [0; 32]).unwrap();
        refused
    });
    assert_eq!(refused.join().unwrap(), Err(ClientError::Refused));
    assert_eq!(current(&page).unwrap(), after);
    assert!(!service.log().contains("another process changed"));
}
