//! `check` runs its tests by name; `stats` shows an engine.

use crate::common::{self, run, stdout_of, text_of};

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
        let output = without_wipes(&mut common::wellspring(arguments)).output();
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
