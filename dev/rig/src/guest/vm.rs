//! A virtual machine to start, its processor, and QEMU's arguments for it.

use super::outcome::{Result, at};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

/// Which nodes of a machine have its memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// All have the same.
    Even,
    /// The first has all memory, and the second has all CPUs.
    Apart,
    /// The first has all memory, and each has CPUs. Memory can be plugged into any of them.
    Plugged,
}

/// A virtual machine to start.
#[derive(Clone)]
pub(crate) struct Vm<'a> {
    pub(crate) processor: Processor,
    /// The kernel's image.
    pub(crate) kernel: &'a Path,
    /// A cpio archive.
    pub(crate) initramfs: &'a Path,
    /// NUMA nodes. CPUs and memory are divided evenly.
    pub(crate) nodes: usize,
    pub(crate) cpus: usize,
    pub(crate) memory_mib: usize,
    /// Which nodes have the memory.
    pub(crate) layout: Layout,
    /// QEMU's name for the CPU's model: `max`, or the oldest of the processor.
    pub(crate) cpu: &'a str,
    /// A file that is the machine's disk, `/dev/nvme0n1`.
    pub(crate) disk: Option<&'a Path>,
    /// The UUID that the firmware reports.
    pub(crate) uuid: Option<&'a str>,
    /// Adds a vmgenid device. Its number changes at each start, which gives the guest notice that it was restored.
    pub(crate) notices: bool,
    /// A saved state to resume, instead of booting.
    pub(crate) state: Option<&'a Path>,
    /// Whether another process can map the machine's memory, as devices by vhost-user need.
    pub(crate) shares_memory: bool,
    /// QEMU's arguments for other devices.
    pub(crate) devices: &'a [String],
    /// QEMU's argument for a plugin.
    pub(crate) plugin: Option<&'a str>,
}

impl<'a> Vm<'a> {
    /// A machine with 2 GiB of memory, QEMU's fullest CPU model, and no disk.
    pub(crate) fn new(kernel: &'a Path, initramfs: &'a Path, nodes: usize, cpus: usize) -> Self {
        Self {
            processor: Processor::X86_64,
            kernel,
            initramfs,
            nodes,
            cpus,
            memory_mib: 2048,
            layout: Layout::Even,
            cpu: "max",
            disk: None,
            uuid: None,
            notices: false,
            state: None,
            shares_memory: false,
            devices: &[],
            plugin: None,
        }
    }

    /// Another CPU.
    pub(crate) fn cpu(mut self, cpu: &'a str) -> Self {
        self.cpu = cpu;
        self
    }
}

/// A NUMA node.
struct Node {
    memory_mib: usize,
    cpus: Range<usize>,
}

/// The nodes of a machine.
fn numa_nodes(vm: &Vm) -> Vec<Node> {
    let Vm {
        nodes,
        cpus,
        memory_mib,
        ..
    } = *vm;
    let node = |node| {
        let memory_mib = match vm.layout {
            Layout::Even => memory_mib / nodes,
            Layout::Apart | Layout::Plugged if node == 0 => memory_mib,
            Layout::Apart | Layout::Plugged => 0,
        };
        let cpus = match vm.layout {
            Layout::Apart if node == 0 => 0..0,
            Layout::Apart => 0..cpus,
            Layout::Even | Layout::Plugged => node * cpus / nodes..(node + 1) * cpus / nodes,
        };
        Node { memory_mib, cpus }
    };
    (0..nodes).map(node).collect()
}

/// The kernel's own arguments. The console shows warnings and worse. `dmesg` gives the rest: the buffer of 4 MiB holds a whole
/// run. The kernel's timer check counts ticks in a loop and fails when QEMU gets too little CPU time. Its watchdogs take a
/// CPU for dead that got no turn for 20 to 30 s: here they wait for minutes. A kernel that had a fault ends, and QEMU with
/// it: a test that waits for what the fault prevented would take half an hour.
const COMMAND_LINE: &str = "panic=-1 oops=panic quiet loglevel=5 log_buf_len=4M no_timer_check \
    watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300 workqueue.watchdog_thresh=300 \
    sysctl.kernel.hung_task_timeout_secs=900 memhp_default_state=offline";

/// The arguments for QEMU.
pub(super) fn arguments(vm: &Vm, sockets: &Sockets) -> Vec<String> {
    let (nodes, cpus, memory_mib) = (vm.nodes, vm.cpus, vm.memory_mib);
    let more = match vm.layout {
        Layout::Plugged => ",slots=4,maxmem=8G",
        Layout::Even | Layout::Apart => "",
    };
    // None of these has a space in it.
    let fixed = format!(
        "-machine {} -accel tcg,thread=multi -nographic -nodefaults -no-reboot -cpu {} -m {memory_mib}M{more} \
         -smp {cpus},sockets={nodes},cores={},threads=1{} \
         -serial stdio -serial chardev:shell -mon chardev=monitor,mode=readline",
        vm.processor.machine(),
        vm.cpu,
        cpus / nodes,
        numa_arguments(vm)
    );
    let mut arguments: Vec<String> = fixed.split_whitespace().map(String::from).collect();
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    add("-kernel", vm.kernel.display().to_string());
    add("-initrd", vm.initramfs.display().to_string());
    let console = vm.processor.serial_line();
    add("-append", format!("console={console}0 {COMMAND_LINE}"));
    for (name, path) in [("shell", &sockets.shell), ("monitor", &sockets.monitor)] {
        let path = path.display();
        add(
            "-chardev",
            format!("socket,id={name},path={path},server=on,wait=on"),
        );
    }
    if let Some(disk) = vm.disk {
        let disk = disk.display();
        add("-drive", format!("if=none,id=disk,format=raw,file={disk}"));
        add("-device", "nvme,drive=disk,serial=1".into());
    }
    if let Some(uuid) = vm.uuid {
        add("-uuid", uuid.into());
    }
    if vm.notices {
        add("-device", "vmgenid,guid=auto".into());
    }
    if let Some(plugin) = vm.plugin {
        add("-plugin", plugin.into());
    }
    if let Some(state) = vm.state {
        add("-incoming", format!("file:{}", state.display()));
    }
    arguments.extend_from_slice(vm.devices);
    arguments
}

/// The nodes, each with its memory and CPUs, as arguments with a space before each.
fn numa_arguments(vm: &Vm) -> String {
    let backend = if vm.shares_memory {
        "memory-backend-memfd,share=on"
    } else {
        "memory-backend-ram"
    };
    let mut text = String::new();
    for (number, Node { memory_mib, cpus }) in numa_nodes(vm).into_iter().enumerate() {
        let mut node = format!("node,nodeid={number}");
        if memory_mib > 0 {
            text += &format!(" -object {backend},id=memory{number},size={memory_mib}M");
            node += &format!(",memdev=memory{number}");
        }
        if !cpus.is_empty() {
            node += &format!(",cpus={}-{}", cpus.start, cpus.end - 1);
        }
        text += &format!(" -numa {node}");
    }
    text
}

/// The sockets of QEMU's serial line and monitor, in a folder that is removed on drop.
pub(super) struct Sockets {
    folder: PathBuf,
    pub(super) shell: PathBuf,
    pub(super) monitor: PathBuf,
}

impl Sockets {
    pub(super) fn new() -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // A socket's path has at most 107 bytes, so it is not below the repository.
        let folder =
            env::temp_dir().join(format!("wellspring-guest-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(at(folder.display()))?;
        Ok(Self {
            shell: folder.join("shell"),
            monitor: folder.join("monitor"),
            folder,
        })
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A virtual machine's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    X86_64,
    Arm64,
}

impl Processor {
    /// Debian's name of the architecture.
    pub(super) fn architecture(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Debian's package with QEMU for this processor, and the program in it.
    pub(super) fn qemu(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("qemu-system-x86", "qemu-system-x86_64"),
            Self::Arm64 => ("qemu-system-arm", "qemu-system-aarch64"),
        }
    }

    /// QEMU's machine.
    pub(super) fn machine(self) -> &'static str {
        match self {
            Self::X86_64 => "pc",
            Self::Arm64 => "virt",
        }
    }

    /// Rust's name of the target, and the start of the names of Debian's compilers and linkers for it.
    pub(super) fn target(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("x86_64-unknown-linux-gnu", ""),
            Self::Arm64 => ("aarch64-unknown-linux-gnu", "aarch64-linux-gnu-"),
        }
    }

    /// QEMU's model of an old one: without AES and AVX, or without RNDR and the atomic instructions of Armv8.1.
    pub(crate) fn oldest_model(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu64",
            Self::Arm64 => "cortex-a57",
        }
    }

    /// The kernel's name of a serial line, without its number.
    pub(super) fn serial_line(self) -> &'static str {
        match self {
            Self::X86_64 => "ttyS",
            Self::Arm64 => "ttyAMA",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numa(vm: &Vm) -> Vec<String> {
        let sockets = Sockets::new().unwrap();
        let arguments = arguments(vm, &sockets);
        let follows = |pair: &[String]| (pair[0] == "-numa").then(|| pair[1].clone());
        arguments.windows(2).filter_map(follows).collect()
    }

    #[test]
    fn nodes_share_cpus_and_memory_or_have_them_apart() {
        let file = Path::new("x");
        let mut vm = Vm::new(file, file, 2, 4);
        let even = [
            "node,nodeid=0,memdev=memory0,cpus=0-1",
            "node,nodeid=1,memdev=memory1,cpus=2-3",
        ];
        assert_eq!(numa(&vm), even);
        vm.layout = Layout::Apart;
        assert_eq!(
            numa(&vm),
            ["node,nodeid=0,memdev=memory0", "node,nodeid=1,cpus=0-3"]
        );
        vm.layout = Layout::Plugged;
        assert_eq!(
            numa(&vm),
            [
                "node,nodeid=0,memdev=memory0,cpus=0-1",
                "node,nodeid=1,cpus=2-3"
            ]
        );
    }
}
