//! Orders with a secret, and the process beside the service that has the kernel reseed: what it may, and what happens without
//! it.

use super::common::{PATIENCE, Service, children, is_installed, is_root, wellspringd};
use rustix::process::geteuid;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wellspring_client::{Client, ClientError};

const OPTION: &str = "--reseed-kernel";

/// A message, and the longest time for an answer: `NEW_BYTES` and `PATIENCE` of `reseeder.rs`.
const MESSAGE_BYTES: usize = 64;
const LONGEST: Duration = Duration::from_secs(2);

const SYS_ADMIN: u64 = 1 << 21;

fn line_of<'a>(status: &'a str, key: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap().trim()
}

fn set_of(status: &str, key: &str) -> u64 {
    u64::from_str_radix(line_of(status, key), 16).unwrap()
}

/// Whether this process, and what it starts, may reseed the kernel.
fn may_reseed() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    set_of(&status, "CapEff:") & SYS_ADMIN != 0
}

/// The number of the page, and what it says of the kernel.
fn words(page: &Path) -> [u64; 2] {
    let bytes = fs::read(page).unwrap();
    [104, 2048].map(|place: usize| u64::from_le_bytes(bytes[place..place + 8].try_into().unwrap()))
}

fn helper(service: &Service) -> String {
    let helpers = children(service.child.id(), OPTION);
    assert_eq!(helpers.len(), 1, "{helpers:?}");
    helpers[0].clone()
}

fn signal(process: &str, signal: &str) {
    let sent = Command::new("kill").args([signal, process]).status();
    assert!(sent.unwrap().success());
}

fn client(service: &Service) -> Client {
    Client::connect(service.folder.path("run/bulk.sock"), PATIENCE).unwrap()
}

#[test]
fn an_order_reseeds_the_kernel_before_the_page_changes_with_a_secret_and_without() {
    let service = Service::start("");
    let page = service.folder.path("run/generation");
    let [number, kernel] = words(&page);
    assert_eq!(
        kernel == number,
        may_reseed(),
        "the start is a notice: {}",
        service.log()
    );
    assert!(kernel == number || kernel == !number);
    let before = service.status()["kernel_reseeds"].as_u64().unwrap();
    let mut client = client(&service);
    for nonce in [&[][..], &[7; 32], &[7; 4096]] {
        let earlier = words(&page)[0];
        assert_eq!(client.bump_generation(nonce), Ok(may_reseed()));
        let [number, kernel] = words(&page);
        assert_ne!(number, earlier);
        assert_eq!(kernel, if may_reseed() { number } else { !number });
    }
    // A secret of another length is not sent, and the connection goes on.
    for length in [1, 31, 4097] {
        let refused = client.bump_generation(&vec![7; length]);
        assert_eq!(refused, Err(ClientError::Protocol), "{length}");
    }
    client.fill(&mut [0; 16]).unwrap();
    service.wait_for_log_lines(", with a secret: the generation page changed", 2);
    let status = service.status();
    let reseeds = status["kernel_reseeds"].as_u64().unwrap();
    assert_eq!(reseeds >= before + 3, may_reseed(), "{status}");
    assert_eq!(
        status["kernel_fault"] == Value::Null,
        may_reseed(),
        "{status}"
    );
}

#[test]
fn a_secret_that_comes_in_parts_is_taken_whole_and_one_that_stops_changes_nothing() {
    let service = Service::start("");
    let page = service.folder.path("run/generation");
    let mut stream = service.socket("bulk.sock");
    let before = words(&page)[0];
    // The head of an order with 40 bytes, and half of them.
    stream.write_all(&[b'w', 3, 0, 0, 40, 0, 0, 0]).unwrap();
    stream.write_all(&[1; 20]).unwrap();
    // The service has read them when it has answered another client.
    client(&service).fill(&mut [0; 16]).unwrap();
    assert_eq!(words(&page)[0], before);
    stream.write_all(&[2; 20]).unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    let kind = if may_reseed() { 5 } else { 7 };
    assert_eq!(answer, [b'w', kind, 0, 0, 0, 0, 0, 0]);
    assert_ne!(words(&page)[0], before);
    let after = words(&page)[0];
    for length in [1_u8, 31] {
        let mut stream = service.socket("bulk.sock");
        stream.write_all(&[b'w', 3, 0, 0, length, 0, 0, 0]).unwrap();
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[1], 4, "malformed");
        assert_eq!(stream.read(&mut answer).unwrap(), 0);
    }
    // Half a secret, and the end.
    let mut stream = service.socket("bulk.sock");
    stream
        .write_all(&[b'w', 3, 0, 0, 40, 0, 0, 0, 1, 1])
        .unwrap();
    drop(stream);
    client(&service).fill(&mut [0; 16]).unwrap();
    assert_eq!(words(&page)[0], after);
}

#[test]
fn the_process_that_reseeds_has_one_capability_a_filter_and_no_other_descriptors() {
    let service = Service::start("");
    let helper = helper(&service);
    // It has closed its sandbox when it has answered.
    let _ = client(&service).bump_generation(&[]);
    let status = fs::read_to_string(format!("/proc/{helper}/status")).unwrap();
    assert_eq!(line_of(&status, "NoNewPrivs:"), "1");
    assert_eq!(line_of(&status, "Seccomp:"), "2");
    for key in ["CapPrm:", "CapEff:"] {
        assert_eq!(set_of(&status, key) & !SYS_ADMIN, 0, "{status}");
    }
    assert_eq!(set_of(&status, "CapInh:"), 0);
    let status = fs::read_to_string(format!("/proc/{}/status", service.child.id())).unwrap();
    assert_eq!(set_of(&status, "CapPrm:"), 0, "the service itself has none");
    let mut open: Vec<String> = fs::read_dir(format!("/proc/{helper}/fd"))
        .unwrap()
        .map(|entry| {
            fs::read_link(entry.unwrap().path())
                .unwrap()
                .display()
                .to_string()
        })
        .collect();
    open.sort();
    open.retain(|path| !path.starts_with("pipe:"));
    // What the shell of the test leaves open, and the module's device, if it is loaded.
    open.retain(|path| !["/dev/null", "/dev/wellspring"].contains(&path.as_str()));
    let log = service.folder.path("log").display().to_string();
    assert_eq!(open, ["/dev/urandom".to_owned(), log]);
}

#[test]
fn without_the_process_that_reseeds_the_page_changes_all_the_same_and_the_status_says_so() {
    for how in ["-KILL", "-STOP"] {
        let service = Service::start("");
        let page = service.folder.path("run/generation");
        let helper = helper(&service);
        signal(&helper, how);
        let mut client = client(&service);
        let [before, _] = words(&page);
        let asked = Instant::now();
        assert_eq!(client.bump_generation(&[7; 32]), Ok(false), "{how}");
        assert!(asked.elapsed() < LONGEST + PATIENCE);
        let [number, kernel] = words(&page);
        assert_ne!(number, before);
        assert_eq!(kernel, !number, "{how}");
        let asked = Instant::now();
        assert_eq!(client.bump_generation(&[7; 32]), Ok(false), "{how}");
        assert!(
            asked.elapsed() < LONGEST,
            "the next order does not wait again"
        );
        service.wait_for_log("the kernel was not reseeded: the process for it does not answer");
        let fault = service.status()["kernel_fault"].to_string();
        assert!(fault.contains("does not answer"), "{fault}");
        client.fill(&mut [0; 16]).unwrap();
        if how == "-STOP" {
            signal(&helper, "-KILL");
        }
    }
}

#[test]
fn the_process_that_reseeds_ends_at_a_fault() {
    let service = Service::start("");
    let helper = helper(&service);
    // It has closed its sandbox when it has answered.
    let _ = client(&service).bump_generation(&[]);
    signal(&helper, "-SEGV");
    let until = Instant::now() + PATIENCE;
    let runs = || {
        let status = fs::read_to_string(format!("/proc/{helper}/status"));
        status.is_ok_and(|status| !line_of(&status, "State:").starts_with('Z'))
    };
    while runs() {
        assert!(Instant::now() < until, "it goes on after a fault");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn the_process_that_reseeds_ends_with_the_service() {
    for how in ["-TERM", "-KILL"] {
        let mut service = Service::start("");
        let helper = helper(&service);
        service.end(how);
        let until = Instant::now() + PATIENCE;
        let status = format!("/proc/{helper}/status");
        // A process that no other waits for stays as a zombie.
        while fs::read_to_string(&status)
            .is_ok_and(|status| !line_of(&status, "State:").starts_with('Z'))
        {
            assert!(Instant::now() < until, "{how}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Gives the process these parts, each by a write of its own, and returns its answers.
fn answers(command: &mut Command, parts: &[&[u8]]) -> Vec<u8> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for part in parts {
        // It may have ended.
        let _ = input.write_all(part);
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn a_part_of_a_message_is_no_message() {
    let mut command = wellspringd();
    command.arg(OPTION);
    let message = [7; MESSAGE_BYTES];
    let whole = answers(&mut command, &[&message]);
    let number = if may_reseed() { 0 } else { libc::EPERM };
    assert_eq!(whole, number.to_ne_bytes());
    assert_eq!(answers(&mut command, &[&message[..63]]), Vec::<u8>::new());
    assert_eq!(
        answers(&mut command, &[&message[..20], &message[20..]]),
        whole
    );
    let more = [message, message].concat();
    assert_eq!(answers(&mut command, &[&more[..100]]), whole);
    assert_eq!(
        answers(&mut command, &[&more]),
        [&whole[..], &whole].concat()
    );
    assert_eq!(answers(&mut command, &[]), Vec::<u8>::new());
}

#[test]
fn without_the_capability_or_the_device_it_says_why() {
    if !is_root() || !is_installed("setpriv") || !is_installed("unshare") {
        return;
    }
    let message = [7; MESSAGE_BYTES];
    let program = env!("CARGO_BIN_EXE_wellspringd");
    let mut powerless = Command::new("setpriv");
    powerless.args([
        "--bounding-set=-sys_admin",
        "--inh-caps=-sys_admin",
        program,
        OPTION,
    ]);
    assert_eq!(
        answers(&mut powerless, &[&message]),
        libc::EPERM.to_ne_bytes()
    );
    let mut without = Command::new("unshare");
    let script = "mount -t tmpfs none /dev && exec \"$0\" \"$1\"";
    without.args(["-m", "sh", "-c", script, program, OPTION]);
    assert_eq!(
        answers(&mut without, &[&message]),
        libc::ENOENT.to_ne_bytes()
    );
    assert!(geteuid().is_root());
}
