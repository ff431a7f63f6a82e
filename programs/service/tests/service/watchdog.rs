//! Signs of life for systemd, while a thread of the service is stuck or busy.

use super::common::{Folder, PATIENCE, Service, is_installed, is_long, is_root, wellspringd};
use super::hostile;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Stops one thread, as a debugger does, until standard input ends: PTRACE_SEIZE, then PTRACE_INTERRUPT.
const STOPPER: &str = "
import ctypes, os, sys
libc, thread = ctypes.CDLL(None), int(sys.argv[1])
seized = libc.ptrace(0x4206, thread, None, None) == 0 and libc.ptrace(0x4207, thread, None, None) == 0
print('stopped' if seized and os.waitpid(thread, 0x40000000) else 'refused', flush=True)
sys.stdin.read()
";

fn start() -> Service {
    let folder = Folder::new();
    let mut command = wellspringd();
    command.arg("--config").arg(folder.configure(""));
    command.env("WATCHDOG_USEC", "10000000");
    let service = Service::spawn(folder, &mut command);
    service.wait_for_notice("WATCHDOG=1");
    service
}

/// Stops the thread of this name. `None` where that is forbidden.
fn stop(service: &Service, name: &str) -> Option<Child> {
    let tasks = format!("/proc/{}/task", service.child.id());
    let is_it = |path: &std::path::PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|found| found.trim() == name)
    };
    let find = || {
        let tasks = fs::read_dir(&tasks).unwrap();
        tasks.map(|task| task.unwrap().path()).find(is_it)
    };
    // A thread names itself, as the first thing that it does.
    let until = Instant::now() + PATIENCE;
    let thread = loop {
        if let Some(thread) = find() {
            break thread;
        }
        assert!(Instant::now() < until, "there is no thread {name}");
        std::thread::yield_now();
    };
    let mut command = Command::new("python3");
    command
        .args(["-c", STOPPER])
        .arg(thread.file_name().unwrap());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.as_mut().unwrap());
    output.read_line(&mut line).unwrap();
    if line != "stopped\n" {
        child.wait().unwrap();
        eprintln!("SKIPPED: no thread can be stopped by ptrace here");
        return None;
    }
    Some(child)
}

/// The signs of life stop while the thread of this name is stuck, and go on with it.
fn signs_of_life_follow(name: &str) {
    if !is_root() || !is_installed("python3") {
        return;
    }
    let service = start();
    let Some(mut stopper) = stop(&service, name) else {
        return;
    };
    service.wait_for_log(&format!("the thread {name} is stuck"));
    service.drop_notices();
    // Three signs of life are due in this time.
    let told = service.notices_within(Duration::from_secs(3));
    drop(stopper.stdin.take());
    assert!(!told.contains("WATCHDOG=1"), "{told}");
    stopper.wait().unwrap();
    service.wait_for_notice("WATCHDOG=1");
}

// Two tests, which wait ten seconds each at the same time.
#[test]
fn a_stuck_thread_of_sockets_stops_the_signs_of_life_until_it_goes_on() {
    signs_of_life_follow("sockets-0");
}

#[test]
fn a_stuck_thread_of_guests_stops_the_signs_of_life_until_it_goes_on() {
    signs_of_life_follow("guests");
}

#[test]
fn a_flood_does_not_stop_the_signs_of_life() {
    if !is_root() || !is_long("it takes ten seconds") {
        return;
    }
    let service = start();
    let run = service.folder.path("run");
    hostile::beside(&hostile::ALL[0], &run, None, || {
        for _ in 0..10 {
            service.wait_for_notice("WATCHDOG=1");
        }
    });
    assert!(!service.log().contains("is stuck"), "{}", service.log());
}
