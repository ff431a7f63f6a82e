//! Programs that are installed, each shown to have drawn on us by the counters of the report: by the functions of the C library,
//! by RAND_bytes, and from the service's device files.

use crate::{
    Run, can_make_devices, compile, compile_library, is_installed, library, run, run_with, scratch,
};
use std::path::Path;
use std::process::Command;
use testkit::programs::quoted;
use wellspring_interpose::door_counters::{Door, RAND_BYTES_VARIABLE};

/// Runs a script, and expects at least `bytes` bytes through the doors.
fn draws(program: &str, script: &str, doors: &[Door], bytes: u64) {
    if !is_installed(program) {
        return;
    }
    let run = run(script, Path::new("")).succeeds();
    let counts: Vec<_> = doors.iter().map(|&door| run.counts(door)).collect();
    let sum: u64 = counts.iter().map(|counts| counts.bytes).sum();
    assert!(sum >= bytes, "{program}: {counts:?}\n{}", run.text());
}

#[test]
fn python_draws_on_getrandom() {
    let script = "python3 -c 'import os, secrets; a = os.urandom(5000); b = secrets.token_bytes(5000); assert a != b'";
    draws("python3", script, &[Door::Getrandom], 10_000);
}

#[test]
fn python_threads_and_forks_never_repeat() {
    let script = "python3 -c '
import os, threading
out = []
threads = [threading.Thread(target=lambda: out.extend(os.urandom(16) for _ in range(1000))) for _ in range(4)]
[t.start() for t in threads]
r, w = os.pipe()
pids = []
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        os.write(w, os.urandom(16)); os._exit(0)
    pids.append(pid); out.append(os.urandom(16))
[os.waitpid(p, 0) for p in pids]
[t.join() for t in threads]
out += [os.read(r, 16) for _ in range(8)]
assert len(out) == len(set(out)) == 4016, len(set(out))
'";
    draws("python3", script, &[Door::Getrandom], 4016 * 16);
}

#[test]
fn ssh_keygen_draws_on_arc4random() {
    let script = "d=$(mktemp -d); ssh-keygen -q -t ed25519 -N '' -f $d/key && test -s $d/key.pub; s=$?; rm -r $d; exit $s";
    let doors = [Door::Arc4random, Door::Getentropy, Door::Getrandom];
    draws("ssh-keygen", script, &doors, 32);
}

#[test]
fn openssl_draws_its_seed() {
    let doors = [Door::Getrandom, Door::Getentropy];
    draws("openssl", "openssl rand 100 > /dev/null", &doors, 16);
}

#[test]
fn an_openssl_that_is_loaded_for_one_module_alone_still_works() {
    let script =
        "python3 -c 'import os, ssl; os.urandom(16); assert len(ssl.RAND_bytes(16)) == 16'";
    draws("python3", script, &[Door::Getrandom], 16);
}

#[test]
fn node_draws_its_seed() {
    let doors = [Door::Getrandom, Door::Getentropy, Door::Arc4random];
    let script = "node -e 'require(\"crypto\").randomBytes(100)'";
    draws("node", script, &doors, 16);
}

#[test]
fn a_program_with_a_bad_flag_or_pointer_fails_as_before() {
    let script = "python3 -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
assert libc.getrandom(None, 8, 0) == -1 and ctypes.get_errno() == 14
buffer = ctypes.create_string_buffer(16)
number = {\"x86_64\": 318, \"aarch64\": 278}[os.uname().machine]
assert libc.syscall(number, buffer, 16, 0) == 16 and len(set(buffer.raw)) > 1
assert libc.syscall(number, buffer, 16, 64) == -1 and ctypes.get_errno() == 22
try:
    os.getrandom(8, 64)
    raise SystemExit(1)
except OSError as error:
    assert error.errno == 22
'";
    draws("python3", script, &[Door::Getrandom], 1);
}

#[test]
fn arc4random_is_unbiased_and_fills() {
    let script = "python3 -c '
import ctypes
libc = ctypes.CDLL(None)
if not hasattr(libc, \"arc4random\"):
    raise SystemExit(0)
libc.arc4random_uniform.restype = ctypes.c_uint32
counts = [0] * 6
for _ in range(60000):
    counts[libc.arc4random_uniform(6)] += 1
assert all(9400 < count < 10600 for count in counts), counts
assert libc.arc4random_uniform(0) == 0 and libc.arc4random_uniform(1) == 0
buffer = ctypes.create_string_buffer(1000)
libc.arc4random_buf(buffer, 1000)
assert len(set(buffer.raw)) > 200
'";
    draws("python3", script, &[Door::Arc4random], 241_000);
}

/// By the path of docs/how-to/containers.md, which only glibc's loader finds.
#[test]
fn a_program_of_musl_starts_without_the_library_and_one_of_glibc_with_it() {
    let path = format!("/$LIB/../../../..{}", library().display());
    let draw = |program: &Path| {
        let script = format!("export LD_PRELOAD='{path}'; exec \"$PROGRAM\"");
        let run = run(&script, program).succeeds();
        assert!(run.output.stderr.is_empty(), "{}", run.text());
        run.counts(Door::Getrandom).calls
    };
    let Some(program) = compile("draw.c", &[]) else {
        return;
    };
    assert_eq!(draw(&program), 1);
    if is_installed("musl-gcc") {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/draw.c");
        let program = scratch("musl").join("program");
        let mut compiler = Command::new("musl-gcc");
        compiler.arg(source).arg("-o").arg(&program);
        let _ = testkit::programs::succeeds(&compiler.output().unwrap());
        assert_eq!(draw(&program), 0);
    }
}

#[test]
fn a_first_call_takes_no_lock_of_the_loader() {
    let Some(program) = compile("loader.c", &[]) else {
        return;
    };
    let module = compile_library("loader.c", &["-DMODULE"]);
    let script = format!(
        "export WELLSPRING_CLONE_GUARD=rand; exec \"$PROGRAM\" {}",
        testkit::programs::quoted(&module)
    );
    let _ = run(&script, &program).succeeds();
}

#[test]
fn threads_that_draw_while_one_makes_the_engine_wait_for_it() {
    let Some(program) = compile("harsh.c", &[]) else {
        return;
    };
    // Without the wait, 2 of 60 runs on a busy machine had a read that the kernel answered.
    for _ in 0..60 {
        let counts = run("exec \"$PROGRAM\" together", &program)
            .succeeds()
            .counts(Door::Getrandom);
        assert_eq!((counts.calls, counts.failures), (16, 0));
    }
}

// ---- RAND_bytes ----
// RAND_bytes goes on to the OpenSSL that the caller would have called without us, and draws on wellspring on request.

fn run_asked(script: &str, program: &Path) -> Run {
    run(
        &format!("export {RAND_BYTES_VARIABLE}=1; {script}"),
        program,
    )
}

#[test]
fn each_module_gets_its_own_openssl_unless_a_program_asks_for_ours() {
    let Some(program) = compile("modules.c", &[]) else {
        return;
    };
    let module = |mark: &str| {
        let define = format!("-DMARK={mark}");
        let openssl = compile_library("modules.c", &[&define]);
        compile_library("modules.c", &["-DMODULE", openssl.to_str().unwrap()])
    };
    let (first, second) = (module("17"), module("34"));
    let (first, second) = (quoted(&first), quoted(&second));
    let script = format!("exec \"$PROGRAM\" {first} 17 {second} 34");
    let own = run(&script, &program).succeeds();
    assert_eq!(own.counts(Door::RandBytes).calls, 0);
    let script = format!("exec \"$PROGRAM\" {first} random {second} random");
    let ours = run_asked(&script, &program).succeeds();
    // Two rounds over two modules with two functions. Each function draws 1000 bytes three times.
    assert_eq!(ours.counts(Door::RandBytes).calls, 24);
    assert_eq!(ours.counts(Door::RandBytes).bytes, 24_000);
    // The test can fail: a wrong mark is seen.
    let script = format!("exec \"$PROGRAM\" {first} 34");
    assert!(!run(&script, &program).output.status.success());
}

#[test]
fn python_draws_on_request_and_works_without() {
    if !is_installed("python3") {
        return;
    }
    let script = "python3 -c '
import os, ssl, threading
assert ssl.RAND_bytes(0) == b\"\" and len(ssl.RAND_bytes(1)) == 1
out = []
threads = [threading.Thread(target=lambda: out.extend(ssl.RAND_bytes(16) for _ in range(500))) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
r, w = os.pipe()
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        os.write(w, ssl.RAND_bytes(16)); os._exit(0)
    os.waitpid(pid, 0); out.append(ssl.RAND_bytes(16))
out += [os.read(r, 16) for _ in range(8)]
assert len(set(out)) == 2016, len(set(out))
ssl.create_default_context()
try:
    ssl.RAND_bytes(-1)
    raise SystemExit(1)
except ValueError:
    pass
'";
    let without = run(script, Path::new("")).succeeds();
    assert_eq!(without.counts(Door::RandBytes).calls, 0);
    let asked = run_asked(script, Path::new("")).succeeds();
    let counts = asked.counts(Door::RandBytes);
    if counts.calls == 0 {
        eprintln!("SKIPPED: this Python has an OpenSSL of its own inside");
        return;
    }
    assert!(
        counts.bytes > 2016 * 16 && counts.threads >= 5,
        "{counts:?}"
    );
}

#[test]
fn openssl_rand_draws_on_request() {
    if !is_installed("openssl") {
        return;
    }
    let script = "openssl rand -hex 5000 | wc -c";
    for is_asked in [false, true] {
        let run = if is_asked { run_asked } else { run }(script, Path::new("")).succeeds();
        assert_eq!(run.output.stdout, b"10001\n");
        let counts = run.counts(Door::RandBytes);
        assert_eq!(counts.bytes >= 5000, is_asked, "{counts:?}");
    }
}

#[test]
fn a_process_without_openssl_gets_bytes_and_no_endless_call() {
    if !is_installed("python3") {
        return;
    }
    let script = "python3 -c '
import ctypes
function = ctypes.CDLL(None).RAND_bytes
buffer = ctypes.create_string_buffer(100)
assert function(buffer, 100) == 1 and len(set(buffer.raw)) > 20
assert function(buffer, 0) == 1 and function(None, 0) == 1
assert function(buffer, -1) == 0 and function(None, 100) == 0
'";
    for run in [run, run_asked] {
        let run = run(script, Path::new("")).succeeds();
        assert!(run.counts(Door::RandBytes).bytes >= 100, "{}", run.text());
    }
}

// ---- /dev/random and /dev/urandom ----
// Programs that read /dev/random or /dev/urandom get the service's file where there is one.
//
// A device that gives zeros takes the place of that file: the bytes that a program reads then show where they came
// from.

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
