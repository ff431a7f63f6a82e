//! Programs that are installed, each shown to have drawn on us by the counters of the report.

use crate::common::{compile, compile_library, is_installed, library, run, scratch};
use std::path::Path;
use std::process::Command;
use wellspring_interpose::door_counters::Door;

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
    let Some(program) = compile("together.c", &[]) else {
        return;
    };
    // Without the wait, 2 of 60 runs on a busy machine had a read that the kernel answered.
    for _ in 0..60 {
        let counts = run("exec \"$PROGRAM\"", &program)
            .succeeds()
            .counts(Door::Getrandom);
        assert_eq!((counts.calls, counts.failures), (16, 0));
    }
}
