//! A connection to the service, and the service as a source of noise for an engine.

use crate::protocol::{Answer, HEAD_BYTES, MAX_MIX_BYTES, MAX_READ_BYTES, Request};
use crate::unix_socket::connect_within;
use core::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};
use wellspring_os::trusted_file::{FileFault, check_listener};

/// Where the service listens by default.
pub const DEFAULT_PATH: &str = "/run/wellspring/bulk.sock";

/// The reason why a request failed. After every error but [`NotSeeded`](ClientError::NotSeeded) and
/// [`Refused`](ClientError::Refused) the connection is of no use: later requests fail with
/// [`BrokenPipe`](io::ErrorKind::BrokenPipe).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientError {
    /// The service has no seed yet: ask later.
    NotSeeded,
    /// The other end speaks another protocol.
    Protocol,
    /// The connection failed: refused, closed, or no answer within the timeout.
    Connection(io::ErrorKind),
    /// This client may not give that order.
    Refused,
    /// Another user may have put the socket there. The fault says what is wrong with its folder.
    Untrusted(FileFault),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSeeded => f.write_str("the service has no seed yet"),
            Self::Protocol => f.write_str("the other end does not speak the bulk protocol"),
            Self::Connection(kind) => write!(f, "the connection to the service: {kind}"),
            Self::Refused => {
                f.write_str("the service takes this order from root, its own user and its host")
            }
            Self::Untrusted(fault) => write!(
                f,
                "another user listens on the socket, and its folder is not safe: {fault}"
            ),
        }
    }
}

impl core::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Connection(error.kind())
    }
}

/// A connection to the service.
///
/// The bytes come from another process, through the kernel. A program whose secrets no other process may see uses its
/// own engine, and the service at most as one of several sources.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    /// Set after an error: the rest of an answer may still arrive, and would be read as the next answer.
    is_broken: bool,
}

#[derive(Debug)]
enum Stream {
    /// A Unix socket, or one of vsock.
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Client {
    /// Connects to a Unix socket. This, and each later read or write of the socket, waits for at most `timeout`.
    ///
    /// The process that listens at a path chooses the bytes. So root or the user of this process must have made the socket
    /// listen; or no other user can make files in its folder, or replace a folder above it.
    ///
    /// # Errors
    ///
    /// [`ClientError::Connection`], [`ClientError::Untrusted`].
    pub fn connect(path: impl AsRef<Path>, timeout: Duration) -> Result<Self, ClientError> {
        let path = path.as_ref();
        let stream = connect_within(path, timeout)?;
        check_listener(&stream, path).map_err(ClientError::Untrusted)?;
        Ok(Self::on(Stream::Unix(stream)))
    }

    /// Connects by vsock, from a virtual machine to its host or the other way round. Machine 2 is the host, and 1 is this
    /// machine. Connecting, and each later read or write, takes at most `timeout`. No network carries the bytes, but the
    /// host sees them, as it sees all memory of its machines.
    ///
    /// # Errors
    ///
    /// [`ClientError::Connection`]: `NotFound` where no way leads to that machine.
    pub fn connect_vsock(machine: u32, port: u32, timeout: Duration) -> Result<Self, ClientError> {
        // The standard library has no type for vsock. What it does for a Unix socket are the calls for any stream.
        let stream = UnixStream::from(crate::vsock::connect(machine, port, timeout)?);
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Self::on(Stream::Unix(stream)))
    }

    /// Connects by TCP: to a service on this machine, or to the end of a tunnel. The bytes are not encrypted, and nothing
    /// says who chose them: while no service has the port, every user of the machine may listen there.
    ///
    /// # Errors
    ///
    /// [`ClientError::Connection`].
    pub fn connect_tcp(address: SocketAddr, timeout: Duration) -> Result<Self, ClientError> {
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Self::on(Stream::Tcp(stream)))
    }

    fn on(stream: Stream) -> Self {
        Self {
            stream,
            is_broken: false,
        }
    }

    /// Fills `destination`, of any length.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; a part of `destination` may have been written.
    pub fn fill(&mut self, destination: &mut [u8]) -> Result<(), ClientError> {
        destination
            .chunks_mut(MAX_READ_BYTES as usize)
            .try_for_each(|chunk| self.exchange(|client| client.read_chunk(chunk)))
    }

    /// Gives the service `data`, to be mixed in without credit.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; a part of `data` may have been mixed in.
    pub fn mix(&mut self, data: &[u8]) -> Result<(), ClientError> {
        data.chunks(MAX_MIX_BYTES as usize)
            .try_for_each(|chunk| self.exchange(|client| client.mix_chunk(chunk)))
    }

    /// Changes the generation page of the service: the engines of all processes there take new keys. For a hypervisor's
    /// agent that has restored the machine. When this returns, the page has changed. Returns whether the kernel of the
    /// service's machine took new keys before.
    ///
    /// `nonce` is a secret of 32 to 4096 bytes that no other copy of the machine gets, or empty. On a machine without
    /// vmgenid, RDRAND and RNDR two copies have no other secret that differs. It earns no credit.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; [`Refused`](ClientError::Refused) to all but root, the page's owner, and by vsock the host of the
    /// service's machine; [`Protocol`](ClientError::Protocol) for a secret of another length, which is not sent.
    pub fn bump_generation(&mut self, nonce: &[u8]) -> Result<bool, ClientError> {
        let head = u32::try_from(nonce.len()).map(|length| Request::Bump(length).head());
        let head = head.map_err(|_| ClientError::Protocol)?;
        Request::parse(&head).map_err(|_| ClientError::Protocol)?;
        let mut is_reseeded = false;
        self.exchange(|client| {
            client.stream.write_all(&head)?;
            client.stream.write_all(nonce)?;
            is_reseeded = match client.answer()? {
                Answer::Bumped => true,
                Answer::BumpedWithoutKernel => false,
                Answer::Refused => return Err(ClientError::Refused),
                _ => return Err(ClientError::Protocol),
            };
            Ok(())
        })?;
        Ok(is_reseeded)
    }

    /// Sends one request and reads its answer. After an error, later calls fail at once.
    fn exchange(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        if self.is_broken {
            return Err(ClientError::Connection(io::ErrorKind::BrokenPipe));
        }
        let done = work(self);
        self.is_broken = !matches!(
            done,
            Ok(()) | Err(ClientError::NotSeeded | ClientError::Refused)
        );
        done
    }

    fn read_chunk(&mut self, chunk: &mut [u8]) -> Result<(), ClientError> {
        let length = chunk.len() as u32;
        self.stream.write_all(&Request::Read(length).head())?;
        match self.answer()? {
            Answer::Bytes(given) if given == length => Ok(self.stream.read_exact(chunk)?),
            Answer::NotSeeded => Err(ClientError::NotSeeded),
            _ => Err(ClientError::Protocol),
        }
    }

    fn mix_chunk(&mut self, chunk: &[u8]) -> Result<(), ClientError> {
        self.stream
            .write_all(&Request::Mix(chunk.len() as u32).head())?;
        self.stream.write_all(chunk)?;
        match self.answer()? {
            Answer::Mixed => Ok(()),
            _ => Err(ClientError::Protocol),
        }
    }

    fn answer(&mut self) -> Result<Answer, ClientError> {
        let mut head = [0; HEAD_BYTES];
        self.stream.read_exact(&mut head)?;
        Answer::parse(&head).map_err(|_| ClientError::Protocol)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(buffer),
            Self::Tcp(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// ---- a source for an engine ----
// The service as a source of noise for an engine.

/// The most bytes that one draw asks for.
const SAMPLE_BYTES: usize = 64;

/// A draw should take about 10 ms at most, so each wait for an answer of the service ends after this time.
const TIMEOUT: Duration = Duration::from_millis(10);

/// A service, on this machine, on the host of this virtual machine, or at the end of a tunnel, as a source for an engine.
///
/// It connects at its first draw, and at the next draw after a failure. Give it credit only if no other user or machine
/// can read or change the bytes on their way, and if the service has sources that this machine does not have. Never
/// make it the only source.
#[derive(Debug)]
pub struct ServiceSource {
    at: At,
    claim: MinEntropy,
    client: Mutex<Option<Client>>,
}

#[derive(Debug)]
enum At {
    Path(PathBuf),
    Address(SocketAddr),
    Vsock { machine: u32, port: u32 },
}

impl ServiceSource {
    /// The service behind a Unix socket. The operator chooses `claim`, the min-entropy of its bytes.
    #[must_use]
    pub fn unix(path: &Path, claim: MinEntropy) -> Self {
        Self::new(At::Path(path.into()), claim)
    }

    /// The service behind a TCP address. The operator chooses `claim`, the min-entropy of its bytes.
    #[must_use]
    pub fn tcp(address: SocketAddr, claim: MinEntropy) -> Self {
        Self::new(At::Address(address), claim)
    }

    /// The service behind a vsock port of a machine: 2 is the host. The operator chooses `claim`, the min-entropy of its
    /// bytes.
    #[must_use]
    pub fn vsock(machine: u32, port: u32, claim: MinEntropy) -> Self {
        Self::new(At::Vsock { machine, port }, claim)
    }

    fn new(at: At, claim: MinEntropy) -> Self {
        Self {
            at,
            claim,
            client: Mutex::new(None),
        }
    }

    fn connect(&self) -> Result<Client, ClientError> {
        match &self.at {
            At::Path(path) => Client::connect(path, TIMEOUT),
            At::Address(address) => Client::connect_tcp(*address, TIMEOUT),
            At::Vsock { machine, port } => Client::connect_vsock(*machine, *port, TIMEOUT),
        }
    }
}

impl Source for ServiceSource {
    fn name(&self) -> &'static str {
        "service"
    }

    fn min_entropy(&self) -> MinEntropy {
        self.claim
    }

    fn reason(&self) -> &'static str {
        "the operator's claim for another wellspringd and the way to it"
    }

    fn speed(&self) -> Speed {
        Speed::Slow { interval_ms: 1000 }
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let Ok(mut client) = self.client.try_lock() else {
            return Err(SourceError::Busy);
        };
        let length = destination.len().min(SAMPLE_BYTES);
        let mut connected = match client.take() {
            Some(connected) => connected,
            None => self.connect().map_err(source_error)?,
        };
        let filled = connected.fill(&mut destination[..length]);
        if matches!(filled, Ok(()) | Err(ClientError::NotSeeded)) {
            *client = Some(connected);
        }
        filled.map(|()| length).map_err(source_error)
    }
}

fn source_error(error: ClientError) -> SourceError {
    use std::io::ErrorKind;
    match error {
        ClientError::NotSeeded => SourceError::Busy,
        ClientError::Connection(ErrorKind::WouldBlock | ErrorKind::TimedOut) => SourceError::Busy,
        ClientError::Connection(ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            SourceError::Absent
        }
        _ => SourceError::Ended,
    }
}
