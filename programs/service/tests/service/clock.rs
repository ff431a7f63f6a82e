//! A wall clock that jumps. The clock of a machine is that of all its programs, so a library before the C library gives
//! the service another one.

use super::common::{Folder, Service, is_installed, wellspringd};
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;

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
        // Those that were sent before the jump are gone.
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
        let page = service.get("/");
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
