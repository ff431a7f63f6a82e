//! `run`: programs draw on wellspring, the report says how much, and their status is ours.
//!
//! ```text
//! names          the names in a program's environment, and what outlives the command
//! openssl        the configuration of OpenSSL; --repeat: the same bytes in every run
//! host_programs  what each door adds to its host program, compared with the documentation
//! ```

mod host_programs;
mod names;
mod openssl;

use crate::{build_libraries, ended_by_signals, is_installed, stderr};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};

fn command(options: &[&str], program: &[&str]) -> Command {
    build_libraries();
    let mut command = crate::wellspring("run");
    command.args(options).arg("--").args(program);
    command
}

fn run(options: &[&str], program: &[&str]) -> Output {
    command(options, program).output().unwrap()
}

/// Starts the command with a script that prints a line when it is ready, and returns what reads the rest.
fn started(script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = command(&["--preload"], &["sh", "-c", script]);
    let command = ended_by_signals(&mut command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, reader)
}

/// Sends a signal to the command, by its number alone.
fn send(signal: i32, child: &Child) {
    // SAFETY: no pointers; the child was not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

/// The number before a word, in the line of a door.
fn number(report: &str, door: &str, word: &str) -> u64 {
    let line = report
        .lines()
        .find(|line| line.contains(door))
        .unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|found| *found == word);
    place.map_or(0, |place| words[place + 1].parse().unwrap())
}

#[test]
fn a_report_counts_what_python_drew_through_both_doors() {
    if !is_installed("python3") {
        return;
    }
    let script = "import os, ssl; [os.urandom(100) for _ in range(50)]; [ssl.RAND_bytes(10) for _ in range(30)]";
    let output = run(&["--report"], &["python3", "-c", script]);
    assert!(output.status.success(), "{output:?}");
    let report = stderr(&output);
    assert!(number(report, "getrandom", "bytes") >= 5000, "{report}");
    assert!(number(report, "getrandom", "calls") >= 50, "{report}");
    assert!(number(report, "getrandom", "threads") >= 1, "{report}");
    // A Python with an OpenSSL of its own, and without a configuration, draws its seed alone.
    assert!(number(report, "provider WELLSPRING", "calls") >= 30 || !report.contains("provider"));
}

#[test]
fn a_report_counts_the_threads_of_forked_children() {
    if !is_installed("python3") {
        return;
    }
    // The parent has drawn when it forks: the thread that goes on in each child knows that it was counted.
    let script = "
import os
os.getrandom(100)
for _ in range(4):
    if os.fork() == 0:
        os.getrandom(100), os.getrandom(100)
        os._exit(0)
for _ in range(4):
    os.wait()";
    let output = run(&["--preload", "--report"], &["python3", "-c", script]);
    let report = stderr(&output);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(number(report, "getrandom", "threads"), 5, "{report}");
}

#[test]
fn files_that_no_option_would_use_are_an_error() {
    for others in [
        &["--preload"][..],
        &["--openssl"],
        &["--rand-bytes"],
        &["--report"],
        &[],
        &["--private-dev", "--preload"],
        &["--private-dev", "--rand-bytes"],
    ] {
        let options = [others, &["--files", "/tmp"]].concat();
        let output = run(&options, &["true"]);
        assert_eq!(output.status.code(), Some(2), "{others:?}: {output:?}");
        let error = stderr(&output);
        assert!(
            error.contains("--private-dev") || error.contains("--files"),
            "{error}"
        );
    }
}

#[test]
fn each_door_can_be_set_up_alone() {
    if !is_installed("openssl") {
        return;
    }
    let rand = ["openssl", "rand", "-hex", "1000"];
    let output = run(&["--openssl", "--report"], &rand);
    let report = stderr(&output);
    assert!(
        number(report, "provider WELLSPRING", "bytes") >= 1000,
        "{report}"
    );
    assert!(!report.contains("the preload library"), "{report}");
    let output = run(&["--preload", "--report"], &rand);
    let report = stderr(&output);
    assert!(!report.contains("provider"), "{report}");
    assert!(
        report.contains("1 program loaded the preload library"),
        "{report}"
    );
    assert_eq!(output.stdout.len(), 2001);
}

#[test]
fn rand_bytes_of_openssl_is_replaced_on_request_only() {
    if !is_installed("openssl") {
        return;
    }
    let rand = ["openssl", "rand", "-hex", "1000"];
    let output = run(&["--preload", "--rand-bytes", "--report"], &rand);
    let report = stderr(&output);
    assert!(number(report, "RAND_bytes", "bytes") >= 1000, "{report}");
    // Without the option a call goes on to OpenSSL, and OpenSSL to the provider.
    let output = run(&["--report"], &rand);
    let report = stderr(&output);
    assert!(!report.contains("RAND_bytes"), "{report}");
    assert!(
        number(report, "provider WELLSPRING", "bytes") >= 1000,
        "{report}"
    );
}

/// Shuffles cards with std::random_device, from the source that the token names. Status 3: it knows no such source.
const SHUFFLE: &str = "
#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>
int main(int, char **words) try {
    std::random_device device(words[1]);
    std::vector<int> sorted(52);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::vector<int> cards = sorted;
    std::shuffle(cards.begin(), cards.end(), device);
    bool is_moved = cards != sorted;
    std::sort(cards.begin(), cards.end());
    return is_moved && cards == sorted ? 0 : 1;
} catch (const std::runtime_error &) {
    return 3;
}
";

#[test]
fn a_shuffle_in_cpp_draws_on_getentropy_and_arc4random() {
    if !is_installed("c++") {
        return;
    }
    let source = crate::Scratch::new("shuffle.cpp");
    let program = crate::Scratch::new("shuffle");
    std::fs::write(&source.0, SHUFFLE).unwrap();
    let built = Command::new("c++")
        .args(["-std=c++17", "-o", program.path(), source.path()])
        .output()
        .unwrap();
    assert!(built.status.success(), "{built:?}");
    for token in ["getentropy", "arc4random"] {
        let output = run(&["--preload", "--report"], &[program.path(), token]);
        if output.status.code() == Some(3) {
            eprintln!("SKIPPED: this C++ library has no random_device of {token}");
            continue;
        }
        let report = stderr(&output);
        assert!(output.status.success(), "{token}: {output:?}");
        // Two cards take one word of 4 bytes.
        assert!(number(report, token, "calls") >= 26, "{token}: {report}");
        assert!(number(report, token, "bytes") >= 104, "{token}: {report}");
    }
}

#[test]
fn the_status_and_the_arguments_are_the_programs() {
    let output = run(
        &[],
        &[
            "sh",
            "-c",
            "printf '%s,' \"$@\"; exit 7",
            "sh",
            "--report",
            "a b",
            "--",
        ],
    );
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"--report,a b,--,");
    let output = run(&[], &["sh", "-c", "kill -TERM $$"]);
    assert_eq!(output.status.code(), Some(128 + 15));
    let output = run(&[], &["/nonexistent/program"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(stderr(&output).contains("/nonexistent/program"));
    let output = run(&[], &["/etc/passwd"]);
    assert_eq!(output.status.code(), Some(126));
}

#[test]
fn a_signal_to_the_command_reaches_the_program() {
    for (signal, name) in [
        (libc::SIGTERM, "TERM"),
        (libc::SIGINT, "INT"),
        (libc::SIGHUP, "HUP"),
        (libc::SIGUSR1, "USR1"),
        (libc::SIGALRM, "ALRM"),
    ] {
        let script =
            format!("trap 'echo caught; exit 3' {name}; echo ready; while :; do sleep 0.05; done");
        let (mut child, mut reader) = started(&script);
        send(signal, &child);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "caught\n", "{name}");
        assert_eq!(child.wait().unwrap().code(), Some(3), "{name}");
    }
}

#[test]
fn a_program_that_ignores_a_signal_is_waited_for() {
    let script = "trap '' TERM; echo ready; read line; echo $line; exit 4";
    let (mut child, mut reader) = started(script);
    send(libc::SIGTERM, &child);
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"goes on\n").unwrap();
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "goes on\n");
    assert_eq!(child.wait().unwrap().code(), Some(4));
}

#[test]
fn a_program_that_a_signal_ends_does_not_outlive_the_command() {
    let (mut child, mut reader) = started("echo ready; exec sleep 1000");
    send(libc::SIGTERM, &child);
    assert_eq!(child.wait().unwrap().code(), Some(128 + libc::SIGTERM));
    // The end of the file: no process has the other end of the pipe any more.
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_key_of_the_terminal_interrupts_the_program_once() {
    if !is_installed("python3") {
        return;
    }
    // The program is in the foreground group of the terminal, as the command is. It counts, and ends with the count
    // when a line comes. It writes without a buffer: print() in a handler that interrupts another print() is an error.
    let program = "import os, signal, sys; n = 0\ndef count(*_):\n global n; n += 1; os.write(1, b'interrupted')\n\
                   signal.signal(signal.SIGINT, count); os.write(1, b'ready')\n\
                   sys.stdin.readline(); sys.exit(10 + n)";
    // Without NOFLSH the terminal throws away what was written since it sent the signal. A read fails when no process has
    // the terminal any more.
    let terminal = "import os, pty, signal, sys, termios\nchild, end = pty.fork()\n\
                    if child == 0:\n\
                    \x20settings = termios.tcgetattr(0); settings[3] |= termios.NOFLSH\n\
                    \x20termios.tcsetattr(0, termios.TCSANOW, settings); os.execv(sys.argv[1], sys.argv[1:])\n\
                    signal.alarm(120)\n\
                    seen = b''\ndef wait(word):\n global seen\n while word not in seen:\n\
                    \x20 try: seen += os.read(end, 1000)\n\
                    \x20 except OSError: sys.exit(f'it ended before {word}: {seen}')\n\
                    wait(b'ready'); os.write(end, b'\\x03'); wait(b'interrupted'); os.write(end, b'\\n')\n\
                    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))";
    let run = command(&["--preload"], &["python3", "-c", program]);
    let mut python = Command::new("python3");
    python.args(["-c", terminal]).arg(run.get_program());
    let output = python.args(run.get_args()).output().unwrap();
    assert_eq!(output.status.code(), Some(11), "{output:?}");
}

#[test]
fn a_caller_that_ignores_the_end_of_its_children_gets_the_status() {
    if !is_installed("python3") {
        return;
    }
    let script = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])";
    let run = command(&["--preload"], &["sh", "-c", "exit 5"]);
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(run.get_program());
    let output = python.args(run.get_args()).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
}

#[test]
fn a_static_program_is_named_as_out_of_reach() {
    if !is_installed("cc") {
        return;
    }
    let source = crate::Scratch::new("static.c");
    let program = crate::Scratch::new("static");
    std::fs::write(&source.0, "int main(void) { return 0; }").unwrap();
    let built = Command::new("cc")
        .args(["-static", "-o", program.path(), source.path()])
        .output();
    if !built.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no static C library");
        return;
    }
    let output = run(&["--report"], &[program.path()]);
    assert!(output.status.success());
    let report = stderr(&output);
    for fact in [
        "is static",
        "--private-dev",
        "0 programs loaded",
        "drew no random bytes",
    ] {
        assert!(report.contains(fact), "{fact}: {report}");
    }
}

#[test]
fn without_a_program_there_is_an_error_in_one_line() {
    let output = crate::run("run");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output).lines().count(), 1, "{output:?}");
}
