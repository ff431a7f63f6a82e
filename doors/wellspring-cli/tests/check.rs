//! `check` runs its tests by name; `stats` shows an engine.

mod common;

use common::{run, stdout_of, text_of};

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
        "known-answers/aes256-portable",
        "known-answers/chacha20-portable",
        "counter-carry/aes256-portable",
        "pseudo-streams",
        "modes",
        "nodes/early",
        "nodes/served",
        "nodes/hungry-first",
        "two-threads",
        "fork",
        "fork-of-fork",
        "fork-under-load",
        "nested",
        "erasure",
    ] {
        assert!(names.lines().any(|line| line == name), "{name}");
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
        "at work",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    assert!(
        text.lines().any(|line| line.starts_with("3 ")),
        "node 3 is not in\n{text}"
    );
}

#[test]
fn stats_in_json_are_json() {
    let json = text_of("stats --json --mode canonical --harvester");
    for part in [
        "\"harvester\": {\"alive\": true",
        "\"phase\": \"ready\"",
        "\"mode\": \"canonical\"",
        "\"name\": \"os\"",
        "\"last_error\": null",
    ] {
        assert!(json.contains(part), "{part} is not in {json}");
    }
    if common::is_installed("python3") {
        let mut python = std::process::Command::new("python3");
        python.args([
            "-c",
            "import json, sys; json.loads(sys.argv[1])['nodes'][0]['credit_bits']",
            &json,
        ]);
        assert!(python.status().unwrap().success(), "{json}");
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
