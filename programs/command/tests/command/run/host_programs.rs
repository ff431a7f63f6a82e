//! docs/reference/host-programs.md says what each door adds to its host program. These tests compare its table with /proc and
//! with a trace of the first read.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use testkit::programs::{compile, in_list, is_installed, scratch};

/// A row of the page's table.
struct Row {
    threads: u32,
    descriptors: usize,
    locked_kib: u32,
    environment: BTreeSet<String>,
    calls: BTreeSet<String>,
    count: usize,
}

/// The words in backticks of a cell.
fn words(cell: &str) -> BTreeSet<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn row(door: &str) -> Row {
    let page = include_str!("../../../../../docs/reference/host-programs.md");
    let line = page
        .lines()
        .find(|line| line.starts_with(&format!("| {door} |")));
    let cells: Vec<&str> = line.expect(door).split('|').map(str::trim).collect();
    Row {
        threads: cells[2].parse().unwrap(),
        descriptors: cells[3].parse().unwrap(),
        locked_kib: cells[4].parse().unwrap(),
        environment: words(cells[5]),
        count: cells[6].parse().unwrap(),
        calls: words(cells[7]),
    }
}

/// The words of a program on itself, before its first read or after it.
#[derive(Debug, PartialEq, Eq)]
struct State {
    threads: u32,
    locked_kib: u32,
    descriptors: BTreeSet<String>,
    environment: BTreeSet<String>,
    /// Signals that are blocked, ignored and caught, capabilities, filters.
    others: Vec<String>,
}

fn state(when: &str, text: &str) -> State {
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix(when))
        .collect();
    let all = |name: &str| {
        let values = lines.iter().filter_map(|line| line.strip_prefix(name));
        values
            .map(|value| value.trim().to_owned())
            .collect::<BTreeSet<String>>()
    };
    let number = |name: &str| {
        let value = all(name).pop_first().unwrap_or_default();
        value.split(' ').next().unwrap().parse().unwrap()
    };
    let is_other = |line: &&&str| {
        ["Sig", "Cap", "NoNew", "Secc"]
            .iter()
            .any(|name| line.starts_with(name))
    };
    State {
        threads: number("Threads:"),
        locked_kib: number("VmLck:"),
        descriptors: all("descriptor:"),
        environment: all("environment:"),
        // How many signals of the user wait is not the program's.
        others: lines
            .iter()
            .filter(is_other)
            .filter(|line| !line.starts_with("SigQ"))
            .map(ToString::to_string)
            .collect(),
    }
}

/// The states before and after the first read, and the names of the system calls in it, where strace(1) is installed.
struct Seen {
    before: State,
    after: State,
    calls: Option<Vec<String>>,
}

fn seen(door: &str, library: &str, prepare: impl Fn(&mut Command)) -> Option<Seen> {
    if !is_installed("cc") {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/host_program.c");
    let program = compile(&source, &["-ldl"]);
    let trace = scratch("host-program").join("trace");
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "300"]);
    if is_installed("strace") {
        command
            .args(["strace", "-f", "-qq", "-o"])
            .arg(&trace)
            .args(["env", "-i"]);
    } else {
        command.args(["env", "-i"]);
    }
    let mut variables = Command::new("env");
    prepare(&mut variables);
    for (name, value) in variables.get_envs() {
        let mut word = name.to_owned();
        word.push("=");
        word.push(value.unwrap());
        command.arg(word);
    }
    let output = command
        .arg(&program)
        .args([door, library])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{door}: {text} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let calls = std::fs::read_to_string(&trace).ok().map(|trace| {
        let lines = trace
            .lines()
            .map(|line| line.split_once(' ').unwrap().1.trim_start());
        let first = lines
            .skip_while(|line| !line.contains("first read"))
            .skip(1);
        let first = first.take_while(|line| !line.contains("it has ended"));
        first
            .filter_map(|line| Some(line.split_once('(')?.0.to_owned()))
            .collect()
    });
    Some(Seen {
        before: state("before ", &text),
        after: state("after ", &text),
        calls,
    })
}

/// A door in a program, compared with the page and with the same program without it.
fn compare(name: &str, door: &str, library: &str, prepare: impl Fn(&mut Command)) {
    let row = row(name);
    let (Some(with), Some(without)) = (seen(door, library, prepare), seen("none", "", |_| {}))
    else {
        return;
    };
    // Loading it adds nothing but the names in the environment, and the first read adds what the page says.
    let added: BTreeSet<String> = with
        .before
        .environment
        .difference(&without.before.environment)
        .cloned()
        .collect();
    assert!(added.is_subset(&row.environment), "{name}: {added:?}");
    assert_eq!(with.before.others, without.before.others, "{name}");
    assert_eq!(with.after.others, without.after.others, "{name}");
    assert_eq!(with.after.environment, with.before.environment, "{name}");
    assert_eq!(
        with.after.threads,
        without.after.threads + row.threads,
        "{name}"
    );
    assert_eq!(
        with.after.descriptors.len(),
        without.after.descriptors.len() + row.descriptors,
        "{name}"
    );
    assert!(
        with.after.locked_kib <= row.locked_kib,
        "{name}: {} KiB",
        with.after.locked_kib
    );
    if let Some(calls) = with.calls {
        let names: BTreeSet<String> = calls.iter().cloned().collect();
        let new: Vec<&String> = names.difference(&row.calls).collect();
        assert!(new.is_empty(), "{name}: the page does not list {new:?}");
        assert!(calls.len() <= row.count, "{name}: {} calls", calls.len());
        assert!(
            !calls.is_empty(),
            "{name}: the read made no call: is the door in the program?"
        );
    }
}

#[test]
fn the_preload_library_adds_what_the_page_says() {
    let library = in_list(&crate::library("libwellspring_preload.so"));
    compare("preload library", "getrandom", "", |command| {
        command.env("LD_PRELOAD", &library);
    });
}

#[test]
fn the_c_library_adds_what_the_page_says() {
    let library = crate::library("libwellspring_c.so");
    compare("C library", "c", library.to_str().unwrap(), |_| {});
}

#[test]
fn the_provider_adds_what_the_page_says() {
    let library = "libcrypto.so.3";
    let module = crate::library("libwellspring_openssl.so");
    let text = include_str!("../../../../../interpose/openssl/openssl.cnf.in")
        .replace("@module@", &module.to_string_lossy());
    let file = scratch("host-program").join("openssl.cnf");
    std::fs::write(&file, text).unwrap();
    compare("OpenSSL provider", "openssl", library, |command| {
        command.env("OPENSSL_CONF", &file);
    });
}
