//! The guard of Ruby: copies differ after a notice, and generators with a seed go on.

use crate::common::{GUARDS, command, lines, names, page, run_copies, same, set};
use std::path::Path;
use std::process::Command;
use testkit::programs::{is_installed, is_success};

fn is_there() -> bool {
    let is_there = is_installed("ruby") && is_installed("cc");
    is_there && is_success("ruby -rjson -ropenssl -rtmpdir -e ''")
}

/// Whether temporary names come from a generator of Ruby. Ruby 3.3 takes them from the kernel.
fn are_names_drawn() -> bool {
    is_success("ruby -rtmpdir -e 'exit Dir::Tmpname.const_get(:RANDOM).is_a?(Random)'")
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
    let mut expected = names(&alone);
    if !are_names_drawn() {
        expected.remove("temporary");
    }
    assert_eq!(same(&alone), expected, "{alone:?}");
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
fn each_draw_hears_of_a_change_once_in_parent_child_and_daemon_without_a_thread_or_a_descriptor() {
    if !is_there() {
        return;
    }
    let script = "
require 'json'
require 'tmpdir'
GUARD = Wellspring::CloneGuard
change = ->(number) { File.open(ENV['WELLSPRING_PAGE'], 'r+b') { |file| file.pwrite([number].pack('Q<'), 104) } }
own = Random.new(5)
draws = {
  rand: -> { rand }, kernel: -> { Kernel.rand(6) }, random: -> { Random.rand(1.0) }, bytes: -> { Random.bytes(4) },
  random_number: -> { Random.random_number(5) }, own: -> { own.rand(1..6) }, own_bytes: -> { own.bytes(3) },
  shuffle: -> { [1, 2].shuffle }, shuffle_in_place: -> { [1, 2].shuffle!(random: own) }, sample: -> { [1, 2].sample(2) },
  temporary: -> { Dir::Tmpname.create('x') { |name| name } }, check: -> { GUARD.check }
}
draws.delete(:temporary) unless Dir::Tmpname.const_get(:RANDOM).is_a?(Random)
notices = ->(draw) { before = GUARD.status[:notices]; draw.call; GUARD.status[:notices] - before }
seen = draws.each_with_index.to_h { |(name, draw), i| change.call(i + 1); [name, [notices.(draw), notices.(draw)]] }
left = [Thread.list.size, Dir['/proc/self/fd/*'].count { |one| (File.readlink(one) rescue nil) == ENV['WELLSPRING_PAGE'] }]
read, write = IO.pipe
child = Process.fork { change.call(99); write.puts notices.(draws[:rand]); $stdout.flush; exit!(0) }
Process.wait(child)
child = Process.fork do
  Process.daemon(true, true)
  change.call(100)
  write.puts notices.(draws[:sample])
  exit!(0)
end
Process.wait(child)
puts [GUARD.status[:page], seen.reject { |_, value| value == [1, 0] }, left, read.gets.to_i, read.gets.to_i].to_json
";
    let seen = lines(with_guard(&page()).args(["-e", script]));
    assert_eq!(seen, [serde_json::json!([true, {}, [1, 0], 1, 1])]);
}

#[test]
fn a_guard_that_is_loaded_after_tmpdir_heals_without_a_word() {
    if !is_there() {
        return;
    }
    let script =
        "File.open(ENV['WELLSPRING_PAGE'], 'r+b') { |file| file.pwrite([9].pack('Q<'), 104) }
rand
print Wellspring::CloneGuard.status[:notices]";
    let mut command = ruby(&page());
    command.args(["-rtmpdir", "-r"]);
    command.arg(Path::new(GUARDS).join("ruby/clone_guard.rb"));
    let output = command.args(["-e", script]).output().unwrap();
    let [said, errors] = [output.stdout, output.stderr].map(String::from_utf8);
    assert_eq!(
        (said.unwrap(), errors.unwrap()),
        ("1".into(), String::new())
    );
}

/// Programs that run as without the guard: what they print is the same.
const PROGRAMS: [(&str, &str); 6] = [
    (
        "ractors",
        "p Ractor.new { [Random.new(5).rand, srand(3) && rand, [1, 2].shuffle.class, Kernel.rand.class] }.take",
    ),
    (
        "trap",
        "done = false; trap('USR1') { p rand.class; done = true }; Process.kill('USR1', $$); sleep 0.01 until done",
    ),
    (
        "keywords",
        "srand(7); r = Random.new(2); p [1, 2, 3].shuffle(random: r), [1, 2].sample(random: r), rand(1.5..2.5)",
    ),
    (
        "errors",
        "p(begin; [].sample(-1); rescue ArgumentError => e; e.message; end)",
    ),
    (
        "hidden",
        "p Object.new.respond_to?(:rand), Kernel.respond_to?(:rand), (Object.new.rand rescue 'private')",
    ),
    (
        "without descriptors",
        "(3..20).each { |i| IO.for_fd(i).close rescue nil }; srand(1); p rand",
    ),
];

#[test]
fn a_program_prints_what_it_prints_without_the_guard() {
    if !is_there() {
        return;
    }
    for (name, program) in PROGRAMS {
        let page = page();
        let [plain, guarded] = [ruby(&page), with_guard(&page)].map(|mut command| {
            let output = command.args(["-W1", "-e", program]).output().unwrap();
            let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
            (output.status.code(), text)
        });
        assert_eq!(plain, guarded, "{name}");
        assert_eq!(plain.0, Some(0), "{name}: {plain:?}");
    }
}

#[test]
fn a_healing_that_is_interrupted_is_made_again() {
    if !is_there() {
        return;
    }
    let script = "
require 'json'
left = 1
Wellspring::CloneGuard.register { raise Interrupt if (left -= 1) >= 0 }
File.open(ENV['WELLSPRING_PAGE'], 'r+b') { |file| file.pwrite([99].pack('Q<'), 104) }
begin
  rand
rescue Interrupt
  rand
end
rand
puts [left, Wellspring::CloneGuard.status[:notices]].to_json
";
    let seen = lines(with_guard(&page()).args(["-e", script]));
    assert_eq!(seen, [serde_json::json!([-1, 1])]);
}

#[test]
fn a_ruby_without_memory_maps_is_told_in_one_line() {
    if !is_there() {
        return;
    }
    let mut command = ruby(&page());
    let script = Path::new(GUARDS).join("ruby/clone_guard.rb");
    let program =
        "IO.send(:remove_const, :Buffer); require ARGV[0]; p defined?(Wellspring), rand.class";
    let output = command.args(["-e", program]).arg(script).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "nil\nFloat\n");
    assert!(
        text.contains("steps aside") && text.lines().count() == 1,
        "{text}"
    );
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
