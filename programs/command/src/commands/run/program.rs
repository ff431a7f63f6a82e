//! The program: its kind, whether the preload library and the provider can reach it, why it did not start, and the signals
//! that are passed on to it until its end.

use libc::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
    siginfo_t, sigset_t,
};
use rustix::fs::getxattr;
use rustix::process::{getegid, geteuid, getuid};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::mem::zeroed;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::ptr::null_mut;

/// The kind of a program, as far as the loader is concerned.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An ELF file that names no loader, so it loads no libraries.
    Static,
    /// Set-user-ID, set-group-ID or with capabilities of its own: the loader ignores the environment.
    Privileged,
    /// Any other program, or a file that cannot be read.
    Other,
}

/// The type of a program header that names the loader.
const PT_INTERP: u32 = 3;

const SET_USER_ID: u32 = 0o4000;

/// With the right of the group to execute: without it the kernel ignores it.
const SET_GROUP_ID: u32 = 0o2010;

/// The attribute of a file that gives its program capabilities.
const CAPABILITIES: &str = "security.capability";

/// The beginning of a file, in which the headers of a program are.
const HEAD_BYTES: u64 = 1 << 20;

/// A script whose interpreter is a script, and so on: the kernel follows 4.
const MAX_INTERPRETERS: u32 = 4;

/// Returns the kind of a program, which is looked up in PATH as a shell does; of a script the kind of its interpreter.
pub(super) fn kind(program: &OsStr) -> Kind {
    find(program).map_or(Kind::Other, |path| kind_of_file(&path, MAX_INTERPRETERS))
}

fn kind_of_file(path: &Path, interpreters: u32) -> Kind {
    let mut head = Vec::new();
    let read = |file: File| file.take(HEAD_BYTES).read_to_end(&mut head);
    // To open a pipe would wait for its writer.
    let is_read = path.is_file() && File::open(path).and_then(read).is_ok();
    if let Some(line) = head.strip_prefix(b"#!") {
        let mut words = line.split(|byte| b" \t\n".contains(byte));
        let interpreter = words.find(|word| !word.is_empty()).map(OsStr::from_bytes);
        return match interpreter {
            Some(interpreter) if interpreters > 0 => {
                kind_of_file(Path::new(interpreter), interpreters - 1)
            }
            _ => Kind::Other,
        };
    }
    if has_more_rights(path) {
        Kind::Privileged
    } else if is_read && names_loader(&head) == Some(false) {
        Kind::Static
    } else {
        Kind::Other
    }
}

/// Whether the kernel gives the program a user, a group or capabilities that this process does not have.
fn has_more_rights(path: &Path) -> bool {
    let has_capabilities = getxattr(path, CAPABILITIES, &mut [0; 0]).is_ok();
    let Ok(status) = fs::metadata(path) else {
        return false;
    };
    let has = |bits| status.mode() & bits == bits;
    has_capabilities && !getuid().is_root()
        || has(SET_USER_ID) && status.uid() != geteuid().as_raw()
        || has(SET_GROUP_ID) && status.gid() != getegid().as_raw()
}

fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Why a program did not start, and what helps.
pub(super) fn why_not_started(program: &OsStr, error: &io::Error) -> String {
    let name = program.to_string_lossy();
    let has_path = program.as_bytes().contains(&b'/');
    match error.kind() {
        ErrorKind::NotFound if !has_path => {
            format!("{name}: no folder in PATH has this program: name its path, or install it")
        }
        ErrorKind::NotFound if fs::metadata(program).is_ok() => format!(
            "{name}: it exists, but the interpreter in its first line, or its loader, does not: install that, or run the program \
             by another one"
        ),
        ErrorKind::NotFound => format!("{name}: there is no such file"),
        ErrorKind::PermissionDenied => format!(
            "{name}: {error}: it is no file that this user may execute (chmod +x), or its file system forbids that (noexec)"
        ),
        _ => format!("{name}: {error}"),
    }
}

/// Returns whether a 64-bit ELF file names a loader. `None` for other files.
fn names_loader(file: &[u8]) -> Option<bool> {
    let is_elf = file.starts_with(b"\x7fELF") && file.get(4) == Some(&2);
    if !is_elf {
        return None;
    }
    let number = |place: usize, size: usize| {
        let bytes = file.get(place..place.checked_add(size)?)?;
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        usize::try_from(u64::from_le_bytes(word)).ok()
    };
    let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        let place = start.checked_add(index.checked_mul(size)?)?;
        if number(place, 4)? == PT_INTERP as usize {
            return Some(true);
        }
    }
    Some(false)
}

// Runs the program to its end, and passes on the signals that other processes send to this command.
//
// This command stays while the program runs: the pages of --report and --repeat go with it. A supervisor that stops or
// reloads a service knows only this command's process number, and must reach the program through it. So this command does not
// end before the program, whatever the program does with the signal.

/// The signals that are passed on. Signals that stop a process are not: they stop this command like any other.
const PASSED_ON: [i32; 9] = [
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
];

/// The signals that a terminal sends to this command and to the program at the same time. Where it comes from the kernel, the
/// program has it already.
const OF_A_TERMINAL: [i32; 4] = [SIGCONT, SIGINT, SIGQUIT, SIGWINCH];

/// Has a write beyond the largest size of a file (RLIMIT_FSIZE) fail, instead of ending this command by a signal. The program
/// gets the signal as this command did.
pub(super) fn outlive_size_limit(command: &mut Command) {
    // SAFETY: to ignore a signal runs no code.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let restore = move || {
        // SAFETY: this is the disposition of before, and no function of this command.
        unsafe { libc::signal(libc::SIGXFSZ, before) };
        Ok(())
    };
    // SAFETY: between fork and exec it makes one call, which a signal handler may make too.
    unsafe { command.pre_exec(restore) };
}

pub(super) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    let waited_for = wait_for_signals(command)?;
    let mut child = command.spawn()?;
    loop {
        let Some((signal, info)) = next_signal(&waited_for)? else {
            continue;
        };
        if signal != SIGCHLD {
            pass_on(signal, &info, &child);
        } else if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
    }
}

/// Blocks the signals, so that they wait for [`next_signal`], and has the program start without that.
///
/// A signal that this command ignores by inheritance stays ignored, here and in the program.
fn wait_for_signals(command: &mut Command) -> io::Result<sigset_t> {
    // SAFETY: an empty set is a valid value; every call gets pointers to sets and actions that are on the stack.
    let (set, before, of_children) = unsafe {
        let (mut set, mut before): (sigset_t, sigset_t) = (zeroed(), zeroed());
        // If the end of a child were ignored, the kernel would not keep its status.
        let of_children = libc::signal(SIGCHLD, libc::SIG_DFL);
        libc::sigaddset(&raw mut set, SIGCHLD);
        for signal in PASSED_ON {
            let mut action: libc::sigaction = zeroed();
            libc::sigaction(signal, null_mut(), &raw mut action);
            if action.sa_sigaction != libc::SIG_IGN {
                libc::sigaddset(&raw mut set, signal);
            }
        }
        match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) {
            0 => (set, before, of_children),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    };
    let restore = move || {
        // SAFETY: neither call runs code of this command: what it blocked was not handled, and the disposition was
        // there before this command started.
        unsafe {
            libc::signal(SIGCHLD, of_children);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes two calls, which a signal handler may make too.
    unsafe { command.pre_exec(restore) };
    Ok(set)
}

/// Waits for the next signal. `None` if a stop and a continuation interrupted the wait.
fn next_signal(waited_for: &sigset_t) -> io::Result<Option<(i32, siginfo_t)>> {
    // SAFETY: both pointers are to values of the right type, and zeros are a valid `siginfo_t`.
    let (signal, info) = unsafe {
        let mut info: siginfo_t = zeroed();
        (libc::sigwaitinfo(waited_for, &raw mut info), info)
    };
    if signal > 0 {
        return Ok(Some((signal, info)));
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        error => Err(error),
    }
}

/// Sends the program a signal that came to this command.
fn pass_on(signal: i32, info: &siginfo_t, child: &Child) {
    let program = child.id() as i32;
    let is_from_kernel = info.si_code > 0;
    // SAFETY: a signal that a process sent has the number of its sender.
    let is_from_program = !is_from_kernel && unsafe { info.si_pid() } == program;
    if is_from_program || is_from_kernel && OF_A_TERMINAL.contains(&signal) {
        return;
    }
    // SAFETY: it has no pointers. The program was not waited for, so no other process has its number. It may have ended.
    unsafe { libc::kill(program, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_a_loader_a_script_and_a_damaged_file_are_told_apart() {
        let shell = fs::read("/bin/sh").unwrap();
        assert_eq!(names_loader(&shell), Some(true));
        assert_eq!(names_loader(b"#!/bin/sh\n"), None);
        assert_eq!(names_loader(&shell[..20]), None);
        let mut damaged = shell[..64].to_vec();
        damaged[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(names_loader(&damaged), None);
        let mut none = shell;
        none[56..58].copy_from_slice(&[0, 0]);
        assert_eq!(names_loader(&none), Some(false));
        assert_eq!(kind(OsStr::new("sh")), Kind::Other);
    }

    #[test]
    fn a_script_is_of_the_kind_of_its_interpreter() {
        let folder = testkit::programs::scratch("kinds");
        let write = |name: &str, content: &[u8]| {
            fs::write(folder.join(name), content).unwrap();
            folder.join(name)
        };
        let mut program = fs::read("/bin/sh").unwrap();
        program[56..58].copy_from_slice(&[0, 0]);
        // A line of an interpreter has no quotes.
        let program = testkit::programs::in_list(&write("static", &program));
        assert_eq!(kind(program.as_os_str()), Kind::Static);
        let script = write(
            "script",
            format!("#! {} -x\n", program.display()).as_bytes(),
        );
        assert_eq!(kind(script.as_os_str()), Kind::Static);
        let again = write(
            "again",
            format!("#!{}\n", testkit::programs::in_list(&script).display()).as_bytes(),
        );
        assert_eq!(kind(again.as_os_str()), Kind::Static);
        let own = folder.join("own");
        let own = write("own", format!("#!{}", own.display()).as_bytes());
        assert_eq!(kind(own.as_os_str()), Kind::Other, "its own interpreter");
        assert_eq!(kind(OsStr::new("/dev/zero")), Kind::Other);
        assert_eq!(kind(write("empty", b"#!").as_os_str()), Kind::Other);
    }

    #[test]
    fn rights_that_the_caller_has_are_no_more_rights() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let program = testkit::programs::scratch("rights").join("program");
        fs::copy("/bin/true", &program).unwrap();
        let set = |mode| fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        set(0o6755);
        assert_eq!(kind(program.as_os_str()), Kind::Other, "our own");
        if chown(&program, Some(1234), Some(1234)).is_err() {
            return testkit::skipped("a file cannot be given away");
        }
        for (mode, expected) in [
            (0o4755, Kind::Privileged),
            (0o2755, Kind::Privileged),
            (0o2745, Kind::Other),
            (0o755, Kind::Other),
        ] {
            set(mode);
            assert_eq!(kind(program.as_os_str()), expected, "{mode:o}");
        }
    }

    #[test]
    fn a_program_with_capabilities_is_one_with_more_rights() {
        use rustix::fs::{XattrFlags, setxattr};
        let program = testkit::programs::scratch("capabilities").join("program");
        fs::copy("/bin/true", &program).unwrap();
        assert_eq!(kind(program.as_os_str()), Kind::Other);
        // Revision 2, effective: CAP_NET_RAW, as ping(8) has it.
        let mut ping = [0; 20];
        ping[..6].copy_from_slice(&[1, 0, 0, 2, 0, 32]);
        if let Err(error) = setxattr(&program, CAPABILITIES, &ping, XattrFlags::empty()) {
            return testkit::skipped(&format!("a file cannot be given capabilities: {error}"));
        }
        // Such capabilities give root nothing that root does not have.
        let expected = if getuid().is_root() {
            Kind::Other
        } else {
            Kind::Privileged
        };
        assert_eq!(kind(program.as_os_str()), expected);
    }
}
