//! Self-tests of the service with a real fault: a bit that flips in a table of SHA-256, in the memory of the running service
//! and in a copy of its file.

use super::common::{
    Folder, Service, copy_program, has_fuse, is_root, start_with_files_and, wellspringd,
};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The first numbers of FIPS 180-4, 4.2.2, as the program has them.
fn table() -> Vec<u8> {
    let numbers: [u32; 4] = [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5];
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// Where the program has the table: its places in the file.
fn places(program: &Path) -> Vec<u64> {
    let (bytes, table) = (fs::read(program).unwrap(), table());
    let all = bytes.windows(table.len()).enumerate();
    let found = all.filter(|(_, window)| **window == table);
    let found: Vec<u64> = found.map(|(place, _)| place as u64).collect();
    assert!(!found.is_empty(), "the program has no table");
    found
}

/// Flips a bit of a file.
fn flip(file: &File, place: u64) -> std::io::Result<()> {
    let mut byte = [0];
    file.read_exact_at(&mut byte, place)?;
    file.write_all_at(&[byte[0] ^ 1], place)
}

/// Flips a bit of the table in the memory of the service, as a fault of the memory does. Returns `false` where the kernel
/// refuses that.
fn flip_in_memory(service: &Service) -> bool {
    let process = format!("/proc/{}", service.child.id());
    let program = fs::read_link(format!("{process}/exe")).unwrap();
    let maps = fs::read_to_string(format!("{process}/maps")).unwrap();
    let memory = OpenOptions::new()
        .read(true)
        .write(true)
        .open(format!("{process}/mem"));
    let memory = memory.unwrap();
    for place in places(&program) {
        let address = maps.lines().find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |digits| u64::from_str_radix(digits, 16).unwrap();
            let (start, end) = fields[0].split_once('-').unwrap();
            let (start, end, offset) = (number(start), number(end), number(fields[2]));
            let path = line.find('/').map(|start| Path::new(&line[start..]));
            let is_here =
                path == Some(&program) && (offset..offset + (end - start)).contains(&place);
            is_here.then(|| start + place - offset)
        });
        if let Err(error) = flip(&memory, address.unwrap()) {
            eprintln!(
                "SKIPPED: the kernel refuses to change the memory of another process: {error}"
            );
            return false;
        }
    }
    true
}

/// The number of bytes that EGD gives at once, of 16.
fn bytes_of_egd(service: &Service) -> u8 {
    let mut egd = service.socket("egd.sock");
    egd.write_all(&[1, 16]).unwrap();
    let mut count = [0];
    egd.read_exact(&mut count).unwrap();
    count[0]
}

const FAILURE: &str = "a self-test failed: SHA-256";

#[test]
fn a_bit_that_flips_in_code_that_no_known_answer_reaches_ends_all_output() {
    let service = Service::start("");
    assert_eq!(service.get("/self-test"), "passed\n");
    let process = format!("/proc/{}", service.child.id());
    let maps = fs::read_to_string(format!("{process}/maps")).unwrap();
    let is_code = |line: &&str| line.contains(" r-xp ") && line.ends_with("/wellspringd");
    let line = maps.lines().find(is_code).unwrap();
    let (start, _) = line.split_once('-').unwrap();
    let start = u64::from_str_radix(start, 16).unwrap();
    let mut options = OpenOptions::new();
    let memory = options
        .read(true)
        .write(true)
        .open(format!("{process}/mem"));
    // The first byte that is mapped as code, which no thread runs.
    if let Err(error) = memory.and_then(|memory| flip(&memory, start)) {
        eprintln!("SKIPPED: the kernel refuses to change the memory of another process: {error}");
        return;
    }
    let failure = "a self-test failed: the code differs from its file";
    assert_eq!(service.get("/self-test"), format!("{failure}\n"));
    assert_eq!(bytes_of_egd(&service), 0);
    assert_eq!(service.status()["self_test"]["failure"], failure);
}

#[test]
fn a_bit_that_flips_in_the_running_service_ends_all_output_at_the_next_self_test() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let seed_file = folder.path("state/seed");
    fs::create_dir(folder.path("state")).unwrap();
    let more = format!("[engine]\nseed_file = \"{}\"\n", seed_file.display());
    let mut command = wellspringd();
    command.arg("--config").arg(folder.configure(&more));
    command.env("WATCHDOG_USEC", "10000000");
    let mut service = Service::spawn(folder, &mut command);
    assert_eq!(service.get("/self-test"), "passed\n");
    assert_eq!(service.status()["self_test"]["runs"], 2);
    assert!(
        service
            .get("/metrics")
            .contains("wellspring_self_test_passed 1\n")
    );
    assert_eq!(bytes_of_egd(&service), 16);

    if !flip_in_memory(&service) {
        return;
    }
    // Twice: the state stays, and the log has one line.
    for _ in 0..2 {
        assert_eq!(service.get("/self-test"), format!("{FAILURE}\n"));
    }
    let seed = fs::read(&seed_file).unwrap();
    assert_eq!(bytes_of_egd(&service), 0);
    let status = service.status();
    assert_eq!(status["self_test"]["failure"], FAILURE);
    assert!(
        status["problems"][0].as_str().unwrap().contains(FAILURE),
        "{status}"
    );
    let metrics = service.get("/metrics");
    for line in ["wellspring_self_test_passed 0\n", "wellspring_ready 0\n"] {
        assert!(metrics.contains(line), "no {line} in: {metrics}");
    }
    let words = format!("{FAILURE}: nothing is handed out");
    assert_eq!(
        service.log().matches(&words).count(),
        1,
        "{}",
        service.log()
    );
    service.drop_notices();
    let told = service.notices_within(Duration::from_secs(3));
    assert!(
        !told.contains("WATCHDOG=1"),
        "systemd starts it again: {told}"
    );

    assert_eq!(service.end("-TERM").code(), Some(1));
    assert!(
        service
            .log()
            .ends_with(&format!("wellspringd: {FAILURE}\n"))
    );
    assert!(
        fs::read(&seed_file).unwrap() == seed,
        "no seed of a wrong generator"
    );
}

#[test]
fn the_self_test_at_intervals_finds_a_fault_and_the_device_files_give_nothing_then() {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files_and("[engine]\nself_test_interval_s = 1\n");
    for name in ["random", "urandom", "pseudo"] {
        File::open(mount.join(name))
            .unwrap()
            .read_exact(&mut [0; 16])
            .unwrap();
    }
    if !flip_in_memory(&service) {
        return;
    }
    service.wait_for_log(FAILURE);
    for name in ["random", "urandom", "pseudo"] {
        let read = File::open(mount.join(name)).unwrap().read(&mut [0; 16]);
        assert!(read.is_err(), "{name}: {read:?}");
    }
}

#[test]
fn a_service_whose_file_has_a_flipped_bit_does_not_start_and_writes_no_seed() {
    let folder = Folder::new();
    let program = folder.path("wellspringd");
    copy_program(env!("CARGO_BIN_EXE_wellspringd"), &program);
    // In a child: a file that this process has open for writing cannot be run by another test's child.
    for place in places(&program) {
        let script = format!(
            "printf '\\{:03o}' | dd of=\"$0\" bs=1 seek={place} conv=notrunc status=none",
            table()[0] ^ 1
        );
        let changed = Command::new("sh")
            .args(["-c", &script])
            .arg(&program)
            .status();
        assert!(changed.unwrap().success());
    }
    let seed_file = folder.path("state/seed");
    fs::create_dir(folder.path("state")).unwrap();
    let more = format!("[engine]\nseed_file = \"{}\"\n", seed_file.display());
    let mut command = Command::new(&program);
    command.arg("--config").arg(folder.configure(&more));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.ends_with(&format!("wellspringd: the engine: {FAILURE}\n")),
        "{told}"
    );
    assert!(!seed_file.exists());
}
