//! Decides which lines of the kernel's log report trouble.

use super::cache::{Result, Stop, failed};

/// Texts that a kernel prints after an error. Upper and lower case matter.
const TROUBLE: [&str; 34] = [
    "WARNING:",
    "BUG:",
    "BUG ",
    "Oops",
    "Kernel panic",
    "general protection fault",
    "Unable to handle",
    "unable to handle",
    "divide error",
    "invalid opcode",
    "stack segment",
    "double fault",
    "Call Trace:",
    // Locks (lockdep), and sleep where there may be none.
    "possible recursive locking",
    "possible circular locking",
    "possible irq lock inversion",
    "possible deadlock",
    "inconsistent lock state",
    "suspicious RCU usage",
    "bad unlock balance",
    "held lock freed",
    "lock held when returning to user space",
    "Invalid wait context",
    "scheduling while atomic",
    "sleeping function called from invalid context",
    "blocked for more than",
    // Memory and its accounts.
    "KASAN:",
    "KCSAN:",
    "UBSAN:",
    "kmemleak: Cannot",
    "new suspected memory leaks",
    "refcount_t:",
    "list_add corruption",
    "list_del corruption",
];

/// Lines that contain such words and are harmless: advice about processors, and warnings about QEMU's firmware.
const HARMLESS: [&str; 2] = ["Spectre", "Unprivileged eBPF"];

/// How the kernel marks the functions of this project's modules.
const OURS: &str = "[wellspring";

/// Whether a line of the kernel's log reports trouble.
fn is_trouble(line: &str) -> bool {
    TROUBLE.iter().any(|words| line.contains(words))
        && !HARMLESS.iter().any(|words| line.contains(words))
}

/// Runs all of a machine, and again if its kernel ended inside of a NOP of 5 bytes (`0f 1f 44 00 00`), where no program
/// has an instruction. Linux patches these NOPs while other CPUs run them, in an order that real CPUs allow, and at times
/// a thread of QEMU runs a half-patched NOP. It was seen during a boot, before any module was loaded.
pub(crate) fn unless_half_patched<T>(mut run: impl FnMut() -> Result<T>) -> Result<T> {
    const MOST_RUNS: usize = 3;
    for _ in 1..MOST_RUNS {
        match run() {
            Err(Stop::Failed(reason)) if reason.contains("0f <1f> 44 00 00") => {
                println!("again, since QEMU ran a NOP that was patched by half: {reason}");
            }
            result => return result,
        }
    }
    run()
}

/// Whether the report of KCSAN in the first line is on a race of the kernel with itself: neither a function of our modules nor
/// a function that it called made one of the two accesses. What an interrupt interrupted took no part, and the locks that are
/// held say nothing.
fn is_race_of_others(report: &[String]) -> bool {
    let mut is_interrupted = false;
    let mut is_ours = |line: &String| {
        let is_function = line.contains("]  ") && !line.contains("]  #");
        // Both lists of calls begin after such a line, the innermost first.
        if line.contains(" bytes by ") {
            is_interrupted = false;
        }
        if is_function && line.contains("]  asm_") {
            is_interrupted = true;
        }
        is_function && !is_interrupted && line.contains(OURS)
    };
    report[0].contains("BUG: KCSAN:")
        && !report[0].contains(OURS)
        && !report
            .iter()
            .take_while(|line| !line.ends_with("======"))
            .any(&mut is_ours)
}

/// A report of the kernel that is no trouble in a machine that asks for it.
#[derive(Clone, Copy)]
pub(crate) struct Excuse {
    /// Words of its first line.
    pub(crate) first: &'static str,
    /// Words of its last line.
    pub(crate) last: &'static str,
}

pub(super) fn count_excused(lines: &[String], excuses: &[Excuse]) -> usize {
    let is_first = |line: &&String| excuses.iter().any(|excuse| line.contains(excuse.first));
    lines.iter().filter(is_first).count()
}

/// The first trouble. The first line of an excused report and the list of calls that belongs to it are not trouble.
fn first_trouble(lines: &[String], excuses: &[Excuse]) -> Option<usize> {
    let mut excused: Option<&Excuse> = None;
    (0..lines.len()).find(|&at| {
        let line = &lines[at];
        if excused.is_some_and(|excuse| line.contains(excuse.last)) {
            excused = None;
        }
        if let Some(excuse) = excuses.iter().find(|excuse| line.contains(excuse.first)) {
            excused = Some(excuse);
            return false;
        }
        let is_its_list = excused.is_some() && line.contains("Call Trace:");
        is_trouble(line) && !is_its_list && !is_race_of_others(&lines[at..])
    })
}

/// The first line that reports trouble, and the lines after it that explain it.
fn troubles<'a>(lines: &'a [String], excuses: &[Excuse]) -> &'a [String] {
    // A report of lockdep has about 120 lines. The last lines say who asked.
    const EXPLANATION: usize = 160;
    let first = first_trouble(lines, excuses);
    first.map_or(&[], |first| {
        &lines[first..lines.len().min(first + EXPLANATION)]
    })
}

pub(super) fn no_trouble(lines: &[String], excuses: &[Excuse]) -> Result {
    match troubles(lines, excuses) {
        [] => Ok(()),
        lines => failed(format!(
            "the kernel reports trouble:\n  {}",
            lines.join("\n  ")
        )),
    }
}

/// A line without terminal control codes. The firmware prints them before everything else.
pub(super) fn without_control_codes(line: &str) -> String {
    let mut text = String::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            // ESC [ .. letter, or ESC and one character.
            '\x1b' => {
                if characters.next() == Some('[') {
                    characters.find(char::is_ascii_alphabetic);
                }
            }
            character if character.is_control() && character != '\t' => {}
            character => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second line is of a kernel 6.12, the first is made.
    #[test]
    fn a_machine_runs_again_only_where_its_kernel_ended_inside_of_a_nop() {
        for (code, runs) in [
            ("Code: 0f 84 2c 02 00 00 <0f> 1f 44 00 00 49 89 ce", 1),
            ("Code: 0f 84 2c 02 00 00 0f <1f> 44 00 00 49 89 ce", 3),
        ] {
            let mut count = 0;
            let result: Result = unless_half_patched(|| {
                count += 1;
                failed(code)
            });
            assert_eq!((result, count), (failed(code), runs));
        }
    }

    /// As kernels 6.1 and 7.2 printed them, when modules asked for it.
    #[test]
    fn a_recorded_warning_trips_the_judge() {
        for line in [
            "[    7.121772] WARNING: CPU: 3 PID: 85 at /build/hello.c:3 hello_init+0x5/0x10 [hello]",
            "[    7.6] WARNING: /build/hello.c:3 at hello_init+0x5/0x10 [hello], CPU#3: insmod/85",
            "[    9.0] BUG: sleeping function called from invalid context at include/linux/sched/mm.h:321",
            "[    9.0] BUG: KASAN: slab-use-after-free in hello_init+0x5/0x10 [hello]",
            "[    9.0] WARNING: possible circular locking dependency detected",
            "[   12.3] kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
            "[    3.4] BUG kmalloc-64 (Tainted: G           O     ): Objects remaining in kmalloc-64 on shutdown",
            "[    9.1] general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1]",
        ] {
            assert!(is_trouble(line), "{line}");
        }
    }

    #[test]
    fn what_every_boot_says_is_no_trouble() {
        for line in [
            "[    2.137905] mtrr: your CPUs had inconsistent fixed MTRR settings",
            "[    6.051931] Unstable clock detected, switching default tracing clock to \"global\"",
            "[    7.089018] hello: loading out-of-tree module taints kernel.",
            "[    7.1] hello: module verification failed: signature and/or required key missing - tainting kernel",
            "[    0.1] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible!",
            "[    0.3] kmemleak: Kernel memory leak detector initialized (mem pool available: 15676)",
            "[    0.2] RCU lockdep checking is enabled.",
            "[    0.2] Running RCU self tests",
        ] {
            assert!(!is_trouble(line), "{line}");
        }
    }

    #[test]
    fn a_trouble_comes_with_its_explanation_and_not_with_what_was_before() {
        let lines = ["fine", "WARNING: CPU: 0", "RIP: x"].map(String::from);
        assert_eq!(troubles(&lines, &[]), ["WARNING: CPU: 0", "RIP: x"]);
        assert!(troubles(&lines[..1], &[]).is_empty());
    }

    /// As kernels 6.12 printed them, shortened.
    #[test]
    fn an_excused_report_is_no_trouble_and_any_other_is() {
        let warning = |place: &str| {
            [
                "[    9.1] ------------[ cut here ]------------".into(),
                format!("[    9.1] WARNING: CPU: 3 PID: 85 at {place}"),
                "[    9.1] Call Trace:".into(),
                "[    9.1] ---[ end trace 0000000000000000 ]---".into(),
            ]
        };
        let kernel = "kernel/trace/trace_events.c:3050 trace_event_update+0x5/0x10";
        let ours = "/build/hello.c:3 hello_init+0x5/0x10 [hello]";
        let excuses = [
            Excuse {
                first: "at kernel/trace/trace_events.c:",
                last: "---[ end trace",
            },
            Excuse {
                first: ": vmalloc error: ",
                last: "Mem-Info:",
            },
        ];
        let both = [warning(kernel), warning(ours)].concat();
        assert_eq!(troubles(&both[..4], &excuses), [""; 0]);
        assert_eq!(troubles(&both, &excuses), &both[5..]);
        assert_eq!(troubles(&both, &[]), &both[1..]);
        assert_eq!(count_excused(&both, &excuses), 1);
        let hidden = [&both[..2], &["[    9.1] BUG: KASAN: x".into()][..]].concat();
        assert_eq!(troubles(&hidden, &excuses), &hidden[2..]);
        let allocation = [
            "[    9.2] insmod: vmalloc error: size 4096, page order 0, failed to allocate pages",
            "[    9.2] Call Trace:",
            "[    9.3] Mem-Info:",
            "[    9.4] Call Trace:",
        ]
        .map(String::from);
        assert_eq!(troubles(&allocation[..3], &excuses), [""; 0]);
        assert_eq!(troubles(&allocation, &excuses), &allocation[3..]);
        assert_eq!(troubles(&allocation, &excuses[..1]), &allocation[1..]);
    }

    /// As KCSAN of a kernel 6.12 printed it, shortened: the timer interrupted our function.
    const RACE: [&str; 8] = [
        "[  103.15] BUG: KCSAN: data-race in __hrtimer_run_queues / hrtimer_active",
        "[  103.15] read to 0xff1100007c2205c8 of 8 bytes by interrupt on cpu 1:",
        "[  103.15]  hrtimer_active+0x70/0xd1",
        "[  103.19]  asm_sysvec_apic_timer_interrupt+0x1f/0x30",
        "[  103.23]  ws_nodes_reserve+0xb6/0xc6 [wellspring]",
        "[  103.37] write to 0xff1100007c2205c8 of 8 bytes by interrupt on cpu 0:",
        "[  103.37]  __hrtimer_run_queues+0x3fd/0x41d",
        "[  103.47] ==================================================================",
    ];

    #[test]
    fn a_race_is_trouble_if_one_of_our_functions_takes_part() {
        let race = RACE.map(String::from);
        assert_eq!(troubles(&race, &[]), [""; 0]);
        let held =
            "[  103.2]  #0: ff11 (&node->lock){-.-.}-{2:2}, at: lock_node+0x25/0x33 [wellspring]";
        let after = "[  103.5]  ws_read+0x8c/0xac [wellspring]";
        for (line, place, is_trouble) in [(held, 5, false), (after, 8, false), (after, 7, true)] {
            let mut lines = race.to_vec();
            lines.insert(place, line.into());
            assert_eq!(
                !troubles(&lines, &[]).is_empty(),
                is_trouble,
                "{line} {place}"
            );
        }
        let mut titled = race;
        titled[0] = "[    9.1] BUG: KCSAN: data-race in spend_credit [wellspring] / x".into();
        assert!(!troubles(&titled, &[]).is_empty());
        let [first, .., last] = titled;
        let next = "[    9.2] BUG: KASAN: slab-use-after-free in x".to_owned();
        let others = [RACE[0].to_owned(), last, next.clone(), first];
        assert_eq!(troubles(&others, &[])[0], next);
    }

    #[test]
    fn terminal_control_codes_are_left_out() {
        assert_eq!(
            without_control_codes("\x1bc\x1b[?7l\x1b[2J\x1b[0mSeaBIOS\r"),
            "SeaBIOS"
        );
    }
}
