//! Programs that read /dev/random or /dev/urandom get the service's file where there is one.
//!
//! A device that gives zeros takes the place of that file: the bytes that a program reads then show where they came
//! from.

use crate::common::{can_make_devices, is_installed, run, run_with};
use std::path::Path;
use wellspring_interpose::door_counters::Door;

const ZEROS: &str = "mknod random c 1 5";

#[test]
fn devices_are_opened_as_before_where_the_service_has_no_file() {
    let run = run("exec head -c 16 /dev/urandom", Path::new("")).succeeds();
    assert_eq!(run.output.stdout.len(), 16);
    assert_eq!(run.counts(Door::File).calls, 0);
    assert!(run.counters.programs() >= 1);
}

#[test]
fn programs_read_the_services_file() {
    if !can_make_devices() {
        return;
    }
    for (program, script) in [
        ("head", "exec head -c 16 /dev/urandom"),
        ("dd", "exec dd if=/dev/random bs=16 count=1 status=none"),
        (
            "python3",
            "python3 -c 'import sys; sys.stdout.buffer.write(open(\"/dev/urandom\", \"rb\").read(16))'",
        ),
        (
            "perl",
            "perl -e 'open(F, q(/dev/urandom)); read(F, $x, 16); print $x'",
        ),
    ] {
        if is_installed(program) {
            let read = run_with(ZEROS, script).succeeds();
            assert_eq!(read.output.stdout, [0; 16], "{program}: {}", read.text());
            assert_eq!(read.counts(Door::File).calls, 1, "{program}");
        }
    }
}

#[test]
fn sqlite_takes_its_key_from_the_services_file() {
    if !is_installed("sqlite3") || !can_make_devices() {
        return;
    }
    // SQLite mixes the time and its process number into the key, and reads 256 bytes of the device.
    let script = "exec sqlite3 :memory: 'select hex(randomblob(100))'";
    let read = run_with(ZEROS, script).succeeds();
    assert_eq!(read.output.stdout.len(), 201, "{}", read.text());
    assert_eq!(read.counts(Door::File).calls, 1, "{}", read.text());
}

#[test]
fn java_takes_its_secure_random_from_the_services_file() {
    if !is_installed("keytool") || !can_make_devices() {
        return;
    }
    // keytool is the part of Java that draws on SecureRandom without a program to compile: it makes a key.
    let script = "cd $(mktemp -d -p /run) && \
        keytool -genkeypair -keyalg EC -groupname secp256r1 -keystore k -storepass changeit -dname CN=x -alias a";
    let read = run_with(ZEROS, script).succeeds();
    // The class NativePRNG of Java 17 opens both devices.
    assert!(read.counts(Door::File).calls >= 1, "{}", read.text());
}

/// Another thread may start a program at any moment, and that would inherit a descriptor that only the library knows.
#[test]
fn no_program_inherits_the_second_descriptor_of_a_device() {
    if !is_installed("strace") || !can_make_devices() {
        return;
    }
    let traced = "exec strace -qq -e trace=openat -o /run/calls head -c 16 /dev/urandom";
    let script = format!("({traced}) > /run/bytes && grep wellspring/files /run/calls >&2");
    let read = run_with(ZEROS, &script).succeeds();
    assert!(read.text().contains("O_CLOEXEC"), "{}", read.text());
}

#[test]
fn another_name_and_another_kind_of_file_are_left_alone() {
    if !can_make_devices() {
        return;
    }
    for (file, script) in [
        (ZEROS, "exec head -c 16 /dev/../dev/urandom"),
        (
            "head -c 16 /dev/zero > random",
            "exec head -c 16 /dev/urandom",
        ),
        (
            "mknod random c 1 5 && chown 1 random",
            "exec head -c 16 /dev/urandom",
        ),
    ] {
        let read = run_with(file, script).succeeds();
        assert_eq!(read.output.stdout.len(), 16);
        assert_ne!(read.output.stdout, [0; 16], "{file}: {script}");
        assert_eq!(read.counts(Door::File).calls, 0);
    }
}
