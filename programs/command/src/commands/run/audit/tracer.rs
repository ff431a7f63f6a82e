//! Follows the program and all that it starts, from stop to stop.

use super::breakpoints::{Breakpoint, Breakpoints, Codes};
use super::generators::{Generator, Place, Work};
use super::origins::{Lineage, Origins};
use super::ptrace::{self, Stop};
use crate::failure::say;
use libc::pid_t;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::rc::Rc;
use wellspring::clone_detection::current;

/// The draws on a generator, as far as they were seen.
#[derive(Debug, Default)]
pub(super) struct Draws {
    pub(super) calls: u64,
    pub(super) processes: BTreeSet<pid_t>,
}

/// All that was seen.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// By the name of the generator and the file that has it, or the kernel.
    pub(super) draws: BTreeMap<(&'static str, String), Draws>,
    pub(super) origins: Origins,
    pub(super) codes: Codes,
}

/// An address space: threads share it, and a child of vfork until its exec.
struct Space {
    process: pid_t,
    breakpoints: Breakpoints,
    lineage: Lineage,
}

struct Thread {
    space: Rc<RefCell<Space>>,
    /// The number of the last system call.
    call: u64,
    /// The breakpoint whose first instruction it executes.
    steps_over: Option<u64>,
    /// It begins with a stop by SIGSTOP that no process sent.
    is_new: bool,
}

impl Thread {
    fn new(space: Rc<RefCell<Space>>, is_new: bool) -> Self {
        Self {
            space,
            call: 0,
            steps_over: None,
            is_new,
        }
    }
}

#[derive(Default)]
struct Tracer {
    audit: Audit,
    page: PathBuf,
    threads: HashMap<pid_t, Thread>,
    /// Threads that stopped before the one that made them said so.
    early: HashSet<pid_t>,
}

/// Follows a program that was started. Returns its status when it and all that it started have ended.
pub(super) fn follow(program: pid_t, page: &Path) -> io::Result<(ExitStatus, Audit)> {
    let mut tracer = Tracer {
        page: page.to_owned(),
        ..Tracer::default()
    };
    let mut status = ExitStatus::default();
    while let Some((thread, stop)) = ptrace::next_stop()? {
        match stop {
            Stop::Ended(ended) => {
                tracer.threads.remove(&thread);
                if thread == program {
                    status = ended;
                }
            }
            // The first exec is that of the program: its options are not set yet.
            Stop::Trap if tracer.threads.is_empty() => {
                ptrace::set_options(thread);
                tracer.executed(thread);
                ptrace::go_on(thread, false, 0);
            }
            stop => tracer.stopped(thread, stop),
        }
    }
    Ok((status, tracer.audit))
}

impl Tracer {
    fn stopped(&mut self, thread: pid_t, stop: Stop) {
        let Some(state) = self.threads.get_mut(&thread) else {
            self.early.insert(thread);
            return;
        };
        let mut signal = 0;
        match stop {
            Stop::Signal(libc::SIGSTOP) if state.is_new => state.is_new = false,
            Stop::Signal(number) => signal = number,
            Stop::Call(call) => {
                state.call = call[0];
                self.called(thread, call);
            }
            Stop::Return if state.call == libc::SYS_mmap as u64 => {
                let mut space = state.space.borrow_mut();
                let process = space.process;
                space.breakpoints.look(process, &mut self.audit.codes);
            }
            Stop::Forked(new) => self.forked(thread, new),
            Stop::Executed => self.executed(thread),
            Stop::Trap => match state.steps_over.take() {
                Some(address) => state.space.borrow_mut().breakpoints.stepped(address),
                None if !self.entered(thread) => signal = libc::SIGTRAP,
                None => {}
            },
            Stop::Return | Stop::Ended(_) => {}
        }
        let steps = self
            .threads
            .get(&thread)
            .is_some_and(|state| state.steps_over.is_some());
        ptrace::go_on(thread, steps, signal);
    }

    /// A system call begins.
    fn called(&mut self, thread: pid_t, [number, first, _, _]: [u64; 4]) {
        let name = match number as i64 {
            libc::SYS_getrandom => "getrandom(2)",
            libc::SYS_read | libc::SYS_pread64 | libc::SYS_readv => {
                match fs::read_link(format!("/proc/{thread}/fd/{first}")) {
                    Ok(file) if file == Path::new("/dev/urandom") => "/dev/urandom",
                    Ok(file) if file == Path::new("/dev/random") => "/dev/random",
                    _ => return,
                }
            }
            _ => return,
        };
        let process = self.process(thread);
        self.count(name, "the kernel", process);
    }

    /// The number of the generation page, if there is one.
    fn page_number(&self) -> Option<u64> {
        current(&self.page).ok()
    }

    fn process(&self, thread: pid_t) -> pid_t {
        self.threads
            .get(&thread)
            .map_or(thread, |state| state.space.borrow().process)
    }

    fn count(&mut self, name: &'static str, file: &str, process: pid_t) {
        let draws = self.audit.draws.entry((name, file.to_owned())).or_default();
        draws.calls += 1;
        draws.processes.insert(process);
    }

    fn executed(&mut self, process: pid_t) {
        let page = self.page_number();
        let breakpoints = Breakpoints::new(process, &mut self.audit.codes);
        if !breakpoints.has_memory() {
            say(&format!(
                "wellspring: process {process} may not be read, so only its system calls are seen"
            ));
        }
        let space = Space {
            process,
            breakpoints,
            lineage: self.audit.origins.exec(page),
        };
        let thread = Thread::new(Rc::new(RefCell::new(space)), false);
        self.threads.insert(process, thread);
    }

    fn forked(&mut self, thread: pid_t, new: pid_t) {
        let Some(parent) = self.threads.get(&thread) else {
            return;
        };
        let space = parent.space.clone();
        let is_copy = !shares_memory(thread, &space.borrow());
        let space = if is_copy {
            let mut parent = space.borrow_mut();
            let lineage = self.audit.origins.fork(&mut parent.lineage);
            let breakpoints = parent.breakpoints.copy(new);
            Rc::new(RefCell::new(Space {
                process: new,
                breakpoints,
                lineage,
            }))
        } else {
            space
        };
        let was_early = self.early.remove(&new);
        self.threads.insert(new, Thread::new(space, !was_early));
        if was_early {
            ptrace::go_on(new, false, 0);
        }
    }

    /// A thread is at a breakpoint, or had another trap. Returns whether it is at one.
    fn entered(&mut self, thread: pid_t) -> bool {
        let page = self.page_number();
        let Some(mut registers) = ptrace::registers(thread) else {
            return true;
        };
        let Some(state) = self.threads.get_mut(&thread) else {
            return true;
        };
        let space = state.space.clone();
        let mut space = space.borrow_mut();
        let Space {
            process,
            breakpoints,
            lineage,
        } = &mut *space;
        let address = registers.rip - 1;
        let Some(breakpoint) = breakpoints.hit(address).cloned() else {
            return false;
        };
        state.steps_over = Some(address);
        registers.rip = address;
        ptrace::set_registers(thread, &registers);
        let arguments = [registers.rdi, registers.rsi];
        let Breakpoint {
            generator,
            work,
            code,
            ..
        } = breakpoint;
        let place = place(generator, arguments[0], breakpoints);
        let (process, origins, page) = (*process, &mut self.audit.origins, page);
        match work {
            Work::Seed(argument) => {
                let seed = argument.and_then(|number| arguments.get(number).copied());
                origins.seed(lineage, (generator, place), seed, process, page);
            }
            Work::Draw => {
                origins.draw(lineage, (generator, place), process, page);
                self.count(generator.name, &code.path, process);
            }
        }
        true
    }
}

/// The bytes that tell a generator's state from others of its process.
fn place(generator: &Generator, argument: u64, breakpoints: &Breakpoints) -> Vec<u8> {
    match generator.place {
        Place::Process => Vec::new(),
        Place::Object => argument.to_le_bytes().to_vec(),
        Place::Bytes(length) => {
            let mut bytes = vec![0; length];
            breakpoints.read(&mut bytes, argument);
            bytes
        }
    }
}

/// Whether the call in which a thread makes another lets both use the same memory.
fn shares_memory(thread: pid_t, space: &Space) -> bool {
    let Some(registers) = ptrace::registers(thread) else {
        return false;
    };
    let flags = match registers.orig_rax as i64 {
        libc::SYS_vfork => return true,
        libc::SYS_clone => registers.rdi,
        libc::SYS_clone3 => {
            let mut flags = [0; 8];
            space.breakpoints.read(&mut flags, registers.rdi);
            u64::from_le_bytes(flags)
        }
        _ => return false,
    };
    flags & libc::CLONE_VM as u64 != 0
}
