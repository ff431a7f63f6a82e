//! `run --repeat`: the same bytes in every run with a seed, others without, and none for root.

use crate::common::{self, build_libraries, cannot_repeat, is_installed, stderr};
use std::process::{Command, Output};
use testkit::programs::{AS_USER, can_be_user, in_list, is_success, quoted, scratch};

/// Runs a shell script with options of `run`, by a user who is not root, in a new folder.
fn run(options: &str, script: &str) -> Output {
    build_libraries();
    let command = common::quoted_command();
    Command::new("sh")
        .arg("-c")
        .arg(format!(
            "exec timeout --signal=KILL 120 {AS_USER} {command} run {options} -- sh -c \"$SCRIPT\""
        ))
        .env("SCRIPT", script)
        .env("XDG_RUNTIME_DIR", scratch("runtime"))
        .current_dir(scratch("repeat"))
        .output()
        .unwrap()
}

fn text(options: &str, script: &str) -> String {
    let output = run(options, script);
    assert!(output.status.success(), "{options}: {output:?}");
    let is_loud = stderr(&output).contains("FOLLOW FROM THE SEED. FOR TESTS ALONE");
    assert_eq!(is_loud, options.contains("--repeat"), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Two runs with a seed give the same text of `lines` lines; another seed and no seed give other
/// texts.
fn repeats(script: &str, lines: usize) {
    let first = text("--repeat 7", script);
    assert_eq!(first.lines().count(), lines, "{first}");
    let others = [
        text("--repeat 0x7", script),
        text("--repeat 8", script),
        text("", script),
        text("", script),
    ];
    assert_eq!(first, others[0]);
    let mut all = vec![&first];
    for other in &others[1..] {
        for one in &all {
            assert!(
                one.lines()
                    .zip(other.lines())
                    .all(|(one, other)| one != other)
            );
        }
        all.push(other);
    }
    let mut lines: Vec<&str> = first.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), first.lines().count(), "a line comes twice");
}

fn can_run(programs: &[&str]) -> bool {
    can_be_user()
        && !cannot_repeat(&run("--repeat 7", "true"))
        && programs.iter().all(|program| is_installed(program))
}

#[test]
fn python_draws_the_same_in_itself_in_threads_and_in_children() {
    if !can_run(&["python3"]) {
        return;
    }
    repeats(
        r#"cat > p.py <<'END'
import os, random, ssl, threading, uuid
print(os.urandom(16).hex())
print(os.urandom(5000).hex())
print(random.random())
print(uuid.uuid4())
print(hash("text"))
print(ssl.RAND_bytes(16).hex())
for _ in range(2):
    thread = threading.Thread(target=lambda: print(os.urandom(16).hex(), ssl.RAND_bytes(16).hex()))
    thread.start()
    thread.join()
# Both children live before either draws, and the second draws first.
ends = [os.pipe(), os.pipe()]
pids = []
for first in (True, False):
    pid = os.fork()
    if pid == 0:
        if first:
            os.read(ends[0][0], 1)
        print(first, os.urandom(16).hex(), ssl.RAND_bytes(16).hex(), flush=True)
        os.write(ends[0][1], b"x")
        os._exit(0)
    pids.append(pid)
    if not first:
        for pid in reversed(pids):
            os.waitpid(pid, 0)
print(os.urandom(16).hex())
END
python3 -u p.py; python3 -c 'import os; print(os.urandom(16).hex())'"#,
        12,
    );
}

/// The guard of rand(3) takes its seed from elsewhere, and the program's own draws go on as before.
#[test]
fn python_draws_the_same_after_a_notice_of_a_clone() {
    if !can_run(&["python3"]) {
        return;
    }
    let command = quoted(env!("CARGO_BIN_EXE_wellspring").as_ref());
    let script = r#"cat > p.py <<'END'
import ctypes, os, subprocess
def bump():
    command = [os.environ["COMMAND"], "generation", "bump", "--page", os.environ["WELLSPRING_PAGE"]]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
rand = ctypes.CDLL(None).rand
assert rand() == 1804289383
print(os.urandom(16).hex())
bump()
assert rand() != 846930886, "no notice"
print(os.urandom(16).hex())
END
export WELLSPRING_CLONE_GUARD=rand WELLSPRING_PAGE="$PWD/page"
"$COMMAND" generation bump --page "$WELLSPRING_PAGE" > number && python3 p.py"#;
    repeats(&format!("export COMMAND={command}\n{script}"), 2);
}

#[test]
fn openssl_makes_the_same_key_and_serial_number() {
    if can_run(&["openssl"]) {
        repeats(
            "openssl req -config /dev/null -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x \
             -keyout k.pem -out c.pem 2> log && sed -n 2p k.pem | cut -c 49- && sed -n 3p k.pem && \
             openssl x509 -in c.pem -noout -serial && openssl rand -hex 16",
            4,
        );
    }
}

#[test]
fn nginx_gives_requests_the_same_names() {
    if !can_run(&["nginx", "curl"]) {
        return;
    }
    repeats(
        r#"cat > nginx.conf <<'END'
daemon off; pid n.pid; error_log stderr; worker_processes 1; events {}
http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4;
       scgi_temp_path t5; server { listen unix:socket; return 200 "$request_id\n"; } }
END
nginx -p "$PWD" -c nginx.conf & i=0
until [ -S socket ]; do sleep 0.1; i=$((i+1)); [ $i -lt 300 ] || exit 3; done
for i in 1 2 3; do env -u LD_PRELOAD -u OPENSSL_CONF curl -sS --unix-socket socket http://localhost/ || exit 4; done
kill $!; wait $!"#,
        3,
    );
}

#[test]
fn root_programs_with_more_rights_than_their_caller_and_static_ones_are_refused() {
    build_libraries();
    let refused = |output: &Output, status: i32, reason: &str| {
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(stderr(output).contains(reason), "{}", stderr(output));
    };
    if is_success("test $(id -u) = 0") {
        let output = common::run("run --repeat 7 -- true");
        refused(&output, 2, "not for root");
        // Nor without the command.
        let library = common::library("libwellspring_preload.so");
        let output = Command::new("true")
            .env("LD_PRELOAD", in_list(&library))
            .env("WELLSPRING_REPEAT", "/dev/zero")
            .output()
            .unwrap();
        refused(&output, 126, "not for processes of root");
    }
    let command = common::quoted_command();
    if can_run(&["python3"]) {
        let program = scratch("set-user-id").join("program");
        let made = format!(
            "p={}; cp /bin/true \"$p\" && chown 1234 \"$p\" && chmod 4755 \"$p\"",
            quoted(&program)
        );
        if is_success(&made) {
            let line = format!("{AS_USER} {command} run --repeat 7 -- {}", quoted(&program));
            let output = common::shell(&line);
            refused(&output, 2, "more rights than its caller");
        } else {
            testkit::skipped("a file cannot be given away");
        }
        // Nor with another file than the page, which stays as it was.
        let letter = scratch("letter").join("letter");
        std::fs::write(&letter, "Dear reader".repeat(1000)).unwrap();
        let library = common::library("libwellspring_preload.so");
        let draw = "python3 -c 'import os; os.urandom(16)'";
        let line = format!(
            "exec {AS_USER} env WELLSPRING_REPEAT={} LD_PRELOAD={} {draw}",
            quoted(&letter),
            quoted(&in_list(&library))
        );
        let output = common::shell(&line);
        refused(&output, 126, "is another file");
        assert_eq!(
            std::fs::read_to_string(&letter).unwrap(),
            "Dear reader".repeat(1000)
        );
        // Nor with another user's file, which is refused for another reason.
        if std::os::unix::fs::chown(&letter, Some(1234), None).is_ok() {
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            refused(&output, 126, "is another user's");
        }
    }
    let folder = scratch("static");
    let compiled = format!(
        "cd {} && echo 'int main(void) {{ return 0; }}' > s.c && cc -static s.c -o s",
        quoted(&folder)
    );
    if !is_success(&compiled) {
        testkit::skipped("a static program cannot be compiled");
    } else if can_run(&[]) {
        let line = format!(
            "{AS_USER} {command} run --repeat 7 -- {}/s",
            quoted(&folder)
        );
        let output = common::shell(&line);
        refused(&output, 2, "is static");
    }
    for wrong in [
        "run --repeat many -- true",
        "run --repeat 7 --private-dev -- true",
    ] {
        assert_eq!(common::run(wrong).status.code(), Some(2), "{wrong}");
    }
}
