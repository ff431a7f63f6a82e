//! A virtual machine: its processor, nodes and disks, QEMU, which is fetched, and its arguments; the running machine, with
//! commands for it, snapshots, and the judgement of its kernel's log.

use super::cache::{Cache, Result, Stop, at, failed, last_lines};
use super::console::{Excuse, count_excused, no_trouble, without_control_codes};
use super::packages::{Apt, Processor};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

/// From start to the first command. It takes 5 to 20 s on an idle machine, and much longer on a busy one.
const BOOT: Duration = Duration::from_secs(600);

/// The limit for a command that has no limit given.
const COMMAND: Duration = Duration::from_secs(300);

/// Events that come to a machine from outside.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    /// It is woken whenever it sleeps. A clock of the machine could do so too early: before a busy machine is asleep.
    WakeUp,
    /// Its first CPU gets an NMI.
    Nmi,
}

/// A running virtual machine. Dropping it ends QEMU.
pub(crate) struct Guest {
    child: Child,
    shell: Line,
    monitor: Line,
    console: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
    /// Reports of its kernel that are not trouble.
    excuses: &'static [Excuse],
    _sockets: Sockets,
}

impl Guest {
    fn attach(mut child: Child, sockets: Sockets, is_restored: bool) -> Result<Self> {
        let console = Arc::new(Mutex::new(Vec::new()));
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as _),
            child.stderr.take().map(|stream| Box::new(stream) as _),
        ];
        let readers = streams
            .into_iter()
            .flatten()
            .map(|stream| keep_lines(stream, console.clone()))
            .collect();
        let lines = Line::connect(&sockets.shell, COMMAND)
            .and_then(|shell| Ok((shell, Line::connect(&sockets.monitor, COMMAND)?)));
        let (shell, monitor) = match lines {
            Ok(lines) => lines,
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return failed(format!("QEMU does not start: {}", last(&console)));
            }
        };
        let mut guest = Self {
            child,
            shell,
            monitor,
            console,
            readers,
            excuses: &[],
            _sockets: sockets,
        };
        guest.monitor.until("(qemu) ", COMMAND)?;
        if is_restored {
            guest.resume()?;
        } else {
            let booted = guest.shell.until("=ready\n", BOOT);
            booted.map_err(|error| guest.explain(error))?;
        }
        Ok(guest)
    }

    /// Resumes a restored machine. It was stopped before it was saved, so QEMU restores it stopped.
    fn resume(&mut self) -> Result {
        let deadline = Instant::now() + COMMAND;
        while self.monitor("info status")?.contains("inmigrate") {
            if Instant::now() > deadline {
                return failed("QEMU did not load the saved state");
            }
            thread::sleep(Duration::from_millis(20));
        }
        self.monitor("cont").map(drop)
    }

    pub(crate) fn run(&mut self, command: &str) -> Result<Answer> {
        self.run_within(command, COMMAND)
    }

    /// Runs a command of the guest's shell, with a time limit.
    pub(crate) fn run_within(&mut self, command: &str, limit: Duration) -> Result<Answer> {
        let answer = Answer::to(command, &mut self.shell, limit);
        answer.map_err(|error| {
            self.explain(match error {
                Stop::Failed(reason) => Stop::Failed(format!("'{command}': {reason}")),
                other => other,
            })
        })
    }

    /// Runs a command of the guest's shell, and does something to the machine all the time meanwhile.
    pub(crate) fn run_under(
        &mut self,
        event: Event,
        command: &str,
        limit: Duration,
    ) -> Result<Answer> {
        let Self { shell, monitor, .. } = self;
        let is_over = AtomicBool::new(false);
        let (answer, sender) = thread::scope(|scope| {
            let sender = scope.spawn(|| event.repeat(monitor, &is_over));
            let answer = Answer::to(command, shell, limit);
            is_over.store(true, Ordering::Release);
            (answer, sender.join())
        });
        let answer = answer.map_err(|error| self.explain(error))?;
        sender.unwrap_or_else(|_| failed("the thread that sends events ended"))?;
        Ok(answer)
    }

    /// Runs a command that must succeed, and gives what it printed.
    pub(crate) fn must(&mut self, command: &str) -> Result<String> {
        let Answer { text, status } = self.run(command)?;
        match status {
            0 => Ok(text),
            _ => failed(format!("'{command}' ended with {status}: {text}")),
        }
    }

    /// Adds the last lines of the console to a failure.
    fn explain(&self, error: Stop) -> Stop {
        match error {
            Stop::Failed(reason) => {
                Stop::Failed(format!("{reason}\nconsole: {}", last(&self.console)))
            }
            other => other,
        }
    }

    /// Stops the machine and writes its state to a file.
    pub(crate) fn save(mut self, state: &Path) -> Result {
        self.monitor("stop")?;
        self.monitor(&format!("migrate file:{}", state.display()))?;
        let deadline = Instant::now() + COMMAND;
        loop {
            let text = self.monitor("info migrate")?;
            if text.contains("completed") {
                return Ok(());
            }
            if text.contains("failed") || Instant::now() > deadline {
                return failed(format!("saving the machine: {text}"));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends a command to QEMU's monitor and returns the answer.
    pub(crate) fn monitor(&mut self, command: &str) -> Result<String> {
        ask(&mut self.monitor, command)
    }

    /// Such reports of the kernel are not trouble from now on.
    pub(crate) fn excuse(&mut self, excuses: &'static [Excuse]) {
        self.excuses = excuses;
    }

    pub(crate) fn count_excused(&self) -> usize {
        count_excused(&self.console(), self.excuses)
    }

    /// Fails if the kernel's log or console shows trouble so far.
    pub(crate) fn judge(&mut self) -> Result {
        let log = self.run("dmesg")?.text;
        let mut lines: Vec<String> = log.lines().map(String::from).collect();
        lines.extend_from_slice(&self.console());
        no_trouble(&lines, self.excuses)
    }

    fn console(&self) -> MutexGuard<'_, Vec<String>> {
        self.console.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges the log, powers off, and judges the console again.
    pub(crate) fn end(mut self) -> Result {
        self.judge()?;
        self.end_by("poweroff -f")
    }

    /// Runs a command that switches the machine off, and judges the console.
    pub(crate) fn end_by(mut self, command: &str) -> Result {
        self.shell.send_command(command)?;
        let deadline = Instant::now() + COMMAND;
        while self.child.try_wait().map_err(at("QEMU"))?.is_none() {
            if Instant::now() > deadline {
                return Err(self.explain(Stop::Failed("the guest does not power off".into())));
            }
            thread::sleep(Duration::from_millis(20));
        }
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        no_trouble(&self.console(), self.excuses)
    }
}

/// Sends a command to QEMU's monitor and returns the answer.
fn ask(monitor: &mut Line, command: &str) -> Result<String> {
    monitor.send(command)?;
    monitor.until("(qemu) ", COMMAND)
}

impl Event {
    fn repeat(self, monitor: &mut Line, is_over: &AtomicBool) -> Result {
        while !is_over.load(Ordering::Acquire) {
            match self {
                Event::WakeUp => {
                    if ask(monitor, "info status")?.contains("suspended") {
                        ask(monitor, "system_wakeup")?;
                    }
                    thread::sleep(Duration::from_millis(100));
                }
                Event::Nmi => {
                    ask(monitor, "nmi")?;
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keep_lines(
    stream: impl Read + Send + 'static,
    lines: Arc<Mutex<Vec<String>>>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream
            .read_until(b'\n', &mut line)
            .is_ok_and(|count| count > 0)
        {
            let text = without_control_codes(&String::from_utf8_lossy(&line));
            lines
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(text);
            line.clear();
        }
    })
}

fn last(console: &Mutex<Vec<String>>) -> String {
    const LINES: usize = 30;
    let lines = console.lock().unwrap_or_else(PoisonError::into_inner);
    lines[lines.len().saturating_sub(LINES)..].join("\n  ")
}

/// How often a machine is started until it takes its first command. Nothing of this project runs before that. While
/// Linux boots, it patches its own instructions, and QEMU's threads ran a half-patched one: a kernel 6.12 ended with an
/// invalid opcode at the second byte of a NOP.
const MOST_BOOTS: usize = 4;

/// QEMU 10. The QEMU 7.2 of Debian 12 corrupts EFLAGS: 2 of 5 boots of Linux 6.12 failed with it.
pub(crate) struct Qemu {
    folder: PathBuf,
    program: PathBuf,
}

impl Qemu {
    /// Fetches QEMU for machines of this machine's kind.
    pub(crate) fn fetch(cache: &Cache) -> Result<Self> {
        Self::of(Processor::X86_64, cache, "qemu")
    }

    pub(crate) fn fetch_for_arm64(cache: &Cache) -> Result<Self> {
        Self::of(Processor::Arm64, cache, "qemu-arm64")
    }

    fn of(processor: Processor, cache: &Cache, name: &str) -> Result<Self> {
        let (package, program) = processor.qemu();
        let folder = cache.once(name, |folder| {
            let apt = Apt::new(folder, &["bookworm", "bookworm-backports"])?;
            apt.unpack_missing(package, "bookworm-backports", folder)
        })?;
        let program = folder.join("usr/bin").join(program);
        if program.exists() {
            Ok(Self { folder, program })
        } else {
            Err(Stop::Missing(format!(
                "apt fetched no QEMU 10: another version of {package} is installed here"
            )))
        }
    }

    /// Starts a machine. The guest is ready for commands when this returns.
    pub(crate) fn start(&self, vm: &Vm) -> Result<Guest> {
        let mut boots = 1;
        loop {
            match self.boot(vm) {
                Err(Stop::Failed(reason)) if vm.state.is_none() && boots < MOST_BOOTS => {
                    println!(
                        "boot {boots} of at most {MOST_BOOTS} ended before a command: {reason}"
                    );
                    boots += 1;
                }
                result => return result,
            }
        }
    }

    fn boot(&self, vm: &Vm) -> Result<Guest> {
        let sockets = Sockets::new()?;
        let mut command = Command::new(&self.program);
        let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
        let libraries = libraries.map(|folder| self.folder.join(folder));
        let path = env::join_paths(libraries).map_err(|error| Stop::Failed(error.to_string()))?;
        command.env("LD_LIBRARY_PATH", path);
        for folder in ["usr/share/qemu", "usr/share/seabios"] {
            command.arg("-L").arg(self.folder.join(folder));
        }
        command.args(arguments(vm, &sockets));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().map_err(at("QEMU"))?;
        Guest::attach(child, sockets, vm.state.is_some())
    }
}

/// Fetches QEMU's programs for other processors, which are linked statically. Returns their folder.
pub(crate) fn qemu_user(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.once("qemu-user", |folder| {
        Apt::new(folder, &["bookworm-backports"])?.unpack(["qemu-user"], folder)
    })?;
    Ok(folder.join("usr/bin"))
}

/// The common part of all machines of a run: QEMU, the guest's files, and a folder.
pub(crate) struct MachineSetup {
    pub(crate) qemu: Qemu,
    pub(crate) processor: Processor,
    /// The CPUs of a machine with four nodes.
    pub(crate) cpus: usize,
    pub(crate) initramfs: PathBuf,
    /// The folder for files of this run.
    pub(crate) folder: PathBuf,
}

impl MachineSetup {
    pub(crate) fn vm<'a>(&'a self, kernel: &'a Path, nodes: usize, cpus: usize) -> Vm<'a> {
        let mut vm = Vm::new(kernel, &self.initramfs, nodes, cpus);
        vm.processor = self.processor;
        vm
    }
}

// ---- a machine to start ----

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

#[derive(Clone)]
pub(crate) struct Vm<'a> {
    pub(crate) processor: Processor,
    pub(crate) kernel: &'a Path,
    /// A cpio archive.
    pub(crate) initramfs: &'a Path,
    /// NUMA nodes. CPUs and memory are divided evenly.
    pub(crate) nodes: usize,
    pub(crate) cpus: usize,
    /// Dies of a node, with a last-level cache each. More than one needs a CPU of Intel's.
    pub(crate) dies: usize,
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
    /// Whether its clocks count instructions, 8 ns each, from a fixed date: the same in each copy.
    pub(crate) counts_instructions: bool,
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
            dies: 1,
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
            counts_instructions: false,
        }
    }

    pub(crate) fn cpu(mut self, cpu: &'a str) -> Self {
        self.cpu = cpu;
        self
    }
}

struct Node {
    memory_mib: usize,
    cpus: Range<usize>,
}

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

fn arguments(vm: &Vm, sockets: &Sockets) -> Vec<String> {
    let (nodes, cpus, memory_mib) = (vm.nodes, vm.cpus, vm.memory_mib);
    let more = match vm.layout {
        Layout::Plugged => ",slots=4,maxmem=8G",
        Layout::Even | Layout::Apart => "",
    };
    let dies = match vm.dies {
        1 => String::new(),
        dies => format!("dies={dies},"),
    };
    let clocks = if vm.counts_instructions {
        "single -icount shift=3 -rtc base=2026-01-01,clock=vm"
    } else {
        "multi"
    };
    // None of these has a space in it.
    let fixed = format!(
        "-machine {} -accel tcg,thread={clocks} -nographic -nodefaults -no-reboot -cpu {} -m {memory_mib}M{more} \
         -smp {cpus},sockets={nodes},{dies}cores={},threads=1{} \
         -serial stdio -serial chardev:shell -mon chardev=monitor,mode=readline",
        vm.processor.machine(),
        vm.cpu,
        cpus / nodes / vm.dies,
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
struct Sockets {
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

// ---- commands and answers ----
// Commands for the guest, and their answers, on a second serial line that the kernel does not write to.

/// Comes after each answer, before the exit status.
pub(super) const END: &str = "=ended ";

/// The status for a command that did not arrive whole. No program has it.
pub(super) const SHORTER: i32 = 299;

/// How often a wait checks its time limit.
const TICK: Duration = Duration::from_millis(100);

/// A byte stream to and from QEMU.
pub(super) struct Line {
    stream: UnixStream,
    /// Bytes that arrived and were not consumed.
    pending: Vec<u8>,
}

impl Line {
    /// Connects to a socket that QEMU opens within the time limit.
    pub(super) fn connect(path: &Path, limit: Duration) -> Result<Self> {
        let deadline = Instant::now() + limit;
        loop {
            match UnixStream::connect(path) {
                Ok(stream) => {
                    stream
                        .set_read_timeout(Some(TICK))
                        .map_err(at("a socket"))?;
                    return Ok(Self {
                        stream,
                        pending: Vec::new(),
                    });
                }
                Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
                Err(error) => return failed(format!("{}: {error}", path.display())),
            }
        }
    }

    pub(super) fn send(&mut self, text: &str) -> Result {
        self.stream
            .write_all(format!("{text}\n").as_bytes())
            .map_err(at("a command for the guest"))
    }

    /// Sends a command after its length.
    pub(super) fn send_command(&mut self, command: &str) -> Result {
        self.send(&format!("{} {command}", command.len()))
    }

    /// Waits for `end` and returns what came before it.
    pub(super) fn until(&mut self, end: &str, limit: Duration) -> Result<String> {
        let deadline = Instant::now() + limit;
        let end = end.as_bytes();
        let mut looked_at = 0;
        loop {
            let from = looked_at.min(self.pending.len());
            let found = self.pending[from..]
                .windows(end.len())
                .position(|window| window == end);
            if let Some(position) = found {
                let text = String::from_utf8_lossy(&self.pending[..from + position]).into_owned();
                self.pending.drain(..from + position + end.len());
                return Ok(text);
            }
            looked_at = (self.pending.len() + 1).saturating_sub(end.len());
            if Instant::now() > deadline {
                return failed(format!(
                    "no answer in {} s; so far: {}",
                    limit.as_secs(),
                    self.recent()
                ));
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    return failed(format!(
                        "QEMU ended; the last output was: {}",
                        self.recent()
                    ));
                }
                Ok(count) => self.pending.extend(&bytes[..count]),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(error) => return failed(format!("the guest: {error}")),
            }
        }
    }

    fn recent(&self) -> String {
        last_lines(&String::from_utf8_lossy(&self.pending))
    }
}

/// The output of a command of the guest, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) status: i32,
}

impl Answer {
    /// The answer to a command, which is sent again if it arrived shorter.
    pub(super) fn to(command: &str, line: &mut Line, limit: Duration) -> Result<Self> {
        const MOST: usize = 3;
        for _ in 0..MOST {
            line.send_command(command)?;
            let answer = Self::receive(line, limit)?;
            if answer.status != SHORTER {
                return Ok(answer);
            }
        }
        failed(format!("the guest got {MOST} times another command"))
    }

    fn receive(line: &mut Line, limit: Duration) -> Result<Self> {
        let text = line.until(END, limit)?;
        let status = line.until("\n", Duration::from_secs(10))?;
        match status.trim().parse() {
            Ok(status) => Ok(Self {
                text: text.replace('\r', ""),
                status,
            }),
            Err(_) => failed(format!("an exit status of '{status}'")),
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

    #[test]
    fn an_answer_is_found_however_it_is_cut_and_what_follows_is_kept() {
        let (stream, mut guest) = UnixStream::pair().unwrap();
        stream.set_read_timeout(Some(TICK)).unwrap();
        let mut line = Line {
            stream,
            pending: Vec::new(),
        };
        let sender = thread::spawn(move || {
            for piece in ["one\r\ntw", "o\n=end", "ed 3", "\nnext=ended 0\n"] {
                guest.write_all(piece.as_bytes()).unwrap();
                thread::sleep(Duration::from_millis(20));
            }
        });
        let limit = Duration::from_secs(5);
        let answer = Answer::receive(&mut line, limit).unwrap();
        assert_eq!(
            answer,
            Answer {
                text: "one\ntwo\n".into(),
                status: 3
            }
        );
        let answer = Answer::receive(&mut line, limit).unwrap();
        assert_eq!(
            answer,
            Answer {
                text: "next".into(),
                status: 0
            }
        );
        sender.join().unwrap();
        assert!(
            Answer::receive(&mut line, limit).is_err(),
            "the other end is gone"
        );
    }
}
