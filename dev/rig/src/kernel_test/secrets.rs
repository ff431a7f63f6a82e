//! An emulator looks into a machine: for used secrets in its memory and registers, and for the instructions and cache lines of a
//! read.
//!
//! Searches all memory of a machine for anything from which past output can be computed.
//!
//! `kernel/tests/traces.c` reads in every mode and context, and records each key that made output, each seed, the noise
//! of the pools that the next reseeds use, what was written, and output, in a masked form. QEMU writes the machine's memory
//! to a file, which has the records too, and shows the vector registers of all CPUs. No half of a recorded secret, in either
//! order of bytes, and no round key of AES may be in memory or in a register. Then the test puts one such key into memory
//! and into registers, and the search must find both.

use super::drills::{CHECK, LOAD, LOAD_NEEDED, UNLOAD, succeeded};
use crate::guest::{Cache, Guest, Qemu, Result, Stop, Vm, at, failed, run};
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// As in `kernel/tests/traces.c`.
const TITLE: &[u8; 32] = b"records of wellspring all masked";
const MASK: u8 = 0x5a;
const HEAD_BYTES: usize = 64;
const RECORD_BYTES: usize = 36;
const MAX_RECORDS: usize = 4096;
const KEY: u32 = 1;

/// Memory of the machine. All of it is below the hole for devices.
const MEMORY_MIB: usize = 512;

const PAGE_BYTES: usize = 4096;
const PIECE_BYTES: usize = 16;
type Piece = [u8; PIECE_BYTES];

/// How long a step may take on a busy host.
const PATIENCE: Duration = Duration::from_secs(900);

/// With both ciphers. Returns the note for the table.
pub(super) fn drill(cache: &Cache, qemu: &Qemu, mut vm: Vm) -> Result<String> {
    vm.memory_mib = MEMORY_MIB;
    let mut guest = qemu.start(&vm)?;
    let folder = cache.fresh("memory")?;
    let file = folder.join("dump");
    guest.must(LOAD_NEEDED)?;
    let mut notes = Vec::new();
    for cipher in ["chacha20", "aes256"] {
        guest.must(&format!(
            "insmod /modules/wellspring.ko cipher={cipher} && insmod /modules/wellspring_test.ko"
        ))?;
        let Some(said) = run_test(&mut guest, "secrets/record")? else {
            return Ok("SKIPPED: this kernel has no probes".into());
        };
        let (clean, registers) = dump(&mut guest, &file)?;
        let secrets = records(&clean).ok_or("the records are not in the memory".to_owned())?;
        let pieces = pieces(&secrets);
        if let Some(place) = find(&clean, &pieces) {
            return failed(format!(
                "{cipher}: after the reads a used secret is at {place:#x}: {}",
                surroundings(&clean, place)
            ));
        }
        let held = count_held(&registers, &pieces);
        if held > 0 {
            return failed(format!(
                "{cipher}: after the reads {held} of {} registers hold used secrets or output",
                registers.len()
            ));
        }
        run_test(&mut guest, "secrets/plant")?;
        let (memory, _) = dump(&mut guest, &file)?;
        if find(&memory, &pieces).is_none() {
            return failed("the search does not find a key that was put into memory");
        }
        must_find_in_registers(&mut guest, &pieces)?;
        notes.push(format!("{cipher}: {said}"));
        guest.must("rmmod wellspring_test && rmmod wellspring")?;
    }
    fs::remove_dir_all(&folder).map_err(at(folder.display()))?;
    guest.end()?;
    Ok(format!(
        "in {MEMORY_MIB} MiB and in all registers none is left, and one that was put there is found; {}",
        notes.join("; ")
    ))
}

/// The line that a test of the module prints. `None` if it was skipped.
fn run_test(guest: &mut Guest, name: &str) -> Result<Option<String>> {
    let answer = guest.run_within(&format!("kernel-test {name}"), PATIENCE)?;
    succeeded(guest, &answer)?;
    let said = answer.text.lines().find(|line| line.contains(name));
    match said {
        Some(line) if line.to_lowercase().contains("# skip") => Ok(None),
        Some(line) => Ok(Some(line.trim().to_owned())),
        None => failed(format!("there is no test {name}: {}", answer.text)),
    }
}

/// All memory of the machine and the vector registers of its CPUs. It stands still meanwhile.
fn dump(guest: &mut Guest, file: &Path) -> Result<(Vec<u8>, Vec<Vec<u8>>)> {
    guest.monitor("stop")?;
    let registers = registers(guest)?;
    let bytes = MEMORY_MIB << 20;
    // Quoted, since a number and a slash would be a division.
    let answer = guest.monitor(&format!("pmemsave 0 {bytes} \"{}\"", file.display()))?;
    guest.monitor("cont")?;
    // QEMU repeats the command on the first line. If all is well, it says no more.
    let answer: String = answer.lines().skip(1).collect();
    let memory = fs::read(file).map_err(at(format!("{}: {answer}", file.display())))?;
    if memory.len() == bytes {
        return Ok((memory, registers));
    }
    failed(format!("QEMU wrote {} bytes: {answer}", memory.len()))
}

/// How often a key is put into the registers of all CPUs until it is found in one. Tasks that run meanwhile have their own.
const MOST_PLANTS: usize = 100;

/// Fails if the search does not find a key in a register.
fn must_find_in_registers(guest: &mut Guest, pieces: &HashSet<Piece>) -> Result {
    for _ in 0..MOST_PLANTS {
        run_test(guest, "secrets/plant")?;
        if count_held(&registers(guest)?, pieces) > 0 {
            return Ok(());
        }
    }
    failed("the search does not find a key that was put into registers")
}

/// The vector registers of all CPUs.
fn registers(guest: &mut Guest) -> Result<Vec<Vec<u8>>> {
    let registers = vector_registers(&guest.monitor("info registers -a")?);
    match registers.len() {
        16.. => Ok(registers),
        count => failed(format!("QEMU shows {count} vector registers")),
    }
}

/// The vector registers in what QEMU's monitor says, as bytes in the order of memory. QEMU prints words of 16 digits, the
/// highest first: `YMM03=`, and four of them.
fn vector_registers(text: &str) -> Vec<Vec<u8>> {
    let mut registers: Vec<Vec<u8>> = Vec::new();
    let mut is_vector = false;
    for word in text.split_whitespace() {
        let digits = match word.split_once('=') {
            Some((name, digits)) => {
                is_vector = name.len() == 5 && name[1..].starts_with("MM");
                if is_vector {
                    registers.push(Vec::new());
                }
                digits
            }
            None => word,
        };
        let (quads, _) = digits.as_bytes().as_chunks::<16>();
        for quad in quads.iter().filter(|_| is_vector) {
            let number = std::str::from_utf8(quad).ok();
            let number = number.and_then(|quad| u64::from_str_radix(quad, 16).ok());
            if let (Some(number), Some(register)) = (number, registers.last_mut()) {
                register.splice(0..0, number.to_le_bytes());
            }
        }
    }
    registers
}

/// How many registers have one of the pieces in one of their lanes.
fn count_held(registers: &[Vec<u8>], pieces: &HashSet<Piece>) -> usize {
    let holds = |register: &&Vec<u8>| {
        let (lanes, _) = register.as_chunks::<PIECE_BYTES>();
        lanes.iter().any(|lane| pieces.contains(lane))
    };
    registers.iter().filter(holds).count()
}

/// A secret as it was, and whether it is a key.
struct Secret {
    bytes: [u8; 32],
    is_key: bool,
}

/// The records in the memory. Their title alone may be in the module's code too.
fn records(memory: &[u8]) -> Option<Vec<Secret>> {
    let title = TITLE.map(|byte| byte ^ MASK);
    let starts = (0..memory
        .len()
        .saturating_sub(HEAD_BYTES + MAX_RECORDS * RECORD_BYTES))
        .step_by(8);
    let mut found = starts.filter(|&start| memory[start..].starts_with(&title));
    found.find_map(|start| {
        let count = usize::try_from(word(memory, start + TITLE.len())).ok()?;
        let all = &memory[start + HEAD_BYTES..][..MAX_RECORDS * RECORD_BYTES];
        let secrets: Vec<Secret> = all
            .chunks_exact(RECORD_BYTES)
            .take(count)
            .map(|record| Secret {
                is_key: word(record, 0) == KEY,
                bytes: std::array::from_fn(|byte| record[4 + byte] ^ MASK),
            })
            .collect();
        (count > 0 && count <= MAX_RECORDS).then_some(secrets)
    })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

/// The pieces to look for: the halves of each secret, also in the order of bytes in which SHA-256 holds its state and its
/// message, and all round keys of AES-256 with each key.
fn pieces(secrets: &[Secret]) -> HashSet<Piece> {
    let mut pieces = HashSet::new();
    for secret in secrets {
        let (halves, _) = secret.bytes.as_chunks::<PIECE_BYTES>();
        pieces.extend(halves);
        pieces.extend(halves.iter().map(in_words_of_sha256));
        if secret.is_key {
            pieces.extend(round_keys(&secret.bytes));
        }
    }
    // A test key of zeros would be found in every free page.
    pieces.retain(|piece| piece.iter().any(|&byte| byte != piece[0]));
    pieces
}

/// SHA-256 reads words whose highest byte comes first; this machine keeps it last.
fn in_words_of_sha256(piece: &Piece) -> Piece {
    std::array::from_fn(|byte| piece[byte ^ 3])
}

/// The first place of one of the pieces.
fn find(memory: &[u8], pieces: &HashSet<Piece>) -> Option<usize> {
    // Most places are ruled out by their first three bytes.
    let first = |bytes: &[u8]| {
        usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2]) << 16
    };
    let mut is_possible = vec![false; 1 << 24];
    for piece in pieces {
        is_possible[first(piece)] = true;
    }
    let last = memory.len() - PIECE_BYTES;
    for page in (0..memory.len()).step_by(PAGE_BYTES) {
        if memory[page..][..PAGE_BYTES] == [0; PAGE_BYTES] {
            continue;
        }
        for at in page..(page + PAGE_BYTES).min(last) {
            if is_possible[first(&memory[at..at + 3])]
                && pieces.contains(&memory[at..at + PIECE_BYTES])
            {
                return Some(at);
            }
        }
    }
    None
}

/// The 15 round keys of AES-256 (FIPS 197, 5.2).
fn round_keys(key: &[u8; 32]) -> [Piece; 15] {
    let mut words: Vec<[u8; 4]> = key.as_chunks::<4>().0.to_vec();
    let mut constant = 1;
    for number in 8..60 {
        let mut word = words[number - 1];
        if number % 8 == 0 {
            word.rotate_left(1);
            word = word.map(substitute);
            word[0] ^= constant;
            constant = double(constant);
        } else if number % 8 == 4 {
            word = word.map(substitute);
        }
        let before = words[number - 8];
        words.push(std::array::from_fn(|byte| word[byte] ^ before[byte]));
    }
    std::array::from_fn(|round| std::array::from_fn(|byte| words[4 * round + byte / 4][byte % 4]))
}

/// Twice a number in the field of AES.
fn double(byte: u8) -> u8 {
    byte << 1 ^ if byte & 0x80 == 0 { 0 } else { 0x1b }
}

fn product(mut one: u8, mut other: u8) -> u8 {
    let mut sum = 0;
    while other != 0 {
        if other & 1 == 1 {
            sum ^= one;
        }
        one = double(one);
        other >>= 1;
    }
    sum
}

/// The S-box: the inverse in the field, which is the power 254, and a map of its bits.
fn substitute(byte: u8) -> u8 {
    let inverse = (0..253).fold(byte, |power, _| product(power, byte));
    (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn))
}

/// The words around a finding, to find out what it is.
fn surroundings(memory: &[u8], place: usize) -> String {
    let from = (place & !7).saturating_sub(128);
    let words = memory[from..].chunks_exact(8).take(48);
    words
        .map(|word| {
            format!(
                "{:016x}",
                u64::from_le_bytes(std::array::from_fn(|byte| word[byte]))
            )
        })
        .collect::<Vec<_>>()
        .join(" ")
}

// ---- instructions and cache lines ----
// Instructions of a read, and the cache lines that it takes from other CPUs, counted by a plugin of QEMU between two marks
// in `kernel/tests/readers.c`. An emulator cannot measure time, but these counts depend neither on its speed nor on the host.

/// Bytes of a read, and the reads of a turn: as many as one refill of a tap serves. A read of 4096 bytes takes 32 from the
/// tap. Its turn is one read, since a longer one would meet a timer interrupt: the refill in each 31st is left out.
const SIZES: [(u64, u64); 3] = [(16, 62), (32, 31), (4096, 1)];

/// Turns of each count. Timer interrupts and reseeds fall into some of them.
const TURNS: usize = 100;

const KINDS: [&str; 6] = [
    "canonical",
    "concurrent",
    "per-node",
    "per-cpu",
    "kernel",
    "pseudo",
];

/// The CPUs of a node. On each of 1 to all nodes they read in turn where lines are counted.
const CPUS_OF_A_NODE: usize = 2;

/// A turn, as the plugin counted it.
struct Count {
    instructions: u64,
    transfers: u64,
    remote: u64,
}

pub(super) fn drill_counts(cache: &Cache, qemu: &Qemu, vm: Vm, root: &Path) -> Result<String> {
    let folder = cache.fresh("counts")?;
    let plugin = folder.join("counts.so");
    build(&root.join("dev/rig/plugin/counts.c"), &plugin)?;
    let out = folder.join("out");
    let argument = format!(
        "file={},out={},per_node={CPUS_OF_A_NODE}",
        plugin.display(),
        out.display()
    );
    let nodes = vm.nodes;
    let mut vm = vm;
    vm.plugin = Some(&argument);
    let mut guest = qemu.start(&vm)?;
    guest.must(LOAD_NEEDED)?;
    guest.must(LOAD)?;
    let mut counter = Counter {
        guest,
        out: &out,
        seen: 0,
    };
    println!("instructions of a read of so many bytes: the least of {TURNS} turns");
    println!(
        "lines that a read takes from another CPU, in brackets from another node, with readers in turn on the \
         {CPUS_OF_A_NODE} CPUs of each of 1 to {nodes} nodes: the median of each reader, and their mean"
    );
    for kind in KINDS {
        let mut row = format!("{kind:>10}:  instructions");
        for (bytes, reads) in SIZES {
            row += &format!("  {bytes}: {}", counter.instructions(kind, bytes, reads)?);
        }
        for bytes in [16, 4096] {
            row += &format!("  lines of {bytes}:");
            for nodes in 1..=nodes {
                let readers = nodes * CPUS_OF_A_NODE;
                let turns = counter.turns(kind, bytes, 1, readers)?;
                let all = mean_of_medians(&turns, readers, |turn| turn.transfers);
                let remote = mean_of_medians(&turns, readers, |turn| turn.remote);
                row += &format!("  {all:.1} ({remote:.1})");
            }
        }
        println!("{row}");
    }
    let mut guest = counter.guest;
    let unload = guest.run(UNLOAD)?;
    succeeded(&mut guest, &unload)?;
    guest.end()?;
    fs::remove_dir_all(&folder).map_err(at(folder.display()))?;
    Ok(format!("{} kinds of reads counted", KINDS.len()))
}

/// The readers have their turns one after the other, and a timer interrupt falls into some of them.
fn mean_of_medians(turns: &[Count], readers: usize, count: fn(&Count) -> u64) -> f64 {
    let median = |reader| {
        let mut counts: Vec<u64> = turns
            .iter()
            .skip(reader)
            .step_by(readers)
            .map(count)
            .collect();
        counts.sort_unstable();
        counts.get(counts.len() / 2).copied().unwrap_or_default()
    };
    let medians = (0..readers).map(median);
    medians.sum::<u64>() as f64 / readers as f64
}

/// Builds the plugin by this machine's compiler.
fn build(source: &Path, plugin: &Path) -> Result {
    match Command::new("cc").arg("--version").output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Stop::Missing("no cc for the plugin of QEMU".into()));
        }
        _ => {}
    }
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o"]);
    run(compiler.arg(plugin).arg(source)).map(drop)
}

/// A machine with the plugin, and what the plugin wrote.
struct Counter<'a> {
    guest: Guest,
    out: &'a Path,
    /// Lines of the plugin's file that belong to earlier turns.
    seen: usize,
}

impl Counter<'_> {
    /// Instructions of a read, without the loop around it.
    fn instructions(&mut self, kind: &str, bytes: u64, reads: u64) -> Result<u64> {
        let mut least = |kind: &str| -> Result<u64> {
            let turns = self.turns(kind, bytes, reads, 1)?;
            let counts = turns.iter().map(|count| count.instructions);
            Ok(counts.min().unwrap_or_default())
        };
        let (loop_alone, all) = (least("nothing")?, least(kind)?);
        match all.saturating_sub(loop_alone) / reads {
            0 => failed(format!("{kind} of {bytes} bytes takes no instruction")),
            each => Ok(each),
        }
    }

    fn turns(&mut self, kind: &str, bytes: u64, reads: u64, readers: usize) -> Result<Vec<Count>> {
        let parameter = "/sys/module/wellspring_test/parameters/marked";
        let command = format!("echo {kind} {bytes} {reads} {readers} {TURNS} >{parameter}");
        let answer = self.guest.run_within(&command, CHECK)?;
        succeeded(&mut self.guest, &answer)?;
        let text = fs::read_to_string(self.out).map_err(at(self.out.display()))?;
        let lines: Vec<&str> = text.lines().skip(self.seen).collect();
        self.seen += lines.len();
        if lines.len() != readers * TURNS {
            return failed(format!("the plugin counted {} turns", lines.len()));
        }
        match lines.into_iter().map(parse).collect() {
            Some(counts) => Ok(counts),
            None => failed(format!("the plugin wrote: {text}")),
        }
    }
}

/// A line of the plugin: the CPU, instructions, transfers, and those from another node.
fn parse(line: &str) -> Option<Count> {
    let mut numbers = line.split(' ').skip(1).map(|word| word.parse().ok());
    Some(Count {
        instructions: numbers.next()??,
        transfers: numbers.next()??,
        remote: numbers.next()??,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, A.3.
    #[test]
    fn round_keys_are_those_of_the_standard() {
        let key = [
            0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d,
            0x77, 0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3,
            0x09, 0x14, 0xdf, 0xf4,
        ];
        let last = [
            0xfe, 0x48, 0x90, 0xd1, 0xe6, 0x18, 0x8d, 0x0b, 0x04, 0x6d, 0xf3, 0x44, 0x70, 0x6c,
            0x63, 0x1e,
        ];
        assert_eq!(round_keys(&key)[14], last);
    }

    #[test]
    fn registers_are_read_from_words_of_either_width() {
        let text = "\
CPU#0
RAX=0000000000000000 RBX=ffffffff81000000
FPR6=0000000000000000 0000 FPR7=0000000000000000 0000
XMM00=00000000000000ff0123456789abcdef XMM01=00000000000000000000000000000000
YMM15=0000000000000001 0000000000000002 0000000000000003 0000000000000004
CPU#1
";
        let registers = vector_registers(text);
        let widths: Vec<usize> = registers.iter().map(Vec::len).collect();
        assert_eq!(widths, [16, 16, 32]);
        assert_eq!(
            registers[0][..9],
            [0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0xff]
        );
        assert_eq!(
            (registers[2][0], registers[2][8], registers[2][31 - 7]),
            (4, 3, 1)
        );
        let lane: Piece = std::array::from_fn(|at| registers[2][16 + at]);
        assert_eq!(count_held(&registers, &HashSet::from([lane])), 1);
        assert_eq!(count_held(&registers, &HashSet::new()), 0);
    }

    #[test]
    fn what_was_recorded_is_found_unmasked_and_not_masked() {
        let key: [u8; 32] = std::array::from_fn(|byte| byte as u8 * 7 + 1);
        let mut memory = vec![0; 64 * PAGE_BYTES];
        let records_at = 8 * PAGE_BYTES;
        memory[records_at..][..32].copy_from_slice(&TITLE.map(|byte| byte ^ MASK));
        memory[records_at + 32] = 1;
        memory[records_at + HEAD_BYTES] = 1;
        memory[records_at + HEAD_BYTES + 4..][..32].copy_from_slice(&key.map(|byte| byte ^ MASK));
        let pieces = pieces(&records(&memory).unwrap());
        assert_eq!(find(&memory, &pieces), None);
        memory[5 * PAGE_BYTES - 9..][..16].copy_from_slice(&round_keys(&key)[6]);
        assert_eq!(find(&memory, &pieces), Some(5 * PAGE_BYTES - 9));
        let state: [u32; 8] = std::array::from_fn(|word| {
            u32::from_be_bytes(std::array::from_fn(|byte| key[4 * word + byte]))
        });
        for (word, place) in state.iter().zip((333..).step_by(4)) {
            memory[place..][..4].copy_from_slice(&word.to_le_bytes());
        }
        assert_eq!(find(&memory, &pieces), Some(333));
        memory[77..][..16].copy_from_slice(&key[16..]);
        assert_eq!(find(&memory, &pieces), Some(77));
    }

    #[test]
    fn each_reader_has_its_median_and_a_timer_in_one_turn_changes_nothing() {
        let turn = |transfers| Count {
            instructions: 0,
            transfers,
            remote: 0,
        };
        let turns = [4, 0, 4, 0, 90, 0].map(turn);
        assert_eq!(mean_of_medians(&turns, 2, |turn| turn.transfers), 2.0);
    }

    #[test]
    fn a_line_of_the_plugin_has_a_cpu_and_three_counts() {
        let count = parse("3 28500 4 2").unwrap();
        let counts = (count.instructions, count.transfers, count.remote);
        assert_eq!(counts, (28500, 4, 2));
        for half in ["", "3", "3 28500", "3 28500 4", "3 28500 4 ", "3 28500 4 x"] {
            assert!(parse(half).is_none(), "{half}");
        }
    }
}
