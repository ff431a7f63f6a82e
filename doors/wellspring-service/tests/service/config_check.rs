//! `--check-config` on a machine that lacks what a configuration names.

use super::common::{Folder, is_root, wellspringd};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_check_says_which_users_folders_and_files_are_missing() {
    let folder = Folder::new();
    let check = |more: &str| {
        let mut command = wellspringd();
        command
            .arg("--check-config")
            .arg("--config")
            .arg(folder.configure(more));
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let status = if said.is_empty() { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(status), "{said}");
        said
    };
    let seeds = folder.path("seeds");
    fs::create_dir(&seeds).unwrap();
    let place = folder.0.display();
    let right = format!(
        "[engine]\nseed_file = \"{place}/seeds/seed\"\nnoise_files = [\"/dev/null\"]\n[files]\nmount = \"{place}/files\"\n\
         [egd]\nlisten = [\"egd.sock\", \"{place}/egd.sock\"]\n"
    );
    assert_eq!(check(&right), "");
    let wrong = right
        .replace("/dev/null", "/nowhere/noise")
        .replace(&format!("{place}/"), "/nowhere/");
    let wrong = wrong
        + "[page]\npath = \"/nowhere/page\"\n[kernel_module]\nseed_file = \"/dev/null/seed\"\n";
    let expected: Vec<String> = [
        "[engine] seed_file: /nowhere/seeds: No such file or directory (os error 2)",
        "[kernel_module] seed_file: /dev/null is no folder",
        "[engine] noise_files: /nowhere/noise: No such file or directory (os error 2)",
        "[files] mount: /nowhere: No such file or directory (os error 2)",
        "[page] path: /nowhere: No such file or directory (os error 2)",
        "[egd] listen: /nowhere: No such file or directory (os error 2)",
    ]
    .iter()
    .map(|line| format!("wellspringd: {line}\n"))
    .collect();
    assert_eq!(check(&wrong), expected.concat());
    if !is_root() {
        return;
    }
    assert_eq!(
        check("user = \"no-such-user\"\n"),
        "wellspringd: [service] user: no user no-such-user\n"
    );
    // The folder is root's, and the service will not be.
    let said = check(&format!("user = \"daemon\"\n{right}"));
    assert!(
        said.starts_with(&format!(
            "wellspringd: [engine] seed_file: {place}/seeds belongs to user 0, "
        )),
        "{said}"
    );
    let run = folder.path("run");
    fs::create_dir(&run).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o777)).unwrap();
    let expected = format!(
        "wellspringd: [service] runtime_dir: {place}/run or a folder above it: other users can write it\n"
    );
    assert_eq!(check(""), expected);
}
