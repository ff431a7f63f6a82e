//! The things that an attacker would try who has taken over the service, by calls that the service makes too, with other
//! arguments, and by calls that are near to them.

use super::attempts::{Attempt, By, attempt, call, of_folder, victim};
use super::taken_over::{PORT, told};
use rustix::net::{
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, sendmsg, sendmsg_addr,
};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::sync::OnceLock;

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
pub(crate) const ATTEMPTS: &[Attempt] = &[
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

/// Of linux/fcntl.h: musl's and older C libraries' headers do not have it.
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
