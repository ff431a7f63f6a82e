//! A search for the seed of a clone, by an attacker who knows all of another clone's state and every clock within a second.
//!
//! Without new keys for the kernel, a guard's seed is a hash of bytes that both clones get and of two clocks. The clocks have
//! nanoseconds: 2^30 moments in a second, and 400 for the distance between the two looks (98 % of 10,000 pairs in Ruby 3.1).
//! Those are 2^39 hashes of two blocks, two days for one core that hashes 460 MB/s. Here the clocks tick once a millisecond, and
//! it takes a moment.

use crate::common::{GUARDS, command, library, page};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::programs::{compile, in_list, is_installed, is_success, scratch, succeeds};

fn is_there() -> bool {
    let is_there = is_installed("ruby") && is_installed("cc");
    is_there && is_success("ruby -e 'IO::Buffer.instance_method(:get_value)'")
}

/// The state of the kernel that all clones have.
const OLD: [u8; 32] = [0x5a; 32];

/// A clone of the machine: a program in Ruby with its guard.
struct Clone {
    /// The seed that its guard gave `rand` after the notice, in hexadecimal digits.
    seed: String,
    /// CLOCK_MONOTONIC and the wall clock at its end, in milliseconds.
    clocks_ms: [u64; 2],
}

impl Clone {
    /// Runs the program, in which `notice` changes the page.
    fn run(notice: &str, library: &Path) -> (Self, PathBuf) {
        let (page, state) = (page(), scratch("kernel").join("state"));
        fs::write(&state, OLD).unwrap();
        // The page says that the kernel took new keys for the number before: its writer can do that.
        let script = format!(
            "PAGE = ENV['WELLSPRING_PAGE']
write = ->(place, number) {{ File.open(PAGE, 'r+b') {{ |file| file.pwrite([number].pack('Q<'), place) }} }}
number = File.binread(PAGE, 8, 104).unpack1('Q<')
write.(2048, number)
rand
{notice}
rand
clocks = [Process::CLOCK_MONOTONIC, Process::CLOCK_REALTIME].map {{ |one| Process.clock_gettime(one, :millisecond) }}
puts [Random.seed.to_s(16), *clocks].join(' ')"
        );
        let model = compile(
            &Path::new(GUARDS).join("tests/c/cloned_kernel.c"),
            &["-shared", "-fPIC"],
        );
        let mut command: Command = command("ruby", &page);
        command
            .env("LD_PRELOAD", in_list(&model))
            .env("KERNEL_STATE", &state)
            .env("WELLSPRING_LIBRARY", library)
            .arg("-r")
            .arg(Path::new(GUARDS).join("ruby/clone_guard.rb"));
        let text = succeeds(&command.args(["-e", &script]).output().unwrap());
        let mut words = text.split_whitespace();
        let seed = words.next().unwrap().to_owned();
        let clocks_ms = [(); 2].map(|()| words.next().unwrap().parse().unwrap());
        (Self { seed, clocks_ms }, state)
    }

    /// Whether the attacker finds the seed, who knows these bytes of the kernel and each clock within a second.
    fn is_found(&self, kernel: &[u8; 32]) -> bool {
        let [monotonic_ms, wall_ms] = self.clocks_ms;
        // The distance of the two clocks is known to a tick; between the two looks some may pass.
        let between_ms = (wall_ms - monotonic_ms).saturating_sub(2)..=wall_ms - monotonic_ms + 20;
        let mut moments = (monotonic_ms - 1000..=monotonic_ms)
            .flat_map(|now| between_ms.clone().map(move |between| (now, now + between)));
        moments.any(|(monotonic_ms, wall_ms)| guess(kernel, monotonic_ms, wall_ms) == self.seed)
    }
}

/// The seed of the guard, as `fresh` in `clone_guard.rb` makes it, without leading zeros.
fn guess(kernel: &[u8; 32], monotonic_ms: u64, wall_ms: u64) -> String {
    // Ruby writes the wall clock as a fraction in lowest terms.
    let (mut one, mut other) = (wall_ms, 1000);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    let (seconds, parts) = (wall_ms / one, 1000 / one);
    let mut hash = Sha256::new();
    hash.update(kernel);
    hash.update(format!("{} {seconds}/{parts}", monotonic_ms * 1_000_000));
    let digits: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    digits.trim_start_matches('0').to_owned()
}

/// The state of the kernel after it took in the secret of an order.
fn reseeded(nonce: &[u8; 32]) -> [u8; 32] {
    Sha256::new()
        .chain_update(OLD)
        .chain_update(nonce)
        .finalize()
        .into()
}

/// A notice of a writer that could not reseed the kernel, and says so: there is nothing to wait for.
const FAILED: &str = "write.(2048, ~(number + 1) & (1 << 64) - 1); write.(104, number + 1)";

#[test]
fn a_search_of_the_clocks_finds_the_seed_of_a_copy_and_not_after_an_order_with_a_secret() {
    if !is_there() {
        return;
    }
    let (clone, _) = Clone::run(FAILED, Path::new("/none"));
    assert!(clone.is_found(&OLD), "{}", clone.seed);
    // The number changes first, and the kernel takes new keys later: the guard waits for these.
    let new = reseeded(&[9; 32]);
    let digits: String = new.iter().map(|byte| format!("{byte:02x}")).collect();
    let notice = format!(
        "write.(104, number + 1)
Thread.new {{ sleep 0.03; File.binwrite(ENV['KERNEL_STATE'], ['{digits}'].pack('H*')); write.(2048, number + 1) }}"
    );
    let (clone, state) = Clone::run(&notice, Path::new("/none"));
    assert_eq!(fs::read(state).unwrap(), new);
    assert!(!clone.is_found(&OLD), "{}", clone.seed);
    assert!(
        clone.is_found(&new),
        "the search still works for one who knows the secret"
    );
}

#[test]
fn a_guard_takes_the_engines_bytes_where_its_library_is_installed() {
    if !is_there() || !is_success("ruby -rfiddle -e ''") {
        return;
    }
    // The engine takes in what the processor makes, and no clock is coarse for it.
    let (clone, _) = Clone::run(FAILED, &library());
    assert!(!clone.is_found(&OLD), "{}", clone.seed);
}
