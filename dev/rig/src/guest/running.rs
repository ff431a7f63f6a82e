//! A running virtual machine: commands for it, snapshots, and the judgement of its kernel's log.

use super::console::{Excuse, count_excused, no_trouble, without_control_codes};
use super::outcome::{Result, Stop, at, failed};
use super::shell::{Answer, Line};
use super::vm::Sockets;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Child;
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
