//! Bad input gets one clear line and exit status 2.

use crate::common::{self, Scratch, run, stderr};

/// Expects one line on stderr that has `reason` in it, nothing on stdout, and exit status 2.
fn is_refused(arguments: &str, reason: &str) {
    refuses(&arguments.split_whitespace().collect::<Vec<_>>(), reason);
}

/// The same for words that a shell would quote, such as an empty one.
fn refuses(words: &[&str], reason: &str) {
    let output = common::wellspring("").args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
    assert_eq!(output.stdout, b"", "{words:?}");
    let line = stderr(&output);
    assert!(line.starts_with("wellspring: "), "{words:?}: {line}");
    assert!(
        line.ends_with('\n') && line.lines().count() == 1,
        "{words:?}: {line}"
    );
    assert!(line.contains(reason), "{words:?}: {line}");
}

#[test]
fn unknown_commands() {
    is_refused("seed", "subcommand");
    is_refused("frob", "'frob'");
    is_refused("--frob", "'--frob'");
    is_refused("byte", "'bytes'");
}

#[test]
fn wrong_amounts() {
    for size in ["x", "1x", "1.5G", "k", "0x10", "1kib"] {
        is_refused(
            &format!("bytes {size}"),
            "expected an amount like 64, 10k, 1GiB or 1GB",
        );
    }
    for size in ["-1", "-5"] {
        is_refused(
            &format!("bytes {size}"),
            "expected an amount like 64, 10k, 1GiB or 1GB",
        );
    }
    is_refused("bytes 16EiB", "expected less than 16 EiB");
    is_refused("bytes 18446744073709551616", "expected less than 16 EiB");
    is_refused("bytes 1 2", "'2'");
}

#[test]
fn impossible_engines() {
    is_refused(
        "bytes 1 --mode fast",
        "canonical, concurrent, per-node, per-thread",
    );
    is_refused("bytes 1 --prf rc4", "aes256, chacha20");
    is_refused("bytes 1 --backend aes256", "aes256-portable");
    is_refused(
        "bytes 1 --prf aes256 --backend aes256-portable",
        "cannot be used with",
    );
    is_refused("bytes 1 --topology nodes=4", "expected nodes=N,cpus=M");
    is_refused("bytes 1 --topology nodes=0,cpus=1", "1 to 64 nodes");
    is_refused("stats --topology nodes=4,cpus=2", "at least as many CPUs");
    let canonical = "bytes 1 --mode canonical --topology nodes=1,cpus=1";
    is_refused(canonical, "--mode canonical has no nodes");
    for threads in ["0", "1025", "-1", "many"] {
        is_refused(&format!("bytes 1 --threads {threads}"), threads);
    }
}

#[test]
fn wrong_streams() {
    let stream = "bytes 1 --pseudo xoshiro256++ --seed";
    is_refused("bytes 1 --pseudo xoshiro256++", "--seed <N>");
    is_refused("bytes 1 --seed 1", "--pseudo <ALGORITHM>");
    is_refused("bytes 1 --stream 1", "--pseudo <ALGORITHM>");
    is_refused(
        "bytes 1 --pseudo rand --seed 1",
        "xoshiro256++, xoshiro256++x16, xorshift128+",
    );
    is_refused(&format!("{stream} x"), "expected a number like");
    is_refused(&format!("{stream} -1"), "expected a number like");
    is_refused(
        &format!("{stream} 340282366920938463463374607431768211456"),
        "below 2^128",
    );
    for offset in ["x", "-1", "1.5"] {
        is_refused(
            &format!("{stream} 1 --offset {offset}"),
            "expected an amount like",
        );
    }
    is_refused("bytes 1 --offset 1", "--pseudo <ALGORITHM>");
    is_refused("bytes 1 --length 1", "cannot be used with");
    is_refused("bytes --length -1", "expected an amount like");
    is_refused(&format!("{stream} 1 --stream -1"), "element 1");
    is_refused(&format!("{stream} 1 --stream 1//2"), "element 2");
    is_refused(&format!("{stream} 1 --stream 4294967296"), "element 1");
    for option in [
        "--mode canonical",
        "--prf aes256",
        "--backend aes256-portable",
        "--topology nodes=1,cpus=1",
        "--seed-file /no/such/file",
    ] {
        is_refused(&format!("{stream} 1 {option}"), "cannot be used with");
    }
}

#[test]
fn wrong_outputs() {
    is_refused("bytes 1 --hex --base64", "cannot be used with");
    is_refused(
        "bytes 1 --output /no/such/folder/file",
        "/no/such/folder/file: No such file",
    );
    is_refused("bytes 1 --output /", "/: Is a directory");
    is_refused(
        "bench --quick --json /no/such/folder/file",
        "/no/such/folder/file: No such file",
    );
    is_refused("man --output /dev/null/man", "/dev/null/man: ");
    is_refused("man --output /dev/null", "/dev/null: Not a directory");
}

#[test]
fn other_commands_refuse_what_they_do_not_know() {
    is_refused("replay", "<FILE>");
    is_refused("replay /no/such/file", "/no/such/file: No such file");
    is_refused("replay /", "/: Is a directory");
    is_refused("replay --backend x -", "aes256-portable");
    is_refused("check --only fork,frob", "'frob'");
    is_refused("check --list --only frob", "'frob'");
    is_refused("completions tcsh", "bash");
    is_refused("man frob", "'frob'");
    is_refused("man bytes --output .", "cannot be used with");
    is_refused("stats 1", "'1'");
}

#[test]
fn a_hint_names_the_help_of_the_command_that_was_meant() {
    is_refused("bytes --thread 3", "a similar argument exists: '--threads'");
    is_refused("bytes 1x", "(try 'wellspring bytes --help')");
    is_refused("frob", "(try 'wellspring --help')");
}

#[test]
fn a_name_with_line_breaks_and_escapes_still_makes_one_line() {
    let folder = Scratch::new("odd\n\x1b[31mname");
    std::fs::create_dir(&folder.0).unwrap();
    let mut command = common::wellspring("replay");
    let output = command.arg(&folder.0).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output).lines().count(), 1);
    assert!(
        stderr(&output).contains(r"odd\n\u{1b}[31mname"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_missing_file_is_bad_input_in_every_command() {
    for command in [
        "replay",
        "replay --check",
        "sources replay",
        "sources replay --raw jitter",
        "seed show",
        "seed save",
        "generation show --page",
        "generation bump --page",
        "generation serve --page",
        "bytes 1 --output",
        "sources record jitter --bytes 1 --output",
        "bench --quick --json",
    ] {
        is_refused(
            &format!("{command} /no/such/folder/file"),
            "/no/such/folder/file: No such file",
        );
    }
    is_refused(
        "sources record file:/no/such/file --bytes 1",
        "file:/no/such/file: No such file",
    );
}

#[test]
fn empty_names() {
    refuses(&["run", "--", ""], "the name of the program is empty");
    let command = "expected command:WORDS, such as 'command:rtl_sdr -'";
    refuses(&["sources", "record", "command:"], command);
    refuses(&["sources", "record", "command:  "], command);
    refuses(&["sources", "record", "file:"], "expected file:PATH");
}

#[test]
fn a_source_that_cannot_start_names_the_systems_reason() {
    let output = run("sources record command:/no/such/program --bytes 5");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let reason = "command:/no/such/program: No such file or directory";
    assert!(stderr(&output).contains(reason), "{}", stderr(&output));
}

#[test]
fn wrong_numbers_get_plain_words() {
    let huge = "99999999999999999999999999";
    for arguments in ["bytes 1 --threads", "sources watch --count"] {
        let words: Vec<_> = arguments.split_whitespace().collect();
        refuses(&[&words[..], &[""]].concat(), "expected a number");
        refuses(&[&words[..], &["1x"]].concat(), "expected a number");
        refuses(&[&words[..], &[huge]].concat(), "the number is too large");
    }
}

#[test]
fn a_folder_in_place_of_a_file_is_bad_input() {
    for command in ["replay", "sources replay", "bytes 1 --output"] {
        is_refused(&format!("{command} /"), "/: Is a directory");
    }
}

#[test]
fn numbers_below_zero_get_no_tip_to_write_them_in_another_way() {
    for arguments in [
        "bytes -10k",
        "bytes 1 --threads -1",
        "sources watch --count -1",
        "sources watch --interval-ms -1",
        "sources record jitter --bytes -1",
        "sources record jitter --restarts -1",
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
        assert!(!stderr(&output).contains("tip"), "{}", stderr(&output));
        assert!(stderr(&output).contains("-1"), "{}", stderr(&output));
    }
    is_refused("sources watch --count 0", "0");
}

#[test]
fn a_wrong_name_does_not_empty_an_old_recording() {
    let file = Scratch::new("recording");
    std::fs::write(&file.0, "old").unwrap();
    is_refused(
        &format!("sources record frob --output {}", file.path()),
        "no source is called 'frob'",
    );
    assert_eq!(std::fs::read(&file.0).unwrap(), b"old");
}

/// Without a bound the line would take all memory; the limit ends the command then.
#[test]
fn a_line_without_an_end_is_refused() {
    for command in ["replay", "replay --check", "sources replay"] {
        for input in ["/dev/zero", "- < /dev/zero"] {
            let script = format!(
                "ulimit -v 2000000; exec {} {command} {input}",
                common::quoted_command()
            );
            let output = common::shell(&script);
            assert_eq!(output.status.code(), Some(2), "{script}: {output:?}");
            let line = stderr(&output);
            assert!(
                line.contains(":1: a line is longer than 4194304 bytes"),
                "{line}"
            );
        }
    }
}
