//! The guard of Node: copies differ after a notice, and a seeded Math.random goes on.

use crate::common::{GUARDS, command, copies, lines, names, page, same, set, two};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::programs::{is_installed, scratch};

/// Node as one thread of V8, so that the copy that fork makes can go on.
fn node(page: &Path) -> Command {
    let mut command = command("node", page);
    command
        .arg("--single-threaded")
        .env("GUARD", Path::new(GUARDS).join("node/clone_guard.js"));
    command
}

fn are_there() -> bool {
    is_installed("node") && is_installed("cc")
}

/// Copies of a process, from a script in this folder.
fn run_copies(folder: &Path, how: &str) -> [serde_json::Value; 2] {
    let script = folder.join("copies.js");
    fs::copy(Path::new(GUARDS).join("tests/node/copies.js"), &script).unwrap();
    let page = page();
    let mut command = node(&page);
    command.env("LD_PRELOAD", copies()).arg(script);
    two(command.arg(&page).arg(how))
}

#[test]
fn copies_draw_the_same_without_the_guard_and_nothing_in_common_with_it() {
    if !are_there() {
        return;
    }
    let alone = run_copies(&scratch("node"), "alone");
    assert_eq!(same(&alone), names(&alone));
    let guarded = run_copies(&scratch("node"), "guarded");
    assert_eq!(same(&guarded), set(&[]), "{guarded:?}");
}

#[test]
fn a_generator_that_the_program_put_in_place_of_math_random_keeps_its_sequence() {
    if !are_there() {
        return;
    }
    let seeded = run_copies(&scratch("node"), "seeded");
    assert_eq!(same(&seeded), set(&["math"]));
}

#[test]
fn math_random_with_a_seed_keeps_its_sequence() {
    if !is_installed("node") {
        return;
    }
    let draw = |guard: &str| {
        let script = format!(
            "const random = []; {guard}; for (let i = 0; i < 200; i++) random.push(Math.random()); \
             console.log(JSON.stringify(random))"
        );
        lines(node(&page()).args(["--random-seed=7", "-e", &script]))
    };
    assert_eq!(draw(""), draw("require(process.env.GUARD).heal()"));
}

#[test]
fn a_change_of_the_page_is_heard_by_a_timer_which_does_not_keep_the_program_alive() {
    if !is_installed("node") {
        return;
    }
    let script = "
const guard = require(process.env.GUARD);
const page = require('fs').openSync(process.env.WELLSPRING_PAGE, 'r+');
const began = guard.status();
require('fs').writeSync(page, Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]), 0, 8, 104);
const wait = setInterval(() => {
  if (guard.status().notices === 0) return;
  clearInterval(wait);
  console.log(JSON.stringify([began.page, began.notices, guard.status().notices, guard.check()]));
}, 1);
";
    let seen = lines(node(&page()).args(["-e", script]));
    assert_eq!(seen, [serde_json::json!([true, 0, 1, false])]);
}

#[test]
fn a_notice_waits_for_the_kernel_until_the_page_says_that_it_took_new_keys() {
    if !is_installed("node") {
        return;
    }
    // The page says it for an earlier number at first, and after the first look for the present one.
    let script = "
const guard = require(process.env.GUARD);
const page = require('fs').openSync(process.env.WELLSPRING_PAGE, 'r+');
const write = (number, place) => require('fs').writeSync(page, Buffer.from([number, 0, 0, 0, 0, 0, 0, 0]), 0, 8, place);
write(1, 2048);
write(2, 104);
guard.check();
const waited = guard.status().lastMs >= 100;
const { Worker } = require('node:worker_threads');
const program = `setTimeout(() => require('fs').writeSync(${page}, Buffer.from([3]), 0, 1, 2048), 30)`;
new Worker(program, { eval: true, execArgv: [], env: {} }).on('online', () => {
  write(3, 104);
  const began = performance.now();
  guard.check();
  const kernel = Buffer.alloc(1);
  require('fs').readSync(page, kernel, 0, 1, 2048);
  console.log(JSON.stringify([waited, kernel[0] === 3 || performance.now() - began >= 100]));
});
";
    let seen = lines(node(&page()).args(["-e", script]));
    assert_eq!(seen, [serde_json::json!([true, true])]);
}

#[test]
fn the_next_math_random_after_a_change_is_of_the_new_state_while_no_timer_can_run() {
    if !is_installed("node") {
        return;
    }
    let script = "
const guard = require(process.env.GUARD);
const page = require('fs').openSync(process.env.WELLSPRING_PAGE, 'r+');
Math.random();
const change = Date.now();
require('fs').writeSync(page, Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]), 0, 8, 104);
while (Date.now() < change + 2);
Math.random();
console.log(guard.status().notices);
";
    assert_eq!(lines(node(&page()).args(["-e", script])), [1]);
}

/// The acts of a program on itself, after which it ends as without the guard.
const PROGRAMS: [(&str, &str); 10] = [
    ("has no name", "process.argv[1] = '-'; guard.heal()"),
    (
        "is in a folder that is gone",
        "fs.mkdirSync('gone'); process.chdir('gone'); fs.rmdirSync('../gone'); guard.heal()",
    ),
    (
        "closes all descriptors",
        "for (let i = 3; i < 64; i++) try { fs.fstatSync(i).isFile() && fs.closeSync(i) } catch {}",
    ),
    ("closes its error stream", "fs.closeSync(2); guard.heal()"),
    (
        "has no descriptor left",
        "try { for (;;) kept.push(fs.openSync('/dev/null')) } catch {} guard.heal(); kept.forEach(one => fs.closeSync(one))",
    ),
    (
        "takes the page away",
        "fs.unlinkSync(process.env.WELLSPRING_PAGE)",
    ),
    (
        "truncates the page",
        "fs.truncateSync(process.env.WELLSPRING_PAGE)",
    ),
    (
        "replaces fs and Date",
        "for (const name of Object.keys(fs)) try { fs[name] = () => { throw 1 } } catch {} Date.now = () => { throw 1 }",
    ),
    ("freezes Math", "Object.freeze(Math)"),
    (
        "draws in a worker",
        "new (require('worker_threads').Worker)('Math.random()', { eval: true })",
    ),
];

#[test]
fn nothing_that_a_program_does_to_itself_lets_the_guard_end_it() {
    if !is_installed("node") {
        return;
    }
    for (name, act) in PROGRAMS {
        let script = format!(
            "const fs = require('fs'); const kept = []; const guard = require(process.env.GUARD); {act}; \
             let left = 20; const timer = setInterval(() => {{ Math.random(); \
             if (--left === 0) {{ clearInterval(timer); process.exitCode = 7; }} }}, 5);"
        );
        let mut command = node(&page());
        command.current_dir(scratch("node"));
        let output = command.args(["-e", &script]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{name}: {text}");
        assert_eq!(text, "", "{name}");
    }
}

#[test]
fn no_descriptor_stays_open() {
    if !is_installed("node") {
        return;
    }
    let script = "
const open = () => require('fs').readdirSync('/proc/self/fd').map((one) => {
  try { return require('fs').readlinkSync(`/proc/self/fd/${one}`); } catch { return ''; }
});
require(process.env.GUARD).check();
console.log(open().includes(process.env.WELLSPRING_PAGE));
";
    assert_eq!(lines(node(&page()).args(["-e", script])), [false]);
}

#[test]
fn without_its_library_the_guard_warns_in_one_line() {
    if !is_installed("node") {
        return;
    }
    let mut command = node(&page());
    command.env("WELLSPRING_PRELOAD", "/nowhere.so");
    let output = command
        .args(["-e", "require(process.env.GUARD)"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.lines().count() == 1,
        "{text}"
    );
    assert!(text.contains("/nowhere.so cannot be loaded"), "{text}");
}

#[test]
fn a_page_that_others_can_write_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    if !is_installed("node") {
        return;
    }
    let page = page();
    fs::set_permissions(&page, fs::Permissions::from_mode(0o666)).unwrap();
    let script = "console.log(require(process.env.GUARD).status().page)";
    assert_eq!(lines(node(&page).args(["-e", script])), [false]);
}

/// A folder with packages of the npm registry, or `None` out of its reach.
fn packages(list: &[&str]) -> Option<PathBuf> {
    let folder = scratch("npm");
    let mut command = Command::new("timeout");
    command.args([
        "60",
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
    ]);
    let output = command.args(list).current_dir(&folder).output();
    if output.is_ok_and(|output| output.status.success()) {
        return Some(folder);
    }
    testkit::skipped("no packages from the npm registry");
    None
}

#[test]
fn pools_of_nanoid_and_uuid_are_thrown_away() {
    if !are_there() || !is_installed("npm") {
        return;
    }
    // The last versions that `require` loads, and newer ones. The newer nanoid is for `import` alone.
    for list in [
        ["nanoid@3.3.11", "uuid@9.0.1"],
        ["nanoid@5.1.5", "uuid@11.1.0"],
    ] {
        let Some(folder) = packages(&list) else {
            return;
        };
        let alone = run_copies(&folder, "alone");
        assert!(
            alone
                .iter()
                .all(|copy| copy["nanoid"].is_string() && copy["pooledUuid"].is_string())
        );
        assert_eq!(same(&alone), names(&alone));
        let guarded = run_copies(&folder, "guarded");
        assert_eq!(same(&guarded), set(&[]), "{list:?}: {guarded:?}");
    }
}
