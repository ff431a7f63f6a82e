//! The functions answer as the originals do, in every context; and the C library's generators in a copied process.

use crate::{compile, run, scratch};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use wellspring::clone_detection::bump;
use wellspring_interpose::door_counters::Door;

#[test]
fn every_flag_length_and_pointer_gets_the_kernels_answer() {
    let Some(program) = compile("semantics.c", &[]) else {
        return;
    };
    let run = run("exec \"$PROGRAM\"", &program).succeeds();
    // 17 flags with ten lengths and three good starts: valid calls were served.
    assert!(run.counts(Door::Getrandom).calls > 100, "{}", run.text());
    assert!(run.counts(Door::Getentropy).calls >= 1);
}

#[test]
fn every_context_is_served() {
    let Some(program) = compile("contexts.c", &[]) else {
        return;
    };
    for context in [
        "before",
        "handler",
        "cancels",
        "sandbox",
        "sandbox_by_syscall",
    ] {
        let run = run(&format!("exec \"$PROGRAM\" {context}"), &program);
        assert!(run.output.status.success(), "{context}: {}", run.text());
        let counts = run.counts(Door::Getrandom);
        assert!(
            counts.calls >= 1 && counts.bytes >= 16,
            "{context}: {counts:?}"
        );
        let threads = if context == "cancels" { 9 } else { 1 };
        assert!(counts.threads >= threads, "{context}: {counts:?}");
    }
}

#[test]
fn a_call_that_fails_within_a_read_leaves_errno_as_it_was() {
    let Some(program) = compile("semantics.c", &[]) else {
        return;
    };
    let run = run("exec \"$PROGRAM\" errno", &program).succeeds();
    assert_eq!(run.counts(Door::Getrandom).calls, 2, "{}", run.text());
}

// ---- copied processes ----
// The guard of a copied process: the C library's generators.

/// The names of the values that two copies have in common, and of all values.
fn copies(settings: &str, how: &str) -> Option<[BTreeSet<String>; 2]> {
    copies_with(scratch("page").join("generation"), settings, how)
}

/// The same with this page.
fn copies_with(page: PathBuf, settings: &str, how: &str) -> Option<[BTreeSet<String>; 2]> {
    let program = compile("clone_guard.c", &[])?;
    let made = if how == "comes" {
        page.with_extension("later")
    } else {
        page.clone()
    };
    bump(&made).unwrap();
    let page = testkit::programs::quoted(&page);
    let run = run(&guarded(&page, settings, how), &program).succeeds();
    let text = String::from_utf8_lossy(&run.output.stdout).into_owned();
    let lines: Vec<BTreeSet<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    let name = |value: &&str| value.split('=').next().unwrap().to_owned();
    let common = lines[0].intersection(&lines[1]).map(name).collect();
    Some([common, lines[0].iter().map(name).collect()])
}

/// The script of a program that compares its threads with those it has without the library.
fn guarded(page: &str, settings: &str, how: &str) -> String {
    format!(
        "export ALONE=$(LD_PRELOAD= \"$PROGRAM\" {page} threads) WELLSPRING_PAGE={page} {settings}; \
         exec \"$PROGRAM\" {page} {how}"
    )
}

#[test]
fn copies_draw_the_same_without_the_guard() {
    for settings in ["", "WELLSPRING_CLONE_GUARD=all", "WELLSPRING_CLONE_GUARD=1"] {
        if let Some([common, all]) = copies(settings, "copies") {
            assert_eq!(common, all, "{settings}");
            assert_eq!(all.len(), 5);
        }
    }
}

#[test]
fn the_c_librarys_generators_differ_after_a_notice_and_no_thread_is_started() {
    if let Some([common, _]) = copies("WELLSPRING_CLONE_GUARD=rand", "copies") {
        assert_eq!(common, BTreeSet::new());
    }
}

#[test]
fn a_seed_that_comes_after_the_notice_has_its_sequence() {
    if let Some([common, all]) = copies("WELLSPRING_CLONE_GUARD=rand", "seeds") {
        assert_eq!(common, all);
        assert_eq!(all.len(), 6);
    }
}

/// For a longer path each look would allocate, in a function that a signal handler may call.
#[test]
fn a_page_whose_path_has_255_bytes_is_watched_and_one_of_256_is_not() {
    for (bytes, is_watched) in [(255, true), (256, false)] {
        let folder = scratch("page");
        let rest = 256_usize.saturating_sub(folder.as_os_str().len() + 1);
        if rest < 2 {
            testkit::skipped("the path of this clone is too long");
            return;
        }
        let page = folder.join("p".repeat(rest - (256 - bytes)));
        assert_eq!(page.as_os_str().len(), bytes);
        if let Some([common, all]) = copies_with(page, "WELLSPRING_CLONE_GUARD=rand", "copies") {
            let expected = if is_watched { BTreeSet::new() } else { all };
            assert_eq!(common, expected, "{bytes}");
        }
    }
}

#[test]
fn a_page_that_comes_later_is_a_notice() {
    if let Some([common, _]) = copies("WELLSPRING_CLONE_GUARD=rand", "comes") {
        assert_eq!(common, BTreeSet::new());
    }
}

#[test]
fn a_page_that_another_user_can_write_has_no_effect() {
    let Some(program) = compile("clone_guard.c", &[]) else {
        return;
    };
    let page = scratch("page").join("generation");
    bump(&page).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    fs::set_permissions(&page, mode).unwrap();
    let page = testkit::programs::quoted(&page);
    let script = guarded(&page, "WELLSPRING_CLONE_GUARD=rand", "copies");
    let run = run(&script, &program).succeeds();
    let text = String::from_utf8_lossy(&run.output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], lines[1]);
}

#[test]
fn a_process_with_the_guard_and_its_child_set_their_user() {
    if let Some(program) = compile("harsh.c", &[]) {
        let script = "export WELLSPRING_CLONE_GUARD=rand; exec \"$PROGRAM\" set_user";
        let _ = run(script, &program).succeeds();
    }
    let other = "exec setpriv --reuid=65534 --regid=65534 --clear-groups id";
    if !run(other, "".as_ref()).output.status.success() {
        testkit::skipped("no other user can be taken here");
        return;
    }
    let script = format!("export WELLSPRING_CLONE_GUARD=rand; {other}");
    let _ = run(&script, "".as_ref()).succeeds();
}
