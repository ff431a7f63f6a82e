//! The differences with a terminal on the other side; script(1) plays it.

use crate::common::{self, is_installed, run, stderr};
use std::process::{Command, Stdio};

/// Runs a shell's command on a terminal and returns what is on the screen afterwards, or `None`.
fn on_a_terminal(command: &str) -> Option<String> {
    if !is_installed("script") {
        return None;
    }
    let binary = common::quoted_command();
    let command = command.replace("wellspring", &binary);
    let mut script = Command::new("script");
    // A terminal whose kind is not known, or is `dumb`, gets no bar.
    script.env("TERM", "xterm");
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    let output = script.stdin(Stdio::null()).output().unwrap();
    Some(
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &format!("[{}]", output.status.code().unwrap()),
    )
}

#[test]
fn a_bar_and_a_line_are_shown_on_a_terminal() {
    let Some(screen) = on_a_terminal("wellspring bytes 100MiB > /dev/null") else {
        return;
    };
    assert!(screen.contains("===>"), "{screen}");
    assert!(
        screen.contains("of 100.00 MiB, ") && screen.contains("ETA"),
        "{screen}"
    );
    assert!(screen.contains("100 MiB in "), "{screen}");
    assert!(screen.ends_with("[0]"), "{screen}");
}

#[test]
fn small_amounts_get_no_bar_and_quiet_ones_nothing() {
    let Some(screen) = on_a_terminal("wellspring bytes 1000 > /dev/null") else {
        return;
    };
    assert!(!screen.contains("ETA"), "{screen}");
    assert!(screen.starts_with("1000 bytes in "), "{screen}");
    let screen = on_a_terminal("wellspring bytes 100MiB --quiet > /dev/null").unwrap();
    assert_eq!(screen, "[0]");
}

#[test]
fn without_a_terminal_there_is_no_progress_bar() {
    let output = run("bytes 100MiB --output /dev/null");
    assert_eq!(stderr(&output).lines().count(), 1);
    assert!(!stderr(&output).contains('\r') && !stderr(&output).contains("ETA"));
}

#[test]
fn a_terminal_gets_no_raw_bytes_unless_they_are_meant_for_it() {
    let Some(screen) = on_a_terminal("wellspring bytes 10") else {
        return;
    };
    assert!(
        screen.contains("standard output is a terminal: try --hex"),
        "{screen}"
    );
    assert!(screen.ends_with("[2]"), "{screen}");
    let screen = on_a_terminal("wellspring bytes 1000 --output - 2> /dev/null").unwrap();
    assert!(screen.len() > 900 && screen.ends_with("[0]"), "{screen}");
    let screen = on_a_terminal("wellspring bytes 2 --hex 2> /dev/null").unwrap();
    let digits = screen.trim_end_matches("[0]").trim_end();
    assert_eq!(digits.len(), 4, "{screen}");
}
