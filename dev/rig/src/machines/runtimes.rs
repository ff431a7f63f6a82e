//! Programs of other runtimes in eight clones of one machine, with their guards and without; and each restored twice by CRIU.
//!
//! Each program runs twice in the machine: with its guard, and without. Both have drawn numbers when the machine is saved. A
//! loop in the machine asks the guarded ones and the kernel all the time, also while the machine is saved and resumed, and notes
//! when each answered. Later each clone is asked for numbers of all. A value that two clones return is a repetition.
//!
//! CRIU restores the programs with their guards twice from one checkpoint: without its hook, with the hook of
//! `packaging/guest`, and with the hook and the old vDSO, as on another kernel.

use crate::guest::{
    Cache, Files, Guards, Guest, MachineSetup, Result, Stop, Vm, at, criu, failed, guards, run,
    runtimes,
};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

const CLONES: usize = 8;

/// The memory of the machine: the files take a third of it.
const MEMORY_MIB: usize = 2560;

/// How often each program is asked after it had time to see the notice.
const LATER_ROUNDS: usize = 3;

/// The time to see it, in emulation on a busy machine.
const REST_S: usize = 5;

/// A program and its guard.
struct Runtime {
    name: &'static str,
    command: &'static str,
    /// Variables of the environment.
    guard: &'static str,
}

const RUNTIMES: [Runtime; 5] = [
    Runtime {
        name: "node",
        command: "node /draw/draw.js",
        guard: "NODE_OPTIONS='--require /lib/wellspring/guards/clone_guard.js'",
    },
    Runtime {
        name: "jvm",
        command: "/usr/lib/jvm/java-17-openjdk-amd64/bin/java -Xmx48m -Xint -XX:+UseSerialGC -XX:-UsePerfData -cp /draw Draw",
        guard: "JAVA_TOOL_OPTIONS=-javaagent:/lib/wellspring/guards/clone-guard.jar",
    },
    Runtime {
        name: "python",
        command: "python3.11 -S /draw/draw.py",
        guard: "PYTHONPATH=/lib/wellspring/python GUARD=1",
    },
    Runtime {
        name: "libc",
        command: "python3.11 -S /draw/draw.py libc",
        guard: "LD_PRELOAD=/lib/wellspring/libwellspring-preload.so WELLSPRING_CLONE_GUARD=rand",
    },
    Runtime {
        name: "ruby",
        command: "ruby3.1 --disable-gems /draw/draw.rb",
        guard: "RUBYOPT=-r/lib/wellspring/guards/clone_guard.rb",
    },
];

/// A program that draws on the engine itself.
const ENGINE_PROGRAM: Runtime = Runtime {
    name: "engine",
    command: "wellspring bytes 16 --hex --each-line",
    guard: "",
};

/// How the clones get notice that they are clones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// By vmgenid: `wellspring generation serve` runs.
    Device,
    /// By `wellspring generation bump --kernel` in each clone, at once after its resume.
    Command,
    /// By vmclock alone: `wellspring generation serve` runs, on an [old machine](Self::is_old).
    Clock,
    /// By `wellspring generation bump --nonce -` in each clone, with other bytes for each, on an old machine.
    Secret,
}

impl Order {
    /// Whether the processor has neither RDRAND nor RDSEED, and clocks count instructions from the same moment in each clone.
    fn is_old(self) -> bool {
        matches!(self, Order::Clock | Order::Secret)
    }
}

const LOAD: &str = "for module in /modules/*; do [ ! -e $module ] || insmod $module; done";

/// The bytes of the kernel and of new engines that each clone is asked for, in pieces of 16.
const PIECES: usize = 64;
const KERNEL: &str = "od -An -v -tx1 -N16 /dev/urandom | tr -d ' '";
const ENGINE: &str = "wellspring bytes 16 --hex 2>/dev/null";

/// The files of the guest: runtimes, guards, and the programs that draw.
pub(super) fn files(cache: &Cache, root: &Path) -> Result<Files> {
    let Guards {
        wellspring,
        preload,
        python,
    } = guards(root)?;
    let (source, guards) = (
        root.join("dev/rig/src/machines/runtimes"),
        root.join("clones/guards"),
    );
    let built = cache.fresh("guards")?;
    run(Command::new("sh")
        .arg(guards.join("jvm/build.sh"))
        .arg(&built))
    .and_then(|_| {
        run(Command::new("javac")
            .arg("-d")
            .arg(&built)
            .arg(source.join("Draw.java")))
    })
    .map_err(|_| Stop::Missing("javac and jar of Java 17 or later are not installed".into()))?;
    let package = root.join("bindings/python/python/wellspring");
    let modules: Vec<PathBuf> = fs::read_dir(&package)
        .map_err(at(package.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "py"))
        .collect();
    let draw = ["draw.js", "draw.rb", "draw.py"].map(|name| source.join(name));
    let hook = root.join("packaging/guest/criu");
    let hook = fs::read_to_string(&hook).map_err(at(hook.display()))?;
    Files::new(cache, "runtimes")?
        .tree(&runtimes(cache)?)?
        .copy("bin/wellspring", &wellspring)?
        .folder("criu", &criu(cache)?)?
        .script("criu", CRIU)?
        .script("criu-hook", &hook.replace("@prefix@", ""))?
        .copy("lib/wellspring/libwellspring-preload.so", &preload)?
        .copy("lib/wellspring/python/wellspring/_native.abi3.so", &python)?
        .collect("lib/wellspring/python/wellspring", &modules)?
        .collect("draw", &draw)?
        .copy("draw/Draw.class", &built.join("Draw.class"))?
        .collect(
            "lib/wellspring/guards",
            &[
                guards.join("node/clone_guard.js"),
                guards.join("ruby/clone_guard.rb"),
                built.join("clone-guard.jar"),
            ],
        )
}

/// Eight clones of one machine: with the guards no value repeats after the notice, and without them all do.
pub(super) fn clones(setup: &MachineSetup, kernel: &Path, order: Order) -> Result<String> {
    let state = setup.folder.join("state");
    let mut vm = Vm::new(kernel, &setup.initramfs, 1, 2);
    vm.memory_mib = MEMORY_MIB;
    vm.notices = order == Order::Device;
    if order.is_old() {
        vm = vm.cpu("qemu64");
        vm.counts_instructions = true;
    }
    let clock = ["-device".into(), "vmclock".into()];
    if order == Order::Clock {
        vm.devices = &clock;
    }
    let mut guest = setup.qemu.start(&vm)?;
    let serve = match order {
        Order::Device | Order::Clock => {
            "{ wellspring generation serve >/tmp/served 2>&1 & } && sleep 1"
        }
        Order::Command | Order::Secret => "true",
    };
    guest.must(
        "export PATH=/bin:/usr/bin && mkdir -p /run/wellspring && wellspring generation bump",
    )?;
    guest.must(LOAD)?;
    guest.must(serve)?;
    if order.is_old() {
        guest.must("! grep -qw -e rdrand -e rdseed /proc/cpuinfo")?;
    }
    for runtime in &RUNTIMES {
        runtime.start(&mut guest, "", runtime.guard)?;
        runtime.start(&mut guest, "-alone", "")?;
    }
    let names: Vec<String> = RUNTIMES
        .iter()
        .flat_map(|runtime| [runtime.name.into(), format!("{}-alone", runtime.name)])
        .collect();
    let earlier = ask(&mut guest, &names, 2)?;
    if repeated(&[earlier]).values().any(|list| !list.is_empty()) {
        return failed("a program repeats itself");
    }
    guest.must(&format!(
        "{{ while [ ! -e /tmp/stop ]; do {}; done >/tmp/log; touch /tmp/stopped; }} &",
        round(&RUNTIMES.map(|runtime| runtime.name.to_owned()))
    ))?;
    let saved_ms = uptime_ms(&guest.must("cat /proc/uptime")?);
    guest.save(&state)?;
    vm.state = Some(&state);
    let mut early = Early::default();
    let mut late = Vec::new();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for number in 0..CLONES {
        let mut guest = setup.qemu.start(&vm)?;
        // A clone gets notice at its resume, or by an order.
        let noticed_ms = match order {
            Order::Command => order_to(&mut guest, "wellspring generation bump --kernel")?,
            Order::Secret => {
                before.push(pieces(&mut guest, "kernel", KERNEL)?);
                let bump = "wellspring generation bump --nonce -";
                order_to(&mut guest, &format!("printf {} | {bump}", secret()?))?
            }
            Order::Device | Order::Clock => saved_ms,
        };
        let log = guest.must(&format!(
            "sleep {REST_S}; touch /tmp/stop; while [ ! -e /tmp/stopped ]; do sleep 1; done; cat /tmp/log"
        ))?;
        let mut answers = parse(&log);
        answers.retain(|answer| answer.ms >= saved_ms);
        early.answers.push(answers);
        early.noticed_ms.push(noticed_ms);
        late.push(ask(&mut guest, &names, LATER_ROUNDS)?);
        let mut answers = pieces(&mut guest, "kernel", KERNEL)?;
        answers.extend(pieces(&mut guest, "engine", ENGINE)?);
        after.push(answers);
        guest.end()?;
        println!("clone {} of {CLONES} has answered", number + 1);
    }
    fs::remove_file(&state).map_err(at(state.display()))?;
    let kernel = judge_kernel(&before, &after)?;
    Ok(judge(&early, &late)? + &kernel)
}

/// The answers of the clones from the moment of saving on, and when each got notice.
#[derive(Default)]
struct Early {
    answers: Vec<Vec<Answer>>,
    noticed_ms: Vec<u64>,
}

/// Gives an order in the guest, and returns when it began.
fn order_to(guest: &mut Guest, bump: &str) -> Result<u64> {
    let text = guest.must(&format!("cat /proc/uptime; {bump} >/tmp/bumped"))?;
    Ok(uptime_ms(&text))
}

/// Other digits at each call.
fn secret() -> Result<String> {
    let mut bytes = [0; 32];
    let random = "/dev/urandom";
    let read = fs::File::open(random).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(at(random))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The lines that a command of the guest prints, one a run.
fn pieces(guest: &mut Guest, kind: &str, command: &str) -> Result<Vec<Answer>> {
    let script = format!("n=0; while [ $n -lt {PIECES} ]; do {command}; n=$((n + 1)); done");
    let text = guest.must(&script)?;
    let answer = |line: &str| Answer {
        kind: kind.into(),
        value: line.trim().into(),
        ms: 0,
    };
    let answers: Vec<Answer> = text.lines().map(answer).collect();
    if answers.len() == PIECES {
        return Ok(answers);
    }
    failed(format!("{} lines in place of {PIECES}", answers.len()))
}

/// The kernel's bytes: without new keys clones get the same, and afterwards no two.
fn judge_kernel(before: &[Vec<Answer>], after: &[Vec<Answer>]) -> Result<String> {
    let pairs = |clones: &[Vec<Answer>]| repeated(clones).values().map(Vec::len).sum::<usize>();
    if pairs(after) > 0 {
        return failed(format!(
            "{} pairs of clones have bytes of the kernel or of a new engine in common",
            pairs(after)
        ));
    }
    Ok(if before.is_empty() {
        "; kernels and new engines differ in all".into()
    } else {
        format!(
            "; kernels are the same in {} pairs before the order, and differ in all after it",
            pairs(before)
        )
    })
}

impl Runtime {
    /// Starts the program in a session of its own, between two pipes that it holds open itself.
    fn start(&self, guest: &mut Guest, suffix: &str, guard: &str) -> Result {
        let (name, command) = (format!("{}{suffix}", self.name), self.command);
        let pipes = format!("0<>/tmp/{name}.asks 1<>/tmp/{name}.answers 2>/tmp/{name}.errors");
        guest.must(&format!("mkfifo /tmp/{name}.asks /tmp/{name}.answers"))?;
        guest.must(&format!(
            "{{ setsid env {guard} {command} {pipes} & }}; echo $! >/tmp/{name}.number"
        ))?;
        // The first answer comes when the program has started.
        let first = guest.must(&format!(
            "echo >/tmp/{name}.asks; timeout 240 head -n 1 /tmp/{name}.answers; cat /tmp/{name}.errors"
        ))?;
        if first.contains('=') || first.trim().len() == 32 {
            return Ok(());
        }
        failed(format!("{name} does not start: {first}"))
    }
}

/// A value that a clone returned, and when, by its clock.
struct Answer {
    /// The program and the kind of number.
    kind: String,
    value: String,
    ms: u64,
}

/// A script that asks the kernel and these programs once.
fn round(names: &[String]) -> String {
    format!(
        "bytes=$({KERNEL}); read -r now rest </proc/uptime; echo $now kernel urandom=$bytes; \
         for name in {}; do echo >/tmp/$name.asks; read -r answer </tmp/$name.answers; \
         read -r now rest </proc/uptime; echo $now $name $answer; done",
        names.join(" ")
    )
}

fn uptime_ms(text: &str) -> u64 {
    let seconds = text.split(' ').next().unwrap_or_default();
    (seconds.parse::<f64>().unwrap_or(0.0) * 1000.0) as u64
}

/// Asks the kernel and these programs, `rounds` times.
fn ask(guest: &mut Guest, names: &[String], rounds: usize) -> Result<Vec<Answer>> {
    let script = format!(
        "n=0; while [ $n -lt {rounds} ]; do {}; n=$((n + 1)); done",
        round(names)
    );
    let text = guest.must(&script)?;
    let (answers, asked) = (parse(&text), rounds * (names.len() + 1));
    if text.lines().count() == asked && answers.len() >= asked {
        return Ok(answers);
    }
    failed(format!(
        "{} answers to {asked} questions: {text}",
        text.lines().count()
    ))
}

/// The values in lines of: the time, the program, its answer.
fn parse(text: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(seconds), Some(name)) = (words.next(), words.next()) else {
            continue;
        };
        for word in words {
            let (kind, value) = word.split_once('=').unwrap_or(("bytes", word));
            answers.push(Answer {
                kind: format!("{name} {kind}"),
                value: value.into(),
                ms: uptime_ms(seconds),
            });
        }
    }
    answers
}

/// For each kind, how many pairs of clones have a value in common.
type Repeated = BTreeMap<String, Vec<(usize, usize)>>;

fn repeated(clones: &[Vec<Answer>]) -> Repeated {
    let mut owners: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    let mut pairs = Repeated::new();
    for (number, answers) in clones.iter().enumerate() {
        for answer in answers {
            let pairs = pairs.entry(answer.kind.clone()).or_default();
            let owners = owners.entry((&answer.kind, &answer.value)).or_default();
            for &owner in owners.iter() {
                if !pairs.contains(&(owner, number)) {
                    pairs.push((owner, number));
                }
            }
            owners.push(number);
        }
    }
    pairs
}

/// For each clone the time from its notice to the last answer of this kind that another clone gave too, the shortest first.
fn windows_ms(early: &Early, kind: &str) -> Vec<u64> {
    let is_of_kind = |answer: &&Answer| answer.kind == kind;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for answer in early.answers.iter().flatten().filter(is_of_kind) {
        *counts.entry(&answer.value).or_default() += 1;
    }
    let window = |(answers, noticed_ms): (&Vec<Answer>, &u64)| {
        let of_kind = answers.iter().filter(is_of_kind);
        let same = of_kind.filter(|answer| counts[answer.value.as_str()] > 1);
        let last_ms = same.map(|answer| answer.ms).max().unwrap_or(0);
        last_ms.saturating_sub(*noticed_ms)
    };
    let mut windows: Vec<u64> = early
        .answers
        .iter()
        .zip(&early.noticed_ms)
        .map(window)
        .collect();
    windows.sort_unstable();
    windows
}

/// The median time of a round of questions in the clones: the windows are as coarse.
fn round_ms(early: &Early) -> u64 {
    let of_kernel = |answers: &Vec<Answer>| -> Vec<u64> {
        let is_of_kernel = |answer: &&Answer| answer.kind == "kernel urandom";
        answers
            .iter()
            .filter(is_of_kernel)
            .map(|answer| answer.ms)
            .collect()
    };
    let gaps =
        |times: Vec<u64>| -> Vec<u64> { times.windows(2).map(|pair| pair[1] - pair[0]).collect() };
    let mut rounds: Vec<u64> = early.answers.iter().map(of_kernel).flat_map(gaps).collect();
    rounds.sort_unstable();
    rounds.get(rounds.len() / 2).copied().unwrap_or(0)
}

/// The one kind that comes from the kernel's generator, which vmgenid reseeds.
const OF_KERNEL: &str = "jvm-alone UUID";

/// Guarded programs repeat nothing in the later answers. Those without a guard repeat in all pairs, but for bytes of the
/// kernel.
fn judge(early: &Early, late: &[Vec<Answer>]) -> Result<String> {
    let all = CLONES * (CLONES - 1) / 2;
    let is_alone = |kind: &str| kind.contains("-alone ");
    let later = repeated(late);
    let mut faults = Vec::new();
    let (mut guarded, mut same) = (0, 0);
    let mut longest = (0, String::new());
    for (kind, pairs) in &later {
        if is_alone(kind) {
            same += usize::from(pairs.len() == all);
            if pairs.len() < all && kind != OF_KERNEL {
                faults.push(format!("{kind}: only {} pairs", pairs.len()));
            }
        } else {
            guarded += 1;
            let windows = windows_ms(early, kind);
            let (middle, most) = (windows[windows.len() / 2], windows[windows.len() - 1]);
            println!(
                "{kind}: the last repetition after {middle} ms in the median clone, {most} ms at most"
            );
            longest = longest.max((most, kind.clone()));
            if !pairs.is_empty() {
                faults.push(format!("{kind}: {} pairs", pairs.len()));
            }
        }
    }
    if !faults.is_empty() {
        return failed(format!(
            "pairs that have values in common: {}",
            faults.join(", ")
        ));
    }
    Ok(format!(
        "{guarded} kinds differ in all {all} pairs; without guards {same} are the same in all; longest window {} ms ({}), \
         a round of questions takes {} ms",
        longest.0,
        longest.1,
        round_ms(early)
    ))
}

// ---- CRIU ----
// The same programs, restored twice from one checkpoint.

/// CRIU with the C library of its suite.
const CRIU: &str = "#!/bin/sh\n\
    exec /criu/usr/lib64/ld-linux-x86-64.so.2 --library-path /criu/usr/lib/x86_64-linux-gnu /criu/usr/sbin/criu \"$@\"\n";

/// The modules without which CRIU does not start: it asks for sockets and rules of the network in any case.
pub(super) const NEEDED_BY_CRIU: [&str; 6] = [
    "nf_tables",
    "unix_diag",
    "af_packet_diag",
    "netlink_diag",
    "tcp_diag",
    "udp_diag",
];

/// How CRIU restores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Restore {
    Alone,
    WithHook,
    /// With the hook, and the old vDSO, whose functions jump to the kernel's: the fault 127 of CRIU's own tests has it do
    /// what it does on another kernel.
    WithOldVdso,
}

/// The programs with their guards, each restored twice. With the hook no value repeats, and without it each kind does.
pub(super) fn restores(setup: &MachineSetup, kernel: &Path) -> Result<String> {
    let mut vm = Vm::new(kernel, &setup.initramfs, 1, 2);
    vm.memory_mib = MEMORY_MIB;
    let mut guest = setup.qemu.start(&vm)?;
    guest.must(
        "export PATH=/bin:/usr/bin && mkdir -p /run/wellspring && wellspring generation bump",
    )?;
    // CRIU looks what the kernel can do, over loopback too.
    guest.must(&format!("{LOAD}; ip link set lo up"))?;
    let programs: Vec<&Runtime> = RUNTIMES.iter().chain([&ENGINE_PROGRAM]).collect();
    for runtime in &programs {
        runtime.start(&mut guest, "", runtime.guard)?;
    }
    let names: Vec<String> = programs.iter().map(|runtime| runtime.name.into()).collect();
    ask(&mut guest, &names, 2)?;
    for name in &names {
        guest.must(&format!(
            "mkdir /tmp/{name}.images; criu dump --tree $(cat /tmp/{name}.number) --images-dir /tmp/{name}.images \
             --log-file dump.log || {{ tail -n 20 /tmp/{name}.images/dump.log; false; }}"
        ))?;
    }
    let (mut kinds, mut same) = (0, Vec::new());
    for restore in [Restore::Alone, Restore::WithHook, Restore::WithOldVdso] {
        let copies = [
            restored(&mut guest, &names, restore)?,
            restored(&mut guest, &names, restore)?,
        ];
        let mut pairs = repeated(&copies);
        // The kernel is not copied.
        for of_kernel in ["kernel urandom", "jvm UUID"] {
            pairs.remove(of_kernel);
        }
        let (is_alone, all) = (restore == Restore::Alone, pairs.len());
        let wrong: Vec<&str> = pairs
            .iter()
            .filter(|(_, pairs)| pairs.is_empty() == is_alone)
            .map(|(kind, _)| kind.as_str())
            .collect();
        if !wrong.is_empty() {
            let what = if is_alone {
                "differ without the hook"
            } else {
                "repeat with the hook"
            };
            return failed(format!("{what}: {}", wrong.join(", ")));
        }
        kinds = all;
        same.push(pairs.values().filter(|pairs| !pairs.is_empty()).count());
    }
    guest.end()?;
    let [alone, hook, old_vdso] = same[..] else {
        return failed("a restore is missing");
    };
    Ok(format!(
        "of {kinds} kinds {alone} repeat without the hook, {hook} with it, {old_vdso} with it and the old vDSO"
    ))
}

/// Restores all programs, asks them, and ends them.
fn restored(guest: &mut Guest, names: &[String], restore: Restore) -> Result<Vec<Answer>> {
    let (fault, hook) = match restore {
        Restore::Alone => ("", ""),
        Restore::WithHook => ("", "--action-script /bin/criu-hook"),
        Restore::WithOldVdso => ("CRIU_FAULT=127", "--action-script /bin/criu-hook"),
    };
    for name in names {
        guest.must(&format!(
            "{fault} criu restore --restore-detached --images-dir /tmp/{name}.images --log-file restore.log -v4 {hook} || \
             {{ tail -n 20 /tmp/{name}.images/restore.log; false; }}"
        ))?;
        if restore == Restore::WithOldVdso {
            guest.must(&format!(
                "grep -q 'generate proxy' /tmp/{name}.images/restore.log"
            ))?;
        }
    }
    if restore != Restore::Alone {
        guest.must(&format!("sleep {REST_S}"))?;
    }
    let answers = ask(guest, names, LATER_ROUNDS)?;
    for name in names {
        guest.must(&format!(
            "number=$(cat /tmp/{name}.number); kill -9 $number; while [ -e /proc/$number ]; do sleep 0.1; done"
        ))?;
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(values: &[(&str, &str, u64)]) -> Vec<Answer> {
        let answer = |&(kind, value, ms): &(&str, &str, u64)| Answer {
            kind: kind.into(),
            value: value.into(),
            ms,
        };
        values.iter().map(answer).collect()
    }

    #[test]
    fn a_repetition_counts_once_for_each_pair_and_only_within_its_kind() {
        let one = answers(&[
            ("node math", "1", 5),
            ("node uuid", "2", 6),
            ("node math", "3", 9),
        ]);
        let other = answers(&[
            ("node math", "1", 7),
            ("node uuid", "3", 8),
            ("node math", "1", 9),
        ]);
        let clones = [one, other];
        assert_eq!(repeated(&clones)["node math"], [(0, 1), (1, 1)]);
        assert!(repeated(&clones)["node uuid"].is_empty());
        let early = Early {
            answers: clones.into(),
            noticed_ms: vec![5, 8],
        };
        assert_eq!(windows_ms(&early, "node math"), [0, 1]);
        assert_eq!(round_ms(&early), 0);
        assert_eq!(windows_ms(&early, "node uuid"), [0, 0]);
    }
}
