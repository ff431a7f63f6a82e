//! The guard of the JVM: copies differ after a notice, and generators with a seed go on.
//!
//! A JVM does not outlive a fork. So two runs are two copies here: the program gives its generators the same state in both.

use crate::common::{GUARDS, command, lines, names, page, same, set};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use testkit::programs::{is_installed, scratch, succeeds};

/// The folder with the agent and the compiled program of the tests, made once.
fn built() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> Option<PathBuf> {
    if !is_installed("java") || !is_installed("javac") {
        return None;
    }
    let folder = scratch("jvm");
    let script = Path::new(GUARDS).join("jvm/build.sh");
    succeeds(
        &Command::new("sh")
            .arg(script)
            .arg(&folder)
            .output()
            .unwrap(),
    );
    let mut javac = Command::new("javac");
    javac.arg("-d").arg(&folder);
    javac.arg(Path::new(GUARDS).join("tests/jvm/Copies.java"));
    succeeds(&javac.output().unwrap());
    Some(folder)
}

fn java(folder: &Path, page: &Path) -> Command {
    let mut command = command("java", page);
    for package in [
        "java.base/java.lang",
        "java.base/java.util",
        "java.base/java.util.concurrent",
        "java.base/java.security",
        "java.base/sun.security.provider",
        "jdk.random/jdk.random",
    ] {
        command.arg(format!("--add-opens={package}=ALL-UNNAMED"));
    }
    command.arg("-cp").arg(folder);
    command
}

fn copy(folder: &Path, page: &Path, how: &str) -> Value {
    let mut command = java(folder, page);
    if how != "alone" {
        let agent = folder.join("clone-guard.jar");
        command.arg(format!("-javaagent:{}", agent.display()));
    }
    let lines = lines(command.arg("Copies").arg(page).arg(how));
    lines.into_iter().next().unwrap()
}

#[test]
fn copies_draw_the_same_without_the_guard_and_differ_with_it_unless_they_have_a_seed() {
    let Some(folder) = built() else { return };
    let alone = ["alone", "alone"].map(|how| copy(&folder, &page(), how));
    assert_eq!(same(&alone), names(&alone), "{alone:?}");
    let guarded = ["guarded", "guarded"].map(|how| copy(&folder, &page(), how));
    let kept = [
        "kept Random",
        "kept setSeed",
        "kept SplittableRandom",
        "kept child",
        "kept SHA1PRNG",
    ];
    assert_eq!(same(&guarded), set(&kept), "{guarded:?}");
    for name in kept {
        assert_eq!(alone[0][name], guarded[0][name], "{name}");
    }
}

#[test]
fn a_generator_of_wellspring_is_left_alone_and_one_of_an_unknown_provider_gets_a_seed() {
    let Some(folder) = built() else { return };
    let is_seeded = copy(&folder, &page(), "providers");
    assert_eq!(is_seeded, json!({ "Wellspring": false, "another": true }));
}

#[test]
fn a_page_that_others_can_write_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let Some(folder) = built() else { return };
    let page = page();
    assert_eq!(copy(&folder, &page, "status"), true);
    std::fs::set_permissions(&page, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(copy(&folder, &page, "status"), false);
}

/// The commands of all runtimes of this machine.
fn runtimes() -> Vec<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten();
    let all = folders.map(|folder| folder.unwrap().path().join("bin/java"));
    all.filter(|java| java.exists()).collect()
}

#[test]
fn every_runtime_starts_with_the_agent_and_one_that_it_does_not_know_says_so_in_a_line() {
    let Some(folder) = built() else { return };
    let agent = format!("-javaagent:{}", folder.join("clone-guard.jar").display());
    let mut unknown = 0;
    for java in runtimes() {
        let start = |option: &str| {
            let mut command = command(java.to_str().unwrap(), &page());
            command.args([option, "-version"]).output().unwrap()
        };
        let output = start(&agent);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {text}", java.display());
        let said = text.lines().filter(|line| line.contains("wellspring"));
        let said: Vec<_> = said.collect();
        if said.is_empty() {
            continue;
        }
        unknown += 1;
        assert!(said.len() == 1 && said[0].contains("steps aside"), "{text}");
        assert!(!start(&format!("{agent}=required")).status.success());
    }
    if unknown == 0 {
        testkit::skipped("no Java that the agent does not know");
    }
}

#[test]
fn a_notice_waits_for_the_kernel_and_not_without_end() {
    let Some(folder) = built() else { return };
    assert_eq!(copy(&folder, &page(), "waits"), true);
}

#[test]
fn a_page_that_its_owner_truncates_ends_the_guard_alone() {
    let Some(folder) = built() else { return };
    assert_eq!(copy(&folder, &page(), "truncated"), true);
}
