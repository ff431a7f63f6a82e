//! Bytes that the command wrote are nowhere in its memory.

use crate::common::{from_hex, wellspring};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use testkit::memory::Wanted;

/// Only a failed test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A worker's block in the command.
const BLOCK_BYTES: usize = 192 << 10;

/// Ends when none of the values is in the memory of the command, which wipes a buffer a moment after it wrote it.
/// Returns `false` if the system does not let this process read that memory.
fn is_searched(wanted: &Wanted, child: &Child, what: &str) -> bool {
    let until = Instant::now() + PATIENCE;
    loop {
        match wanted.search_process(&child.id().to_string()) {
            Err(error) => {
                eprintln!("SKIPPED: the memory of the command cannot be read: {error}");
                return false;
            }
            Ok(found) if found.is_empty() => return true,
            Ok(found) => {
                let count = (found.len(), wanted.count());
                assert!(
                    Instant::now() < until,
                    "{what}: (found, written) = {count:?}"
                );
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_answer_is_wiped_before_the_next_line_comes() {
    for form in ["", "--hex"] {
        let mut child = wellspring(&format!("bytes 30000 --each-line {form}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut asks, mut answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut answer = vec![0; if form.is_empty() { 30000 } else { 60001 }];
        let mut wanted = Wanted::default();
        for _ in 0..3 {
            asks.write_all(b"again\n").unwrap();
            answers.read_exact(&mut answer).unwrap();
            if form == "--hex" {
                wanted.take(&mut from_hex(&answer[..60000]));
            }
            wanted.take(&mut answer);
        }
        is_searched(&wanted, &child, form);
        drop(asks);
        assert!(child.wait().unwrap().success());
    }
}

/// Two ends of a connection; what is written to the second waits for a reader after a few KiB.
fn narrow() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let bytes: libc::c_int = 4096;
    // SAFETY: the option is an int, whose size is given.
    let set = unsafe {
        libc::setsockopt(
            theirs.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDBUF,
            (&raw const bytes).cast(),
            size_of_val(&bytes) as u32,
        )
    };
    assert_eq!(set, 0);
    (ours, theirs)
}

/// The command has written three blocks, and waits for room for the rest.
#[test]
fn a_worker_wipes_its_buffers_when_it_has_written_them() {
    for form in ["", "--hex"] {
        let (mut output, theirs) = narrow();
        let size_bytes = 3 * BLOCK_BYTES + 100_000;
        let mut command = wellspring(&format!("bytes {size_bytes} --threads 1 --quiet {form}"));
        // The allocator keeps what is returned to it, so that the search sees all of it.
        command
            .env("MALLOC_MMAP_THRESHOLD_", "33554432")
            .env("MALLOC_TRIM_THRESHOLD_", "67108864")
            .stdout(OwnedFd::from(theirs));
        let mut child = command.spawn().unwrap();
        drop(command);
        let digits = if form.is_empty() { 1 } else { 2 };
        let mut text = vec![0; digits * 3 * BLOCK_BYTES];
        output.read_exact(&mut text).unwrap();
        let mut wanted = Wanted::default();
        if form == "--hex" {
            wanted.take(&mut from_hex(&text));
        }
        wanted.take(&mut text);
        let searched = is_searched(&wanted, &child, form);

        // The first part of the rest has arrived, and all of it waits in the command's memory.
        let mut start = [0; 64];
        output.read_exact(&mut start).unwrap();
        let mut control = Wanted::default();
        control.take(&mut start);
        let found = control.search_process(&child.id().to_string());
        assert!(
            !searched || !found.unwrap().is_empty(),
            "the search finds what is there"
        );
        let mut rest = vec![0; digits * 100_000];
        output
            .read_exact(&mut rest[64..])
            .unwrap_or_else(|error| panic!("{form}: {error}"));
        drop(output);
        child.wait().unwrap();
    }
}
