//! The ways to the bytes of a device file, those through the kernel's page cache among them. Two programs of two users try
//! each way at the same time: they get different bytes, or an error.

use super::common::{PATIENCE, has_fuse, start_with_files};
use super::ways::{Refused, Served, WANTED, WAYS, map, touch};
use rustix::mm::{MapFlags, ProtFlags};
use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// In the environment of a program that is one of the two: its way, its user and its file.
const MARK: &str = "WELLSPRING_TEST_WAY";
const NAME: &str = "cache::no_way_gives_two_users_the_same_bytes";

#[test]
fn no_way_gives_two_users_the_same_bytes() {
    if let Ok(mark) = env::var(MARK) {
        return play(&mark);
    }
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let path = mount.join("random");
    let mut faults = Vec::new();
    for (place, (name, _, wanted)) in WAYS.iter().enumerate() {
        let mut programs = [60_001, 60_002].map(|user| {
            let mark = format!("{place} {user} {}", path.display());
            Program::start(NAME, &mark)
        });
        programs.iter_mut().for_each(Program::prepare);
        let got = programs.map(Program::finish);
        let zeros = "00".repeat(WANTED);
        let fault = match &got {
            [Some(first), Some(second)] if first == second => "two users have the same bytes",
            _ if got.iter().flatten().any(|bytes| *bytes == zeros) => "zeros",
            _ if *wanted == Served && got.contains(&None) => "not served",
            _ if *wanted == Refused && got != [None, None] => "served",
            _ => continue,
        };
        faults.push(format!("{name}: {fault}"));
    }
    assert!(faults.is_empty(), "{faults:#?}");
    drop(service);
}

/// Linux asks the service again and again for such a mapping, until the program is killed.
#[test]
fn a_mapping_that_is_filled_at_once_gets_nothing() {
    if let Ok(path) = env::var(MARK) {
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        let mapped = map(Path::new(&path), flags, ProtFlags::READ, touch);
        println!("got {:?}", mapped.and_then(|take| take()));
        return;
    }
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let name = "cache::a_mapping_that_is_filled_at_once_gets_nothing";
    let mut program = Program::start(name, &mount.join("random").display().to_string());
    let until = Instant::now() + PATIENCE;
    while service.door("random")["refused"].as_u64().unwrap() < 3 {
        assert!(Instant::now() < until, "not refused");
    }
    program.child.kill().unwrap();
    assert_eq!(program.line_after("got "), None);
}

/// A test of this file as another process.
struct Program {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Program {
    fn start(name: &str, mark: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", name, "--nocapture"])
            .env(MARK, mark);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    fn line_after(&mut self, mark: &str) -> Option<String> {
        let lines = self.said.by_ref().lines().map_while(Result::ok);
        let mut found =
            lines.filter_map(|line| line.split_once(mark).map(|(_, rest)| rest.to_owned()));
        found.next()
    }

    /// Waits until it has opened the file.
    fn prepare(&mut self) {
        self.line_after("prepared").expect("prepares");
    }

    /// Lets it go on, and returns the bytes that it got.
    fn finish(mut self) -> Option<String> {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let got = self.line_after("got ");
        // By a signal, if it touched memory that the kernel could not fill.
        self.child.wait().unwrap();
        got
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is one of the two programs.
fn play(mark: &str) {
    let mut words = mark.splitn(3, ' ');
    let (_, way, _) = WAYS[words.next().unwrap().parse::<usize>().unwrap()];
    let user: u32 = words.next().unwrap().parse().unwrap();
    // SAFETY: two system calls, which the C library makes for all threads.
    let changed = unsafe {
        [
            libc::setresgid(user, user, user),
            libc::setresuid(user, user, user),
        ]
    };
    // SAFETY: a system call. Without it /proc would not show this program its own memory.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1) };
    assert_eq!(changed, [0, 0]);
    let prepared = way.prepare(Path::new(words.next().unwrap()));
    println!("prepared");
    io::stdin().read_line(&mut String::new()).unwrap();
    match prepared.and_then(|take| take()) {
        Ok(bytes) => {
            let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(bytes.len(), WANTED, "as many as wanted");
            println!("got {text}");
        }
        Err(error) => println!("error {error}"),
    }
}
