//! Steps that the tests of all machines take.

use crate::guest::{Answer, Excuse, Guest, Result, failed};
use std::time::Duration;

/// All tests of the module. They take half a minute on an idle machine. On a busy one each waits for what it counts.
pub(super) const CHECK: Duration = Duration::from_secs(1800);

/// Loads the distribution's modules that ours need. wellspring_crypto.ko refuses a processor without instructions for AES:
/// it is left out there.
pub(super) const LOAD_NEEDED: &str = "for file in /needed/*; do [ ! -e $file ] || insmod $file || break; done && \
     { grep -qw aes /proc/cpuinfo || rm -f /modules/wellspring_crypto.ko; }";

/// Loads our modules.
pub(super) const LOAD: &str = "insmod /modules/wellspring.ko && for file in /modules/*.ko; do \
                    [ $file = /modules/wellspring.ko ] || insmod $file || break; done";

/// Unloads them.
pub(super) const UNLOAD: &str =
    r"rmmod $(ls /modules | grep -v '^wellspring\.ko$' | sed 's/\.ko$//') && rmmod wellspring";

/// Fails with the output of a command and the kernel's log if the command failed or the log shows trouble.
pub(super) fn succeeded(guest: &mut Guest, answer: &Answer) -> Result {
    match (answer.status, guest.judge()) {
        (0, verdict) => verdict,
        (status, verdict) => {
            let complaint = verdict
                .err()
                .map(|complaint| format!("\n{complaint:?}"))
                .unwrap_or_default();
            failed(format!(
                "ended with {status}: {}{complaint}",
                answer.text.trim_end()
            ))
        }
    }
}

/// Stops kmemleak's own scans. The first begins a minute after the start. In an emulator an `insmod` hung for 15 minutes,
/// probably since no grace period of RCU tasks ends before the scan does. The tests ask for their scans.
pub(super) fn stop_scans(guest: &mut Guest) -> Result {
    let file = "/sys/kernel/debug/kmemleak";
    guest
        .must(&format!("[ ! -e {file} ] || echo scan=off >{file}"))
        .map(drop)
}

/// Fails if kmemleak finds a leak. Returns whether the kernel has kmemleak.
pub(super) fn look_for_leaks(guest: &mut Guest) -> Result<bool> {
    let has_it = guest.run("[ -e /sys/kernel/debug/kmemleak ]")?.status == 0;
    if !has_it {
        return Ok(false);
    }
    // Twice, with some seconds between: an object younger than 5 s is not reported.
    let scan =
        "cd /sys/kernel/debug && echo scan >kmemleak; sleep 6; echo scan >kmemleak; cat kmemleak";
    let found = guest.run_within(scan, CHECK)?.text;
    if found.contains("unreferenced object") {
        return failed(format!("kmemleak:\n{found}"));
    }
    Ok(true)
}

/// Reports of KCSAN on the kernel's clock, whichever module reads it. The reader takes the values of a latch, and takes them
/// again if they changed meanwhile. Linux 6.12 does not tell KCSAN of latches.
const CLOCK: [Excuse; 4] = [
    race_in_clock("KCSAN: data-race in timekeeping_cycles_to_ns+"),
    race_in_clock("KCSAN: data-race in ktime_get_mono_fast_ns+"),
    race_in_clock(" / timekeeping_cycles_to_ns+"),
    race_in_clock(" / ktime_get_mono_fast_ns+"),
];

const fn race_in_clock(first: &'static str) -> Excuse {
    let last = "==========";
    Excuse { first, last }
}

/// Has KCSAN look for data races from now on. A report that names our module fails the run.
pub(super) fn look_for_races(guest: &mut Guest) -> Result {
    guest.excuse(&CLOCK);
    guest.must("echo on >/sys/kernel/debug/kcsan").map(drop)
}

/// Fails if KCSAN looked at nothing. Returns what it looked at.
pub(super) fn races(guest: &mut Guest) -> Result<String> {
    let counters = guest.must("cat /sys/kernel/debug/kcsan")?;
    let count = |name: &str| -> u64 {
        let lines = counters.lines();
        let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        values
            .next()
            .and_then(|value| value.parse().ok())
            .unwrap_or(0)
    };
    let (watched, found) = (count("setup_watchpoints"), count("data_races"));
    if watched == 0 {
        return failed(format!("KCSAN did not look: {counters}"));
    }
    Ok(format!(
        "KCSAN watched {watched} accesses and found {found} races, none with our functions; {} excused in the kernel's clock",
        guest.count_excused()
    ))
}

/// Fails if lockdep checks no more, as after its first report, whether or not that was printed.
pub(super) fn lockdep_still_checks(guest: &mut Guest) -> Result {
    let statistics = guest.must("cat /proc/lockdep_stats")?;
    let mut lines = statistics.lines();
    let is_on = lines.any(|line| line.split_whitespace().eq(["debug_locks:", "1"]));
    if is_on {
        return Ok(());
    }
    failed(format!("lockdep does not check: {statistics}"))
}
