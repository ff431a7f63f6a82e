//! Instructions of a read, and the cache lines that it takes from other CPUs, counted by a plugin of QEMU between two marks
//! in `kernel/tests/marks.c`. An emulator cannot measure time, but these counts depend neither on its speed nor on the host.

use super::steps::{CHECK, LOAD, LOAD_NEEDED, UNLOAD, succeeded};
use crate::guest::{Cache, Guest, Qemu, Result, Stop, Vm, at, failed, run};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

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

/// They read in turn where lines are counted.
const READERS: usize = 4;

/// A turn, as the plugin counted it.
struct Count {
    instructions: u64,
    transfers: u64,
}

/// All of it. Returns the note for the table, and prints the counts.
pub(super) fn drill(cache: &Cache, qemu: &Qemu, vm: Vm, root: &Path) -> Result<String> {
    let folder = cache.fresh("counts")?;
    let plugin = folder.join("counts.so");
    build(&root.join("dev/rig/plugin/counts.c"), &plugin)?;
    let out = folder.join("out");
    let argument = format!("file={},out={}", plugin.display(), out.display());
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
        "lines that a read takes from another CPU, with {READERS} readers in turn: the median"
    );
    for kind in KINDS {
        let mut row = format!("{kind:>10}:  instructions");
        for (bytes, reads) in SIZES {
            row += &format!("  {bytes}: {}", counter.instructions(kind, bytes, reads)?);
        }
        row += "  lines";
        for bytes in [16, 4096] {
            let mut turns = counter.turns(kind, bytes, 1, READERS)?;
            turns.sort_unstable_by_key(|count| count.transfers);
            row += &format!("  {bytes}: {}", turns[turns.len() / 2].transfers);
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

    /// Makes all turns of one kind of read.
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

/// A line of the plugin: the CPU, instructions, transfers.
fn parse(line: &str) -> Option<Count> {
    let mut numbers = line.split(' ').skip(1).map(|word| word.parse().ok());
    Some(Count {
        instructions: numbers.next()??,
        transfers: numbers.next()??,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_plugin_has_a_cpu_and_two_counts() {
        let count = parse("3 28500 4").unwrap();
        assert_eq!((count.instructions, count.transfers), (28500, 4));
        for half in ["", "3", "3 28500", "3 28500 ", "3 28500 x"] {
            assert!(parse(half).is_none(), "{half}");
        }
    }
}
