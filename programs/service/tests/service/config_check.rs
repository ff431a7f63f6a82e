//! `--check-config` on a machine that lacks what a configuration names.

use super::common::{Folder, copy_program, is_installed, is_root, wellspringd};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

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
        // The last line is for users without rights: another test looks at it.
        let lines = said.split_inclusive('\n');
        lines
            .filter(|line| !line.contains("would find this"))
            .collect::<String>()
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

/// A user without rights hears who can do what it asked for.
#[test]
fn a_user_without_rights_is_told_to_check_as_the_user_that_starts_the_service() {
    if !is_root() || !is_installed("setpriv") {
        return;
    }
    let folder = Folder::new();
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path("wellspringd");
    copy_program(env!("CARGO_BIN_EXE_wellspringd"), &program);
    fs::create_dir(folder.path("seeds")).unwrap();
    let seed = format!("[engine]\nseed_file = {:?}\n", folder.path("seeds/seed"));
    let config = folder.configure(&seed);
    let check = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=4711", "--regid=4711", "--clear-groups"]);
        command
            .arg(&program)
            .arg("--check-config")
            .arg("--config")
            .arg(&config);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
    let said = check();
    assert!(
        said.contains("seed_file: ") && said.contains("belongs to user 0"),
        "{said}"
    );
    let last = "wellspringd: user 4711 would find this: if root starts the service, check the configuration as root\n";
    assert!(said.ends_with(last), "{said}");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).unwrap();
    let expected = format!(
        "wellspringd: {}: Permission denied (os error 13); run this as the user that starts the service, or give --config \
         and a file of your own\n",
        config.display()
    );
    assert_eq!(check(), expected);
}
