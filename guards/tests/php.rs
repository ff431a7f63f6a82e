//! The guard of PHP: copies differ after a notice, and generators with a seed go on.

mod common;

use common::{GUARDS, command, copies, lines, names, page, same, set, two};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::programs::is_installed;

/// The values of engines that the program does not register, and one that cannot be reached.
const KEPT: [&str; 4] = [
    "lcg_value",
    "kept Mt19937",
    "kept PcgOneseq128XslRr64",
    "kept Xoshiro256StarStar",
];

fn is_there() -> bool {
    is_installed("php") && is_installed("cc")
}

fn guard() -> PathBuf {
    Path::new(GUARDS).join("php/clone_guard.php")
}

fn php(page: &Path) -> Command {
    command("php", page)
}

fn run_copies(how: &str) -> [serde_json::Value; 2] {
    let page = page();
    let mut command = php(&page);
    command
        .env("LD_PRELOAD", copies())
        .arg(Path::new(GUARDS).join("tests/php/copies.php"));
    two(command.arg(&page).arg(how).arg(guard()))
}

#[test]
fn copies_draw_the_same_without_the_guard_and_differ_with_it() {
    if !is_there() {
        return;
    }
    let alone = run_copies("alone");
    assert_eq!(same(&alone), names(&alone), "{alone:?}");
    let guarded = run_copies("plain");
    let kept = &names(&guarded) & &set(&KEPT);
    assert_eq!(same(&guarded), kept, "{guarded:?}");
}

#[test]
fn a_seed_of_the_program_keeps_its_sequence() {
    if !is_there() {
        return;
    }
    let seeded = run_copies("seeded");
    let functions = ["mt_rand", "rand", "shuffle", "str_shuffle", "array_rand"];
    let kept = &names(&seeded) & &set(&[&KEPT[..], &functions].concat());
    assert_eq!(same(&seeded), kept, "{seeded:?}");
}

#[test]
fn a_page_that_others_can_write_or_that_is_none_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    if !is_installed("php") {
        return;
    }
    let page = page();
    let script = format!(
        "require '{}'; echo json_encode((new Wellspring\\CloneGuard())->status()['page']);",
        guard().display()
    );
    let is_believed = || lines(php(&page).args(["-r", &script]));
    assert_eq!(is_believed(), [true]);
    std::fs::set_permissions(&page, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(is_believed(), [false]);
    std::fs::remove_file(&page).unwrap();
    assert_eq!(is_believed(), [false]);
}
