//! Programs that read the device files.

use super::common::{
    PATIENCE, assert_random, has_fuse, is_installed, quoted, sh, start_with_files, wellspring_with,
};
use std::fs;
use std::process::Command;

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
