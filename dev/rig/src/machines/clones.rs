//! Two clones of one machine must give different bytes.
//!
//! A reader in the guest has a tap with a half-used buffer when the machine is stopped and saved. Two machines are
//! resumed from that state, one after the other, and get the same questions. An answer that both give is a repetition.

use crate::guest::{Guest, MachineSetup, Result, Vm, failed};
use std::fs;
use std::path::Path;

/// An answer of the reader.
const ANSWER_BYTES: usize = 64;

/// The answers before the machine is stopped: a part of the first buffer.
const EARLIER: usize = 5;

/// The buffer of a tap at its outermost depth. `SECURITY.md` names it as the most that two copies share.
const BUFFER_BYTES: usize = 6656;

/// The answers after it: more than two buffers.
const LATER: usize = 2 * BUFFER_BYTES / ANSWER_BYTES + 20;

/// The bytes that each copy is asked for.
pub(super) const ASKED_BYTES: usize = LATER * ANSWER_BYTES;

/// Starts the reader between two pipes, which the shell holds open.
const READER: &str = "mkfifo /tmp/asks /tmp/answers && \
    { wellspring bytes 64 --hex --each-line </tmp/asks >/tmp/answers & } && exec 3>/tmp/asks 4</tmp/answers";

/// Starts the writer of the page, and waits until it listens.
const SERVE: &str = "mkdir -p /run/wellspring && { wellspring generation serve >/tmp/served 2>&1 & } && \
    until grep -q serving /tmp/served; do sleep 0.1; done";

/// How the guest learns that it is a clone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    None,
    /// By a device of the machine (vmgenid), which tells the kernel, whose log `wellspring generation serve` reads.
    Device,
    /// By the page of the hypervisor's clock, which the reader itself has mapped. QEMU 10 counts disruptions there.
    Clock,
    /// By a command before anyone reads: `wellspring generation bump`.
    Command,
}

impl Notice {
    /// The command before the machine is copied.
    const fn before(self) -> &'static str {
        match self {
            Notice::None => "true",
            Notice::Device => SERVE,
            Notice::Clock => "for module in /modules/*; do insmod $module; done",
            Notice::Command => "mkdir -p /run/wellspring && wellspring generation bump",
        }
    }

    /// The most bytes that both copies may hand out: what the tap's buffer held when they were made, until they know.
    pub(super) const fn most_bytes(self) -> usize {
        match self {
            Notice::None | Notice::Device => BUFFER_BYTES,
            Notice::Clock | Notice::Command => 0,
        }
    }

    /// The command in each copy before the first read.
    const fn after(self) -> &'static str {
        match self {
            Notice::None | Notice::Device | Notice::Clock => "true",
            Notice::Command => "wellspring generation bump",
        }
    }

    /// The command in each copy after the last read: whether the notice came at all.
    const fn has_come(self) -> &'static str {
        match self {
            Notice::None | Notice::Clock | Notice::Command => "true",
            Notice::Device => {
                "n=0; until grep -q cloned /tmp/served || [ $n -gt 600 ]; do n=$((n + 1)); sleep 0.1; done; \
                 grep cloned /tmp/served"
            }
        }
    }
}

/// The output that the clones have in common.
pub(super) struct Window {
    /// The answers that both gave, in bytes.
    pub(super) repeated_bytes: usize,
    /// From the first question to the last answer that both gave, in the slower copy.
    pub(super) repeated_ms: u64,
}

/// Saves a machine with a reader at work, and goes on from there twice.
pub(super) fn window(setup: &MachineSetup, kernel: &Path, notice: Notice) -> Result<Window> {
    let state = setup.folder.join("state");
    let mut vm = Vm::new(kernel, &setup.initramfs, 1, 2);
    vm.memory_mib = 256;
    vm.notices = notice == Notice::Device;
    let clock = ["-device".into(), "vmclock".into()];
    if notice == Notice::Clock {
        vm.devices = &clock;
    }
    let mut guest = setup.qemu.start(&vm)?;
    guest.must(notice.before())?;
    guest.must(READER)?;
    let earlier = ask(&mut guest, EARLIER)?;
    if distinct(&earlier) != EARLIER {
        return failed("the reader repeats itself");
    }
    guest.save(&state)?;
    vm.state = Some(&state);
    let mut copies = Vec::new();
    for _ in 0..2 {
        let mut guest = setup.qemu.start(&vm)?;
        guest.must(notice.after())?;
        copies.push(ask(&mut guest, LATER)?);
        guest.must(notice.has_come())?;
        guest.end()?;
    }
    fs::remove_file(&state).map_err(crate::guest::at(state.display()))?;
    compare(&copies[0], &copies[1])
}

/// An answer, and when it came, by the guest's clock.
struct Answer {
    digits: String,
    ms: u64,
}

/// Asks the reader, and notes when it answered.
fn ask(guest: &mut Guest, times: usize) -> Result<Vec<Answer>> {
    let script = format!(
        "n=0; while [ $n -lt {times} ]; do echo >&3; read -r answer <&4; read -r now rest </proc/uptime; \
         echo $now $answer; n=$((n + 1)); done"
    );
    let text = guest.must(&script)?;
    let parse = |line: &str| {
        let (seconds, digits) = line.split_once(' ')?;
        let ms = (seconds.parse::<f64>().ok()? * 1000.0) as u64;
        (digits.len() == 2 * ANSWER_BYTES).then(|| Answer {
            digits: digits.to_owned(),
            ms,
        })
    };
    let answers: Vec<Answer> = text.lines().filter_map(parse).collect();
    if answers.len() == times {
        return Ok(answers);
    }
    failed(format!(
        "{} answers to {times} questions: {text}",
        answers.len()
    ))
}

fn distinct(answers: &[Answer]) -> usize {
    let mut digits: Vec<&str> = answers
        .iter()
        .map(|answer| answer.digits.as_str())
        .collect();
    digits.sort_unstable();
    digits.dedup();
    digits.len()
}

/// The answers that both gave. A repetition counts at any place.
fn compare(one: &[Answer], other: &[Answer]) -> Result<Window> {
    if distinct(one) != one.len() || distinct(other) != other.len() {
        return failed("a clone repeats itself");
    }
    let is_in_other = |answer: &&Answer| other.iter().any(|other| other.digits == answer.digits);
    let repeated: Vec<&Answer> = one.iter().filter(is_in_other).collect();
    let start_ms = one.first().map_or(0, |answer| answer.ms);
    Ok(Window {
        repeated_bytes: repeated.len() * ANSWER_BYTES,
        repeated_ms: repeated.last().map_or(0, |answer| answer.ms - start_ms),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(digits: &[&str]) -> Vec<Answer> {
        let answer = |(ms, digits): (u64, &&str)| Answer {
            digits: (*digits).to_owned(),
            ms,
        };
        (100..).zip(digits).map(answer).collect()
    }

    #[test]
    fn a_repetition_counts_wherever_it_is() {
        let window = compare(&answers(&["a", "b", "c"]), &answers(&["x", "y", "b"])).unwrap();
        assert_eq!(
            (window.repeated_bytes, window.repeated_ms),
            (ANSWER_BYTES, 1)
        );
        let window = compare(&answers(&["a", "b"]), &answers(&["x", "y"])).unwrap();
        assert_eq!((window.repeated_bytes, window.repeated_ms), (0, 0));
        assert!(compare(&answers(&["a", "a"]), &answers(&["x", "y"])).is_err());
    }
}
