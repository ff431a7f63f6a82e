//! Hostile users: each floods the service until it is told to end. A thread of the test becomes user 65534 for it, and the
//! kernel names that user as the other end of its connections.

use super::common::PATIENCE;
use rustix::thread::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wellspring_client::protocol::Request;

/// A user number that no account with rights has.
pub(crate) const UNPRIVILEGED: u32 = 65_534;

/// The service, as a hostile user sees it.
pub(crate) struct Victim<'a> {
    /// The folder of the sockets.
    pub(crate) run: &'a Path,
    /// Where the device files are, if there are any.
    pub(crate) files: Option<&'a Path>,
    ends: &'a AtomicBool,
    done: &'a AtomicU64,
}

impl Victim<'_> {
    fn goes_on(&self) -> bool {
        !self.ends.load(Ordering::Relaxed)
    }

    /// Counts what the flood has done.
    fn did(&self, amount: u64) {
        self.done.fetch_add(amount, Ordering::Relaxed);
    }

    fn connect(&self, socket: &str) -> Option<UnixStream> {
        UnixStream::connect(self.run.join(socket)).ok()
    }
}

/// A hostile user.
#[derive(Clone, Copy)]
pub(crate) struct Hostile {
    pub(crate) name: &'static str,
    /// The lines of `[limits]` that are in force.
    pub(crate) limits: &'static str,
    /// Floods until the end.
    pub(crate) flood: fn(&Victim<'_>),
}

/// One line for each kind of flood.
pub(crate) const ALL: &[Hostile] = &[
    of("egd, requests without an answer", "", |victim| {
        send_ahead(victim, "egd.sock", &[3, 0, 0, 0])
    }),
    of("egd, mixing", "", |victim| {
        let mut request = [7; 4 + 255];
        request[..4].copy_from_slice(&[3, 0, 0, 255]);
        send_ahead(victim, "egd.sock", &request)
    }),
    of("egd, short answers", "", |victim| {
        send_ahead(victim, "egd.sock", &[0])
    }),
    of("bulk, mixing nothing", "", |victim| {
        send_ahead(victim, "bulk.sock", &Request::Mix(0).head())
    }),
    of("bulk, mixing a byte", "", |victim| {
        let request = [&Request::Mix(1).head()[..], &[7]].concat();
        send_ahead(victim, "bulk.sock", &request)
    }),
    of("bulk, long answers", "", |victim| {
        send_ahead(victim, "bulk.sock", &Request::Read(1 << 24).head())
    }),
    of("file, short reads", "", |victim| {
        at_files(victim, |files| random(files)?.read(&mut [0; 16]))
    }),
    of("file, long reads", "", |victim| {
        at_files(victim, |files| random(files)?.read(&mut vec![0; 1 << 20]))
    }),
    of("file, long writes", "", |victim| {
        let bytes = vec![7; 1 << 20];
        at_files(victim, |files| random(files)?.write(&bytes))
    }),
    of("file, sendfile", "", |victim| {
        let null = File::options().write(true).open("/dev/null").unwrap();
        at_files(victim, |files| {
            Ok(rustix::fs::sendfile(&null, random(files)?, None, 4096)?)
        })
    }),
    of("file, opens", "", |victim| {
        at_files(victim, |files| random(files).map(|_| 1))
    }),
    of("file, lookups", "", |victim| {
        at_files(victim, |files| {
            fs::metadata(files.join("absent")).map(|_| 1)
        })
    }),
    of("file, new names", "", |victim| {
        at_files(victim, |files| {
            File::create(files.join("absent")).map(|_| 1)
        })
    }),
    of("vhost-user, connecting and closing", "", guests_come_and_go),
    of("web, pages", "", pages),
    of("web, slow heads", "", slow_heads),
    of("connecting and closing", "", come_and_go),
    of("holding connections", "", hold),
    of(
        "pausing and closing",
        "bytes_per_second_per_user = 1000",
        pause_and_close,
    ),
];

/// All floods, or only those without device files.
pub(crate) fn possible(has_files: bool) -> impl Iterator<Item = &'static Hostile> {
    let is_possible = move |one: &&Hostile| has_files || !one.name.starts_with("file");
    ALL.iter().filter(is_possible)
}

const fn of(name: &'static str, limits: &'static str, flood: fn(&Victim<'_>)) -> Hostile {
    Hostile {
        name,
        limits,
        flood,
    }
}

/// Makes the calling thread user 65534, without groups and privileges.
pub(crate) fn become_unprivileged() {
    become_user(UNPRIVILEGED);
}

fn become_user(number: u32) {
    let group = Gid::from_raw(number);
    set_thread_groups(&[]).unwrap();
    set_thread_res_gid(group, group, group).unwrap();
    let user = Uid::from_raw(number);
    set_thread_res_uid(user, user, user).unwrap();
}

/// Does something as another user, in a thread of its own.
#[allow(dead_code, reason = "the soak does not use it")]
pub(crate) fn as_user<T: Send>(number: u32, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            become_user(number);
            work()
        });
        thread.join().unwrap()
    })
}

/// The connections of a user that sends requests ahead.
const SENDERS: usize = 64;

/// Sends one request again and again over many connections, and reads what comes back.
fn send_ahead(victim: &Victim<'_>, socket: &str, request: &[u8]) {
    let requests = request.repeat((16 * 1024_usize).div_ceil(request.len()));
    let connect = |_| victim.connect(socket).map(|stream| (stream, 0));
    let mut senders: Vec<(UnixStream, usize)> = (0..SENDERS).filter_map(connect).collect();
    let mut answers = vec![0; 256 * 1024];
    for (stream, _) in &senders {
        stream.set_nonblocking(true).unwrap();
    }
    while victim.goes_on() && !senders.is_empty() {
        senders.retain_mut(|(stream, at)| {
            let written = stream.write(&requests[*at..]);
            let read = stream.read(&mut answers);
            victim.did(written.is_ok().into());
            *at = (*at + written.as_ref().unwrap_or(&0)) % requests.len();
            [written, read].iter().all(|done| match done {
                Ok(_) => true,
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            })
        });
    }
}

/// Asks for the costliest document over many connections at once.
fn pages(victim: &Victim<'_>) {
    while victim.goes_on() {
        let connect = |_| victim.connect("web.sock");
        let mut streams: Vec<UnixStream> = (0..SENDERS).filter_map(connect).collect();
        for stream in &mut streams {
            victim.did(stream.write_all(b"GET / HTTP/1.1\r\n\r\n").is_ok().into());
        }
        for stream in &mut streams {
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
}

/// Sends heads of requests byte by byte, which never end.
fn slow_heads(victim: &Victim<'_>) {
    let connect = |_| victim.connect("web.sock");
    let mut streams: Vec<UnixStream> = (0..500).filter_map(connect).collect();
    for stream in &mut streams {
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: ");
    }
    while victim.goes_on() {
        for stream in &mut streams {
            if stream.write_all(b"x").is_err()
                && let Some(new) = victim.connect("web.sock")
            {
                *stream = new;
                let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: ");
            }
            victim.did(1);
        }
    }
}

fn come_and_go(victim: &Victim<'_>) {
    while victim.goes_on() {
        for socket in ["egd.sock", "bulk.sock", "web.sock"] {
            victim.did(victim.connect(socket).is_some().into());
        }
    }
}

fn guests_come_and_go(victim: &Victim<'_>) {
    while victim.goes_on() {
        victim.did(victim.connect("vhost-user.sock").is_some().into());
    }
}

fn random(files: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .open(files.join("random"))
}

/// Each of as many threads as other floods have connections acts at the device files again and again.
fn at_files(victim: &Victim<'_>, act: impl Fn(&Path) -> io::Result<usize> + Sync) {
    let Some(files) = victim.files else {
        return;
    };
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                while victim.goes_on() {
                    // What is refused has cost the service a request, too.
                    let _ = act(files);
                    victim.did(1);
                }
            });
        }
    });
}

/// Holds as many connections as it can, and tries to get more.
fn hold(victim: &Victim<'_>) {
    let mut held = Vec::new();
    while victim.goes_on() {
        let Some(mut stream) = victim.connect("egd.sock") else {
            continue;
        };
        let is_served = stream.write_all(&[2, 1]).is_ok() && stream.read_exact(&mut [0]).is_ok();
        if is_served {
            held.push(stream);
        }
        victim.did(1);
    }
}

/// Leaves while its request waits for its share.
fn pause_and_close(victim: &Victim<'_>) {
    while victim.goes_on() {
        if let Some(mut stream) = victim.connect("egd.sock") {
            victim.did(stream.write_all(&[2, 255]).is_ok().into());
        }
    }
}

/// A flood has begun when it has done this much.
const BEGUN: u64 = 200;

/// Does `work` beside a flood, which begins before it and goes on until its end. Returns what the flood did.
pub(crate) fn beside(
    hostile: &Hostile,
    run: &Path,
    files: Option<&Path>,
    work: impl FnOnce(),
) -> u64 {
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let victim = Victim {
        run,
        files,
        ends: &ends,
        done: &done,
    };
    std::thread::scope(|scope| {
        // A panic here must end the flood too, or the scope would wait for it without end.
        let _end = EndOnDrop(&ends);
        scope.spawn(|| {
            become_unprivileged();
            (hostile.flood)(&victim);
        });
        let until = Instant::now() + PATIENCE;
        while done.load(Ordering::Relaxed) < BEGUN {
            assert!(Instant::now() < until, "{}: it does nothing", hostile.name);
            std::thread::sleep(Duration::from_millis(1));
        }
        work();
    });
    done.into_inner()
}

/// Ends what runs until then.
pub(crate) struct EndOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
