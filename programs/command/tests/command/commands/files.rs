//! Files that a command reads and writes: seed files, on disks as they come, and vectors that `replay` answers and compares.

use crate::{Scratch, run, stderr, stdout_of, text_of, vectors, wellspring};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A private folder of a test's own.
fn folder(name: &str) -> Scratch {
    let folder = Scratch::new(name);
    fs::DirBuilder::new().mode(0o700).create(&folder.0).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// How often the file has been written, as it says itself.
fn counter(path: &str) -> u64 {
    let text = text_of(&format!("seed show {path}"));
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("number    "))
        .unwrap();
    line.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_file_is_made_shown_and_used() {
    let folder = folder("seed-used");
    let path = format!("{}/seed", folder.path());
    let output = text_of(&format!("seed save {path}"));
    assert!(output.contains("found     no file"), "{output}");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    let shown = text_of(&format!("seed show {path}"));
    assert!(shown.contains("\nwritten   in this boot\n"), "{shown}");
    assert_eq!(counter(&path), 2, "made before its first use, then saved");
    assert!(shown.contains("claim     256 bits"), "{shown}");
    assert!(
        shown.contains("not credited: written in this boot"),
        "{shown}"
    );
    let before = counter(&path);
    assert_eq!(before, counter(&path), "to look changes nothing");
    stdout_of(&format!(
        "bytes 32 --seed-file {path} --topology nodes=4,cpus=8"
    ));
    assert_eq!(
        counter(&path),
        before + 2,
        "before the first use, and at the end"
    );
    assert!(text_of(&format!("seed show {path}")).starts_with("sections  4\n"));
    let stats = text_of(&format!("stats --seed-file {path}"));
    assert!(
        stats.contains("seed file       found a seed, not credited"),
        "{stats}"
    );
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = folder("seed-wrong");
    let path = format!("{}/seed", folder.path());
    let says = |arguments: &str, status, reason: &str| {
        let output = run(arguments);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{arguments}: {output:?}"
        );
        let line = stderr(&output);
        assert_eq!(line.lines().count(), 1, "{arguments}: {line}");
        assert!(
            line.starts_with("wellspring: ") && line.contains(reason),
            "{arguments}: {line}"
        );
    };
    says(&format!("seed show {path}"), 2, "no file");
    fs::write(&path, "rubbish").unwrap();
    says(&format!("seed show {path}"), 2, "damaged: not a seed file");
    says(
        &format!("bytes 1 --hex --seed-file {path}"),
        0,
        "refused: not a seed file; it stays as it is",
    );
    assert_eq!(fs::read(&path).unwrap(), b"rubbish");
    says(&format!("seed save {path}"), 2, "not a seed file");
    std::os::unix::fs::symlink(&path, format!("{path}.link")).unwrap();
    says(&format!("seed save {path}.link"), 2, "a symbolic link");
    says(
        &format!("bytes 1 --hex --seed-file {path}.link"),
        0,
        "refused: it is a symbolic link",
    );
    says(
        &format!("seed save {}", folder.path()),
        2,
        "not a regular file",
    );
    says(&format!("seed save {path}/x"), 2, "Not a directory");
    says("seed save /proc/seed", 1, "No such file or directory");
    says("seed", 2, "subcommand");
}

/// A seed file that does not exist yet is made. A folder that does not exist is a wrong argument.
#[test]
fn a_seed_file_in_a_folder_that_does_not_exist_is_refused() {
    let folder = folder("seed-folder");
    for command in ["bytes 1 --hex", "stats"] {
        let first = format!("{}/{}", folder.path(), &command[..5]);
        stdout_of(&format!("{command} --seed-file {first}"));
        assert!(Path::new(&first).exists());
        for (wrong, reason) in [
            (format!("{}/none/seed", folder.path()), "No such file"),
            (format!("{first}/seed"), "Not a directory"),
        ] {
            let output = run(&format!("{command} --seed-file {wrong}"));
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            assert!(output.stdout.is_empty(), "{output:?}");
            let line = stderr(&output);
            assert_eq!(line.lines().count(), 1, "{line}");
            assert!(line.contains(&format!("{wrong}: {reason}")), "{line}");
        }
    }
}

#[test]
fn killed_at_any_instant_the_old_or_the_new_file_stands() {
    let folder = folder("seed-killed");
    let path = format!("{}/seed", folder.path());
    let start = Instant::now();
    stdout_of(&format!("seed save {path}"));
    let whole = start.elapsed().max(Duration::from_millis(4));
    let (mut last, mut killed, mut unfinished) = (counter(&path), 0, 0);
    let rounds = if crate::is_long("four of five rounds") {
        120
    } else {
        24
    };
    for round in 0..rounds {
        let mut child = wellspring(&format!("seed save {path}"))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // From at once to a little later than a save takes.
        std::thread::sleep(whole * (round * 7 % 24) / 20);
        let _ = child.kill();
        killed += usize::from(!child.wait().unwrap().success());
        let left = names(&folder.0);
        assert!(
            left.iter()
                .all(|name| ["seed", ".seed.next"].contains(&name.as_str())),
            "{left:?}"
        );
        unfinished += usize::from(left.len() == 2);
        let now = counter(&path);
        assert!((last..=last + 2).contains(&now), "{last} then {now}");
        last = now;
    }
    // At least the first is killed before it can end.
    assert!(killed > 0, "none of {rounds} was killed in time");
    eprintln!("{killed} of {rounds} killed, {unfinished} of them while the next file was there");
    stdout_of(&format!("seed save {path}"));
    assert_eq!(names(&folder.0), ["seed"]);
}

/// Runs a script that may mount; `None` if this user may not.
fn in_mounts_of_its_own(script: &str, folder: &str) -> Option<String> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", &format!("set -u\n{script}"), "sh"]);
    let output = unshare
        .args([env!("CARGO_BIN_EXE_wellspring"), folder])
        .output();
    let text = output.map(|output| String::from_utf8(output.stdout).unwrap());
    let text = text.ok().filter(|text| text.starts_with("mounted"));
    if text.is_none() {
        eprintln!("SKIPPED: no right to mount");
    }
    text
}

#[test]
fn on_a_full_or_read_only_disk_the_old_file_stands() {
    let folder = folder("seed-full");
    let script = r#"
        mount -t tmpfs -o size=64k,mode=700 none "$2" || exit; echo mounted
        "$1" seed save "$2/seed" > "$2/out" 2>&1; echo "made $?"
        cat /dev/zero > "$2/fill" 2> /dev/null
        sum=$(sha256sum < "$2/seed")
        "$1" seed save "$2/seed" 2>&1; echo "full $?"
        test "$sum" = "$(sha256sum < "$2/seed")"; echo "stands $?"
        ls -A "$2" | tr '\n' ' '; echo
        "$1" bytes 4 --hex --seed-file "$2/seed" 2>&1 > /dev/null; echo "used $?"
        rm "$2/fill"; mount -o remount,ro "$2"
        "$1" seed save "$2/seed" 2>&1; echo "read-only $?"
        "$1" stats --seed-file "$2/seed" 2> /dev/null | grep '^seed file'
        test "$sum" = "$(sha256sum < "$2/seed")"; echo "stands $?"
        mount -o remount,rw "$2"
        "$1" seed save "$2/seed" > /dev/null 2>&1; echo "again $?""#;
    let Some(said) = in_mounts_of_its_own(script, folder.path()) else {
        return;
    };
    let seed = format!("{}/seed", folder.path());
    let expected = format!(
        "mounted\nmade 0\n\
         wellspring: {seed}: No space left on device (os error 28)\nfull 1\nstands 0\nfill out seed \n\
         wellspring: {seed}: a seed, not credited: it could not be replaced\n\
         wellspring: {seed}: not written: No space left on device (os error 28)\nused 0\n\
         wellspring: {seed}: Read-only file system (os error 30)\nread-only 1\n\
         seed file       found a seed, not credited: it could not be replaced, written 0 times, then not written: \
         Read-only file system (os error 30)\nstands 0\nagain 0\n"
    );
    assert_eq!(said, expected);
}

#[test]
fn a_file_in_a_containers_layer_is_credited_nothing() {
    let folder = folder("seed-layer");
    let script = r#"
        mount -t tmpfs none "$2" && mkdir "$2/lower" "$2/upper" "$2/work" "$2/merged" && chmod 700 "$2"/*
        "$1" seed save "$2/lower/seed" > /dev/null
        mount -t overlay -o "lowerdir=$2/lower,upperdir=$2/upper,workdir=$2/work" none "$2/merged" || exit
        echo mounted
        "$1" seed save "$2/merged/seed" > /dev/null; echo $?
        "$1" seed show "$2/merged/seed" | grep place"#;
    if let Some(said) = in_mounts_of_its_own(script, folder.path()) {
        assert_eq!(said, "mounted\n0\nplace     cannot be told from a copy\n");
    }
}

// ---- replay ----
// `replay` answers and compares.

const QUESTION: &str = "\
# Fortuna's generator with a key and a counter of zero but one.
gen cipher=aes concurrent=1 K=0000000000000000000000000000000000000000000000000000000000000000 C=01000000000000000000000000000000
read n=4
";

fn freebsd() -> String {
    crate::quoted(&vectors("fortuna-freebsd.txt"))
}

#[test]
fn freebsds_answers_are_those_of_every_backend() {
    let summary = "704 answers in 58 vectors are the same\n";
    assert_eq!(text_of(&format!("replay --check {}", freebsd())), summary);
    for backend in ["aes256-portable", "chacha20-portable"] {
        let arguments = format!("replay --check --backend {backend} {}", freebsd());
        assert_eq!(text_of(&arguments), summary);
    }
}

#[test]
fn answers_are_printed_in_the_words_of_the_file() {
    let file = std::fs::read_to_string(vectors("fortuna-freebsd.txt")).unwrap();
    let is_answer = |line: &&str| {
        ["pre ", "read ", "after "]
            .iter()
            .any(|word| line.starts_with(word))
    };
    // Some are indented in the file, some not.
    let expected: Vec<&str> = file.lines().map(str::trim).filter(is_answer).collect();
    assert_eq!(expected.len(), 704);
    let got = text_of(&format!("replay {}", freebsd()));
    assert!(
        got.lines().map(str::trim).eq(expected),
        "the answers differ from the file's"
    );
}

#[test]
fn a_wrong_answer_is_shown_with_its_line_and_fails() {
    let file = std::fs::read_to_string(vectors("fortuna-freebsd.txt")).unwrap();
    let number = 1 + file
        .lines()
        .position(|line| line.starts_with("read n=16 out="))
        .unwrap();
    let right = file.lines().nth(number - 1).unwrap();
    let wrong = match right.strip_suffix('0') {
        Some(start) => format!("{start}1"),
        None => format!("{}0", &right[..right.len() - 1]),
    };
    let corrupted = Scratch::new("corrupted");
    std::fs::write(&corrupted.0, file.replacen(right, &wrong, 1)).unwrap();
    let name = corrupted.path();
    let output = run(&format!("replay --check {name}"));
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "{name}:{number}: expected {wrong}\n{name}:{number}: got      {right}\n\
         1 of 704 answers in 58 vectors differ\n"
    );
    assert_eq!(stderr(&output), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn comparing_nothing_is_no_success() {
    let file = Scratch::new("open");
    for (text, summary) in [
        ("", "0 answers in 0 vectors are the same\n"),
        ("# a comment\n\n", "0 answers in 0 vectors are the same\n"),
        (
            QUESTION,
            "0 answers in 1 vectors are the same, 1 have nothing to compare with\n",
        ),
    ] {
        std::fs::write(&file.0, text).unwrap();
        // Not even beside a file that has answers.
        let output = run(&format!("replay --check {}", file.path()));
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), summary);
        assert!(
            stderr(&output).contains("has no answers to compare"),
            "{text}"
        );
        let output = run(&format!("replay --check {} {}", freebsd(), file.path()));
        assert_eq!(output.status.code(), Some(1), "{text}");
    }
}

#[test]
fn a_file_that_asks_for_nothing_is_bad_input() {
    let file = Scratch::new("nothing");
    let head = "begin cipher=aes concurrent=1\nend\n";
    for text in ["", "# a comment\n\n", head] {
        std::fs::write(&file.0, text).unwrap();
        for command in ["replay", "sources replay"] {
            let output = run(&format!("{command} {}", file.path()));
            assert_eq!(output.status.code(), Some(2), "{command}: {text}");
            let expected = format!("wellspring: {}: asks for no answer\n", file.path());
            assert_eq!(stderr(&output), expected);
        }
    }
    // The answers of the files before it are printed.
    let output = run(&format!("replay {} {}", freebsd(), file.path()));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, stdout_of(&format!("replay {}", freebsd())));
    let output = run("replay -");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "wellspring: standard input: asks for no answer\n"
    );
    let output = run("sources replay --raw jitter /dev/null");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "wellspring: /dev/null: there are no samples to test\n"
    );
}

#[test]
fn questions_come_from_the_standard_input_too() {
    let mut command = wellspring("replay -");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(QUESTION.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    // AES-256 of the block 01 00 .. 00 under a key of zeros.
    assert_eq!(output.stdout, b"read n=4 out=5275f3d8\n");
}

#[test]
fn a_line_that_cannot_be_understood_is_named() {
    let file = Scratch::new("hostile");
    for (text, expected) in [
        (
            &b"read n=1\n"[..],
            ":1: no begin, gen or noise line before it",
        ),
        (b"# x\nfrob\n", ":2: unknown kind of line"),
        (
            b"begin cipher=des concurrent=1\n",
            ":1: cipher= is malformed",
        ),
        (b"begin cipher=aes\n", ":1: concurrent= is missing"),
        (
            b"begin cipher=aes concurrent=1\nread n=1073741825\n",
            ":2: a read of more than 1 GiB, or samples of more than 1 MiB",
        ),
        (b"#\n#\n\xff\n", ":3: is not text"),
    ] {
        std::fs::write(&file.0, text).unwrap();
        for check in ["", "--check"] {
            let output = run(&format!("replay {check} {}", file.path()));
            assert_eq!(output.status.code(), Some(2), "{expected}");
            assert_eq!(
                stderr(&output),
                format!("wellspring: {}{expected}\n", file.path())
            );
        }
    }
}
