//! The user that the service becomes, and what it can do then.

use super::common::{Folder, Service, has_fuse, is_installed, is_root, quoted, sh, wellspringd};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::process::Command;
use wellspring::clone_detection::current;

/// The number of the user in these tests.
const USER: u32 = 4711;

/// Starts the service where there is a user `name`, and where `prepare` has run.
fn start(folder: Folder, name: &str, more: &str) -> Service {
    let table = fs::read_to_string("/etc/passwd").unwrap();
    let others = table
        .lines()
        .filter(|line| !line.starts_with("wellspring:"));
    let others: Vec<&str> = others.collect();
    let passwd = folder.path("passwd");
    let entry = format!("{name}:x:{USER}:{USER}::/nonexistent:/usr/sbin/nologin\n");
    fs::write(&passwd, others.join("\n") + "\n" + &entry).unwrap();
    let script = format!(
        "mount --bind {} /etc/passwd && exec {} --config {}",
        quoted(&passwd),
        quoted(env!("CARGO_BIN_EXE_wellspringd")),
        quoted(folder.configure(more))
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]);
    Service::spawn(folder, &mut command)
}

fn users(service: &Service) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", service.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("Uid:"));
    line.unwrap().to_owned()
}

fn draws(service: &Service) {
    let mut stream = service.socket("egd.sock");
    stream.write_all(&[2, 16]).unwrap();
    stream.read_exact(&mut [0; 16]).unwrap();
}

#[test]
fn root_becomes_the_user_wellspring_and_all_that_was_asked_for_works() {
    if !is_root() || !is_installed("unshare") {
        return;
    }
    let folder = Folder::new();
    let seeds = folder.path("seeds");
    fs::create_dir(&seeds).unwrap();
    chown(&seeds, Some(USER), Some(USER)).unwrap();
    let mut more = format!(
        "user = \"\"\n[engine]\nseed_file = \"{}/seed\"\n[kernel_pool]\nfeed = true\ncredit_bits = 8\n\
         [log]\nlevel = \"debug\"\n",
        seeds.display()
    );
    let mount = folder.path("files");
    let has_files = has_fuse();
    if has_files {
        more += &format!("[files]\nmount = \"{}\"\n", mount.display());
    }
    let mut service = start(folder, "wellspring", &more);
    let process = format!("/proc/{}", service.child.id());
    assert_eq!(
        users(&service),
        format!("Uid:\t{USER}\t{USER}\t{USER}\t{USER}")
    );
    // Other processes of the user can neither read its memory nor trace it.
    assert_eq!(fs::metadata(format!("{process}/environ")).unwrap().uid(), 0);
    draws(&service);
    service.wait_for_log("the kernel's pool was fed");
    if has_files {
        let inside = mount.strip_prefix("/").unwrap();
        let file = std::path::Path::new(&process).join("root").join(inside);
        let mut bytes = [0; 70_000];
        let mut file = fs::File::open(file.join("random")).unwrap();
        file.read_exact(&mut bytes).unwrap();
    }
    // The page is root's, so that the engines of all users trust it.
    let page = service.folder.path("run/generation");
    assert_eq!(fs::metadata(&page).unwrap().uid(), 0);
    let before = current(&page).unwrap();
    service.signal("-USR1");
    service.wait_for_log("an operator's order (SIGUSR1)");
    assert_ne!(current(&page).unwrap(), before);
    service.signal("-HUP");
    service.wait_for_log("the configuration was read again");
    let log = service.log();
    assert!(
        !log.contains("that takes effect at the next start"),
        "{log}"
    );
    let status = service.status();
    assert_eq!(status["problems"].to_string(), "[]", "{status}");
    let sources = status["sources"].as_array().unwrap();
    for source in sources {
        let error = source["last_error"].to_string();
        assert!(!error.contains("ermission"), "{source}");
    }
    assert!(service.end("-TERM").success(), "{}", service.log());
    assert_eq!(fs::metadata(seeds.join("seed")).unwrap().uid(), USER);
    if has_files {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!table.contains(mount.to_str().unwrap()));
    }
    // Its sockets are root's, and in the way of no other start.
    service.start_again();
    draws(&service);
}

#[test]
fn the_service_becomes_the_user_that_is_named_and_starts_for_no_other() {
    if !is_root() || !is_installed("unshare") {
        return;
    }
    let service = start(Folder::new(), "other", "user = \"other\"\n");
    assert_eq!(
        users(&service),
        format!("Uid:\t{USER}\t{USER}\t{USER}\t{USER}")
    );
    draws(&service);
    let folder = Folder::new();
    let mut command = wellspringd();
    command.arg("--config");
    command.arg(folder.configure("user = \"no-such-user\"\n"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let expected = "[service] user: no user no-such-user\n";
    assert!(said.ends_with(expected), "{said}");
}

#[test]
fn a_service_that_stays_root_without_an_order_says_so() {
    if !is_root() || !is_installed("unshare") {
        return;
    }
    let words = "there is no user wellspring: the service stays root";
    let service = start(Folder::new(), "other", "user = \"\"\n");
    service.wait_for_log(words);
    assert!(users(&service).starts_with("Uid:\t0\t"));
    let service = start(Folder::new(), "other", "user = \"root\"\n");
    draws(&service);
    assert!(!service.log().contains(words));
}

/// Without the user the unit does not start.
#[test]
fn the_unit_and_the_file_of_users_name_the_user_that_the_service_becomes() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/");
    let unit = fs::read_to_string(format!("{root}systemd/wellspringd.service")).unwrap();
    let users = fs::read_to_string(format!("{root}sysusers.d/wellspring.conf")).unwrap();
    let name = wellspring_service_core::sandbox::DEFAULT_USER;
    assert!(unit.contains(&format!("\nUser={name}\n")), "{unit}");
    // As many as wait in the queue of a socket that the service opens.
    let socket = fs::read_to_string(format!("{root}systemd/wellspringd.socket")).unwrap();
    assert!(socket.contains("\nBacklog=128\n"), "{socket}");
    assert!(users.contains(&format!("\nu {name} ")), "{users}");
    if !is_root() || !is_installed("systemd-sysusers") {
        return;
    }
    let folder = Folder::new();
    fs::create_dir(folder.path("etc")).unwrap();
    let made = format!(
        "systemd-sysusers --root={} {}",
        quoted(&folder.0),
        quoted(format!("{root}sysusers.d/wellspring.conf"))
    );
    sh(&made);
    let table = fs::read_to_string(folder.path("etc/passwd")).unwrap();
    assert!(table.contains(&format!("{name}:")), "{table}");
}
