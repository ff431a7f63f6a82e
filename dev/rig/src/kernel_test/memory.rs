//! Memory that comes and goes while programs read.
//!
//! The second NUMA node has CPUs and, at first, no memory. Movable memory comes: there is no room for a node of the
//! module in it. Memory that the kernel may use comes: the module makes a node there. The CPUs leave: that node
//! retires. The movable memory leaves.

use super::steps::{LOAD, LOAD_NEEDED, UNLOAD, succeeded};
use crate::guest::{Guest, Result, failed};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take on a busy host.
const PATIENCE: Duration = Duration::from_secs(600);

/// Memory blocks have 128 MiB.
const DIMM: &str = "256M";

/// Functions of the guest's shell, the file `functions`.
pub(super) const FUNCTIONS: &str = r#"blocks() { ls /sys/devices/system/node/node1 | grep '^memory[0-9]'; }
state() { echo $1 >/sys/devices/system/memory/$2/state; }
# Onlines all blocks that are offline.
online() {
    for block in $(blocks); do
        grep -q offline /sys/devices/system/memory/$block/state && { state $1 $block || return 1; }
    done
    return 0
}
# Offlines these blocks. Pages that are in use at this moment move away a little later. One try of the kernel may end only
# when a signal comes.
offline() {
    since=$(date +%s)
    for block in "$@"; do
        until timeout $limit sh -c "echo offline >/sys/devices/system/memory/$block/state" 2>/dev/null; do
            [ $(($(date +%s) - since)) -lt $limit ] || return 1
            sleep 0.2
        done
    done
}
cpus() { for cpu in 2 3; do until echo $1 >/sys/devices/system/cpu/cpu$cpu/online; do sleep 1; done; done; }
# The NUMA nodes that nodes of the module belong to, and those whose memory they are in.
nodes() { awk 'NR > 1 { printf "%s:%s ", $2, $3 }' /sys/kernel/debug/wellspring/nodes; }
reservations() { awk '$2 == 1 { print $4 }' /sys/kernel/debug/wellspring/nodes; }
reader() {
    while [ ! -e /tmp/over ]; do
        [ "$(head -c 5000 /dev/wellspring | wc -c)" -eq 5000 ] || echo short >>/tmp/wrong
    done
}
readers() {
    rm -f /tmp/over /tmp/wrong
    for number in 1 2 3 4 5 6; do reader & done
}
stop() { touch /tmp/over; wait; [ ! -e /tmp/wrong ]; }
"#;

/// All of it. Returns the note for the table.
pub(super) fn drill(mut guest: Guest) -> Result<String> {
    if guest.run("[ -d /sys/devices/system/memory ]")?.status != 0 {
        return Ok("SKIPPED: in this kernel no memory comes and goes".into());
    }
    guest.must(". functions")?;
    guest.must(LOAD_NEEDED)?;
    plug(&mut guest, "movable")?;
    guest.must("movable=$(blocks); online online_movable")?;
    guest.must(LOAD)?;
    expect(&mut guest, "0:0 ", "with movable memory")?;

    guest.must("readers")?;
    plug(&mut guest, "normal")?;
    guest.must("online online_kernel")?;
    expect(&mut guest, "0:0 1:1 ", "with memory for the kernel")?;
    let before = number(&mut guest, "reservations")?;
    wait(&mut guest, "no read from the new node", |guest| {
        Ok(number(guest, "reservations")? > before)
    })?;
    let placed = guest.run_within("kernel-test nodes", PATIENCE)?;
    succeeded(&mut guest, &placed)?;

    guest.must("cpus 0")?;
    expect(&mut guest, "0:0 ", "after the CPUs left")?;
    let left = guest.run_within("limit=300; offline $movable", PATIENCE)?;
    succeeded(&mut guest, &left)?;
    unplug(&mut guest, "movable")?;
    let held = guest.run_within("limit=10; offline $(blocks)", PATIENCE)?;
    let held = if held.status == 0 {
        unplug(&mut guest, "normal")?;
        guest.must("cpus 1")?;
        expect(
            &mut guest,
            "0:0 ",
            "after the CPUs came back without memory",
        )?;
        "and left again"
    } else {
        guest.must("online online_kernel; cpus 1")?;
        expect(&mut guest, "0:0 1:1 ", "after the CPUs came back")?;
        "and stayed, as it held other pages of the kernel"
    };
    let stopped = guest.run_within("stop", PATIENCE)?;
    succeeded(&mut guest, &stopped)?;
    guest.must(UNLOAD)?;
    // Nothing of the module is left. Once a guest hung while it switched itself off here: QEMU ends it.
    guest.judge()?;
    Ok(format!(
        "under 6 readers movable memory came and left, a node came with memory for the kernel and retired with its \
         CPUs; that memory came {held}"
    ))
}

/// Plugs a DIMM into the second node, and waits until the guest has it.
fn plug(guest: &mut Guest, name: &str) -> Result {
    let before = number(guest, "blocks | wc -l")?;
    order(
        guest,
        &format!("object_add memory-backend-ram,id=memory-{name},size={DIMM}"),
    )?;
    order(
        guest,
        &format!("device_add pc-dimm,id={name},memdev=memory-{name},node=1"),
    )?;
    wait(guest, "the guest does not find the memory", |guest| {
        Ok(number(guest, "blocks | wc -l")? == before + 2)
    })
}

/// Unplugs it, and waits until the guest let it go.
fn unplug(guest: &mut Guest, name: &str) -> Result {
    order(guest, &format!("device_del {name}"))?;
    let device = format!("\"{name}\"");
    wait(guest, "the guest does not let the memory go", |guest| {
        Ok(!guest.monitor("info memory-devices")?.contains(&device))
    })
}

/// Sends a command to QEMU's monitor, which answers only if something is wrong.
fn order(guest: &mut Guest, command: &str) -> Result {
    let answer = guest.monitor(command)?;
    if answer.contains("Error") {
        return failed(format!("'{command}': {answer}"));
    }
    Ok(())
}

/// Fails if the module has other nodes than `wanted`.
fn expect(guest: &mut Guest, wanted: &str, when: &str) -> Result {
    let nodes = guest.must("nodes")?;
    if nodes != wanted {
        return failed(format!("the nodes {when}: '{nodes}' and not '{wanted}'"));
    }
    Ok(())
}

/// The number that a command prints.
fn number(guest: &mut Guest, command: &str) -> Result<u64> {
    let text = guest.must(command)?;
    let number = text.trim().parse();
    number.or_else(|_| failed(format!("'{command}' prints '{text}'")))
}

/// Waits until something is true.
fn wait(
    guest: &mut Guest,
    complaint: &str,
    is_true: impl Fn(&mut Guest) -> Result<bool>,
) -> Result {
    let deadline = Instant::now() + PATIENCE;
    while !is_true(guest)? {
        if Instant::now() > deadline {
            return failed(complaint);
        }
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}
