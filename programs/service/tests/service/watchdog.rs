//! Signs of life for systemd while a thread is stuck or busy, a source that does not answer, and a wall clock that jumps.

use super::common::{
    Folder, PATIENCE, Service, has_fuse, is_installed, is_long, is_root, start_with_files,
    wellspringd,
};
use super::hostile;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
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

// A source that does not answer: a file of another service, which is stopped.

/// Lets a stopped service go on, also after a failure: its readers cannot end before.
struct Stopped<'a>(&'a Service);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.signal("-CONT");
    }
}

fn wait_for_metric(service: &Service, line: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let metrics = service.get("/metrics");
        if metrics.lines().any(|one| one == line) {
            return;
        }
        assert!(Instant::now() < until, "no '{line}' in: {metrics}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_source_that_hangs_stops_neither_the_metrics_nor_the_sockets() {
    if !has_fuse() {
        return;
    }
    let (other, mount) = start_with_files();
    let noise = mount.join("random");
    let more = format!("[engine]\nnoise_files = [\"{}\"]\n", noise.display());
    let service = Service::start(&more);
    let metric = |state: &str, value: u8| {
        format!(
            "wellspring_source_state{{source=\"file {}\",state=\"{state}\"}} {value}",
            noise.display()
        )
    };
    wait_for_metric(&service, &metric("working", 1));
    other.signal("-STOP");
    let stopped = Stopped(&other);
    wait_for_metric(&service, &metric("hanging", 1));
    let mut egd = service.socket("egd.sock");
    for _ in 0..100 {
        egd.write_all(&[2, 255]).unwrap();
        egd.read_exact(&mut [0; 255]).unwrap();
    }
    let problems = service.status()["problems"].to_string();
    assert!(
        problems.contains("hangs: a draw has not ended"),
        "{problems}"
    );
    drop(stopped);
    wait_for_metric(&service, &metric("working", 1));
}

#[test]
fn the_service_ends_while_a_source_hangs() {
    if !has_fuse() {
        return;
    }
    let (other, mount) = start_with_files();
    let noise = mount.join("random");
    let more = format!("[engine]\nnoise_files = [\"{}\"]\n", noise.display());
    let mut service = Service::start(&more);
    let state = |state: &str| {
        let file = noise.display();
        format!("wellspring_source_state{{source=\"file {file}\",state=\"{state}\"}} 1")
    };
    wait_for_metric(&service, &state("working"));
    other.signal("-STOP");
    let stopped = Stopped(&other);
    wait_for_metric(&service, &state("hanging"));
    service.signal("-TERM");
    service.wait_for_log("the end does not wait for a source");
    // The kernel keeps a process whose request the stopped service has taken, and a process that closes one of its files.
    drop(stopped);
    assert!(service.wait_for_end().success());
}

// A wall clock that jumps. All programs of a machine share its clock, so a library before the C library gives the service
// another one.

/// Adds the seconds that are in a file to the wall clock, and to no other.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile long *jump;
__attribute__((constructor)) static void open_file(void) {
    int file = open(getenv("CLOCK_JUMP"), O_RDONLY);
    void *found = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    if (file < 0 || found == MAP_FAILED) abort();
    jump = found;
    close(file);
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += *jump;
    return result;
}
"#;

/// A clock that jumps for programs that are started with it.
struct Clock {
    library: PathBuf,
    jump: PathBuf,
}

impl Clock {
    fn new(folder: &Folder) -> Self {
        let (source, library) = (folder.path("clock.c"), folder.path("clock.so"));
        fs::write(&source, LIBRARY).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]);
        let made = compiler.arg(&library).arg(&source).status();
        assert!(made.unwrap().success());
        let clock = Self {
            library,
            jump: folder.path("jump"),
        };
        clock.set(0);
        clock
    }

    /// The file is written in place: programs have it mapped.
    fn set(&self, seconds: i64) {
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&self.jump);
        file.unwrap().write_all(&seconds.to_ne_bytes()).unwrap();
    }

    fn give_to(&self, command: &mut Command) {
        command.env("LD_PRELOAD", testkit::programs::in_list(&self.library));
        command.env("CLOCK_JUMP", &self.jump);
    }

    /// The year that a program sees.
    fn year(&self) -> i32 {
        let mut date = Command::new("date");
        self.give_to(date.arg("+%Y"));
        let said = String::from_utf8(date.output().unwrap().stdout).unwrap();
        said.trim().parse().unwrap()
    }
}

const TEN_YEARS_S: i64 = 10 * 365 * 86_400;

/// Every number of the status that is a time, by its key.
fn times(value: &serde_json::Value, found: &mut Vec<(String, f64)>) {
    match value {
        serde_json::Value::Array(all) => all.iter().for_each(|one| times(one, found)),
        serde_json::Value::Object(all) => {
            for (key, one) in all {
                let is_time = ["_s", "_ms", "_us", "_ns", "_ms_ago"]
                    .iter()
                    .any(|unit| key.ends_with(unit));
                if let Some(number) = one.as_f64().filter(|_| is_time) {
                    found.push((key.clone(), number));
                }
                times(one, found);
            }
        }
        _ => {}
    }
}

#[test]
fn a_wall_clock_that_jumps_changes_no_age_no_rate_and_no_sign_of_life() {
    if !is_installed("cc") || !is_installed("date") {
        return;
    }
    let folder = Folder::new();
    let clock = Clock::new(&folder);
    let mut command = wellspringd();
    command
        .arg("--config")
        .arg(folder.configure("[log]\nlevel = \"debug\"\n"));
    clock.give_to(&mut command);
    command.env("WATCHDOG_USEC", "10000000");
    let service = Service::spawn(folder, &mut command);
    let year = clock.year();
    let mut orders = 0;
    for years in [0, 10, -10, 0] {
        clock.set(years * TEN_YEARS_S / 10);
        assert!((clock.year() - year - years as i32).abs() <= 1, "the clock");
        service.signal("-USR1");
        orders += 1;
        service.wait_for_log_lines("an operator's order (SIGUSR1)", orders);
        // The messages from before the jump are gone.
        service.drop_notices();
        service.wait_for_notice("WATCHDOG=1");
        let mut egd = service.socket("egd.sock");
        egd.write_all(&[2, 255]).unwrap();
        egd.read_exact(&mut [0; 255]).unwrap();

        let status = service.status();
        let mut found = Vec::new();
        times(&status, &mut found);
        assert!(found.len() > 10, "{status}");
        for (key, number) in found {
            let hour = match key.rsplit('_').next() {
                Some("ns") => 3.6e12,
                Some("us") => 3.6e9,
                Some("ms" | "ago") => 3.6e6,
                _ => 3600.0,
            };
            assert!((0.0..hour).contains(&number), "{key} is {number}: {status}");
        }
        let notices = status["notices"].as_array().unwrap();
        let ages: Vec<_> = notices.iter().map(|one| one["ago_s"].as_u64()).collect();
        assert!(ages.is_sorted(), "the newest first: {ages:?}");
        let metrics = service.get("/metrics");
        let is_negative = |line: &&str| line.rsplit(' ').next().unwrap().starts_with('-');
        assert_eq!(metrics.lines().find(is_negative), None);
        let page = service.get("/status.txt");
        let mut ages = page.split(" s ago").map(|before| {
            let digits = before.rsplit(|one: char| !one.is_ascii_digit()).next();
            digits.unwrap().parse::<u64>().unwrap_or_default()
        });
        assert!(
            page.contains(" s ago") && ages.all(|age| age < 3600),
            "{page}"
        );
    }
}
