//! Readers of device files beside each other: shares of users, and what a flood leaves behind.

use super::common::{
    PATIENCE, has_fuse, is_installed, quoted, sh, start_with_files, start_with_files_and,
};
use super::held::Held;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Programs of another user, killed at the end.
struct Flood(Vec<Child>);

impl Flood {
    fn start(programs: usize, command: &str) -> Self {
        let start = || {
            let mut program = Command::new("setpriv");
            program.args([
                "--reuid=60001",
                "--regid=60001",
                "--clear-groups",
                "sh",
                "-c",
                command,
            ]);
            program
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        Self((0..programs).map(|_| start()).collect())
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.0
            .iter_mut()
            .for_each(|program| program.kill().unwrap());
        for program in &mut self.0 {
            program.wait().unwrap();
        }
    }
}

/// The service is stopped, so that each write stays with it: a lock of the file would keep the second write from it.
#[test]
fn one_program_that_writes_does_not_keep_another_waiting() {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let control = service.folder.path("control");
    fs::create_dir(&control).unwrap();
    sh(&format!("mount -t fusectl fusectl {}", quoted(&control)));
    let device = rustix::fs::stat(&mount).unwrap().st_dev;
    let waiting = control.join(format!("{}/waiting", rustix::fs::minor(device)));
    let write = || {
        fs::OpenOptions::new()
            .write(true)
            .open(mount.join("random"))
    };
    let mut files = [write().unwrap(), write().unwrap()];
    service.signal("-STOP");
    let is_parallel = std::thread::scope(|scope| {
        for file in &mut files {
            scope.spawn(|| file.write_all(&[7; 16]).unwrap());
        }
        let until = Instant::now() + PATIENCE;
        let both = || fs::read_to_string(&waiting).unwrap().trim() == "2";
        while !both() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let is_parallel = both();
        service.signal("-CONT");
        is_parallel
    });
    sh(&format!("umount {}", quoted(&control)));
    assert!(is_parallel, "the second write did not reach the service");
}

/// Returns the bytes that the user of [`Flood`] has drawn.
fn drawn(status: &serde_json::Value) -> u64 {
    let users = status["users"].as_array().unwrap();
    let user = users.iter().find(|user| user["user"] == "60001");
    user.map_or(0, |user| user["bytes"].as_u64().unwrap())
}

#[test]
fn a_user_gets_its_rate_by_a_file_and_root_is_not_limited() {
    if !has_fuse() || !is_installed("setpriv") {
        return;
    }
    const RATE: u64 = 100_000;
    let limits = format!("[limits]\nbytes_per_second_per_user = {RATE}\n");
    let (service, mount) = start_with_files_and(&limits);
    let file = mount.join("random");
    let began = Instant::now();
    // Readers that wait for a share are killed with the others.
    let flood = Flood::start(4, &format!("exec cat {}", quoted(&file)));
    let bytes = loop {
        let bytes = drawn(&service.status());
        assert!(began.elapsed() < PATIENCE, "{bytes}");
        if bytes > 3 * RATE {
            break bytes;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // A second in advance, and one read of cat.
    let most = RATE * (began.elapsed().as_secs() + 2) + (1 << 20);
    assert!(bytes <= most, "{bytes} of {most}");
    let mut bytes = vec![0; 50 * RATE as usize];
    fs::File::open(&file)
        .unwrap()
        .read_exact(&mut bytes)
        .unwrap();
    drop(flood);
}

fn short_reads_of_root(file: &Path, times: usize) -> Vec<Duration> {
    let file = open(file, OFlags::RDONLY, Mode::empty()).unwrap();
    let mut times: Vec<_> = (0..times)
        .map(|_| {
            let began = Instant::now();
            assert_eq!(read(&file, &mut [0; 16]), Ok::<_, Errno>(16));
            began.elapsed()
        })
        .collect();
    times.sort();
    times
}

#[test]
fn a_flood_of_readers_leaves_nothing_behind() {
    if !has_fuse() || !is_installed("setpriv") {
        return;
    }
    let (service, mount) = start_with_files();
    let (file, process) = (mount.join("random"), service.child.id());
    let open_now = || fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    let resident_kib = || Held::kib(&service, "VmRSS:");
    let before = (open_now(), resident_kib());
    let flood = Flood::start(
        64,
        &format!("exec dd if={} bs=16M of=/dev/null", quoted(&file)),
    );
    let until = Instant::now() + PATIENCE;
    while drawn(&service.status()) < 64 << 20 {
        assert!(Instant::now() < until, "no flood");
    }
    // The soak judges these times: here other tests run beside.
    let times = short_reads_of_root(&file, 1000);
    drop(flood);
    let (p99, longest) = (times[990], times[999]);
    println!("16 bytes beside 64 readers of 16 MiB: p99 {p99:?}, longest {longest:?}");
    // Three threads have a buffer of 128 KiB each, and the allocator keeps some memory.
    let until = Instant::now() + PATIENCE;
    // Sources open their files at their first draw, and a connection for the status may be open for a moment. A descriptor
    // for each of the 64 readers would show.
    while open_now() >= before.0 + 32 {
        assert!(Instant::now() < until, "{} descriptors", open_now());
    }
    assert!(resident_kib() < before.1 + 8192, "{} KiB", resident_kib());
}
