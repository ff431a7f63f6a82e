//! The device files, programs that read them, and readers beside each other.

use super::common::{
    Held, PATIENCE, assert_random, children, has_fuse, is_installed, quoted, sh, start_with_files,
    start_with_files_and, wellspring_with,
};
use rustix::fs::{CWD, Mode, OFlags, open, stat};
use rustix::io::{Errno, read};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

#[test]
fn a_read_gets_as_much_as_it_asks_for_and_no_more_is_made() {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    for name in ["random", "urandom", "pseudo"] {
        let mut file = fs::File::open(mount.join(name)).unwrap();
        for length in [1, 16, 4097, 1 << 20, (1 << 20) + 7] {
            let mut bytes = vec![0; length];
            file.read_exact(&mut bytes).unwrap();
            assert_random(&bytes);
        }
        let expected = 1 + 16 + 4097 + (1 << 20) + (1 << 20) + 7;
        assert_eq!(service.door(name)["bytes"], expected, "{name}");
        assert_eq!(stat(mount.join(name)).unwrap().st_blksize, 4096, "{name}");
    }
    let output = sh(&format!(
        "dd if={} bs=16 count=100 status=none | wc -c",
        quoted(mount.join("random"))
    ));
    assert_eq!(output.stdout.trim_ascii(), b"1600");
}

#[test]
fn what_is_written_is_mixed_in_and_other_changes_are_refused() {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let path = mount.join("random");
    fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(&path)
        .unwrap()
        .write_all(&[7; 5000])
        .unwrap();
    assert_eq!(service.door("random")["mixed_bytes"], 5000);
    let another = mount.join("another");
    let mode = fs::Permissions::from_mode(0o600);
    let pipe = rustix::fs::FileType::Fifo;
    let node = || rustix::fs::mknodat(CWD, &another, pipe, Mode::RUSR, 0).map_err(Into::into);
    // By root: the kernel refuses others by the mode of the folder.
    let changes = [
        fs::set_permissions(&path, mode),
        fs::remove_file(&path),
        fs::remove_dir(&another),
        fs::write(&another, "x"),
        fs::create_dir(&another),
        node(),
        symlink("random", &another),
        fs::hard_link(&path, &another),
        fs::rename(&path, &another),
        chown(&path, Some(1), None),
    ];
    let codes = changes.map(|change| change.unwrap_err().raw_os_error().unwrap());
    let (refused, absent) = (libc::EPERM, libc::ENOENT);
    let mut expected = [refused; 10];
    // There is no such folder.
    expected[2] = absent;
    assert_eq!(codes, expected);
    let mut names: Vec<_> = fs::read_dir(&mount)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["pseudo", "random", "urandom"]);
}

#[test]
fn the_requests_of_random_4_are_answered() {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let file = fs::File::open(mount.join("random")).unwrap();
    let mut bits = 0_i32;
    // SAFETY: the request writes an int.
    let asked = unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            0x8004_5200_u32 as libc::Ioctl,
            &raw mut bits,
        )
    };
    assert_eq!((asked, bits), (0, 256));
    let before = service.status()["generation"].as_u64().unwrap();
    // SAFETY: the request takes no argument.
    assert_eq!(unsafe { libc::ioctl(file.as_raw_fd(), 0x5207) }, 0);
    assert!(service.status()["generation"].as_u64().unwrap() > before);
    // SAFETY: the request reads an int.
    let credit = unsafe { libc::ioctl(file.as_raw_fd(), 0x4004_5201, &raw const bits) };
    assert_eq!(
        (
            credit,
            rustix::io::Errno::from_io_error(&std::io::Error::last_os_error())
        ),
        (-1, Some(rustix::io::Errno::PERM))
    );
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let waits = rustix::fs::open(mount.join("random"), flags, rustix::fs::Mode::empty()).unwrap();
    assert_eq!(rustix::io::read(&waits, &mut [0; 8]).unwrap(), 8);
}

/// The service answers what it likes, also that a file is a link: no program of root may write where that leads.
#[test]
fn no_link_in_the_folder_of_the_files_would_be_followed() {
    if !has_fuse() {
        return;
    }
    let (_service, mount) = start_with_files();
    let flags = rustix::fs::statvfs(&mount).unwrap().f_flag.bits();
    // `ST_NOSYMFOLLOW` of linux/statfs.h, from Linux 5.10 on.
    assert_ne!(flags & 0x2000, 0, "{flags:x}");
}

/// A reader that a signal ends while it reads, and a reader that goes on after a signal, as timers send them.
#[test]
fn readers_are_interrupted_and_the_files_go_on() {
    if !has_fuse() {
        return;
    }
    let (_service, mount) = start_with_files();
    let program = format!(
        "import os, signal\n\
         signal.signal(signal.SIGALRM, lambda *a: None)\n\
         signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\n\
         f = os.open('{}/random', os.O_RDONLY)\n\
         seen = set()\n\
         for _ in range(300):\n\
        \x20    b = os.read(f, 1 << 20)\n\
        \x20    assert len(b) > 0 and b.count(0) < len(b) // 128 + 64, len(b)\n\
        \x20    seen.add(b[:16])\n\
         assert len(seen) == 300\n\
         print('read', flush=True)\n\
         while True: os.read(f, 1 << 20)\n",
        mount.display()
    );
    if !is_installed("python3") {
        return;
    }
    let mut python = std::process::Command::new("python3");
    python
        .args(["-c", &program])
        .stdout(std::process::Stdio::piped());
    let mut python = python.spawn().unwrap();
    let mut said = [0; 5];
    python
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut said)
        .unwrap();
    assert_eq!(&said, b"read\n");
    python.kill().unwrap();
    python.wait().unwrap();
    let mut bytes = vec![0; 1 << 20];
    fs::File::open(mount.join("random"))
        .unwrap()
        .read_exact(&mut bytes)
        .unwrap();
    assert_random(&bytes);
}

#[test]
fn readers_at_once_never_get_the_same_bytes() {
    if !has_fuse() {
        return;
    }
    let (_service, mount) = start_with_files();
    let read = |length: usize| {
        let mut bytes = vec![0; 1 << 20];
        let mut file = fs::File::open(mount.join("random")).unwrap();
        for piece in bytes.chunks_mut(length) {
            file.read_exact(piece).unwrap();
        }
        bytes
    };
    let all = std::thread::scope(|scope| {
        let lengths = [16, 1000, 4096, 70_000, 150_000, 600_000, 1 << 20, 1 << 20];
        let readers = lengths.map(|length| scope.spawn(move || read(length)));
        readers.map(|reader| reader.join().unwrap()).concat()
    });
    assert_random(&all);
}

/// Tells that it has read, and at last why it ended.
fn reads_until_an_error(path: &Path, length: usize, told: &Sender<&'static str>) {
    let mut file = fs::File::open(path).unwrap();
    let mut bytes = vec![0; length];
    for round in 0.. {
        let ended = match file.read(&mut bytes) {
            Ok(0) => "the end of the file",
            Err(_) => "error",
            Ok(got) if bytes[..got].chunks_exact(16).any(|block| *block == [0; 16]) => "zeros",
            Ok(_) if round == 0 => "read",
            Ok(_) => continue,
        };
        // A test that has failed no longer listens.
        let _ = told.send(ended);
        if ended != "read" {
            return;
        }
    }
}

#[test]
fn the_files_go_when_the_service_ends_also_when_it_is_killed() {
    if !has_fuse() {
        return;
    }
    for signal in ["-INT", "-TERM", "-KILL"] {
        let (mut service, mount) = start_with_files();
        let mut open = fs::File::open(mount.join("random")).unwrap();
        // Some of them wait for an answer when it ends.
        let (told, ends) = std::sync::mpsc::channel();
        for length in [16, 4096, 150_000, 1 << 20] {
            let (path, told) = (mount.join("random"), told.clone());
            std::thread::spawn(move || reads_until_an_error(&path, length, &told));
        }
        for _ in 0..4 {
            assert_eq!(ends.recv_timeout(PATIENCE).unwrap(), "read", "{signal}");
        }
        service.end(signal);
        // The helper unmounts. After SIGKILL no process waits for it, so that may be a moment later.
        let until = std::time::Instant::now() + PATIENCE;
        while fs::read_dir(&mount).map_or(1, Iterator::count) != 0 {
            assert!(std::time::Instant::now() < until, "{signal}: still mounted");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for _ in 0..4 {
            assert_eq!(ends.recv_timeout(PATIENCE).unwrap(), "error", "{signal}");
        }
        // A reader gets an error, and never zeros.
        assert!(open.read(&mut [0; 16]).is_err(), "{signal}");
    }
}

#[test]
fn when_the_process_that_unmounts_was_killed_the_service_ends_and_the_next_start_unmounts() {
    if !has_fuse() {
        return;
    }
    let (mut service, mount) = start_with_files();
    let read = || fs::File::open(mount.join("random"))?.read(&mut [0; 16]);
    for signal in ["-TERM", "-KILL"] {
        let helpers = children(service.child.id(), "--unmount-at-end");
        assert_eq!(helpers.len(), 1, "{helpers:?}");
        sh(&format!("kill -9 {}", helpers[0]));
        service.end(signal);
        assert!(read().is_err(), "{signal}: an error, and never zeros");
        service.start_again();
        // The files answer as soon as the engine has its seed.
        assert_eq!(read().unwrap(), 16, "{signal}: {}", service.log());
    }
}

// Programs that read the device files.

#[test]
fn programs_read_the_files() {
    if !has_fuse() {
        return;
    }
    let (_service, mount) = start_with_files();
    let clients = [
        ("head", "head -c 1000 random | wc -c", "1000"),
        ("cat", "cat urandom | head -c 3000000 | wc -c", "3000000"),
        (
            "python3",
            "python3 -c \"print(len(open('random','rb').read(100)))\"",
            "100",
        ),
        (
            "dd",
            "dd if=random bs=1000 count=3 iflag=fullblock 2>/dev/null | wc -c",
            "3000",
        ),
        (
            "perl",
            "perl -e 'open F,\"<\",\"random\"; print read(F,$x,77)'",
            "77",
        ),
        (
            "openssl",
            "openssl rand -rand random -hex 20 2>/dev/null | head -c 40 | wc -c",
            "40",
        ),
        (
            "rngtest",
            "rngtest -c 200 < random 2>&1 | grep -c 'FIPS 140-2 successes'",
            "1",
        ),
        (
            "fio",
            "fio --name=r --filename=urandom --rw=read --bs=4k --size=4k --io_size=1m --minimal \
             --allow_file_create=0 >/dev/null && echo read",
            "read",
        ),
    ];
    for (program, command, expected) in clients {
        if is_installed(program) {
            let output = sh(&format!("cd {} && {command}", quoted(&mount)));
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said.trim(), expected, "{command}");
        }
    }
}

/// Where a program wants more than the 4096 bytes that stat(2) reports, it gets them, or an error.
#[test]
fn no_program_gets_4096_bytes_and_takes_that_for_all() {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let (file, copy) = (mount.join("random"), service.folder.path("copy"));
    let (file, copy) = (quoted(file), quoted(copy));
    let into = format!("> {copy} && head -c 100000 {copy} | wc -c");
    let commands = [
        format!("head -c 100000 {file} {into}"),
        format!("cat {file} | head -c 100000 {into}"),
        format!("dd if={file} bs=1000 count=100 status=none {into}"),
        format!("dd if={file} bs=1000 count=100 skip=50 status=none {into}"),
        format!("dd if={file} bs=100000 count=1 iflag=direct status=none {into}"),
        format!("cp {file} /dev/stdout | head -c 100000 {into}"),
        // It ends when the copy is as long as a file may be: 512 blocks of 512 or 1024 bytes.
        format!("(ulimit -f 512; cp {file} {copy}); head -c 100000 {copy} | wc -c"),
        format!(
            "(ulimit -f 512; cp --reflink=auto --sparse=always {file} {copy}); head -c 100000 {copy} | wc -c"
        ),
        format!("(ulimit -f 512; cat {file} > {copy}); head -c 100000 {copy} | wc -c"),
    ];
    for command in commands {
        let output = sh(&command);
        let length = String::from_utf8_lossy(&output.stdout);
        assert_eq!(length.trim(), "100000", "{command}");
        assert_random(&fs::read(service.folder.path("copy")).unwrap()[..100_000]);
    }
    let clone = format!("cp --reflink=always {file} {copy}");
    let refused = Command::new("sh").args(["-c", &clone]).output().unwrap();
    assert!(!refused.status.success(), "{clone}");
}

/// The tests of dieharder that take a second: bits, and runs of ascending and descending numbers.
#[test]
fn dieharder_finds_nothing_in_the_files() {
    if !has_fuse() || !is_installed("dieharder") {
        return;
    }
    let (_service, mount) = start_with_files();
    for test in [100, 15] {
        let command = format!(
            "cat {} | dieharder -g 200 -d {test} 2>/dev/null",
            quoted(mount.join("urandom"))
        );
        let output = sh(&command);
        let said = String::from_utf8_lossy(&output.stdout);
        // dieharder says FAILED for less than one in a million.
        let is_judged = said.contains("PASSED") || said.contains("WEAK");
        assert!(is_judged && !said.contains("FAILED"), "{said}");
    }
}

/// rngd tests 2500 bytes of its source before anything else. It feeds the kernel only when that asks, which Linux 5.18
/// and later do not.
#[test]
fn rngd_takes_a_file_as_its_source() {
    if !has_fuse() || !is_installed("rngd") {
        return;
    }
    let (service, mount) = start_with_files();
    let mut command = std::process::Command::new("rngd");
    command
        .args(["--foreground", "--no-drng=1", "--no-tpm=1", "--rng-device"])
        .arg(mount.join("random"))
        .arg("--pid-file")
        .arg(service.folder.path("rngd.pid"));
    let mut rngd = command.spawn().unwrap();
    let until = std::time::Instant::now() + PATIENCE;
    while service.door("random")["bytes"].as_u64().unwrap() < 2500 {
        assert!(std::time::Instant::now() < until, "rngd read nothing");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(rngd.try_wait().unwrap().is_none(), "rngd gave up");
    rngd.kill().unwrap();
    rngd.wait().unwrap();
}

#[test]
fn java_takes_its_seeds_from_a_file() {
    if !has_fuse() || !is_installed("java") {
        return;
    }
    let (service, mount) = start_with_files();
    let source = service.folder.path("Draw.java");
    let program = "public class Draw { public static void main(String[] a) throws Exception {\n\
        byte[] b = java.security.SecureRandom.getInstance(\"NativePRNG\").generateSeed(32);\n\
        System.out.print(b.length); } }";
    fs::write(&source, program).unwrap();
    let random = mount.join("random");
    let output = sh(&format!(
        "java -Djava.security.egd=file:{} {}",
        quoted(random),
        quoted(source)
    ));
    assert_eq!(output.stdout, b"32");
    assert!(service.door("random")["bytes"].as_u64().unwrap() >= 32);
}

/// The JDK's generator of SP 800-90A, with the lines of the page on standards. A process reads the file once.
#[test]
fn javas_drbg_takes_its_seed_from_a_file_and_ends_at_one_that_is_too_short() {
    if !has_fuse() || !is_installed("java") {
        return;
    }
    let (service, mount) = start_with_files();
    let source = service.folder.path("Drbg.java");
    let program = "public class Drbg { public static void main(String[] a) throws Exception {\n\
        var drbg = new java.security.SecureRandom(); drbg.nextBytes(new byte[16]);\n\
        System.out.print(drbg); } }";
    fs::write(&source, program).unwrap();
    let page = include_str!("../../../../docs/explanation/compliance.md");
    let lines = page
        .lines()
        .filter(|line| line.starts_with("securerandom."));
    let lines: Vec<&str> = lines.collect();
    let properties = service.folder.path("java.security");
    let draw = |file: &Path| {
        let file = file.display().to_string();
        let lines = lines
            .join("\n")
            .replace("/run/wellspring/files/random", &file);
        fs::write(&properties, lines + "\n").unwrap();
        Command::new("java")
            .arg(format!(
                "-Djava.security.properties={}",
                properties.display()
            ))
            .arg(&source)
            .output()
            .unwrap()
    };
    let output = draw(&mount.join("random"));
    assert!(
        output.stdout.starts_with(b"Hash_DRBG,SHA-256,256"),
        "{output:?}"
    );
    assert!(service.door("random")["bytes"].as_u64().unwrap() >= 32);
    let short = service.folder.path("short");
    fs::write(&short, [7; 20]).unwrap();
    let output = draw(&short);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("end of file"),
        "{output:?}"
    );
}

#[test]
fn a_program_finds_the_files_in_dev_and_no_other_program_does() {
    let Some(command) = wellspring_with("run") else {
        return;
    };
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let run = format!(
        "{} run --private-dev --files {} -- head -c 1000 /dev/urandom | wc -c",
        quoted(command),
        quoted(mount)
    );
    assert_eq!(sh(&run).stdout.trim_ascii(), b"1000");
    let drawn = service.door("urandom")["bytes"].as_u64().unwrap();
    assert!(drawn >= 1000, "{drawn}");
    sh("head -c 1000 /dev/urandom > /dev/null");
    assert_eq!(service.door("urandom")["bytes"], drawn);
}

// Readers of device files beside each other: shares of users, and what a flood leaves behind.

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
    let file = open(file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
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
