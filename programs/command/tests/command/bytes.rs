//! `bytes` writes exactly what was asked for, in every form.

use crate::{Scratch, ended_by_signals, from_hex, run, stderr, stdout_of, text_of, wellspring};
use std::collections::HashSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// Around the block that a worker makes, 192 KiB, and its multiples.
const LENGTHS: [usize; 12] = [
    0, 1, 2, 3, 16, 4095, 196_607, 196_608, 196_609, 393_218, 1_000_000, 5_000_001,
];

fn from_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (quads, rest) = text.as_bytes().as_chunks::<4>();
    assert!(rest.is_empty(), "not padded");
    let value = |byte: u8| match ALPHABET.iter().position(|&digit| digit == byte) {
        Some(value) => value as u32,
        None => panic!("{byte} in the middle"),
    };
    let mut bytes = Vec::new();
    for (index, quad) in quads.iter().enumerate() {
        let digits = quad.iter().take_while(|&&byte| byte != b'=').count();
        assert!(digits == 4 || index == quads.len() - 1 && digits > 1);
        let bits = quad[..digits]
            .iter()
            .fold(0, |bits, &byte| bits << 6 | value(byte));
        let bits = bits << (6 * (4 - digits));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..digits]);
    }
    bytes
}

#[test]
fn every_amount_is_exact_at_every_number_of_threads() {
    for length in LENGTHS {
        for threads in [1, 2, 7] {
            let bytes = stdout_of(&format!("bytes {length} --threads {threads}"));
            assert_eq!(bytes.len(), length, "{threads} threads");
        }
    }
    assert_eq!(stdout_of("bytes 10k").len(), 10_240);
    assert_eq!(stdout_of("bytes 10kB").len(), 10_000);
    assert_eq!(stdout_of("bytes 3MiB --threads 1024").len(), 3 << 20);
}

/// How far the counts of all 65536 pairs of bytes are from even ones: the chi-square.
fn distance_from_even(bytes: &[u8]) -> f64 {
    let pairs = bytes.as_chunks::<2>().0;
    let mut counts = vec![0u32; 1 << 16];
    for &pair in pairs {
        counts[usize::from(u16::from_be_bytes(pair))] += 1;
    }
    let expected = pairs.len() as f64 / counts.len() as f64;
    let squares = counts
        .iter()
        .map(|&count| (f64::from(count) - expected).powi(2));
    squares.sum::<f64>() / expected
}

#[test]
fn pairs_of_bytes_are_spread_evenly() {
    // The mean is 65535, the standard deviation 362: good bytes are outside of 6 of them twice in a billion runs.
    let even = 65_535.0 - 6.0 * 362.0..65_535.0 + 6.0 * 362.0;
    let mut bytes = stdout_of("bytes 4MiB");
    let good = distance_from_even(&bytes);
    assert!(even.contains(&good), "{good}");
    bytes.iter_mut().step_by(10).for_each(|byte| *byte |= 1);
    let faulty = distance_from_even(&bytes);
    assert!(!even.contains(&faulty), "{faulty}");
}

#[test]
fn no_bytes_come_twice_whatever_makes_them() {
    for options in [
        "",
        "--threads 4",
        "--threads 3 --mode canonical",
        "--threads 3 --mode concurrent",
        "--threads 3 --mode per-node --topology nodes=2,cpus=2",
        "--threads 3 --mode per-node --topology llc",
        "--prf chacha20",
        "--backend aes256-portable",
    ] {
        let bytes = stdout_of(&format!("bytes 3M {options}"));
        let (blocks, _) = bytes.as_chunks::<16>();
        let distinct: HashSet<_> = blocks.iter().collect();
        assert_eq!(distinct.len(), blocks.len(), "{options}");
        assert!(!distinct.contains(&[0; 16]), "{options}");
    }
}

#[test]
fn text_stands_for_the_same_bytes_in_one_line() {
    for length in LENGTHS {
        let stream = format!("bytes {length} --pseudo xoshiro256++ --seed 7");
        let raw = stdout_of(&stream);
        let hex = text_of(&format!("{stream} --hex"));
        let base64 = text_of(&format!("{stream} --base64"));
        assert_eq!(from_hex(hex.strip_suffix('\n').unwrap().as_bytes()), raw);
        assert_eq!(from_base64(base64.strip_suffix('\n').unwrap()), raw);
    }
}

#[test]
fn text_of_many_threads_is_padded_at_its_end_only() {
    let hex = text_of("bytes 3000001 --threads 5 --hex");
    assert_eq!(from_hex(hex.trim_end().as_bytes()).len(), 3_000_001);
    let base64 = text_of("bytes 3000001 --threads 5 --base64");
    assert_eq!(from_base64(base64.trim_end()).len(), 3_000_001);
}

#[test]
fn a_file_that_is_made_is_for_its_owner_alone() {
    let file = Scratch::new("made");
    let output = run(&format!("bytes 100000 --output {}", file.path()));
    assert!(output.status.success() && output.stdout.is_empty());
    let metadata = file.0.metadata().unwrap();
    assert_eq!(metadata.len(), 100_000);
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_exists_is_replaced_on_request_alone() {
    let file = Scratch::new("exists");
    let link = Scratch::new("exists-link");
    std::fs::write(&file.0, "a key").unwrap();
    std::os::unix::fs::symlink(&file.0, &link.0).unwrap();
    for path in [file.path(), link.path()] {
        for pseudo in ["", "--pseudo chacha8 --seed 7"] {
            let output = run(&format!("bytes 10 -o {path} {pseudo}"));
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            assert!(stderr(&output).contains("it exists: --force"), "{output:?}");
            assert_eq!(std::fs::read(&file.0).unwrap(), b"a key");
        }
    }
    std::fs::set_permissions(&file.0, PermissionsExt::from_mode(0o640)).unwrap();
    stdout_of(&format!("bytes 3 -o {} --force", file.path()));
    let metadata = file.0.metadata().unwrap();
    assert_eq!((metadata.len(), metadata.mode() & 0o777), (3, 0o640));
    assert_eq!(run("bytes 3 --force").status.code(), Some(2));
    // Devices and pipes are not files that could be lost.
    stdout_of("bytes 3 -o /dev/null");
}

/// Without an end a file takes the whole disk. The limit ends the command if it does.
#[test]
fn a_file_needs_a_size() {
    let file = Scratch::new("endless");
    let binary = crate::quoted_command();
    let path = file.path();
    for options in ["", "--hex", "--pseudo chacha8 --seed 7", "--output -"] {
        let endless = format!("ulimit -f 1000; exec {binary} bytes {options}");
        let start = [
            (
                format!("{endless} > {path}"),
                "standard output: a file needs a size",
            ),
            (
                format!("{endless} >> {path}"),
                "standard output: a file needs a size",
            ),
            (
                format!("{endless} --output {path}"),
                ": a file needs a size",
            ),
            (
                format!("{endless} --output {path} --force"),
                ": a file needs a size",
            ),
        ];
        let is_named = options.contains("--output");
        for (script, reason) in &start[..if is_named { 2 } else { 4 }] {
            let _ = std::fs::remove_file(path);
            let output = crate::shell(script);
            assert_eq!(output.status.code(), Some(2), "{script}: {output:?}");
            let error = stderr(&output);
            assert!(
                error.contains(reason) && error.contains("bytes 1MiB"),
                "{error}"
            );
            let length = file.0.metadata().map_or(0, |status| status.len());
            assert_eq!(length, 0, "{script}");
        }
        assert!(is_named || !file.0.exists(), "it is not even made");
        let piped = format!("{binary} bytes {options} | head -c 1000 | wc -c");
        let output = crate::shell(&piped);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1000");
    }
}

#[test]
fn a_dash_is_the_standard_output() {
    assert_eq!(stdout_of("bytes 10 --output -").len(), 10);
}

#[test]
fn a_run_of_2_mib_prints_its_amount_speed_and_backend() {
    let output = run("bytes 2MiB --threads 2 --backend aes256-portable");
    let line = stderr(&output);
    assert!(line.starts_with("2 MiB in "), "{line}");
    assert!(line.contains("B/s, aes256-portable, 2 taps, "), "{line}");
    assert!(
        line.trim_end().ends_with(" node") || line.contains(" nodes"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);

    let output = run("bytes 1MiB --mode per-node --topology nodes=4,cpus=8");
    assert!(
        stderr(&output).contains(", per-node, 1 thread, 4 nodes"),
        "{output:?}"
    );
    let output = run("bytes 1MiB --base64");
    assert!(stderr(&output).starts_with("1 MiB in "), "{output:?}");
    let output = run("bytes 1M --pseudo xorshift128+ --seed 0x10 --stream 3/0/17");
    let name = "B/s, xorshift128+, seed 16, stream 3/0/17\n";
    assert!(stderr(&output).ends_with(name), "{}", stderr(&output));
}

#[test]
fn a_small_or_quiet_run_prints_nothing_without_a_terminal() {
    assert_eq!(stderr(&run("bytes 1000")), "");
    assert_eq!(stderr(&run("bytes 2MiB --quiet")), "");
}

#[test]
fn memory_does_not_grow_with_the_amount() {
    let binary = crate::quoted_command();
    let command = format!("ulimit -v 65536 && exec {binary} bytes 100M --hex > /dev/null");
    let output = crate::shell(&command);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn an_endless_run_ends_with_an_interrupt() {
    let mut endless = ended_by_signals(&mut wellspring("bytes"))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let kill = format!("kill -INT {}", endless.id());
    // Not before there is a process that could have ended by itself.
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(endless.try_wait().unwrap().is_none());
    assert!(crate::shell(&kill).status.success());
    let status = endless.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(2)
    );
}
