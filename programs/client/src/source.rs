//! The service as a source of noise for an engine.

use crate::client::{Client, ClientError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};

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
