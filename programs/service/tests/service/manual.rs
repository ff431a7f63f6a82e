//! The man pages and the example of a configuration agree with the program.

use super::common::{is_installed, wellspringd};
use std::process::Command;

/// The output of the program with these arguments.
fn printed(words: &[&str]) -> String {
    let output = wellspringd().args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_man_page_names_every_option() {
    let page = include_str!("../../../../packaging/man/wellspringd.8").replace("\\-", "-");
    let help = printed(&["--help"]) + &printed(&["status", "--help"]);
    let words = help.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
    let options: Vec<_> = words.filter(|word| word.starts_with("--")).collect();
    assert!(options.contains(&"--watch"));
    for name in options {
        assert!(page.contains(name), "{name}");
    }
}

/// The keys, each as `section.key`.
fn keys(config: &toml::Table) -> Vec<String> {
    let of_section = |(section, table): (&String, &toml::Value)| {
        let table = table.as_table().unwrap();
        table
            .keys()
            .map(|key| format!("{section}.{key}"))
            .collect::<Vec<_>>()
    };
    config.iter().flat_map(of_section).collect()
}

#[test]
fn the_man_page_and_the_example_have_every_key_and_no_other() {
    // Root's defaults are those of the page, wherever a test runs: those of the machine are in words there.
    let config: toml::Table = printed(&["--print-config"]).parse().unwrap();
    let all = keys(&config);
    let page = include_str!("../../../../packaging/man/wellspring.toml.5");
    let page = page.replace("\\-", "-").replace("\\(dq", "\"");
    let mut named = Vec::new();
    for section in page.split(".SS [").skip(1) {
        let (name, text) = section.split_once("]\n").unwrap();
        for entry in text.split(".TP\n.BR ").skip(1) {
            let key = entry.split(' ').next().unwrap();
            named.push(format!("{name}.{key}"));
            let default = &config[name][key];
            let is_of_machine = ["runtime_dir", "threads", "seed_file"].contains(&key);
            let words = format!("Default: {default}");
            assert!(
                is_of_machine || entry.contains(&words),
                "{name}.{key} without '{words}': {entry}"
            );
        }
    }
    named.sort();
    assert_eq!(named, all);
    let example = include_str!("../../../../packaging/wellspring/wellspring.toml");
    let is_setting = |line: &&str| {
        !line.starts_with("# ")
            || line[2..]
                .split_once(" = ")
                .is_some_and(|(key, _)| !key.contains(' '))
    };
    let lines: Vec<&str> = example.lines().filter(is_setting).collect();
    let text = lines.join("\n").replace("# ", "");
    let example: toml::Table = text.parse().unwrap();
    assert_eq!(keys(&example), all);
    wellspring_service::config::parse("example".as_ref(), &text).unwrap();
}

#[test]
fn formatters_have_nothing_against_the_man_pages() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/man");
    for page in ["wellspringd.8", "wellspring.toml.5"] {
        if is_installed("mandoc") {
            let mut lint = Command::new("mandoc");
            let lint = lint
                .args(["-T", "lint", "-W", "warning", page])
                .current_dir(folder);
            assert_eq!(String::from_utf8_lossy(&lint.output().unwrap().stdout), "");
        }
    }
}
