//! QEMU, which is fetched; and a running virtual machine: commands for it, snapshots, and the judgement of its kernel's log.

use super::cache::Cache;
use super::console::{Excuse, count_excused, no_trouble, without_control_codes};
use super::outcome::{Result, Stop, at, failed};
use super::packages::Apt;
use super::shell::{Answer, Line};
use super::vm::{Processor, Sockets, Vm, arguments};
use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

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
    pub(super) fn attach(mut child: Child, sockets: Sockets, is_restored: bool) -> Result<Self> {
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

    /// Runs a command of the guest's shell.
    pub(crate) fn run(&mut self, command: &str) -> Result<Answer> {
        self.run_within(command, COMMAND)
    }

    /// Runs a command of the guest's shell, with a time limit.
    pub(crate) fn run_within(&mut self, command: &str, limit: Duration) -> Result<Answer> {
        self.shell.send(command)?;
        let answer = Answer::receive(&mut self.shell, limit);
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
        self.shell.send(command)?;
        let Self { shell, monitor, .. } = self;
        let is_over = AtomicBool::new(false);
        let (answer, sender) = thread::scope(|scope| {
            let sender = scope.spawn(|| event.repeat(monitor, &is_over));
            let answer = Answer::receive(shell, limit);
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

    /// How many reports on the console were excused.
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
        self.shell.send(command)?;
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

    /// Fetches QEMU for arm64.
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
    /// A machine of this processor.
    pub(crate) fn vm<'a>(&'a self, kernel: &'a Path, nodes: usize, cpus: usize) -> Vm<'a> {
        let mut vm = Vm::new(kernel, &self.initramfs, nodes, cpus);
        vm.processor = self.processor;
        vm
    }
}
