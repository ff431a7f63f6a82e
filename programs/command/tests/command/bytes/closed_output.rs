//! How a run ends when the output does: a reader that has gone, a disk that is full.

use crate::common::{self, Scratch, run, stderr, wellspring};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

#[test]
fn a_reader_that_goes_ends_the_command_quietly_with_success() {
    let file = common::vectors("fortuna-freebsd.txt");
    let replay = format!("replay {0} {0} {0}", common::quoted(&file));
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
        let binary = common::quoted_command();
        let script = format!(
            "trap '' XFSZ; ulimit -f 100; exec {binary} bytes 1MiB {options} --output {}",
            file.path()
        );
        let output = common::shell(&script);
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
    let binary = common::quoted_command();
    common::shell(&format!("exec {binary} {arguments} {redirection}"))
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
