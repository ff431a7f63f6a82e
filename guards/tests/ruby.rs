//! The guard of Ruby: copies differ after a notice, and generators with a seed go on.

mod common;

use common::{GUARDS, command, lines, names, page, run_copies, same, set};
use std::path::Path;
use std::process::Command;
use testkit::programs::{is_installed, is_success};

fn is_there() -> bool {
    let is_there = is_installed("ruby") && is_installed("cc");
    is_there && is_success("ruby -rjson -ropenssl -rtmpdir -e ''")
}

fn ruby(page: &Path) -> Command {
    command("ruby", page)
}

fn with_guard(page: &Path) -> Command {
    let mut command = ruby(page);
    command
        .arg("-r")
        .arg(Path::new(GUARDS).join("ruby/clone_guard.rb"));
    command
}

#[test]
fn copies_draw_the_same_without_the_guard_and_differ_with_it() {
    if !is_there() {
        return;
    }
    let alone = run_copies(ruby, "ruby/copies.rb", "plain");
    assert_eq!(same(&alone), names(&alone), "{alone:?}");
    let guarded = run_copies(with_guard, "ruby/copies.rb", "plain");
    assert_eq!(
        same(&guarded),
        set(&["seeded", "was_seeded"]),
        "{guarded:?}"
    );
}

#[test]
fn the_default_generator_goes_on_with_its_seed() {
    if !is_there() {
        return;
    }
    let guarded = run_copies(with_guard, "ruby/copies.rb", "seeded");
    let kept = set(&[
        "rand",
        "random",
        "shuffle",
        "sample",
        "seeded",
        "was_seeded",
    ]);
    assert_eq!(same(&guarded), kept, "{guarded:?}");
}

#[test]
fn a_change_of_the_page_is_heard_by_a_thread_in_parent_and_child() {
    if !is_there() {
        return;
    }
    let script = "
require 'json'
guard = Wellspring::CloneGuard
wait = lambda do |notices|
  limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 300
  sleep 0.005 while guard.status[:notices] < notices && Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
  guard.status[:notices]
end
change = ->(number) { File.open(ENV['WELLSPRING_PAGE'], 'r+b') { |file| file.pwrite([number].pack('Q<'), 104) } }
began = guard.status
change.call(1)
first = wait.call(1)
read, write = IO.pipe
child = Process.fork do
  change.call(2)
  write.puts wait.call(2)
end
Process.wait(child)
puts [began[:page], began[:notices], first, read.gets.to_i, wait.call(2)].to_json
";
    let seen = lines(with_guard(&page()).args(["-e", script]));
    assert_eq!(seen, [serde_json::json!([true, 0, 1, 2, 2])]);
}

#[test]
fn a_page_that_others_can_write_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    if !is_there() {
        return;
    }
    let page = page();
    std::fs::set_permissions(&page, std::fs::Permissions::from_mode(0o666)).unwrap();
    let script = "puts Wellspring::CloneGuard.status[:page]";
    assert_eq!(lines(with_guard(&page).args(["-e", script])), [false]);
}
