//! The things that an attacker would try who has taken over the service, one thing each.

use super::taken_over::{ADDRESS, FOLDER, PORT, VICTIM, told};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::PathBuf;

/// The layers that refuse an attempt: Landlock from this version on, the filter of system calls, or each of them alone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    Files(i32),
    Calls,
    Both(i32),
}

pub(crate) type Try = fn() -> io::Result<()>;

pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) by: By,
    pub(crate) run: Try,
}

pub(crate) const fn attempt(name: &'static str, by: By, run: Try) -> Attempt {
    Attempt { name, by, run }
}

#[rustfmt::skip]
pub(crate) const ATTEMPTS: &[Attempt] = &[
    attempt("read /etc/shadow", By::Files(1), || File::open("/etc/shadow").map(drop)),
    attempt("read /etc/passwd", By::Files(1), || File::open("/etc/passwd").map(drop)),
    attempt("read beside the configuration", By::Files(1), || File::open(of_folder("neighbour.toml")?).map(drop)),
    attempt("read the configuration", By::Files(1), || File::open(of_folder("wellspring.toml")?).map(drop)),
    attempt("read a folder of others", By::Files(1), || fs::read_dir(of_folder("outside")?).map(drop)),
    attempt("read the environment of another process", By::Files(1), || File::open(of_victim("environ")?).map(drop)),
    attempt("open the memory of another process", By::Files(1), || File::open(of_victim("mem")?).map(drop)),
    attempt("write its own code", By::Files(1), || writing("/proc/self/mem".into())),
    attempt("make a file outside", By::Files(1), || File::create(of_folder("outside/new")?).map(drop)),
    attempt("make a file beside its sockets", By::Files(1), || File::create(of_folder("run/new")?).map(drop)),
    attempt("change a file outside", By::Files(1), || writing(of_folder("outside/file")?)),
    attempt("write to a terminal or device", By::Files(1), || writing("/dev/full".into())),
    attempt("make a link among its seeds", By::Both(1), link),
    attempt("make a pipe among its seeds", By::Both(1), || fifo(of_folder("seeds/pipe")?)),
    attempt("open a file to everybody", By::Calls, chmod),
    attempt("connect to a socket of root", By::Calls, || UnixStream::connect(of_folder("outside/stream.sock")?).map(drop)),
    attempt("send to a socket of root", By::Calls, send),
    attempt("connect to an abstract socket", By::Both(6), || UnixStream::connect_addr(&abstract_name()?).map(drop)),
    attempt("connect by TCP", By::Both(4), || TcpStream::connect(format!("127.0.0.1:{}", told(PORT)?)).map(drop)),
    attempt("send with an address", By::Calls, || socket(libc::AF_INET, libc::SOCK_DGRAM, 0)),
    attempt("open a raw socket", By::Calls, || socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)),
    attempt("ask the kernel by netlink", By::Calls, || socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)),
    attempt("signal another process", By::Both(6), || call(libc::SYS_kill, [victim()?, libc::SIGCONT as usize, 0, 0, 0])),
    attempt("signal a thread of another", By::Both(6), signal_thread),
    attempt("signal by the kernel's hand", By::Calls, own_signals),
    attempt("open another process", By::Calls, || call(libc::SYS_pidfd_open, [victim()?, 0, 0, 0, 0])),
    attempt("limit another process", By::Calls, limit),
    attempt("trace another process", By::Both(1), || call(libc::SYS_ptrace, [libc::PTRACE_SEIZE as usize, victim()?, 0, 0, 0])),
    attempt("read another process", By::Both(1), read_parent),
    attempt("map memory to write and run", By::Calls, || map(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)),
    attempt("map memory to run", By::Calls, || map(libc::PROT_READ | libc::PROT_EXEC)),
    attempt("make its memory executable", By::Calls, make_executable),
    attempt("run a program", By::Both(1), run),
    attempt("start a process", By::Calls, fork),
    attempt("start a process in a namespace", By::Calls, clone3),
    attempt("enter a namespace", By::Calls, || call(libc::SYS_unshare, [libc::CLONE_NEWNET as usize, 0, 0, 0, 0])),
    attempt("mount", By::Both(1), mount),
    attempt("load a module", By::Calls, load_module),
    attempt("load a program into the kernel", By::Calls, bpf),
    attempt("handle its page faults", By::Calls, || call(libc::SYS_userfaultfd, [0, 0, 0, 0, 0])),
    attempt("make an io_uring", By::Calls, io_uring),
    attempt("keep a key", By::Calls, key),
    attempt("watch events", By::Calls, || call(libc::SYS_inotify_init1, [0, 0, 0, 0, 0])),
    attempt("become another user", By::Calls, || call(libc::SYS_setresuid, [0, 0, 0, 0, 0])),
    attempt("allow others to trace it", By::Calls, || call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE as usize, 1, 0, 0, 0])),
    attempt("make a file in memory", By::Calls, || call(libc::SYS_memfd_create, [c"x".as_ptr() as usize, 0, 0, 0, 0])),
];

/// The work that the service does after its start.
#[rustfmt::skip]
pub(crate) const NEEDS: [(&str, Try); 5] = [
    ("read the counters of interrupts", || fs::read("/proc/stat").map(drop)),
    ("replace a seed file", || {
        let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(of_folder("seeds/.seed.next")?)?;
        new.write_all(b"new")?;
        fs::rename(of_folder("seeds/.seed.next")?, of_folder("seeds/seed")?)?;
        fs::remove_file(of_folder("seeds/seed")?)
    }),
    ("start a thread", start_thread),
    ("signal itself", signal_itself),
    ("talk on a connection", talk),
];

pub(crate) fn of_folder(name: &str) -> io::Result<PathBuf> {
    Ok(PathBuf::from(told(FOLDER)?).join(name))
}

pub(crate) fn victim() -> io::Result<usize> {
    told(VICTIM)?.parse().map_err(io::Error::other)
}

fn of_victim(name: &str) -> io::Result<PathBuf> {
    Ok(format!("/proc/{}/{name}", victim()?).into())
}

fn abstract_name() -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(told(FOLDER)?)
}

/// A system call by its number.
pub(crate) fn call(number: i64, [a, b, c, d, e]: [usize; 5]) -> io::Result<()> {
    // SAFETY: each caller passes the arguments that the call takes, and its pointers outlive it. This process ends soon.
    match unsafe { libc::syscall(number, a, b, c, d, e) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn writing(path: PathBuf) -> io::Result<()> {
    OpenOptions::new().write(true).open(path).map(drop)
}

fn signal_thread() -> io::Result<()> {
    let thread = victim()?;
    let signal = libc::SIGCONT as usize;
    call(libc::SYS_tgkill, [thread, thread, signal, 0, 0])
}

fn signal_itself() -> io::Result<()> {
    let process = std::process::id() as usize;
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as usize;
    call(libc::SYS_tgkill, [process, thread, 0, 0, 0])
}

fn start_thread() -> io::Result<()> {
    let thread = std::thread::Builder::new()
        .name("new".into())
        .spawn(|| ())?;
    thread.join().map_err(|_| io::ErrorKind::Other.into())
}

fn link() -> io::Result<()> {
    std::os::unix::fs::symlink("/", of_folder("seeds/link")?)?;
    fs::remove_file(of_folder("seeds/link")?)
}

fn fifo(path: PathBuf) -> io::Result<()> {
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, rustix::fs::Mode::RUSR, 0)?;
    fs::remove_file(path)
}

fn chmod() -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(
        of_folder("outside/file")?,
        fs::Permissions::from_mode(0o666),
    )
}

fn send() -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.send_to(b"x", of_folder("outside/datagrams.sock")?)?;
    Ok(())
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<()> {
    let [family, kind, protocol] = [family, kind, protocol].map(|number| number as usize);
    call(libc::SYS_socket, [family, kind, protocol, 0, 0])
}

/// Has the kernel signal another process whenever this descriptor is ready.
fn own_signals() -> io::Result<()> {
    let file = std::io::stdout();
    let [file, command] = [file.as_raw_fd(), libc::F_SETOWN].map(|number| number as usize);
    call(libc::SYS_fcntl, [file, command, victim()?, 0, 0])
}

fn limit() -> io::Result<()> {
    let limit = [0_u64; 2];
    let core = libc::RLIMIT_CORE as usize;
    let arguments = [victim()?, core, (&raw const limit) as usize, 0, 0];
    call(libc::SYS_prlimit64, arguments)
}

fn read_parent() -> io::Result<()> {
    let mut found = 0_u64;
    let address: usize = told(ADDRESS)?.parse().map_err(io::Error::other)?;
    let part = |start: usize| libc::iovec {
        iov_base: start as *mut libc::c_void,
        iov_len: size_of::<u64>(),
    };
    let (here, there) = (part(&raw mut found as usize), part(address));
    let parent = std::os::unix::process::parent_id() as usize;
    let (here, there) = (&raw const here as usize, &raw const there as usize);
    let (one, none) = (1_usize, 0_usize);
    // SAFETY: one part here, which is `found`, and one there, which the other process has.
    let read = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            parent,
            here,
            one,
            there,
            one,
            none,
        )
    };
    match read {
        8 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// By the system call itself: musl's mmap says that there is no memory where the kernel refuses.
fn map(access: i32) -> io::Result<()> {
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    let (access, none) = (access as usize, usize::MAX);
    // SAFETY: a new mapping, which nothing uses.
    let start = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            0_usize,
            4096_usize,
            access,
            flags,
            none,
            0_usize,
        )
    };
    if start == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn make_executable() -> io::Result<()> {
    let (access, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new mapping, which nothing uses.
    let start = unsafe { libc::mmap(core::ptr::null_mut(), 4096, access, flags, -1, 0) };
    let access = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    call(libc::SYS_mprotect, [start as usize, 4096, access, 0, 0])
}

/// Becomes a program that ends with the status of success.
fn run() -> io::Result<()> {
    let words = [
        c"sh".as_ptr(),
        c"-c".as_ptr(),
        c"exit 40".as_ptr(),
        core::ptr::null(),
    ];
    let none = [core::ptr::null::<libc::c_char>()];
    let [path, words, none] = [
        c"/bin/sh".as_ptr() as usize,
        words.as_ptr() as usize,
        none.as_ptr() as usize,
    ];
    call(libc::SYS_execve, [path, words, none, 0, 0])
}

fn fork() -> io::Result<()> {
    // SAFETY: the child ends at once.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: _exit(2) takes a number.
        0 => unsafe { libc::_exit(0) },
        _ => Ok(()),
    }
}

fn clone3() -> io::Result<()> {
    // `struct clone_args` of linux/sched.h: flags first, the signal at the child's end as the fifth.
    let arguments = [
        libc::CLONE_NEWUSER as u64,
        0,
        0,
        0,
        libc::SIGCHLD as u64,
        0,
        0,
        0,
    ];
    let length = size_of_val(&arguments);
    // SAFETY: the arguments outlive the call; the child ends at once.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, length) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: _exit(2) takes a number.
        0 => unsafe { libc::_exit(0) },
        _ => Ok(()),
    }
}

/// In a mount namespace of its own, which goes with the process.
fn mount() -> io::Result<()> {
    let kind = c"tmpfs".as_ptr() as usize;
    let path = std::ffi::CString::new(of_folder("run")?.into_os_string().into_encoded_bytes())?;
    call(libc::SYS_mount, [kind, path.as_ptr() as usize, kind, 0, 0])?;
    call(libc::SYS_umount2, [path.as_ptr() as usize, 0, 0, 0, 0])
}

/// Bytes that are no module: a kernel that looks at them would have loaded one.
fn load_module() -> io::Result<()> {
    let image = [7_u8; 64];
    let arguments = [
        image.as_ptr() as usize,
        image.len(),
        c"".as_ptr() as usize,
        0,
        0,
    ];
    match call(libc::SYS_init_module, arguments) {
        Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => Ok(()),
        other => other,
    }
}

fn bpf() -> io::Result<()> {
    // BPF_MAP_CREATE of linux/bpf.h: an array of one entry, with keys and values of 4 bytes.
    let map = [2_u32, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let length = size_of_val(&map);
    call(libc::SYS_bpf, [0, (&raw const map) as usize, length, 0, 0])
}

fn io_uring() -> io::Result<()> {
    let mut parameters = [0_u8; 120];
    let place = parameters.as_mut_ptr() as usize;
    call(libc::SYS_io_uring_setup, [1, place, 0, 0, 0])
}

fn key() -> io::Result<()> {
    const PROCESS_KEYRING: isize = -2;
    let [kind, name] = [
        c"user".as_ptr() as usize,
        c"wellspring-test".as_ptr() as usize,
    ];
    let arguments = [kind, name, name, 1, PROCESS_KEYRING as usize];
    call(libc::SYS_add_key, arguments)
}

/// A connection that was open before, as a pair of sockets would be: here, a pipe.
fn talk() -> io::Result<()> {
    let (mut from, mut to) = std::io::pipe()?;
    to.write_all(b"x")?;
    from.read_exact(&mut [0])
}
