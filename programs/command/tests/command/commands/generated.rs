//! Completions and man pages say what the command line understands.

use crate::common::{self, Scratch, is_installed, stdout_of, text_of};
use std::process::Command;

const COMMANDS: [&str; 11] = [
    "bytes",
    "replay",
    "check",
    "stats",
    "seed",
    "generation",
    "kernel",
    "run",
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
            assert_eq!(common::stderr(&output), "", "{shell}");
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
    let output = common::run("help nothing");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(common::stderr(&output).lines().count(), 1, "{output:?}");
    assert!(!text_of("man").contains("wellspring\\-help"));
    assert_eq!(common::run("man help").status.code(), Some(2));
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
        ("check", &["list", "only"]),
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
            assert_eq!(common::stderr(&output), "", "{page}");
        }
    }
}
