use super::common::{Folder, PATIENCE, Service, has_fuse, wellspringd};
use super::hypervisor::{BUFFERS, GUEST, Hypervisor, WRITE};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::memory::Wanted;
use wellspring_client::Client;

/// Ends when none of the values is in the memory of the service. It wipes a buffer a moment after a client has the
/// bytes.
fn assert_gone(wanted: &Wanted, process: &str, door: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = wanted.search_process(process).unwrap();
        if found.is_empty() {
            return;
        }
        let count = (found.len(), wanted.count());
        assert!(
            Instant::now() < until,
            "{door}: (found, given) = {count:?}: {:#x?}",
            found.first()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn bytes_that_a_client_got_are_nowhere_in_the_service() {
    let folder = Folder::new();
    let (mount, with_files) = (folder.path("files"), has_fuse());
    let files = format!("[files]\nmount = \"{}\"\nthreads = 2\n", mount.display());
    let more = if with_files { &files } else { "" };
    // The service has this name all the time: the search must find it.
    let name: String = (0..4)
        .map(|_| format!("{:016x}", wellspring::u64()))
        .collect();
    let mut command = wellspringd();
    command.arg("--config").arg(folder.configure(more));
    command.env("WELLSPRING_TEST_NAME", &name);
    let service = Service::spawn(folder, &mut command);
    let process = service.child.id().to_string();

    let mut control = Wanted::default();
    control.take(&mut name.into_bytes());
    match control.search_process(&process) {
        Ok(found) => assert!(found.len() >= 4, "the search finds what is there"),
        Err(error) => {
            return eprintln!("SKIPPED: the memory of the service cannot be read: {error}");
        }
    }

    let mut bytes = vec![0; 200_000];
    let mut egd = service.socket("egd.sock");
    let mut wanted = Wanted::default();
    for _ in 0..20 {
        egd.write_all(&[2, 255]).unwrap();
        egd.read_exact(&mut bytes[..255]).unwrap();
        wanted.take(&mut bytes[..255]);
    }
    assert_gone(&wanted, &process, "egd");

    let mut wanted = Wanted::default();
    let mut bulk = Client::connect(service.folder.path("run/bulk.sock"), PATIENCE).unwrap();
    bulk.fill(&mut bytes).unwrap();
    wanted.take(&mut bytes);
    assert_gone(&wanted, &process, "bulk");

    // A client that asks for more than it takes: what the socket has no room for is not kept.
    let mut lazy = service.socket("bulk.sock");
    let request = wellspring_client::protocol::Request::Read(1 << 24);
    lazy.write_all(&request.head()).unwrap();
    lazy.read_exact(&mut bytes[..8]).unwrap();
    lazy.read_exact(&mut bytes).unwrap();
    let mut wanted = Wanted::default();
    wanted.take(&mut bytes);
    assert_gone(&wanted, &process, "bulk, not read to the end");

    let mut guest = Hypervisor::start(&service);
    assert_eq!(guest.ask(&[(GUEST + BUFFERS, 20_000, WRITE, 0)]), 20_000);
    let mut wanted = Wanted::default();
    wanted.take(&mut guest.read(BUFFERS, 20_000));
    // The service has the memory of the guest mapped.
    guest.write(BUFFERS, &[0; 20_000]);
    assert_gone(&wanted, &process, "vhost-user");

    if with_files {
        search_files(&mount, &process);
    }
}

/// Reads the files, and searches for what they gave.
fn search_files(mount: &Path, process: &str) {
    let mut bytes = vec![0; 200_000];
    for name in ["random", "urandom"] {
        let mut file = File::open(mount.join(name)).unwrap();
        let mut wanted = Wanted::default();
        for length in [32, 4096, 150_000, 150_000, 150_000, 90_000, 64, 150_000] {
            file.read_exact(&mut bytes[..length]).unwrap();
            wanted.take(&mut bytes[..length]);
        }
        assert_gone(&wanted, process, name);
    }
}
