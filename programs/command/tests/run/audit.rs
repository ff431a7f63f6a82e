//! `run --audit` on small programs: none of the bad ones is missed, and none of the good ones is accused.

#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

use crate::common::{self, Scratch, is_installed, stderr};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use testkit::programs::{AS_USER, can_be_user};

/// Runs a program under the audit. Returns what it found; `None` where ptrace(2) is forbidden.
fn audit(program: &[&str]) -> Option<Value> {
    audit_with_page("/none", program)
}

fn audit_with_page(page: &str, program: &[&str]) -> Option<Value> {
    let file = Scratch::new("json");
    let mut command = common::wellspring("run");
    command.args(["--audit", "--page", page, "--audit-json", file.path(), "--"]);
    let output = command.args(program).output().unwrap();
    if stderr(&output).contains("Operation not permitted") {
        println!("SKIPPED: {}", stderr(&output));
        return None;
    }
    assert!(output.status.success(), "{program:?}: {output:?}");
    Some(serde_json::from_slice(&std::fs::read(&file.0).unwrap()).unwrap())
}

/// Runs a row of a table: the program, the only fault or `""`, and the beginning of a generator's name that it draws on.
fn check(program: &[&str], fault: &str, generator: &str) {
    let Some(found) = audit(program) else {
        return;
    };
    let list = |list: &str| found[list].as_array().unwrap().clone();
    // libxml2, which PHP loads, seeds rand_r by the time: that is no fault of the program in the table.
    let is_of_library = |fault: &Value| {
        program[0] == "php" && fault["generator"].as_str().unwrap().starts_with("rand_r")
    };
    let mut faults = list("faults");
    faults.retain(|fault| !is_of_library(fault));
    let kinds: Vec<&str> = faults
        .iter()
        .map(|fault| fault["kind"].as_str().unwrap())
        .collect();
    let wanted: &[&str] = if fault.is_empty() { &[] } else { &[fault] };
    assert_eq!(kinds, wanted, "{program:?}: {found}");
    let is_drawn = |draw: &Value| draw["generator"].as_str().unwrap().starts_with(generator);
    assert!(list("draws").iter().any(is_drawn), "{program:?}: {found}");
}

fn build(compiler: &str, source: &str, options: &[&str]) -> Option<Scratch> {
    if !is_installed(compiler) {
        return None;
    }
    let program = Scratch::new("program");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit");
    let mut command = Command::new(compiler);
    command.args(options).args(["-o", program.path(), source]);
    assert!(command.current_dir(folder).status().unwrap().success());
    Some(program)
}

const C_PROGRAMS: [(&str, &str, &str); 21] = [
    ("unseeded", "never-seeded", "rand and random"),
    ("time", "guessable-seed", "rand and random"),
    ("pid", "guessable-seed", "drand48"),
    ("fork", "same-state", "rand and random"),
    ("two-children", "same-state", "rand and random"),
    ("grandchild", "same-state", "rand and random"),
    ("fork-erand48", "same-state", "erand48"),
    ("clone", "same-state", "rand and random"),
    ("clone3", "same-state", "rand and random"),
    ("threads-by-time", "guessable-seed", "rand_r"),
    ("vfork-exec", "never-seeded", "rand and random"),
    ("exec", "guessable-seed", "rand and random"),
    ("many-draws", "same-state", "rand and random"),
    ("getrandom", "", "getrandom"),
    ("seeded", "", "rand and random"),
    ("fork-and-seed", "", "rand and random"),
    ("child-alone", "", "rand and random"),
    ("threads", "", "rand_r"),
    ("threads-and-forks", "", "rand and random"),
    ("vfork-exec-seeded", "", "rand and random"),
    ("fork-erand48-seeded", "", "erand48"),
];

#[test]
fn no_bad_program_in_c_is_missed_and_no_good_one_accused() {
    for options in [&["-O1", "-pthread"][..], &["-O1", "-pthread", "-static"]] {
        let Some(program) = build("cc", "programs.c", options) else {
            return;
        };
        for (name, fault, generator) in C_PROGRAMS {
            check(&[program.path(), name], fault, generator);
        }
    }
}

#[test]
fn a_generator_that_nothing_seeded_after_the_machine_was_cloned_is_found() {
    let Some(program) = build("cc", "programs.c", &["-pthread"]) else {
        return;
    };
    let page = Scratch::new("page");
    let wellspring = common::quoted_command();
    let bump = format!("{wellspring} generation bump --page {}", page.path());
    common::text_of(&bump[wellspring.len()..]);
    for (name, faults) in [("notice", 1), ("notice-and-seed", 0)] {
        let Some(found) = audit_with_page(page.path(), &[program.path(), name, &bump]) else {
            return;
        };
        let found = found["faults"].as_array().unwrap();
        assert_eq!(found.len(), faults, "{name}: {found:?}");
        assert!(
            found
                .iter()
                .all(|fault| fault["kind"] == "older-than-clone")
        );
    }
}

#[test]
fn of_a_static_program_without_symbols_the_report_says_what_it_does_not_see() {
    let Some(program) = build("cc", "programs.c", &["-pthread", "-static", "-s"]) else {
        return;
    };
    if let Some(found) = audit(&[program.path(), "fork"]) {
        assert_eq!(found["draws"].as_array().unwrap().len(), 1, "{found}");
        assert_eq!(found["draws"][0]["generator"], "getrandom(2)");
        assert_eq!(found["only_system_calls"][0], program.path());
    }
}

/// A program that its user may execute and not read, such as sudo of some distributions.
#[test]
fn a_program_that_may_not_be_read_runs_on_and_is_named() {
    if !can_be_user() {
        return;
    }
    let program = Scratch::new("unreadable");
    common::copy_program("/bin/echo", &program.0);
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o111);
    std::fs::set_permissions(&program.0, closed).unwrap();
    let wellspring = common::quoted_command();
    let line = format!(
        "{AS_USER} {wellspring} run --audit -- {} it runs",
        program.path()
    );
    let output = common::shell(&line);
    if stderr(&output).contains("Operation not permitted") {
        return println!("SKIPPED: {}", stderr(&output));
    }
    assert_eq!(output.stdout, b"it runs\n", "{output:?}");
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).contains("may not be read"), "{output:?}");
}

#[test]
fn a_twister_of_cpp_that_a_fork_has_copied_is_found() {
    let Some(program) = build("c++", "twister.cpp", &["-O0"]) else {
        return;
    };
    let generator = "std::mersenne_twister_engine";
    check(&[program.path()], "same-state", generator);
    check(&[program.path(), "seed"], "", generator);
}

#[test]
fn a_generator_of_python_that_a_fork_has_copied_is_found_also_in_a_program_without_symbols() {
    let both = "import os, random\nimport sys\nr = random.Random()\nrandom.random()\n\
        if os.fork() == 0:\n DRAW\n os._exit(0)\nDRAW\nos.wait()\n";
    let mut pythons = vec!["/usr/bin/python3".to_owned()];
    if is_installed("python3") {
        // A script may stand for it, which starts twenty programs.
        let mut command = Command::new("python3");
        let output = command
            .args(["-c", "import sys; print(sys.executable, end='')"])
            .output();
        pythons.push(String::from_utf8(output.unwrap().stdout).unwrap());
    }
    pythons.dedup();
    for python in &pythons {
        if !is_installed(python) {
            continue;
        }
        let check = |draw: &str, fault: &str, generator: &str| {
            let script = both.replace("DRAW", draw);
            check(&[python, "-c", &script], fault, generator);
        };
        check("r.random()", "same-state", "random of Python");
        check("r.getrandbits(64)", "same-state", "random of Python");
        // Python seeds the shared one in a child.
        check("random.random()", "", "random of Python");
        check("random.Random().random()", "", "random of Python");
        check(
            "import multiprocessing; multiprocessing.Pool(2).map(abs, [random.random()])",
            "",
            "random of Python",
        );
        check("os.urandom(8)", "", "getrandom");
        check("random.SystemRandom().random()", "", "getrandom");
    }
}

#[test]
fn generators_of_perl_and_php_that_a_fork_has_copied_are_found() {
    if is_installed("perl") {
        let script = |child: &str| format!("rand; if (!fork) {{ {child} rand; exit }} rand; wait");
        check(&["perl", "-e", &script("")], "same-state", "rand of Perl");
        check(&["perl", "-e", &script("srand;")], "", "rand of Perl");
        check(
            &["perl", "-e", "srand(time); rand"],
            "guessable-seed",
            "rand of Perl",
        );
    }
    let has_fork = |php: &str| {
        let mut command = Command::new(php);
        let output = command
            .args(["-r", "exit((int)!function_exists('pcntl_fork'));"])
            .output();
        output.is_ok_and(|output| output.status.success())
    };
    if has_fork("php") {
        let script = |child: &str| {
            format!(
                "mt_rand(); if (pcntl_fork() == 0) {{ {child} mt_rand(); exit; }} mt_rand(); pcntl_wait($s);"
            )
        };
        check(&["php", "-r", &script("")], "same-state", "mt_rand of PHP");
        check(
            &[
                "php",
                "-r",
                &script("mt_srand(random_int(0, PHP_INT_MAX));"),
            ],
            "",
            "mt_rand of PHP",
        );
    }
}

#[test]
fn the_status_of_an_audited_program_is_passed_on_and_the_text_names_what_was_found() {
    let mut command = common::wellspring("run");
    let output = command
        .args([
            "--audit",
            "--",
            "sh",
            "-c",
            "head -c 1 /dev/urandom; exit 7",
        ])
        .output();
    let output = output.unwrap();
    let text = stderr(&output);
    if text.contains("Operation not permitted") {
        return println!("SKIPPED: {text}");
    }
    assert_eq!(output.status.code(), Some(7), "{text}");
    assert!(
        text.contains("draws on /dev/urandom (the kernel): 1 calls, 1 processes"),
        "{text}"
    );
    assert!(text.ends_with("wellspring: 0 faults\n"), "{text}");
    let mut command = common::wellspring("run");
    let missing = command.args(["--audit", "--", "/none"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(127));
}
