//! The machine: CPUs, nodes, disks, snapshots.

use super::cache::Cache;
use super::console::{troubles, without_orders};
use super::packages::Apt;
use super::shell::{Answer, Line};
use super::{Result, Stop, at, failed};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

/// From start to the first command. It takes 5 to 20 s; much longer where others work at the same time.
const BOOT: Duration = Duration::from_secs(240);

/// A command without a time of its own.
const COMMAND: Duration = Duration::from_secs(120);

/// QEMU 10: with that of Debian 12 (7.2), 2 of 5 boots of Linux 6.12 went wrong, since it corrupts EFLAGS.
pub(crate) struct Qemu {
    folder: PathBuf,
}

/// A machine to start.
#[derive(Clone)]
pub(crate) struct Machine<'a> {
    /// The kernel's image.
    pub(crate) kernel: &'a Path,
    /// A cpio archive.
    pub(crate) initramfs: &'a Path,
    /// NUMA nodes, which share CPUs and memory evenly.
    pub(crate) nodes: usize,
    pub(crate) cpus: usize,
    pub(crate) memory_mib: usize,
    /// Whether the first node has all memory and the second all CPUs.
    pub(crate) apart: bool,
    /// QEMU's name for the CPU's model: `max`, or `qemu64`, which has no AES and no AVX.
    pub(crate) cpu: &'a str,
    /// A file that is the machine's disk, `/dev/nvme0n1`.
    pub(crate) disk: Option<&'a Path>,
    /// What the firmware says the machine is.
    pub(crate) uuid: Option<&'a str>,
    /// Whether the machine tells its guest that it was restored: a vmgenid device, with another number at each start.
    pub(crate) notices: bool,
    /// A saved state to go on from, instead of booting.
    pub(crate) state: Option<&'a Path>,
}

impl<'a> Machine<'a> {
    /// A machine with 2 GiB, the best CPU there is, and no more.
    pub(crate) fn new(kernel: &'a Path, initramfs: &'a Path, nodes: usize, cpus: usize) -> Self {
        Self {
            kernel,
            initramfs,
            nodes,
            cpus,
            memory_mib: 2048,
            apart: false,
            cpu: "max",
            disk: None,
            uuid: None,
            notices: false,
            state: None,
        }
    }

    /// Another CPU.
    pub(crate) fn cpu(mut self, cpu: &'a str) -> Self {
        self.cpu = cpu;
        self
    }
}

impl Qemu {
    /// Fetches it.
    pub(crate) fn fetch(cache: &Cache) -> Result<Self> {
        let folder = cache.once("qemu", |folder| {
            let apt = Apt::new(folder, &["bookworm", "bookworm-backports"])?;
            apt.unpack_missing("qemu-system-x86", "bookworm-backports", folder)
        })?;
        let program = folder.join("usr/bin/qemu-system-x86_64");
        match program.exists() {
            true => Ok(Self { folder }),
            false => Err(Stop::Missing(
                "QEMU did not come: is it installed, and another?".into(),
            )),
        }
    }

    /// Starts a machine; its guest is ready for commands when this returns, or goes on where it was saved.
    pub(crate) fn start(&self, machine: &Machine) -> Result<Guest> {
        let sockets = Sockets::new()?;
        let mut command = Command::new(self.folder.join("usr/bin/qemu-system-x86_64"));
        for library in ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"]
            .map(|folder| self.folder.join(folder))
        {
            let known = command
                .get_envs()
                .find(|(name, _)| *name == "LD_LIBRARY_PATH")
                .and_then(|(_, value)| value);
            let mut path = known.map(|known| known.to_owned()).unwrap_or_default();
            if !path.is_empty() {
                path.push(":");
            }
            path.push(library);
            command.env("LD_LIBRARY_PATH", path);
        }
        for folder in ["usr/share/qemu", "usr/share/seabios"] {
            command.arg("-L").arg(self.folder.join(folder));
        }
        command.args(arguments(machine, &sockets));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().map_err(at("QEMU"))?;
        Guest::attach(child, sockets, machine.state.is_some())
    }
}

/// What QEMU is told.
fn arguments(machine: &Machine, sockets: &Sockets) -> Vec<String> {
    let Machine {
        nodes,
        cpus,
        memory_mib,
        ..
    } = machine;
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    add(&[
        "-accel",
        "tcg,thread=multi",
        "-nographic",
        "-nodefaults",
        "-no-reboot",
    ]);
    add(&["-cpu", machine.cpu, "-m", &format!("{memory_mib}M")]);
    add(&[
        "-smp",
        &format!("{cpus},sockets={nodes},cores={},threads=1", cpus / nodes),
    ]);
    if machine.apart {
        add(&[
            "-object",
            &format!("memory-backend-ram,id=memory0,size={memory_mib}M"),
        ]);
        add(&["-numa", "node,nodeid=0,memdev=memory0"]);
        add(&["-numa", &format!("node,nodeid=1,cpus=0-{}", cpus - 1)]);
    }
    for node in 0..if machine.apart { 0 } else { *nodes } {
        let (first, last) = (node * cpus / nodes, (node + 1) * cpus / nodes - 1);
        let size = memory_mib / nodes;
        add(&[
            "-object",
            &format!("memory-backend-ram,id=memory{node},size={size}M"),
        ]);
        add(&[
            "-numa",
            &format!("node,nodeid={node},cpus={first}-{last},memdev=memory{node}"),
        ]);
    }
    add(&[
        "-kernel",
        &machine.kernel.to_string_lossy(),
        "-initrd",
        &machine.initramfs.to_string_lossy(),
    ]);
    // Warnings and worse; the rest is read from the kernel's buffer, which is large enough for all of it. The
    // check of the timer counts ticks in a loop, and gives up where other programs keep QEMU waiting.
    let words = "console=ttyS0 panic=-1 quiet loglevel=5 log_buf_len=4M no_timer_check";
    add(&["-append", words]);
    add(&["-serial", "stdio"]);
    for (name, path) in [("shell", &sockets.shell), ("monitor", &sockets.monitor)] {
        add(&[
            "-chardev",
            &format!("socket,id={name},path={},server=on,wait=on", path.display()),
        ]);
    }
    add(&[
        "-serial",
        "chardev:shell",
        "-mon",
        "chardev=monitor,mode=readline",
    ]);
    if let Some(disk) = machine.disk {
        add(&[
            "-drive",
            &format!("if=none,id=disk,format=raw,file={}", disk.display()),
        ]);
        add(&["-device", "nvme,drive=disk,serial=1"]);
    }
    if let Some(uuid) = machine.uuid {
        add(&["-uuid", uuid]);
    }
    if machine.notices {
        add(&["-device", "vmgenid,guid=auto"]);
    }
    if let Some(state) = machine.state {
        add(&["-incoming", &format!("file:{}", state.display())]);
    }
    arguments
}

/// The ends of QEMU's lines, in a folder of their own that goes with them.
struct Sockets {
    folder: PathBuf,
    shell: PathBuf,
    monitor: PathBuf,
}

impl Sockets {
    fn new() -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // A socket's path has 107 bytes at the most: not below the repository.
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

/// A running machine. Ends with this.
pub(crate) struct Guest {
    child: Child,
    shell: Line,
    monitor: Line,
    console: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
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
            _sockets: sockets,
        };
        guest.monitor.until("(qemu) ", COMMAND)?;
        match is_restored {
            true => guest.go_on()?,
            false => {
                let booted = guest.shell.until("=ready\n", BOOT);
                booted.map_err(|error| guest.explain(error))?;
            }
        }
        Ok(guest)
    }

    /// Goes on from a saved state. It was saved from a machine that stood still, and so it comes.
    fn go_on(&mut self) -> Result {
        let deadline = Instant::now() + COMMAND;
        while self.order("info status")?.contains("inmigrate") {
            if Instant::now() > deadline {
                return failed("the saved state does not come");
            }
            thread::sleep(Duration::from_millis(20));
        }
        self.order("cont").map(drop)
    }

    /// Runs a command of the guest's shell.
    pub(crate) fn run(&mut self, command: &str) -> Result<Answer> {
        self.run_within(command, COMMAND)
    }

    /// Runs a command of the guest's shell that may take that long.
    pub(crate) fn run_within(&mut self, command: &str, patience: Duration) -> Result<Answer> {
        self.shell.send(command)?;
        let answer = Answer::receive(&mut self.shell, patience);
        answer.map_err(|error| {
            self.explain(match error {
                Stop::Failed(reason) => Stop::Failed(format!("'{command}': {reason}")),
                other => other,
            })
        })
    }

    /// Runs a command that must succeed, and gives what it printed.
    pub(crate) fn must(&mut self, command: &str) -> Result<String> {
        let Answer { text, status } = self.run(command)?;
        match status {
            0 => Ok(text),
            _ => failed(format!("'{command}' ended with {status}: {text}")),
        }
    }

    /// Adds what the kernel said last.
    fn explain(&self, error: Stop) -> Stop {
        match error {
            Stop::Failed(reason) => {
                Stop::Failed(format!("{reason}\nconsole: {}", last(&self.console)))
            }
            other => other,
        }
    }

    /// Stops the machine where it is and writes its state to a file.
    pub(crate) fn save(mut self, state: &Path) -> Result {
        self.order("stop")?;
        self.order(&format!("migrate file:{}", state.display()))?;
        let deadline = Instant::now() + COMMAND;
        loop {
            let text = self.order("info migrate")?;
            if text.contains("completed") {
                return Ok(());
            }
            if text.contains("failed") || Instant::now() > deadline {
                return failed(format!("saving the machine: {text}"));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// An order to QEMU's monitor, and its answer.
    fn order(&mut self, order: &str) -> Result<String> {
        self.monitor.send(order)?;
        self.monitor.until("(qemu) ", COMMAND)
    }

    /// What the kernel has said so far that tells of trouble.
    pub(crate) fn judge(&mut self) -> Result {
        let mut lines: Vec<String> = self.run("dmesg")?.text.lines().map(String::from).collect();
        lines.extend(
            self.console
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .cloned(),
        );
        match troubles(&lines)[..] {
            [] => Ok(()),
            ref lines => failed(format!("the kernel complains:\n  {}", lines.join("\n  "))),
        }
    }

    /// Judges what the kernel said, powers off, and judges what it said then.
    pub(crate) fn end(mut self) -> Result {
        self.judge()?;
        self.shell.send("poweroff -f")?;
        let deadline = Instant::now() + COMMAND;
        while self.child.try_wait().map_err(at("QEMU"))?.is_none() {
            if Instant::now() > deadline {
                return Err(self.explain(Stop::Failed("it does not power off".into())));
            }
            thread::sleep(Duration::from_millis(20));
        }
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        let lines = self.console.lock().unwrap_or_else(PoisonError::into_inner);
        match troubles(&lines)[..] {
            [] => Ok(()),
            ref lines => failed(format!("the kernel complains:\n  {}", lines.join("\n  "))),
        }
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
            let text = without_orders(&String::from_utf8_lossy(&line));
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
