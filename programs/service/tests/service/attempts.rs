//! An attacker who has taken over the service would try these things, one by one.

use super::taken_over::{ADDRESS, FOLDER, PORT, VICTIM, told};
use rustix::net::{
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, sendmsg, sendmsg_addr,
};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

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

// An attacker who has taken over the service would try these things by calls that the service makes too, with other arguments,
// and by calls that are near to them.

/// Descriptors that are open before the sandbox closes: a service has listeners, connections and the socket of its supervisor.
struct Before {
    listener: TcpListener,
    connection: (UnixStream, UnixStream),
    datagrams: UnixDatagram,
    /// A file and a folder that belong to the service.
    seed: File,
    seeds: File,
    memory: rustix::fd::OwnedFd,
}

static BEFORE: OnceLock<Before> = OnceLock::new();

pub(crate) fn open_before(folder: &Path) {
    let memory = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
    let before = Before {
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        connection: UnixStream::pair().unwrap(),
        datagrams: UnixDatagram::unbound().unwrap(),
        seed: OpenOptions::new()
            .read(true)
            .write(true)
            .open(folder.join("seeds/a"))
            .unwrap(),
        seeds: File::open(folder.join("seeds")).unwrap(),
        memory: rustix::fs::memfd_create("memory", memory).unwrap(),
    };
    assert!(BEFORE.set(before).is_ok());
}

fn before() -> &'static Before {
    BEFORE.get().unwrap()
}

fn fd(file: &impl AsRawFd) -> usize {
    file.as_raw_fd() as usize
}

/// A call that the service has no use for. The kernel may look at the arguments and find an error: it allowed the call then.
macro_rules! calls {
    ($name:literal, $number:ident, $arguments:expr $(, $error:expr)?) => {
        attempt($name, By::Calls, || {
            let called = call(libc::$number, $arguments);
            $(let called = called.or_else(|error| works_if(error, $error));)?
            called
        })
    };
}

#[rustfmt::skip]
pub(crate) const BY_ARGUMENT: &[Attempt] = &[
    // Files: the mode of new ones, of present ones, and their length.
    attempt("make a set-user-ID program", By::Calls, || new_file("seeds/new", 0o4755)),
    attempt("make a program", By::Calls, || new_file("seeds/new", 0o700)),
    attempt("make a file for every user", By::Calls, || new_file("seeds/new", 0o666)),
    attempt("make a file that its group reads", By::Calls, || new_file("seeds/new", 0o640)),
    attempt("open a file and make it for every user", By::Calls, || open_or_make(0o666)),
    attempt("open a file or make it", By::Calls, || open_or_make(0o600)),
    attempt("make a file without a name", By::Calls, no_name),
    attempt("make a program by openat2", By::Calls, openat2),
    attempt("cut a file", By::Calls, || OpenOptions::new().write(true).truncate(true).open(of_folder("seeds/a")?).map(drop)),
    attempt("cut a file that is open to be read", By::Calls, || open_raw("seeds/a", libc::O_RDONLY | libc::O_TRUNC, 0)),
    attempt("cut an open file", By::Calls, || before().seed.set_len(0)),
    attempt("cut a file by its name", By::Calls, || by_name(libc::SYS_truncate, "seeds/a", 0)),
    attempt("fill the disk", By::Calls, || call(libc::SYS_fallocate, [fd(&before().seed), 0, 0, 4096, 0])),
    attempt("open its folder to every user", By::Calls, || before().seeds.set_permissions(fs::Permissions::from_mode(0o755))),
    attempt("make a program of its file", By::Calls, || before().seed.set_permissions(fs::Permissions::from_mode(0o4755))),
    attempt("change a mode by a folder", By::Calls, || in_seeds(libc::SYS_fchmodat, "a", 0o777)),
    attempt("change a mode by a folder and flags", By::Calls, || in_seeds(FCHMODAT2, "a", 0o777)),
    attempt("change the owner of its file", By::Calls, || call(libc::SYS_fchown, [fd(&before().seed), 1, 1, 0, 0])),
    attempt("change times", By::Calls, || call(libc::SYS_utimensat, [fd(&before().seed), 0, 0, 0, 0])),
    attempt("give a file a name by its descriptor", By::Calls, link_at),
    attempt("make a symbolic link", By::Both(1), || std::os::unix::fs::symlink("/etc/shadow", of_folder("seeds/link")?)),
    attempt("make a folder for every user", By::Both(1), || in_seeds(libc::SYS_mkdirat, "new", 0o777)),
    attempt("remove a folder", By::Both(1), || in_seeds(libc::SYS_unlinkat, "folder", libc::AT_REMOVEDIR as usize)),
    attempt("exchange two files", By::Calls, exchange),
    attempt("note something at a file", By::Calls, note),
    attempt("open by a handle", By::Calls, || handle(&before().seeds)),
    attempt("watch files of all", By::Calls, || call(libc::SYS_fanotify_init, [0, 0, 0, 0, 0])),
    attempt("ask for the flags of a file", By::Calls, || ioctl(&before().seed, 0x8008_6601)),
    // Descriptors.
    attempt("be signalled by a connection", By::Calls, || fcntl(&before().connection.0, libc::F_SETFL, libc::O_ASYNC)),
    attempt("choose the signal of a connection", By::Calls, || fcntl(&before().connection.0, F_SETSIG, libc::SIGUSR1)),
    attempt("be told of changes of a folder", By::Calls, || fcntl(&before().seeds, libc::F_NOTIFY, 1)),
    attempt("have a lease of a file", By::Calls, || fcntl(&before().seed, libc::F_SETLEASE, libc::F_WRLCK)),
    attempt("seal memory of others", By::Calls, || fcntl(&before().memory, libc::F_ADD_SEALS, libc::F_SEAL_GROW)),
    attempt("lock a part of a file", By::Calls, lock),
    attempt("be signalled, by ioctl", By::Calls, || ioctl(&before().connection.0, 0x5452)),
    attempt("compare descriptors of others", By::Calls, || call(libc::SYS_kcmp, [myself(), victim()?, 0, 0, 0])),
    attempt("move bytes between descriptors", By::Calls, send_file),
    attempt("make a pipe of packets", By::Calls, pipe_of_packets),
    // Sockets.
    attempt("hand a descriptor to a client", By::Calls, hand_out),
    attempt("send to a socket by its name", By::Calls, send_by_name),
    attempt("connect by the first message", By::Calls, fast_open),
    attempt("shut its listening socket", By::Calls, || call(libc::SYS_shutdown, [fd(&before().listener), 2, 0, 0, 0])),
    attempt("listen anew", By::Calls, || call(libc::SYS_listen, [fd(&before().listener), 1, 0, 0, 0])),
    attempt("give a socket a program", By::Calls, filter_of_socket),
    attempt("make a socket's buffer large", By::Calls, || option(libc::SOL_SOCKET, libc::SO_SNDBUF, 1 << 20)),
    attempt("choose a protocol's helper", By::Calls, || option(libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, 1)),
    attempt("open its client's process", By::Calls, peer_process),
    attempt("make a pair of sockets", By::Calls, || UnixStream::pair().map(drop)),
    attempt("send many messages", By::Calls, || call(libc::SYS_sendmmsg, [fd(&before().connection.0), 0, 0, 0, 0])),
    // Memory.
    attempt("share equal pages with others", By::Calls, || advise(libc::MADV_MERGEABLE)),
    attempt("throw pages out", By::Calls, || advise(libc::MADV_PAGEOUT)),
    attempt("move its pages to a node", By::Calls, bind_memory),
    calls!("move pages to a node", SYS_migrate_pages, [0, 0, 0, 0, 0], libc::EINVAL),
    attempt("make memory without a name", By::Calls, || call(libc::SYS_memfd_create, [c"x".as_ptr() as usize, 4, 0, 0, 0])),
    calls!("share memory by a number", SYS_shmget, [0, 4096, (libc::IPC_CREAT | 0o600) as usize, 0, 0]),
    calls!("map a file anew", SYS_remap_file_pages, [0, 0, 0, 0, 0], libc::EINVAL),
    calls!("advise another process", SYS_process_madvise, [usize::MAX, 0, 0, 0, 0], libc::EBADF),
    // Itself and other processes.
    attempt("be traced by all", By::Calls, || call(libc::SYS_prctl, [libc::PR_SET_PTRACER as usize, usize::MAX, 0, 0, 0])),
    attempt("have its memory in core dumps", By::Calls, || call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE as usize, 1, 0, 0, 0])),
    attempt("keep capabilities", By::Calls, || call(libc::SYS_prctl, [libc::PR_SET_KEEPCAPS as usize, 0, 0, 0, 0])),
    calls!("become the parent of orphans", SYS_prctl, [libc::PR_SET_CHILD_SUBREAPER as usize, 1, 0, 0, 0]),
    attempt("change its own limits", By::Calls, own_limit),
    attempt("queue a signal for another", By::Calls, || queue(victim()?)),
    attempt("choose the CPUs of another", By::Calls, || cpus(victim()?)),
    attempt("choose the schedule of another", By::Calls, || schedule(victim()?)),
    attempt("change the niceness of another", By::Calls, || call(libc::SYS_setpriority, [0, victim()?, 5, 0, 0])),
    attempt("learn the CPU time of another", By::Calls, || clock(victim()?)),
    attempt("end the waits of another", By::Calls, priority_futex),
    attempt("interrupt every CPU", By::Calls, || call(libc::SYS_membarrier, [1, 0, 0, 0, 0])),
    calls!("change its personality", SYS_personality, [0x004_0000, 0, 0, 0, 0]),
    calls!("make a timer", SYS_timerfd_create, [1, 0, 0, 0, 0]),
    calls!("change the mask of modes", SYS_umask, [0, 0, 0, 0, 0]),
    calls!("leave its root", SYS_chroot, [c"/".as_ptr() as usize, 0, 0, 0, 0]),
    calls!("change the name of the machine", SYS_sethostname, [c"x".as_ptr() as usize, usize::MAX, 0, 0, 0], libc::EINVAL),
    calls!("begin asynchronous work", SYS_io_setup, [1, (&raw const NO_CONTEXT) as usize, 0, 0, 0]),
    calls!("watch the processor", SYS_perf_event_open, [0, 0, 0, 0, 0], libc::EFAULT),
    calls!("make a protection key", SYS_pkey_alloc, [0, 0, 0, 0, 0], libc::EINVAL),
];

/// From linux/fcntl.h: musl's and older C libraries' headers do not have it.
const F_SETSIG: i32 = 10;
/// The number of the call on every architecture.
const FCHMODAT2: i64 = 452;
static NO_CONTEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Whether the kernel looked at the arguments: it says what is wrong with them.
fn works_if(error: io::Error, number: i32) -> io::Result<()> {
    match error.raw_os_error() {
        Some(found) if found == number => Ok(()),
        _ => Err(error),
    }
}

fn c_path(name: &str) -> io::Result<CString> {
    Ok(CString::new(
        of_folder(name)?.into_os_string().into_encoded_bytes(),
    )?)
}

fn new_file(name: &str, mode: u32) -> io::Result<()> {
    let path = of_folder(name)?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&path)?;
    fs::remove_file(path)
}

fn open_or_make(mode: u32) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(mode)
        .open(of_folder("seeds/b")?)
        .map(drop)
}

fn open_raw(name: &str, flags: i32, mode: usize) -> io::Result<()> {
    let path = c_path(name)?;
    call(
        libc::SYS_openat,
        [
            libc::AT_FDCWD as usize,
            path.as_ptr() as usize,
            flags as usize,
            mode,
            0,
        ],
    )
}

fn no_name() -> io::Result<()> {
    open_raw("seeds", libc::O_TMPFILE | libc::O_RDWR, 0o4755)
}

/// Its arguments are in memory, which a filter does not see: `struct open_how` of linux/openat2.h.
fn openat2() -> io::Result<()> {
    let path = c_path("seeds/new")?;
    let how = [
        (libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY) as u64,
        0o4755,
        0,
    ];
    call(
        libc::SYS_openat2,
        [
            libc::AT_FDCWD as usize,
            path.as_ptr() as usize,
            (&raw const how) as usize,
            size_of_val(&how),
            0,
        ],
    )?;
    fs::remove_file(of_folder("seeds/new")?)
}

fn by_name(number: i64, name: &str, argument: usize) -> io::Result<()> {
    let path = c_path(name)?;
    call(number, [path.as_ptr() as usize, argument, 0, 0, 0])
}

fn in_seeds(number: i64, name: &str, argument: usize) -> io::Result<()> {
    let name = CString::new(name)?;
    call(
        number,
        [fd(&before().seeds), name.as_ptr() as usize, argument, 0, 0],
    )
}

fn link_at() -> io::Result<()> {
    let path = CString::new(format!("/proc/self/fd/{}", fd(&before().seed)))?;
    let [follow, new] = [
        libc::AT_SYMLINK_FOLLOW as usize,
        c"linked".as_ptr() as usize,
    ];
    call(
        libc::SYS_linkat,
        [
            libc::AT_FDCWD as usize,
            path.as_ptr() as usize,
            fd(&before().seeds),
            new,
            follow,
        ],
    )
}

fn exchange() -> io::Result<()> {
    let seeds = fd(&before().seeds);
    let [one, other] = [c"a".as_ptr() as usize, c"b".as_ptr() as usize];
    call(
        libc::SYS_renameat2,
        [seeds, one, seeds, other, libc::RENAME_EXCHANGE as usize],
    )
}

fn handle(folder: &File) -> io::Result<()> {
    // `struct file_handle` of fcntl.h: the room behind it, then its kind.
    let mut handle = [0_u32; 34];
    handle[0] = 128;
    let mut mount = 0_i32;
    let [at, mount] = [(&raw mut handle) as usize, (&raw mut mount) as usize];
    call(
        libc::SYS_name_to_handle_at,
        [fd(folder), c"a".as_ptr() as usize, at, mount, 0],
    )
}

fn ioctl(file: &impl AsRawFd, command: usize) -> io::Result<()> {
    let mut value = 1_u64;
    call(
        libc::SYS_ioctl,
        [fd(file), command, (&raw mut value) as usize, 0, 0],
    )
}

fn fcntl(file: &impl AsRawFd, command: i32, argument: i32) -> io::Result<()> {
    call(
        libc::SYS_fcntl,
        [fd(file), command as usize, argument as usize, 0, 0],
    )
}

fn lock() -> io::Result<()> {
    // SAFETY: zeros are a lock of the whole file.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    lock.l_type = libc::F_RDLCK as i16;
    call(
        libc::SYS_fcntl,
        [
            fd(&before().seed),
            libc::F_SETLK as usize,
            (&raw const lock) as usize,
            0,
            0,
        ],
    )
}

fn send_file() -> io::Result<()> {
    let before = before();
    let to = fd(&before.connection.0);
    call(libc::SYS_sendfile, [to, fd(&before.seed), 0, 1, 0])
}

/// A client with a listening socket plays the service for as long as it likes, also after the next start.
fn hand_out() -> io::Result<()> {
    let files = [before().listener.as_fd()];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
    sendmsg(
        &before().connection.0,
        &[IoSlice::new(b"x")],
        &mut control,
        SendFlags::empty(),
    )?;
    Ok(())
}

fn send_by_name() -> io::Result<()> {
    let address = SocketAddrUnix::new(of_folder("outside/datagrams.sock")?)?;
    let mut control = SendAncillaryBuffer::default();
    sendmsg_addr(
        &before().datagrams,
        &address,
        &[IoSlice::new(b"x")],
        &mut control,
        SendFlags::empty(),
    )?;
    Ok(())
}

/// A listening socket that is shut can connect, and a message can begin with that (MSG_FASTOPEN): no connect(2) is made.
fn fast_open() -> io::Result<()> {
    let listener = &before().listener;
    // SAFETY: the descriptor is open, and the call takes numbers.
    unsafe { libc::shutdown(listener.as_raw_fd(), libc::SHUT_RDWR) };
    let port: u16 = told(PORT)?.parse().map_err(io::Error::other)?;
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let mut control = SendAncillaryBuffer::default();
    let flags = SendFlags::from_bits_retain(libc::MSG_FASTOPEN as u32);
    sendmsg_addr(
        listener,
        &address,
        &[IoSlice::new(b"x")],
        &mut control,
        flags,
    )?;
    Ok(())
}

fn set_option(level: i32, name: i32, value: usize, bytes: usize) -> io::Result<()> {
    let socket = fd(&before().listener);
    call(
        libc::SYS_setsockopt,
        [socket, level as usize, name as usize, value, bytes],
    )
}

fn option(level: i32, name: i32, value: i32) -> io::Result<()> {
    set_option(level, name, (&raw const value) as usize, size_of::<i32>())
}

/// A program of one instruction, which accepts all.
fn filter_of_socket() -> io::Result<()> {
    let mut all = [libc::sock_filter {
        code: 6,
        jt: 0,
        jf: 0,
        k: u32::MAX,
    }];
    let program = libc::sock_fprog {
        len: 1,
        filter: all.as_mut_ptr(),
    };
    set_option(
        libc::SOL_SOCKET,
        libc::SO_ATTACH_FILTER,
        (&raw const program) as usize,
        size_of_val(&program),
    )
}

fn peer_process() -> io::Result<()> {
    /// `SO_PEERPIDFD` of asm-generic/socket.h.
    const PEER_PIDFD: usize = 77;
    let (mut found, mut length) = (0_i32, 4_u32);
    let [at, bytes] = [(&raw mut found) as usize, (&raw mut length) as usize];
    let socket = fd(&before().connection.0);
    call(
        libc::SYS_getsockopt,
        [socket, libc::SOL_SOCKET as usize, PEER_PIDFD, at, bytes],
    )
}

/// Memory of its own: a page.
fn page() -> usize {
    let (access, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new mapping, which nothing uses.
    unsafe { libc::mmap(core::ptr::null_mut(), 4096, access, flags, -1, 0) as usize }
}

fn advise(advice: i32) -> io::Result<()> {
    call(libc::SYS_madvise, [page(), 4096, advice as usize, 0, 0])
}

fn bind_memory() -> io::Result<()> {
    const MOVE: usize = 2;
    let arguments = (page(), 4096_usize, 0_usize, 0_usize, 0_usize, MOVE);
    // SAFETY: the page is this process's own, and the policy "default" takes no mask.
    match unsafe {
        libc::syscall(
            libc::SYS_mbind,
            arguments.0,
            arguments.1,
            arguments.2,
            arguments.3,
            arguments.4,
            arguments.5,
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn own_limit() -> io::Result<()> {
    let limit = [64_u64; 2];
    call(
        libc::SYS_prlimit64,
        [
            0,
            libc::RLIMIT_NOFILE as usize,
            (&raw const limit) as usize,
            0,
            0,
        ],
    )
}

/// The kernel asks for a signal that a process may send to another: SI_QUEUE.
fn queue(process: usize) -> io::Result<()> {
    let mut words = [0_i32; 32];
    words[0] = libc::SIGCONT;
    words[2] = -1;
    let [signal, words] = [libc::SIGCONT as usize, (&raw const words) as usize];
    call(libc::SYS_rt_sigqueueinfo, [process, signal, words, 0, 0])
}

fn myself() -> usize {
    std::process::id() as usize
}

fn note() -> io::Result<()> {
    let [name, value] = [c"user.x", c"y"].map(|text| text.as_ptr() as usize);
    let seed = fd(&before().seed);
    call(libc::SYS_fsetxattr, [seed, name, value, 1, 0])
}

fn schedule(process: usize) -> io::Result<()> {
    let priority = 0_i32;
    let batch = libc::SCHED_BATCH as usize;
    call(
        libc::SYS_sched_setscheduler,
        [process, batch, (&raw const priority) as usize, 0, 0],
    )
}

fn pipe_of_packets() -> io::Result<()> {
    let mut ends = [0_i32; 2];
    let flags = libc::O_DIRECT as usize;
    call(libc::SYS_pipe2, [(&raw mut ends) as usize, flags, 0, 0, 0])
}

fn cpus(process: usize) -> io::Result<()> {
    let all = [u64::MAX; 16];
    call(
        libc::SYS_sched_setaffinity,
        [process, size_of_val(&all), (&raw const all) as usize, 0, 0],
    )
}

/// The clock of a process has its number in it: CPUCLOCK of linux/posix-timers_types.h.
fn clock(process: usize) -> io::Result<()> {
    let mut time = [0_i64; 2];
    let clock = !(process as i64) << 3 | 2;
    call(
        libc::SYS_clock_gettime,
        [clock as usize, (&raw mut time) as usize, 0, 0, 0],
    )
}

fn priority_futex() -> io::Result<()> {
    const LOCK_PI: usize = 6;
    let word = 0_u32;
    call(
        libc::SYS_futex,
        [(&raw const word) as usize, LOCK_PI, 0, 0, 0],
    )
}
