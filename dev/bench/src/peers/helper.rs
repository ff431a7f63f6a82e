//! Peers in other languages: processes that are told what to do over a pipe, and time it themselves.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wellspring_bench::clock::Clock;
use wellspring_bench::contender::{Contender, Family, Runner, Work};
use wellspring_bench::histogram::Histogram;

/// A process at the other end of two pipes.
struct Helper {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Helper {
    /// `None` where the process does not start or does not answer, as without NumPy.
    fn start(command: &mut Command) -> Option<Self> {
        let pipes = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = pipes.spawn().ok()?;
        let requests = process.stdin.take()?;
        let answers = BufReader::new(process.stdout.take()?);
        let mut helper = Self {
            process,
            requests,
            answers,
        };
        helper.ask("crypto", 32, 1).map(|_| helper)
    }

    fn ask(&mut self, name: &str, bytes: usize, requests: u64) -> Option<Duration> {
        writeln!(self.requests, "{name} {bytes} {requests}").ok()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).ok()?;
        answer.trim().parse().ok().map(Duration::from_nanos)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // Killing it loses nothing.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A generator of a helper.
struct Remote {
    helper: Arc<Mutex<Helper>>,
    name: &'static str,
}

impl Runner for Remote {
    fn run(&mut self, work: Work, requests: u64, _: &mut [u8]) -> Duration {
        let mut helper = self
            .helper
            .lock()
            .expect("no thread panics with the helper");
        let answer = helper.ask(self.name, work.bytes(), requests);
        answer.expect("the helper answers as it did at first")
    }

    /// A call over a pipe cannot be timed one by one; no peer takes part in that.
    fn time_calls(&mut self, _: &Clock, _: u64, _: &mut Histogram) {}
}

pub(super) fn peers() -> Vec<Contender> {
    let fills = [32, 4096, 1 << 20].map(Work::Fill);
    let contender = |helper: &Arc<Mutex<Helper>>, title: &str, name, family, works: &[Work]| {
        let helper = helper.clone();
        let make = move || Remote {
            helper: helper.clone(),
            name,
        };
        Contender::new(title, family, works, make)
    };
    let mut peers = Vec::new();
    if let Some(go) = go().map(|go| Arc::new(Mutex::new(go))) {
        peers.push(contender(
            &go,
            "Go crypto/rand",
            "crypto",
            Family::Peer,
            &fills,
        ));
        peers.push(contender(
            &go,
            "Go math/rand/v2",
            "word",
            Family::Peer,
            &[Work::Word],
        ));
    }
    if let Some(numpy) = numpy().map(|numpy| Arc::new(Mutex::new(numpy))) {
        peers.push(contender(
            &numpy,
            "NumPy default_rng",
            "bytes",
            Family::Statistical,
            &fills[1..],
        ));
    }
    peers
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("helpers")
        .join(name)
}

/// Builds the program first: `go run` would leave a process behind when it is killed.
fn go() -> Option<Helper> {
    let program = std::env::temp_dir().join(format!("wellspring-peer-go-{}", std::process::id()));
    let mut build = Command::new("go");
    build
        .arg("build")
        .arg("-o")
        .arg(&program)
        .arg(source("peer.go"));
    let built = build
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let helper = built
        .then(|| Helper::start(&mut Command::new(&program)))
        .flatten();
    // If it does not answer now, it is treated as missing. So the file is not needed any more.
    let _ = std::fs::remove_file(&program);
    helper
}

fn numpy() -> Option<Helper> {
    Helper::start(Command::new("python3").arg(source("peer.py")))
}
