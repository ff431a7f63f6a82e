//! `serve` and `status` without the service: the tests of the service have them with it.

mod common;

use common::{Scratch, stderr};
use std::process::Command;

#[test]
fn a_missing_service_is_named_in_one_line_with_what_to_do() {
    // A copy of the command in a folder where the service is not.
    let folder = Scratch::new("host-service");
    std::fs::create_dir(&folder.0).unwrap();
    let alone = folder.0.join("wellspring");
    std::fs::copy(env!("CARGO_BIN_EXE_wellspring"), &alone).unwrap();
    for command in ["serve", "status"] {
        let output = Command::new(&alone)
            .arg(command)
            .env("PATH", "/nowhere")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(
            said.starts_with("wellspring: wellspringd is not installed")
                && said.lines().count() == 1,
            "{said}"
        );
    }
}
