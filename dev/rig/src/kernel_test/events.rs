//! Events that come to a machine from outside: NMIs and clones, a resume from disk, memory. And the module without a machine of
//! QEMU: by dkms in a small Debian, and in User Mode Linux.

use super::drills::{CHECK, LOAD, LOAD_NEEDED, UNLOAD, succeeded};
use crate::guest::{
    Cache, Chroot, Event, Guest, Processor, Qemu, Result, Stop, Uml, Vm, at, failed, kernel_test,
    run,
};
use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that each clone reads.
const CLONE_BYTES: usize = 16384;

/// Bytes of a block that two clones must not have in common.
const BLOCK_BYTES: usize = 16;

/// The kernel's own worker tells the module of a new id of the machine, and the module changes the generation at once.
/// The other changes come from the thread of the module and from tasks.
pub(super) const WAIT_FOR_NOTICE: &str = r#"#!/bin/sh
since=$(date +%s)
until grep -q '^ *kworker.*wellspring_generation:' /sys/kernel/tracing/trace; do
    [ $(($(date +%s) - since)) -lt 300 ] || { cat /sys/kernel/tracing/trace; exit 1; }
    sleep 0.1
done
"#;

/// The bytes of a file as hexadecimal digits.
const DIGITS: &str = "od -An -v -tx1 | tr -d ' \\n'";

pub(super) fn drill(cache: &Cache, qemu: &Qemu, vm: Vm) -> Result<String> {
    let folder = cache.fresh("clones")?;
    let state = folder.join("state");
    let mut vm = vm;
    vm.notices = true;
    vm.memory_mib = 512;
    let mut guest = qemu.start(&vm)?;
    guest.must(LOAD_NEEDED)?;
    let answer = guest.run_under(Event::Nmi, "guest.sh /modules nmi", CHECK)?;
    succeeded(&mut guest, &answer)?;
    let mut lines = answer.text.lines();
    let Some(nmis) = lines.find(|line| line.starts_with("ok")) else {
        return failed(format!("no test of NMIs ran: {}", answer.text));
    };
    if guest.run("[ -d /sys/bus/*/drivers/vmgenid ]")?.status != 0 {
        guest.end()?;
        return Ok(format!("{nmis}; SKIPPED: this kernel has no vmgenid"));
    }
    guest.must(LOAD)?;
    guest.must("echo 1 >/sys/kernel/tracing/events/wellspring/wellspring_generation/enable")?;
    guest.must(&format!(
        "head -c {CLONE_BYTES} /dev/wellspring >/tmp/before"
    ))?;
    guest.save(&state)?;
    vm.state = Some(&state);
    let clones = [read_in_clone(qemu, &vm)?, read_in_clone(qemu, &vm)?];
    fs::remove_dir_all(&folder).map_err(at(folder.display()))?;
    Ok(format!("{nmis}; {}", compare(&clones)?))
}

/// The bytes that a clone has from before it was made, and the bytes that it reads after the kernel told the module.
struct Reads {
    before: String,
    after: String,
}

fn read_in_clone(qemu: &Qemu, vm: &Vm) -> Result<Reads> {
    let mut guest = qemu.start(vm)?;
    let told = guest.run_within("wait-for-notice", CHECK)?;
    succeeded(&mut guest, &told)?;
    let after = guest.must(&format!("head -c {CLONE_BYTES} /dev/wellspring | {DIGITS}"))?;
    let before = guest.must(&format!("cat /tmp/before | {DIGITS}"))?;
    guest.must(UNLOAD)?;
    guest.end()?;
    Ok(Reads { before, after })
}

/// Fails if the clones read a block twice, or both the same. They do know the same from before.
fn compare(clones: &[Reads; 2]) -> Result<String> {
    let blocks = |digits: &str| -> Result<HashSet<String>> {
        let blocks: HashSet<String> = digits
            .as_bytes()
            .chunks(2 * BLOCK_BYTES)
            .map(|block| String::from_utf8_lossy(block).into_owned())
            .collect();
        match blocks.len() {
            count if count == CLONE_BYTES / BLOCK_BYTES => Ok(blocks),
            count => failed(format!("a clone reads {count} different blocks")),
        }
    };
    let common = |one: &str, other: &str| -> Result<usize> {
        Ok(blocks(one)?.intersection(&blocks(other)?).count())
    };
    let [one, other] = clones;
    let (before, after) = (
        common(&one.before, &other.before)?,
        common(&one.after, &other.after)?,
    );
    if before != CLONE_BYTES / BLOCK_BYTES {
        return failed("the machines are not clones");
    }
    if after > 0 || common(&one.before, &one.after)? > 0 {
        return failed(format!(
            "after the notice two clones read {after} blocks alike"
        ));
    }
    Ok(format!(
        "two clones were told, and of {CLONE_BYTES} bytes then read none are the same"
    ))
}

// ---- a resume from disk ----
// A resume from disk: the machine writes its memory to a disk and switches itself off; another machine with that disk
// reads it and goes on. This needs no firmware. A resume from memory does, and in QEMU Linux 6.1 does not come back from
// it reliably.

/// The disk, in bytes. Nothing is stored for what is never written.
const DISK_BYTES: u64 = 1 << 30;

/// Loads the disk's driver, which kernels with PREEMPT_RT do not have built in, and waits for the disk.
const FIND_DISK: &str = "for file in /disk-driver/*; do [ ! -e $file ] || insmod $file || break; done && \
    (count=0; until [ -b /dev/nvme0n1 ]; do [ $count -lt 600 ] || exit 1; count=$((count + 1)); sleep 0.1; done)";

/// Does what a boot script does with `resume=/dev/nvme0n1`. What follows is the answer of the machine that went to sleep:
/// the rest of the test.
const RESUME: &str = "cat /sys/block/nvme0n1/dev >/sys/power/resume";

pub(super) fn drill_hibernation(cache: &Cache, qemu: &Qemu, vm: Vm) -> Result<String> {
    let folder = cache.fresh("hibernation")?;
    let disk = folder.join("disk");
    File::create(&disk)
        .and_then(|file| file.set_len(DISK_BYTES))
        .map_err(at(disk.display()))?;
    let mut vm = vm;
    vm.disk = Some(&disk);
    vm.memory_mib = 512;
    let mut guest = qemu.start(&vm)?;
    if guest.run("resume.sh can")?.status != 0 {
        guest.end()?;
        return Ok("SKIPPED: this kernel cannot resume from disk, and trace that".into());
    }
    guest.must(LOAD_NEEDED)?;
    guest.must(FIND_DISK)?;
    guest.end_by("resume.sh disk /modules /dev/nvme0n1")?;
    let mut guest = qemu.start(&vm)?;
    guest.must(FIND_DISK)?;
    let answer = guest.run_within(RESUME, CHECK)?;
    succeeded(&mut guest, &answer)?;
    guest.end()?;
    fs::remove_dir_all(&folder).map_err(at(folder.display()))?;
    match answer.text.lines().find(|line| line.starts_with("ok")) {
        Some(line) => Ok(line.to_owned()),
        None => failed(format!("it did not go on: {}", answer.text)),
    }
}

// ---- memory ----
// Memory that comes and goes while programs read.
//
// The second NUMA node has CPUs and, at first, no memory. Movable memory comes: there is no room for a node of the
// module in it. Memory that the kernel may use comes: the module makes a node there. The CPUs leave: that node
// retires. The movable memory leaves.

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

pub(super) fn drill_memory(mut guest: Guest) -> Result<String> {
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

// ---- dkms ----
// `dkms install`, `dkms remove` and the guards of dkms.conf, in a small Debian 12 with dkms and the newest headers of its
// two kernels, which come with the security updates.

/// Run at each time, so that the headers are the newest.
const INSTALL: &str = "set -e
export DEBIAN_FRONTEND=noninteractive
echo 'deb http://deb.debian.org/debian-security bookworm-security main' >/etc/apt/sources.list.d/security.list
apt-get update --quiet
apt-get install --yes --quiet --no-install-recommends dkms gcc-12 linux-headers-cloud-amd64 linux-headers-6.12-cloud-amd64";

/// Prints a line for each thing that is tested. The module is in /module. A kernel is where dkms looks for its
/// configuration: /lib/modules/NAME/build/.config.
const STEPS: &str = r#"
set -e
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' /module/dkms.conf)
name=wellspring/$version
kernel=$(ls /lib/modules | grep cloud | tail -n 1)
left_over() { find /boot /etc /lib/modules /var/lib /var/tmp /tmp -name '*wellspring*'; }
rm -rf /var/lib/dkms/wellspring /usr/src/wellspring-*
cp -r /module /usr/src/wellspring-$version
kernel_like() {
    mkdir -p /lib/modules/$1/build
    grep -v "$2" /lib/modules/$kernel/build/.config >/lib/modules/$1/build/.config
}
kernel_like 5.10.0-1-amd64 'no such line'
kernel_like 6.0.12-1-amd64 'no such line'
kernel_like 6.1.0-1-up-amd64 '^CONFIG_SMP='
dkms add $name >/dev/null
refused() {
    status=0
    dkms build $name "$@" >/tmp/output 2>&1 || status=$?
    [ $status = 77 ] && grep -q BUILD_EXCLUSIVE /tmp/output || { echo "not refused: $*: $status"; cat /tmp/output; exit 1; }
    echo "refused: $*"
}
refused -k 5.10.0-1-amd64
refused -k 6.0.12-1-amd64
refused -k 6.1.0-1-up-amd64
refused -k $kernel -a riscv64
rm -rf /lib/modules/*-1-amd64 /lib/modules/*-up-amd64
for kernel in $(ls /lib/modules | grep cloud); do
    dkms install $name -k $kernel >/tmp/output 2>&1 ||
        { cat /tmp/output /var/lib/dkms/wellspring/$version/build/make.log; exit 1; }
    dkms status $name -k $kernel | grep -q ': installed' || { dkms status; exit 1; }
    file=$(find /lib/modules/$kernel/updates -name 'wellspring.ko*')
    modinfo -F version $file | grep -qx $version
    ! modinfo -F alias $file | grep -q wellspring
    ! modinfo -F parm $file | grep -q 'for tests'
    [ -z "$(find /lib/modules -name 'wellspring_test*')" ]
    echo "installed for $kernel, without tests"
done
dkms remove $name --all >/tmp/output 2>&1 || { cat /tmp/output; exit 1; }
left=$(left_over)
[ -z "$left" ] || { echo "left over: $left"; exit 1; }
echo "removed"
"#;

pub(super) fn test_dkms(cache: &Cache, source: &Path) -> Result<String> {
    let chroot = Chroot::fetch_and_run(cache, "system-dkms", "bookworm", INSTALL)?;
    if let Err(Stop::Failed(reason)) = run(chroot.command("sh").args(["-c", INSTALL])) {
        println!("the headers are those that are here: {reason}");
    }
    let chroot = chroot.share(source, "/module");
    let says = run(chroot.command("sh").args(["-c", STEPS]))?;
    match says.lines().last() {
        Some("removed") => Ok(says.lines().collect::<Vec<_>>().join("; ")),
        _ => failed(says),
    }
}

// ---- User Mode Linux ----
// The module's tests as KUnit suites in User Mode Linux.

/// Mounts what programs expect, and goes to the modules.
const START: &str = r#"#!/bin/sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t debugfs none /sys/kernel/debug
dmesg -n 8
cd /modules
"#;

/// The crypto manager tests the ciphers when their module is loaded; KUnit runs the suites when their module is loaded. Then all
/// modules are unloaded, and with kmemleak nothing of theirs may be left.
const TESTS: &str = r#"insmod wellspring.ko && insmod wellspring_crypto.ko && insmod wellspring_test.ko &&
    rmmod wellspring_test wellspring_crypto wellspring && echo =unloaded
leaks=/sys/kernel/debug/kmemleak
if [ -e $leaks ]; then
    echo scan >$leaks; sleep 6; echo scan >$leaks
    cat $leaks
fi
poweroff -f
"#;

/// The figures are printed after this line.
const FIGURES: &str = "=figures";

/// The suites are left out. Both ciphers are measured.
const BENCH: &str = r#"echo none >/sys/module/kunit/parameters/filter_glob
bench() {
    insmod wellspring.ko cipher=$1 && insmod wellspring_crypto.ko && insmod wellspring_test.ko &&
        echo "== $1" && ./kernel-test bench && rmmod wellspring_test wellspring_crypto wellspring
}
echo =figures && bench chacha20 && bench aes256 && echo =measured
poweroff -f
"#;

/// Builds the module, runs its suites, and returns the note for the table.
pub(super) fn drill_uml(cache: &Cache, source: &Path, has_checks: bool) -> Result<String> {
    let uml = Uml::build(cache, has_checks)?;
    let modules = modules(&uml, cache, source)?;
    let lines = uml.run(cache, &modules, &[START, TESTS].concat())?;
    // The first report is of the suites in the kernel: none.
    let Some(first) = lines
        .iter()
        .rposition(|line| line.starts_with("KTAP version"))
    else {
        return failed("KUnit did not run");
    };
    for line in &lines[first..] {
        println!("{line}");
    }
    if !lines.iter().any(|line| line == "=unloaded") {
        return failed("the modules were not loaded and unloaded");
    }
    uml.parse(cache, &lines[first..])
}

/// Builds the module, measures it, and prints the figures.
pub(super) fn bench(cache: &Cache, root: &Path, has_checks: bool) -> Result<String> {
    let uml = Uml::build(cache, has_checks)?;
    let mut files = modules(&uml, cache, &root.join("kernel"))?;
    files.push(kernel_test(root, Processor::X86_64)?);
    let lines = uml.run(cache, &files, &[START, BENCH].concat())?;
    let figures = lines.iter().skip_while(|line| *line != FIGURES).skip(1);
    let figures: Vec<&String> = figures.take_while(|line| *line != "=measured").collect();
    for line in &figures {
        println!("{line}");
    }
    if !lines.iter().any(|line| line == "=measured") {
        return failed("nothing was measured");
    }
    Ok(format!("{} lines of figures", figures.len()))
}

fn modules(uml: &Uml, cache: &Cache, source: &Path) -> Result<Vec<PathBuf>> {
    let build = uml.build_module(cache, source)?;
    let names = [
        "wellspring.ko",
        "wellspring_crypto.ko",
        "tests/wellspring_test.ko",
    ];
    Ok(names.map(|name| build.join(name)).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that count up from a number, as digits.
    fn reads(before: usize, after: usize) -> Reads {
        let digits = |first: usize| -> String {
            let blocks = first..first + CLONE_BYTES / BLOCK_BYTES;
            blocks.map(|block| format!("{block:032x}")).collect()
        };
        Reads {
            before: digits(before),
            after: digits(after),
        }
    }

    #[test]
    fn one_block_in_common_fails_and_so_do_machines_that_are_no_clones() {
        assert!(compare(&[reads(0, 10_000), reads(0, 20_000)]).is_ok());
        let last_is_first = 10_000 + CLONE_BYTES / BLOCK_BYTES - 1;
        assert!(compare(&[reads(0, 10_000), reads(0, last_is_first)]).is_err());
        assert!(compare(&[reads(0, 10_000), reads(5, 20_000)]).is_err());
        assert!(compare(&[reads(0, 5), reads(0, 20_000)]).is_err());
    }
}
