//! Messages to systemd, or to another supervisor that gave the service a socket for them: sd_notify(3).
//!
//! The crate sd-notify sends them too, but waits without end for a supervisor that does not read. The thread that would wait
//! is the one that handles signals, so SIGTERM would no longer end the service.

use sd_notify::NotifyState;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The longest wait for room in the queue of the socket: it has room for 10 messages (net.unix.max_dgram_qlen).
const PATIENCE: Duration = Duration::from_millis(200);

/// The supervisor that started the service.
#[derive(Debug)]
pub(crate) struct Supervisor(UnixDatagram);

impl Supervisor {
    /// Connects to it. `None` if there is none. Call it before the sandbox closes, which forbids that.
    pub(crate) fn find() -> Option<Self> {
        let socket = std::env::var_os("NOTIFY_SOCKET")?;
        let connected = connect(&socket);
        connected
            .inspect_err(|error| log::error!("no messages to the supervisor: {error}"))
            .ok()
            .map(Self)
    }

    /// Tells it. If its queue stays full, the message is lost.
    pub(crate) fn tell(&self, what: &[NotifyState<'_>]) {
        let mut message = String::new();
        for state in what {
            let _ = writeln!(message, "{state}");
        }
        let _ = self.0.send(message.as_bytes());
    }
}

fn connect(socket: &OsStr) -> io::Result<UnixDatagram> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(socket),
    };
    let sender = UnixDatagram::unbound()?;
    sender.set_write_timeout(Some(PATIENCE))?;
    sender.connect_addr(&address?)?;
    Ok(sender)
}
