//! The output of a command: streams that repeat, answers to lines, what a terminal gets, an output that ends, and the memory of
//! the command after it wrote.

use crate::{Scratch, from_hex, is_installed, run, stderr, stdout_of, vectors, wellspring};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::memory::Wanted;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares with the streams of a file that this command can name: without jumps, from a byte below 2^64 on. Returns their
/// number.
fn check(algorithm: &str) -> usize {
    let file = std::fs::read_to_string(vectors(&format!("pseudo-{algorithm}.txt"))).unwrap();
    let mut count = 0;
    for line in file.lines().filter(|line| line.starts_with("stream ")) {
        let fields: HashMap<&str, &str> = line
            .split(' ')
            .filter_map(|field| field.split_once('='))
            .collect();
        let offset = match (fields.get("jump"), fields.get("at")) {
            (None, None) => String::new(),
            (Some(&"0"), Some(at)) if at.parse::<u64>().is_ok() => format!("--offset {at}"),
            _ => continue,
        };
        let (seed, path, length) = (fields["seed"], fields["path"], fields["n"]);
        let threads = count % 3 + 1;
        let bytes = stdout_of(&format!(
            "bytes {length} --pseudo {algorithm} --seed 0x{seed} --stream {path} --threads {threads} {offset}"
        ));
        assert_eq!(hex(&Sha256::digest(&bytes)), fields["sha256"], "{line}");
        count += 1;
    }
    count
}

#[test]
fn xoshiro256plusplus_gives_the_known_streams() {
    assert_eq!(check("xoshiro256++"), 85);
}

#[test]
fn sixteen_lanes_of_xoshiro256plusplus_give_the_known_streams() {
    assert_eq!(check("xoshiro256++x16"), 95);
}

#[test]
fn xorshift128plus_gives_the_known_streams() {
    assert_eq!(check("xorshift128+"), 85);
}

#[test]
fn functions_of_a_counter_give_the_known_bytes_from_any_offset() {
    for algorithm in [
        "philox4x64-10",
        "chacha8",
        "chacha12",
        "chacha20",
        "aes256-ctr",
    ] {
        let count = check(algorithm);
        assert!(count >= 20, "{algorithm}: {count}");
    }
}

#[test]
fn parts_that_are_joined_are_the_bytes_of_one_run() {
    for algorithm in [
        "xoshiro256++",
        "xoshiro256++x16",
        "xorshift128+",
        "philox4x64-10",
        "chacha8",
        "chacha12",
        "chacha20",
        "aes256-ctr",
    ] {
        let stream = format!("--pseudo {algorithm} --seed 9 --stream 3/1 --quiet");
        let whole = stdout_of(&format!("bytes 500009 {stream}"));
        let cuts = [0, 1, 8, 4099, 196_608, 300_001, 500_009];
        let parts = cuts.windows(2).flat_map(|cut| {
            let (offset, length) = (cut[0], cut[1] - cut[0]);
            stdout_of(&format!("bytes {length} {stream} --offset {offset}"))
        });
        assert!(parts.eq(whole), "{algorithm}");
    }
}

#[test]
fn files_of_several_runs_joined_by_cat_are_the_file_of_one_run() {
    const PARTS: usize = 4;
    let folder = Scratch::new("parts");
    std::fs::create_dir(&folder.0).unwrap();
    let stream = "bytes --pseudo chacha8 --seed 2026 --stream 3/0/17 --quiet";
    let mut cat = Command::new("cat");
    for part in 0..PARTS {
        let file = folder.0.join(format!("part-{part}"));
        let (offset, output) = (part * 100_003, file.display());
        stdout_of(&format!(
            "{stream} --offset {offset} --length 100003 --output {output}"
        ));
        cat.arg(file);
    }
    let joined = cat.output().unwrap();
    assert!(joined.status.success(), "{joined:?}");
    let whole = stdout_of(&format!("{stream} --length {}", PARTS * 100_003));
    assert_eq!(whole.len(), PARTS * 100_003);
    assert!(joined.stdout == whole);
}

#[test]
fn an_offset_is_in_the_line_at_the_end_and_holds_for_answers_to_lines() {
    let stream = "bytes 1MiB --pseudo chacha8 --seed 1 --offset 3k";
    let output = crate::run(stream);
    let line = crate::stderr(&output);
    assert!(
        line.ends_with("chacha8, seed 1, stream /, from byte 3072\n"),
        "{line}"
    );
    let far = "bytes 16 --hex --pseudo xoshiro256++ --seed 1 --offset 15EiB";
    assert_eq!(stdout_of(far).len(), 33);
}

#[test]
fn the_number_of_threads_changes_no_byte_of_a_long_stream() {
    let stream = "bytes 3000001 --pseudo xoshiro256++ --seed 12345 --stream 3/0/17";
    let one = stdout_of(stream);
    assert_eq!(one.len(), 3_000_001);
    assert_eq!(stdout_of(&format!("{stream} --threads 8")), one);
}

#[test]
fn a_shorter_stream_is_the_beginning_of_a_longer_one() {
    let stream =
        |length: usize| stdout_of(&format!("bytes {length} --pseudo xorshift128+ --seed 1"));
    let long = stream(400_003);
    for length in [0, 1, 7, 8, 196_608, 196_611, 400_002] {
        assert_eq!(stream(length), long[..length]);
    }
}

#[test]
fn the_root_is_the_path_that_goes_without_saying() {
    let stream = "bytes 100 --pseudo xoshiro256++ --seed 1";
    assert_eq!(
        stdout_of(stream),
        stdout_of(&format!("{stream} --stream /"))
    );
    assert_ne!(
        stdout_of(stream),
        stdout_of(&format!("{stream} --stream 0"))
    );
    assert_ne!(
        stdout_of(stream),
        stdout_of("bytes 100 --pseudo xoshiro256++ --seed 2")
    );
}

// ---- --each-line ----
// `bytes --each-line` answers every line at once.

#[test]
fn a_line_is_answered_before_the_next_is_written_and_no_answer_comes_twice() {
    let mut command = wellspring("bytes 16 --hex --each-line");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut asks = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    // More than a tap's buffer holds.
    for _ in 0..500 {
        asks.write_all(b"again\n").unwrap();
        let answer = answers.next().unwrap().unwrap();
        assert_eq!(answer.len(), 32);
        seen.push(answer);
    }
    drop(asks);
    assert!(answers.next().is_none(), "an answer without a question");
    assert!(child.wait().unwrap().success());
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 500);
}

#[test]
fn an_input_without_lines_gets_nothing_and_a_stream_is_cut_into_answers() {
    assert_eq!(run("bytes 16 --each-line").stdout, b"");
    let stream = "bytes 8 --each-line --hex --pseudo xoshiro256++ --seed 7";
    let mut child = wellspring(stream)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"\n\nhalf a line")
        .unwrap();
    let answers = child.wait_with_output().unwrap().stdout;
    let whole = run("bytes 24 --hex --pseudo xoshiro256++ --seed 7").stdout;
    let answers: String = String::from_utf8(answers).unwrap().split('\n').collect();
    assert_eq!(answers, String::from_utf8(whole).unwrap().trim_end());
}

#[test]
fn an_answer_has_a_size_and_a_bound() {
    for wrong in [
        "bytes --each-line",
        "bytes 2MiB --each-line",
        "bytes 16 --each-line --threads 2",
    ] {
        let output = run(wrong);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{wrong}: {}",
            stderr(&output)
        );
    }
}

// ---- terminal ----
// The differences with a terminal on the other side; script(1) plays it.

/// Runs a shell's command on a terminal and returns what is on the screen afterwards, or `None`.
fn on_a_terminal(command: &str) -> Option<String> {
    if !is_installed("script") {
        return None;
    }
    let binary = crate::quoted_command();
    let command = command.replace("wellspring", &binary);
    let mut script = Command::new("script");
    // A terminal whose kind is not known, or is `dumb`, gets no bar.
    script.env("TERM", "xterm");
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    let output = script.stdin(Stdio::null()).output().unwrap();
    Some(
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &format!("[{}]", output.status.code().unwrap()),
    )
}

#[test]
fn a_bar_and_a_line_are_shown_on_a_terminal() {
    let Some(screen) = on_a_terminal("wellspring bytes 100MiB > /dev/null") else {
        return;
    };
    assert!(screen.contains("===>"), "{screen}");
    assert!(
        screen.contains("of 100.00 MiB, ") && screen.contains("ETA"),
        "{screen}"
    );
    assert!(screen.contains("100 MiB in "), "{screen}");
    assert!(screen.ends_with("[0]"), "{screen}");
}

#[test]
fn small_amounts_get_no_bar_and_quiet_ones_nothing() {
    let Some(screen) = on_a_terminal("wellspring bytes 1000 > /dev/null") else {
        return;
    };
    assert!(!screen.contains("ETA"), "{screen}");
    assert!(screen.starts_with("1000 bytes in "), "{screen}");
    let screen = on_a_terminal("wellspring bytes 100MiB --quiet > /dev/null").unwrap();
    assert_eq!(screen, "[0]");
}

#[test]
fn without_a_terminal_there_is_no_progress_bar() {
    let output = run("bytes 100MiB --output /dev/null");
    assert_eq!(stderr(&output).lines().count(), 1);
    assert!(!stderr(&output).contains('\r') && !stderr(&output).contains("ETA"));
}

#[test]
fn a_terminal_gets_no_raw_bytes_unless_they_are_meant_for_it() {
    let Some(screen) = on_a_terminal("wellspring bytes 10") else {
        return;
    };
    assert!(
        screen.contains("standard output is a terminal: try --hex"),
        "{screen}"
    );
    assert!(screen.ends_with("[2]"), "{screen}");
    let screen = on_a_terminal("wellspring bytes 1000 --output - 2> /dev/null").unwrap();
    assert!(screen.len() > 900 && screen.ends_with("[0]"), "{screen}");
    let screen = on_a_terminal("wellspring bytes 2 --hex 2> /dev/null").unwrap();
    let digits = screen.trim_end_matches("[0]").trim_end();
    assert_eq!(digits.len(), 4, "{screen}");
}

// ---- an output that ends ----
// How a run ends when the output does: a reader that has gone, a disk that is full.

#[test]
fn a_reader_that_goes_ends_the_command_quietly_with_success() {
    let file = crate::vectors("fortuna-freebsd.txt");
    let replay = format!("replay {0} {0} {0}", crate::quoted(&file));
    for arguments in [
        "bytes",
        "bytes --threads 4 --hex",
        "bytes 1GiB --base64",
        replay.as_str(),
    ] {
        let mut command = wellspring(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut reader = child.stdout.take().unwrap();
        reader.read_exact(&mut [0; 10]).unwrap();
        drop(reader);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments}: {output:?}");
        assert_eq!(stderr(&output), "", "{arguments}");
    }
}

#[test]
fn a_reader_that_was_never_there_is_no_error_either() {
    for arguments in [
        "bytes 10",
        "check --list",
        "stats",
        "man",
        "completions zsh",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = wellspring(arguments).stdout(writer).output().unwrap();
        assert!(output.status.success(), "{arguments}: {output:?}");
        assert_eq!(stderr(&output), "", "{arguments}");
    }
}

#[test]
fn a_full_disk_is_reported_with_what_was_written() {
    let output = run("bytes 1MiB --output /dev/full");
    assert_eq!(output.status.code(), Some(1));
    let expected =
        "wellspring: /dev/full: No space left on device (os error 28) after 0 bytes of 1 MiB\n";
    assert_eq!(stderr(&output), expected);

    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = wellspring("bytes --threads 3")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected =
        "wellspring: standard output: No space left on device (os error 28) after 0 bytes\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn what_was_written_before_the_disk_was_full_is_counted_in_bytes_asked_for() {
    // A file may have no more than 100 blocks of 512 bytes; the signal that comes with it is ignored.
    for (options, bytes) in [("", 51_200), ("--hex", 25_600), ("--base64", 38_400)] {
        let file = Scratch::new(&format!("full{options}"));
        let binary = crate::quoted_command();
        let script = format!(
            "trap '' XFSZ; ulimit -f 100; exec {binary} bytes 1MiB {options} --output {}",
            file.path()
        );
        let output = crate::shell(&script);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let expected = format!("File too large (os error 27) after {bytes} bytes of 1 MiB\n");
        assert!(stderr(&output).ends_with(&expected), "{}", stderr(&output));
        assert_eq!(file.0.metadata().unwrap().len(), 51_200);
    }
}

/// Commands that print something, each in another way.
const PRINTING: [&str; 15] = [
    "bytes 64",
    "bytes 64 --hex",
    "bytes 64 --output -",
    "bytes 64 --pseudo chacha8 --seed 1",
    "--help",
    "--version",
    "bytes --help",
    "bytes -h",
    "check --list",
    "stats",
    "stats --json",
    "man",
    "man bytes",
    "completions bash",
    "sources list",
];

#[test]
fn a_full_disk_is_an_error_of_every_command_that_prints() {
    for arguments in PRINTING {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = wellspring(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        let expected = "wellspring: standard output: No space left on device (os error 28)";
        assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1);
    }
}

/// Runs the command from a shell that first does `redirection`.
fn redirected(arguments: &str, redirection: &str) -> std::process::Output {
    let binary = crate::quoted_command();
    crate::shell(&format!("exec {binary} {arguments} {redirection}"))
}

#[test]
fn a_closed_output_is_an_error_and_never_success_with_lost_bytes() {
    for arguments in PRINTING {
        let output = redirected(arguments, ">&-");
        assert_eq!(output.status.code(), Some(1), "{arguments}: {output:?}");
        let expected = "wellspring: standard output: it is closed\n";
        assert_eq!(stderr(&output), expected, "{arguments}");
        // With stderr closed, too.
        let output = redirected(arguments, ">&- 2>&-");
        assert_eq!(output.status.code(), Some(1), "{arguments}: {output:?}");
        // This output is open, but cannot be written to.
        let output = redirected(arguments, "1</dev/null");
        assert_eq!(output.status.code(), Some(1), "{arguments}: {output:?}");
        assert!(stderr(&output).contains("Bad file descriptor"));
        // To throw the output away is no error, in whatever way it is done.
        for redirection in [">/dev/null", "1<>/dev/null"] {
            let output = redirected(arguments, redirection);
            assert!(output.status.success(), "{arguments}: {output:?}");
        }
    }
}

#[test]
fn a_closed_output_is_not_missed_if_the_bytes_go_to_a_file() {
    let file = Scratch::new("closed");
    let output = redirected(&format!("bytes 64 --output {}", file.path()), ">&-");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(file.0.metadata().unwrap().len(), 64);
}

#[test]
fn a_closed_input_is_bad_input() {
    for arguments in ["bytes 8 --each-line --hex", "replay -", "sources replay -"] {
        let output = redirected(arguments, "<&-");
        assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
        let expected = "wellspring: standard input: it is closed\n";
        assert_eq!(stderr(&output), expected, "{arguments}");
        let output = redirected(arguments, "0>/dev/null");
        assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
        assert!(stderr(&output).contains("standard input: Bad file descriptor"));
    }
}

#[test]
fn an_output_that_does_not_wait_by_itself_is_waited_for() {
    let (mut reader, writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    let mut command = wellspring("bytes 3000000");
    command
        .stdout(std::os::fd::OwnedFd::from(writer))
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // The parent's copy of the writing end is in the command.
    drop(command);
    std::thread::sleep(std::time::Duration::from_millis(50));
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(bytes.len(), 3_000_000);
}

#[test]
fn a_full_output_and_a_full_stderr_cause_no_panic() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let status = wellspring("bytes 2MiB")
        .stdout(full())
        .stderr(full())
        .status();
    assert_eq!(status.unwrap().code(), Some(1));
}

// ---- residue ----
// Bytes that the command wrote are nowhere in its memory.

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
