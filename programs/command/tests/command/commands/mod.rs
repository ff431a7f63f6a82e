//! The other commands: what they print, and what they refuse.
//!
//! ```text
//! files       seed files on disks as they come; answers and comparisons of replay
//! generation  the generation page: show, bump, serve; the programs of its specification; the hooks of a guest image
//! ```

mod files;
mod generation;

use crate::{Scratch, copy_program, is_installed, run, stderr, stdout_of, text_of, vectors};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use testkit::programs::is_long;
use wellspring::{Backend, Prf};

// ---- bad input ----
// Bad input gets one clear line and exit status 2.

/// Expects one line on stderr that has `reason` in it, nothing on stdout, and exit status 2.
fn is_refused(arguments: &str, reason: &str) {
    refuses(&arguments.split_whitespace().collect::<Vec<_>>(), reason);
}

/// The same for words that a shell would quote, such as an empty one.
fn refuses(words: &[&str], reason: &str) {
    let output = crate::wellspring("").args(words).output().unwrap();
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
    let mut command = crate::wellspring("replay");
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
    let no_option = "there is no option --audit; a program of that name is ./--audit";
    refuses(&["run", "--audit", "--", "true"], no_option);
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
                crate::quoted_command()
            );
            let output = crate::shell(&script);
            assert_eq!(output.status.code(), Some(2), "{script}: {output:?}");
            let line = stderr(&output);
            assert!(
                line.contains(":1: a line is longer than 4194304 bytes"),
                "{line}"
            );
        }
    }
}

// ---- check, stats, sources, help ----
// `check` runs its tests by name; `stats` shows an engine.

#[test]
fn all_tests_pass_on_this_machine_and_each_has_its_line() {
    let names = text_of("check --list");
    let report = text_of("check");
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines.len(), names.lines().count() + 1);
    for (name, line) in names.lines().zip(&lines) {
        let is_ok = line.starts_with(&format!("ok {name} (")) && line.ends_with(" ms)");
        let is_skipped = line.starts_with(&format!("SKIPPED {name}: "));
        assert!(is_ok || is_skipped, "{line}");
    }
    assert!(
        lines.last().unwrap().contains(" ok, 0 failed, "),
        "{report}"
    );
}

#[test]
fn the_list_has_what_a_user_may_doubt() {
    let names = text_of("check --list");
    for name in [
        "self-test/aes256-portable",
        "known-answers/aes256-portable",
        "known-answers/chacha20-portable",
        "counter-carry/aes256-portable",
        "pseudo-streams",
        "modes",
        "nodes/early",
        "nodes/served",
        "nodes/ordered",
        "two-threads",
        "fork",
        "fork-of-fork",
        "fork-under-load",
        "wiped-by-kernel",
        "nested",
        "erasure",
    ] {
        assert!(names.lines().any(|line| line == name), "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_kernel_that_does_not_wipe_a_child_is_named_and_serves_every_command() {
    use testkit::filter::{is_possible, without_wipes};
    if !is_possible() {
        return;
    }
    let text_of = |arguments| {
        let output = without_wipes(&mut crate::wellspring(arguments)).output();
        testkit::programs::succeeds(&output.unwrap())
    };
    let text = text_of("check --only fork,fork-of-fork,fork-under-load,wiped-by-kernel");
    assert!(text.contains("SKIPPED wiped-by-kernel: "), "{text}");
    assert!(text.contains("3 ok, 0 failed, 1 skipped"), "{text}");
    for (arguments, characters) in [("bytes 16 --hex", 32), ("uuid -7", 36), ("uuid", 36)] {
        let text = text_of(arguments);
        assert_eq!(text.trim_end().len(), characters, "{arguments}: {text}");
    }
}

#[test]
fn only_those_run_that_were_named_by_name_or_group() {
    let report = text_of("check --only modes,fork");
    let names: Vec<&str> = report
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    assert_eq!(names[..2], ["modes", "fork"]);
    assert_eq!(report.lines().count(), 3);
    let group = text_of("check --list --only counter-carry");
    assert!(group.lines().count() > 1);
    assert!(group.lines().all(|line| line.starts_with("counter-carry/")));
}

/// A file of NIST's sample vectors. The digests of 15 GiB take minutes in a debug build: only the long form has them.
fn acvp(file: &str) -> Value {
    let text = fs::read(vectors(&format!("acvp/{file}"))).unwrap();
    let mut sets: Value = serde_json::from_slice(&text).unwrap();
    if !is_long("it hashes 15 GiB for each backend") {
        let groups = sets[3]["testGroups"].as_array_mut().unwrap();
        assert_eq!(groups.pop().unwrap()["tgId"], 3);
    }
    sets
}

/// The answers of the command to these vector sets.
fn answers(questions: &Value, more: &str) -> Value {
    let file = Scratch::new("prompt.json");
    fs::write(&file.0, questions.to_string()).unwrap();
    let output = stdout_of(&format!("check --acvp {} {more}", file.0.display()));
    serde_json::from_slice(&output).unwrap()
}

#[test]
fn every_backend_of_aes_and_sha_256_give_the_answers_of_nists_sample() {
    let (questions, expected) = (acvp("prompt.json"), acvp("expected.json"));
    let backends = Backend::ALL.iter().filter(|one| one.is_available());
    for backend in backends.filter(|one| one.prf() == Prf::Aes256) {
        let got = answers(&questions, &format!("--backend {backend}"));
        assert!(got == expected, "{backend}");
    }
}

#[test]
fn a_question_that_differs_in_a_bit_has_another_answer() {
    let (mut questions, expected) = (acvp("prompt.json"), acvp("expected.json"));
    for (set, name) in [(1, "pt"), (2, "pt"), (3, "msg")] {
        let bytes = &mut questions[set]["testGroups"][0]["tests"][0][name];
        let changed = bytes.as_str().unwrap().to_string();
        let first = u8::from_str_radix(&changed[..1], 16).unwrap() ^ 1;
        *bytes = format!("{first:X}{}", &changed[1..]).into();
    }
    let got = answers(&questions, "");
    for set in 1..4 {
        let tests = |sets: &Value, group: usize| sets[set]["testGroups"][group]["tests"].clone();
        assert_ne!(tests(&got, 0)[0], tests(&expected, 0)[0], "set {set}");
        assert_eq!(tests(&got, 0)[1], tests(&expected, 0)[1], "set {set}");
        assert_eq!(tests(&got, 1), tests(&expected, 1), "set {set}");
    }
}

#[test]
fn what_acvp_asks_and_the_project_lacks_is_refused_with_the_number_of_the_test() {
    let file = Scratch::new("prompt.json");
    let command = format!("check --acvp {}", file.0.display());
    let refuses_after = |change: &dyn Fn(&mut Value), reason: &str| {
        let mut questions = acvp("prompt.json");
        change(&mut questions);
        fs::write(&file.0, questions.to_string()).unwrap();
        is_refused(&command, reason);
    };
    let group = |sets: &mut Value, set: usize, name: &str, value: Value| {
        sets[set]["testGroups"][0][name] = value;
    };
    refuses_after(
        &|sets| group(sets, 1, "direction", "decrypt".into()),
        "test 635: there is no decryption",
    );
    refuses_after(&|sets| group(sets, 1, "testType", "VOT".into()), "type VOT");
    refuses_after(
        &|sets| group(sets, 2, "keyLen", 128.into()),
        "test 51: the key does not have 256 bits",
    );
    refuses_after(&|sets| sets[3]["algorithm"] = "SHA3-256".into(), "SHA3-256");
    refuses_after(
        &|sets| sets[3]["testGroups"][0]["tests"][0]["len"] = 7.into(),
        "whole bytes",
    );
    refuses_after(&|sets| sets[1]["testGroups"] = Value::Null, "testGroups");
    fs::write(&file.0, "{").unwrap();
    is_refused(&command, "line 1");
    is_refused(
        &format!("{command} --backend chacha20-portable"),
        "is not AES-256",
    );
}

#[test]
fn stats_show_a_seeded_engine_of_the_kind_that_was_asked_for() {
    let text = text_of("stats --topology nodes=4,cpus=8 --backend chacha20-portable --harvester");
    for word in [
        "of this process",
        "ready",
        "per-thread",
        "chacha20-portable",
        "os",
        "cpu",
        "running",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    assert!(
        text.lines().any(|line| line.starts_with("3 ")),
        "node 3 is not in\n{text}"
    );
}

#[test]
fn stats_in_json_have_the_documented_keys() {
    let text = text_of("stats --json --mode canonical --harvester");
    let stats: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(stats["harvester"]["alive"], true);
    assert_eq!(stats["phase"], "ready");
    assert_eq!(stats["mode"], "canonical");
    assert!(stats["backend"].is_string());
    assert!(stats["seed_file"].is_null());
    assert!(stats["nodes"][0]["credit_bits"].is_u64());
    let source = &stats["sources"][0];
    assert_eq!(source["name"], "os");
    assert!(source["health"].is_string());
    assert!(source["claim_bits_per_byte"].is_f64());
    assert!(source["used_bytes"].as_u64() > Some(0));
    assert!(source["last_error"].is_null());
}

#[test]
fn sources_are_one_json_object_a_line() {
    let names = |line: &str| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        object["name"].as_str().map(String::from).unwrap()
    };
    let list = text_of("sources list --json");
    let listed: Vec<String> = list.lines().map(names).collect();
    assert!(listed.iter().any(|name| name == "cpu"), "{list}");
    let table = text_of("sources list");
    assert_eq!(table.lines().count(), listed.len() + 1, "{table}");

    let watched = text_of("sources watch --json --count 2 --interval-ms 10");
    assert_eq!(watched.lines().count(), 2, "{watched}");
    for line in watched.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(object["generation"].is_u64());
        assert!(!object["sources"].as_array().unwrap().is_empty());
    }
}

#[test]
fn help_and_version_are_a_success_on_stdout() {
    assert!(text_of("--help").contains("Exit status"));
    assert!(text_of("--version").starts_with("wellspring "));
    for command in ["bytes", "replay", "check", "stats", "completions", "man"] {
        let help = stdout_of(&format!("{command} --help"));
        assert!(!help.is_empty(), "{command}");
        assert!(run(&format!("{command} -h")).status.success(), "{command}");
    }
}

// ---- bench ----
// `bench`: quick runs, as its users start them.

#[test]
fn a_part_is_printed_and_written_as_json() {
    let json = Scratch::new("bench.json");
    let words = format!("bench --quick --only footprint --json {}", json.path());
    let text = text_of(&words);
    assert!(text.contains("first byte of a process"), "{text}");
    let json = std::fs::read_to_string(&json.0).unwrap();
    assert!(json.starts_with('{') && json.trim_end().ends_with('}'));
    assert!(json.contains("\"tap_bytes\""), "{json}");
}

#[test]
fn the_first_byte_of_a_fresh_process_is_a_number_of_nanoseconds() {
    let nanoseconds: u64 = text_of("bench --first-byte").trim().parse().unwrap();
    assert!(
        (1000..1_000_000_000).contains(&nanoseconds),
        "{nanoseconds}"
    );
}

#[test]
fn a_report_begins_with_a_line_that_has_a_number_and_names_no_target_of_the_project() {
    let text = text_of("bench --quick --only footprint");
    let first = text.lines().next().unwrap();
    assert!(
        first.contains(|character: char| character.is_ascii_digit()),
        "{text}"
    );
    assert!(!text.to_lowercase().contains("target"), "{text}");
}

// ---- uuid ----
// `uuid` writes identifiers, one a line.

fn is_uuid(text: &str, version: char) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && text
            .chars()
            .all(|digit| "0123456789abcdef-".contains(digit))
        && groups[2].starts_with(version)
        && groups[3].starts_with(['8', '9', 'a', 'b'])
}

#[test]
fn every_kind_has_its_form_and_no_line_comes_twice() {
    type Form = fn(&str) -> bool;
    let is_hex = |text: &str| text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let kinds: [(&str, Form); 6] = [
        ("uuid", |text| is_uuid(text, '4')),
        ("uuid -4", |text| is_uuid(text, '4')),
        ("uuid -7", |text| is_uuid(text, '7')),
        ("uuid --ulid", |text| {
            text.len() == 26 && text.starts_with('0')
        }),
        ("uuid --trace 16", |text| text.len() == 32),
        ("uuid --trace 32", |text| text.len() == 64),
    ];
    for (command, has_form) in kinds {
        assert!(has_form(text_of(command).trim_end()), "{command}");
        let text = text_of(&format!("{command} -n 5000"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), 5000);
        assert!(lines.iter().all(|line| has_form(line)), "{command}");
        assert_eq!(
            command.contains("trace"),
            lines.iter().all(|line| is_hex(line))
        );
        let is_ordered = command.ends_with("-7") || command.ends_with("ulid");
        assert_eq!(is_ordered, lines.is_sorted(), "{command}");
    }
    assert_eq!(text_of("uuid -7 -n 0"), "");
}

#[test]
fn wrong_arguments_have_their_reason() {
    for (wrong, reason) in [
        ("uuid -4 -7", "cannot be used with"),
        ("uuid -n -1", "unexpected argument '-1'"),
        ("uuid -n many", "expected a number"),
        ("uuid --trace 8", "possible values: 16, 32"),
    ] {
        let output = run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}

// ---- completions and man pages ----
// Completions and man pages say what the command line understands.

const COMMANDS: [&str; 12] = [
    "bytes",
    "replay",
    "check",
    "stats",
    "seed",
    "generation",
    "kernel",
    "run",
    "openssl",
    "sources",
    "completions",
    "man",
];

#[test]
fn the_command_alone_prints_its_help() {
    assert_eq!(text_of(""), text_of("-h"));
}

#[test]
fn shells_accept_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Scratch::new(shell);
        std::fs::write(&script.0, stdout_of(&format!("completions {shell}"))).unwrap();
        if is_installed(shell) {
            let output = Command::new(shell)
                .args(["-n", script.path()])
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            assert_eq!(crate::stderr(&output), "", "{shell}");
        }
    }
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text_of(&format!("completions {shell}"));
        for word in COMMANDS.into_iter().chain(["topology"]) {
            assert!(script.contains(word), "{word} for {shell}");
        }
    }
}

#[test]
fn bash_completes_a_beginning() {
    if !is_installed("bash") {
        return;
    }
    let complete = |words: &str, last: &str, previous: &str| {
        let script = format!(
            "{}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _wellspring wellspring '{last}' '{previous}'; echo \"${{COMPREPLY[@]}}\"",
            text_of("completions bash")
        );
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    };
    assert_eq!(complete("wellspring by", "by", "wellspring"), "bytes");
    assert_eq!(
        complete("wellspring bytes --ps", "--ps", "bytes"),
        "--pseudo"
    );
    assert_eq!(
        complete("wellspring bytes --mode per-t", "per-t", "--mode"),
        "per-thread"
    );
}

#[test]
fn help_of_a_command_is_that_of_its_option_and_has_no_page() {
    for command in ["bytes", "seed save", "serve"] {
        let help = text_of(&format!("help {command}"));
        assert_eq!(help, text_of(&format!("{command} --help")), "{command}");
    }
    assert_eq!(text_of("help"), text_of("--help"));
    assert!(text_of("--help").contains("\n  help "));
    let output = crate::run("help nothing");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(crate::stderr(&output).lines().count(), 1, "{output:?}");
    assert!(!text_of("man").contains("wellspring\\-help"));
    assert_eq!(crate::run("man help").status.code(), Some(2));
}

#[test]
fn the_man_pages_describe_every_option() {
    for (command, options) in [
        (
            "bytes",
            &[
                "threads", "topology", "hex", "base64", "pseudo", "seed", "stream", "output",
            ][..],
        ),
        ("replay", &["check", "backend"]),
        ("check", &["list", "only", "acvp", "backend"]),
        ("bench", &["quick", "only"]),
        ("stats", &["json", "mode", "prf", "seed\\-file"]),
        ("generation-serve", &["page"]),
    ] {
        let page = text_of(&format!("man {command}"));
        for option in options {
            assert!(
                page.contains(&format!("\\-\\-{option}")),
                "--{option} of {command}"
            );
        }
    }
    assert!(text_of("man").contains("EXIT STATUS"));
    assert!(text_of("man bytes").contains(".SH EXAMPLES"));
}

#[test]
fn all_pages_are_written_and_formatters_have_nothing_against_them() {
    let folder = Scratch::new("pages");
    // A missing folder is made, with the folders above it.
    let folder = Scratch(folder.0.join("share/man1"));
    stdout_of(&format!("man --output {}", folder.path()));
    let pages = COMMANDS.map(|command| format!("wellspring-{command}.1"));
    let others = [
        "wellspring.1",
        "wellspring-seed-show.1",
        "wellspring-generation-serve.1",
        "wellspring-openssl-check.1",
    ];
    for page in pages.iter().map(String::as_str).chain(others) {
        let path = folder.0.join(page);
        assert!(path.metadata().unwrap().len() > 0, "{page}");
        if is_installed("mandoc") {
            let mut lint = Command::new("mandoc");
            let output = lint
                .args(["-T", "lint", "-W", "warning"])
                .arg(&path)
                .output()
                .unwrap();
            assert!(
                output.stdout.is_empty(),
                "{}",
                String::from_utf8_lossy(&output.stdout)
            );
        }
        if is_installed("groff") {
            let mut groff = Command::new("groff");
            let output = groff
                .args(["-man", "-ww", "-z", "-T", "utf8"])
                .arg(&path)
                .output()
                .unwrap();
            assert_eq!(crate::stderr(&output), "", "{page}");
        }
    }
}

// ---- serve and status without a service ----
// `serve` and `status` without the service: the tests of the service have them with it.

#[test]
fn what_is_not_installed_is_named_in_one_line_with_what_to_do() {
    // A copy of the command in a folder where the service is not.
    let folder = Scratch::new("host-service");
    std::fs::create_dir(&folder.0).unwrap();
    let alone = folder.0.join("wellspring");
    copy_program(env!("CARGO_BIN_EXE_wellspring"), &alone);
    let prefix = format!("make install PREFIX={}", std::env::temp_dir().display());
    for (words, missing, what_to_do) in [
        (
            &["serve"][..],
            "wellspringd is not",
            "cargo install --locked --path programs/service",
        ),
        (
            &["status"],
            "wellspringd is not",
            "cargo install --locked --path programs/service",
        ),
        (&["run", "--", "true"], "there is no ", &prefix),
    ] {
        let mut command = Command::new(&alone);
        let output = command
            .args(words)
            .env("PATH", "/nowhere")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(
            said.starts_with(&format!("wellspring: {missing}")),
            "{said}"
        );
        assert!(
            said.contains(what_to_do) && said.lines().count() == 1,
            "{said}"
        );
    }
}

#[test]
fn a_program_is_not_run_without_the_files_of_a_service() {
    let output = run("run --private-dev --files /nowhere -- true");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).starts_with("wellspring: /nowhere/random: No such file"),
        "{output:?}"
    );
}

// ---- kernel without a module ----
// `kernel` where there is no module. What it does with one is tested in a virtual machine.

#[test]
fn without_the_module_there_is_one_line_and_a_status_of_its_own() {
    if Path::new("/dev/wellspring").exists() {
        eprintln!("SKIPPED: the module is loaded");
        return;
    }
    let file = Scratch::new("kernel-seed");
    for command in [
        format!("kernel save {}", file.path()),
        format!("kernel restore {}", file.path()),
    ] {
        let output = run(&command);
        assert_eq!(output.status.code(), Some(3), "{command}: {output:?}");
        assert!(output.stdout.is_empty(), "{command}");
        assert_eq!(stderr(&output).lines().count(), 1, "{command}");
        assert!(stderr(&output).contains("is not loaded"), "{command}");
    }
    assert!(!file.0.exists());
}

#[test]
fn help_says_what_status_that_is() {
    assert!(text_of("--help").contains("3  the kernel module is not loaded"));
    for action in ["save", "restore"] {
        assert!(text_of("kernel --help").contains(action));
        assert_eq!(run(&format!("kernel {action}")).status.code(), Some(2));
    }
}
