//! `serve` and `status` without the service: the tests of the service have them with it.

use crate::common::{Scratch, copy_program, run, stderr};
use std::process::Command;

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
