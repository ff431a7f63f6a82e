//! `kernel` where there is no module. What it does with one is tested in a virtual machine.

use crate::common::{Scratch, run, stderr, text_of};
use std::path::Path;

#[test]
fn without_the_module_there_is_one_line_and_a_status_of_its_own() {
    if Path::new("/dev/wellspring").exists() {
        eprintln!("SKIPPED: the module is loaded");
        return;
    }
    let file = Scratch::new("kernel-seed");
    for command in [
        format!("kernel save {}", file.path()),
        format!("kernel restore {}", file.path()),
    ] {
        let output = run(&command);
        assert_eq!(output.status.code(), Some(3), "{command}: {output:?}");
        assert!(output.stdout.is_empty(), "{command}");
        assert_eq!(stderr(&output).lines().count(), 1, "{command}");
        assert!(stderr(&output).contains("is not loaded"), "{command}");
    }
    assert!(!file.0.exists());
}

#[test]
fn help_says_what_status_that_is() {
    assert!(text_of("--help").contains("3  the kernel module is not loaded"));
    for action in ["save", "restore"] {
        assert!(text_of("kernel --help").contains(action));
        assert_eq!(run(&format!("kernel {action}")).status.code(), Some(2));
    }
}
