//! One thread for each door. Each connects, draws for a while, leaves, and comes again. While the service is being
//! started again a client gets errors, and never wrong bytes.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wellspring_client::Client;

/// The requests of one connection.
const REQUESTS: usize = 200;

/// Longer requests are counted.
const SLOW: Duration = Duration::from_millis(50);

/// The pause after an error, and after each connection: a soak of an hour must fit into memory.
const PAUSE: Duration = Duration::from_millis(10);

/// Where the clients connect, and what they fill.
pub(crate) struct Target<'a> {
    pub(crate) run: PathBuf,
    /// `None` where files cannot be mounted.
    pub(crate) files: Option<PathBuf>,
    /// The socket of the echo.
    pub(crate) echo: PathBuf,
    pub(crate) blocks: &'a Blocks,
    pub(crate) ends: &'a AtomicBool,
}

/// The requests of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    pub(crate) slow: u64,
    pub(crate) longest: Duration,
    errors: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.slow += other.slow;
        self.errors += other.errors;
        self.longest = self.longest.max(other.longest);
    }

    /// Counts a request that has been answered.
    fn answered(&mut self, began: Instant) {
        let took = began.elapsed();
        self.requests += 1;
        self.slow += u64::from(took > SLOW);
        self.longest = self.longest.max(took);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            requests,
            slow,
            longest,
            errors,
        } = self;
        write!(
            f,
            "{requests} requests, {slow} over 50 ms, the longest {longest:?}, {errors} connections broke"
        )
    }
}

/// The client of the echo: no part of the service. What takes long there takes long because of the machine.
pub(crate) const CONTROL: &str = "control, an echo";

/// A client: it draws until the end.
type Run<'a> = fn(&Target<'a>) -> Counts;

/// All clients.
pub(crate) fn all<'a>(_: &Target<'a>) -> [(&'static str, Run<'a>); 8] {
    [
        (CONTROL, |target| again(target, echoed)),
        ("egd", |target| again(target, egd)),
        ("bulk", |target| again(target, bulk)),
        ("bulk, many", |target| again(target, crowd)),
        ("file random, 1 MiB", |target| again(target, long_reads)),
        ("file urandom, short", |target| again(target, short_reads)),
        ("file pseudo", |target| again(target, pseudo)),
        ("web", |target| again(target, web)),
    ]
}

/// Makes connections until the end. An error comes from a service that is being killed.
fn again(target: &Target<'_>, connect: fn(&Target<'_>, &mut Counts) -> io::Result<()>) -> Counts {
    let mut counts = Counts::default();
    while !target.ends.load(Ordering::Relaxed) {
        if connect(target, &mut counts).is_err() {
            counts.errors += 1;
        }
        std::thread::sleep(PAUSE);
    }
    counts
}

fn echoed(target: &Target<'_>, counts: &mut Counts) -> io::Result<()> {
    let mut stream = UnixStream::connect(&target.echo)?;
    for _ in 0..REQUESTS {
        let began = Instant::now();
        stream.write_all(&[7; 32])?;
        stream.read_exact(&mut [0; 32])?;
        counts.answered(began);
    }
    Ok(())
}

fn socket(target: &Target<'_>, name: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(target.run.join(name))?;
    stream.set_read_timeout(Some(super::common::PATIENCE))?;
    Ok(stream)
}

fn egd(target: &Target<'_>, counts: &mut Counts) -> io::Result<()> {
    let mut stream = socket(target, "egd.sock")?;
    for length in (0..REQUESTS).map(|round| 32 + round % 224) {
        let began = Instant::now();
        let mut bytes = vec![0; length];
        stream.write_all(&[2, length as u8])?;
        stream.read_exact(&mut bytes)?;
        counts.answered(began);
        target.blocks.add("egd", &bytes);
        // Garbage of other clients is mixed in, and must change nothing for this client.
        stream.write_all(&[3, 0, 0, 2, 7, 7])?;
    }
    Ok(())
}

fn draw(client: &mut Client, bytes: &mut [u8]) -> io::Result<()> {
    client.fill(bytes).map_err(io::Error::other)
}

fn bulk(target: &Target<'_>, counts: &mut Counts) -> io::Result<()> {
    let patience = super::common::PATIENCE;
    let path = target.run.join("bulk.sock");
    let mut client = Client::connect(path, patience).map_err(io::Error::other)?;
    for round in 0..REQUESTS {
        let length = if round == 0 {
            1 << 18
        } else {
            32 << (round % 4)
        };
        let mut bytes = vec![0; length];
        let began = Instant::now();
        draw(&mut client, &mut bytes)?;
        counts.answered(began);
        target.blocks.add("bulk", &bytes);
    }
    Ok(())
}

/// Fifty connections at once, and one more that leaves without reading its answer.
fn crowd(target: &Target<'_>, counts: &mut Counts) -> io::Result<()> {
    let patience = super::common::PATIENCE;
    let path = target.run.join("bulk.sock");
    let connect = |_| Client::connect(&path, patience).map_err(io::Error::other);
    let mut clients = (0..50).map(connect).collect::<io::Result<Vec<Client>>>()?;
    let mut lazy = socket(target, "bulk.sock")?;
    lazy.write_all(&wellspring_client::protocol::Request::Read(1 << 20).head())?;
    for client in &mut clients {
        let mut bytes = [0; 64];
        let began = Instant::now();
        draw(client, &mut bytes)?;
        counts.answered(began);
        target.blocks.add("bulk, many", &bytes);
    }
    Ok(())
}

fn open(target: &Target<'_>, name: &str) -> io::Result<File> {
    let files = target.files.as_ref().ok_or(io::ErrorKind::Unsupported)?;
    File::open(files.join(name))
}

/// Reads of 1 MiB in a row.
fn long_reads(target: &Target<'_>, counts: &mut Counts) -> io::Result<()> {
    let mut file = open(target, "random")?;
    let mut bytes = vec![0; 1 << 20];
    for _ in 0..6 {
        bytes.fill(0);
        let began = Instant::now();
        let length = file.read(&mut bytes)?;
        counts.answered(began);
        // Every 16th kibibyte: a soak of an hour must fit into memory.
        for part in bytes[..length].chunks(1 << 14) {
            target
                .blocks
                .add("file random", &part[..part.len().min(1 << 10)]);
        }
        assert!(
            !bytes[..length].ends_with(&[0; 32]),
            "zeros at the end of a read"
        );
    }
    Ok(())
}

fn short_reads(target: &Target<'_>, counts: &mut Counts) -> io::Result<()> {
    let mut file = open(target, "urandom")?;
    for round in 0..REQUESTS {
        let mut bytes = vec![0; 32 << (round % 8)];
        let began = Instant::now();
        let length = file.read(&mut bytes)?;
        counts.answered(began);
        target.blocks.add("file urandom", &bytes[..length]);
    }
    Ok(())
}

fn pseudo(target: &Target<'_>, counts: &mut Counts) -> io::Result<()> {
    let mut file = open(target, "pseudo")?;
    for _ in 0..REQUESTS {
        let mut bytes = [0; 256];
        let began = Instant::now();
        let length = file.read(&mut bytes)?;
        counts.answered(began);
        target.blocks.add("file pseudo", &bytes[..length]);
    }
    Ok(())
}

fn web(target: &Target<'_>, counts: &mut Counts) -> io::Result<()> {
    for path in ["/status.json", "/metrics", "/"] {
        let mut stream = socket(target, "web.sock")?;
        let began = Instant::now();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if !answer.is_empty() {
            assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
            counts.answered(began);
        }
    }
    // Garbage closes this connection and nothing else.
    socket(target, "web.sock")?.write_all(b"\x00\xff\r\n\r\n")
}

// A server that sends back what it gets, on a thread for each connection.

/// Starts it. Its threads end with the process.
pub(crate) fn start_echo(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || answer(stream));
        }
    });
}

fn answer(mut stream: UnixStream) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut bytes) {
        if stream.write_all(&bytes[..length]).is_err() {
            return;
        }
    }
}

// Every block that was ever handed out.

const SHARDS: usize = 64;

/// The blocks so far, by their first 16 bytes: two random blocks have these in common with probability 2^-128.
pub(crate) struct Blocks {
    shards: [Mutex<HashSet<u128>>; SHARDS],
    /// Blocks are kept if their last byte is less.
    kept_below: u8,
}

impl Blocks {
    /// A minute gives some 40 million blocks: one of 4 is kept, and one of 32 in a soak of more than two minutes. A
    /// block is kept for its last byte: if it comes again, it is kept again.
    pub(crate) fn for_soak(duration: Duration) -> Self {
        let is_short = duration <= Duration::from_secs(120);
        Self {
            shards: core::array::from_fn(|_| Mutex::default()),
            kept_below: if is_short { 64 } else { 8 },
        }
    }

    /// Fails if a block of 32 bytes in `bytes` came before, or is zero. A rest of fewer bytes is not looked at.
    pub(crate) fn add(&self, door: &str, bytes: &[u8]) {
        for block in bytes.chunks_exact(32) {
            assert!(block.iter().any(|byte| *byte != 0), "{door}: zeros");
            if block[31] >= self.kept_below {
                continue;
            }
            let mut start = [0; 16];
            start.copy_from_slice(&block[..16]);
            let shard = &self.shards[usize::from(block[0]) % SHARDS];
            let mut blocks = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = blocks.insert(u128::from_ne_bytes(start));
            assert!(is_new, "{door}: a block came twice");
        }
    }

    pub(crate) fn count(&self) -> usize {
        let length = |shard: &Mutex<HashSet<u128>>| {
            shard.lock().unwrap_or_else(PoisonError::into_inner).len()
        };
        self.shards.iter().map(length).sum()
    }
}
