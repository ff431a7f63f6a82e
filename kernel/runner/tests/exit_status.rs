//! The exit status where there is no module. The rest is tested in virtual machines, by `cargo xtask kernel-test`.

use std::path::Path;
use std::process::Command;

#[test]
fn without_the_module_there_is_one_line_and_a_status_of_its_own() {
    if Path::new("/dev/wellspring").exists() || Path::new("/dev/wellspring-test").exists() {
        eprintln!("SKIPPED: the module is loaded");
        return;
    }
    for (words, status) in [
        (&[][..], 3),
        (&["--list"], 3),
        (&["device"], 3),
        (&["bench", "--quick"], 3),
        (&["--other"], 2),
    ] {
        let program = env!("CARGO_BIN_EXE_kernel-test");
        let output = Command::new(program).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{words:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{words:?}");
        let reason = String::from_utf8(output.stderr).unwrap();
        if status == 3 {
            assert_eq!(reason.lines().count(), 1, "{reason}");
            assert!(reason.contains("is not loaded"), "{reason}");
        }
    }
}
