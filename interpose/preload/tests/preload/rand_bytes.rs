//! RAND_bytes goes on to the OpenSSL that the caller would have called without us, and draws on wellspring on request.

use crate::common::{Run, compile, compile_library, is_installed, run};
use std::path::Path;
use testkit::programs::quoted;
use wellspring_interpose::door_counters::{Door, RAND_BYTES_VARIABLE};

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
        let openssl = compile_library("local_openssl.c", &[&define]);
        compile_library("module.c", &[openssl.to_str().unwrap()])
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
