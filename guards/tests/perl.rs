//! The guard of Perl: copies differ after a notice, and a seed that the program gave is kept.

mod common;

use common::{GUARDS, command, lines, names, page, run_copies, same, set};
use std::path::Path;
use std::process::Command;
use testkit::programs::{is_installed, is_success};

fn is_there() -> bool {
    let is_there = is_installed("perl") && is_installed("cc");
    is_there && is_success("perl -MDigest::SHA -MList::Util -MTime::HiRes -e ''")
}

fn perl(page: &Path) -> Command {
    command("perl", page)
}

fn with_guard(page: &Path) -> Command {
    let mut command = perl(page);
    command.arg("-I").arg(Path::new(GUARDS).join("perl"));
    command.arg("-MWellspring::CloneGuard");
    command
}

#[test]
fn copies_draw_the_same_without_the_guard_and_differ_with_it() {
    if !is_there() {
        return;
    }
    let alone = run_copies(perl, "perl/copies.pl", "plain");
    assert_eq!(same(&alone), names(&alone), "{alone:?}");
    let guarded = run_copies(with_guard, "perl/copies.pl", "plain");
    assert_eq!(same(&guarded), set(&[]), "{guarded:?}");
}

#[test]
fn a_seed_of_the_program_keeps_its_sequence() {
    if !is_there() {
        return;
    }
    let alone = run_copies(perl, "perl/copies.pl", "seeded");
    let guarded = run_copies(with_guard, "perl/copies.pl", "seeded");
    assert_eq!(alone, guarded);
}

#[test]
fn a_program_that_looks_by_itself_is_healed_and_its_functions_are_called() {
    if !is_there() {
        return;
    }
    let script = "
use Wellspring::CloneGuard ();
my $called = 0;
Wellspring::CloneGuard::register(sub { die \"fails\\n\" }, sub { $called++ });
my @seen = (Wellspring::CloneGuard::status()->{page}, Wellspring::CloneGuard::check() ? 1 : 0);
open my $file, '+<:raw', $ENV{WELLSPRING_PAGE} or die;
sysseek $file, 104, 0;
syswrite $file, 'another!';
push @seen, Wellspring::CloneGuard::check(), Wellspring::CloneGuard::check() ? 1 : 0, $called;
push @seen, Wellspring::CloneGuard::status()->{notices};
print '[', join(',', @seen), \"]\\n\";
";
    let page = page();
    let mut command = perl(&page);
    command.arg("-I").arg(Path::new(GUARDS).join("perl"));
    let seen = lines(command.args(["-e", script]));
    assert_eq!(seen, [serde_json::json!([1, 0, 1, 0, 1, 1])]);
}

#[test]
fn a_page_that_others_can_write_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    if !is_there() {
        return;
    }
    let page = page();
    std::fs::set_permissions(&page, std::fs::Permissions::from_mode(0o666)).unwrap();
    let script = "print Wellspring::CloneGuard::status()->{page} ? 'true' : 'false'";
    assert_eq!(lines(with_guard(&page).args(["-e", script])), [false]);
}
