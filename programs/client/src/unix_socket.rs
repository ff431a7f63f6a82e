//! Connections to Unix sockets that do not wait without end.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::io::{Error, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Connects to a Unix socket. This, and each later read and write, waits for at most `timeout`. [`UnixStream::connect`]
/// waits until the other process accepts connections, once others have filled its queue.
///
/// # Errors
///
/// `TimedOut`, or another error of the system.
pub fn connect_within(path: &Path, timeout: Duration) -> Result<UnixStream, Error> {
    let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
    let stream = UnixStream::from(socket_with(AddressFamily::UNIX, kind, flags, None)?);
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        match connect(&stream, &address) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Err(ErrorKind::TimedOut.into()),
            connected => return Ok(connected.map(|()| stream)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{bind, listen};

    #[test]
    fn a_full_queue_ends_the_wait() {
        let name = format!("wellspring-queue-{}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let socket = socket_with(AddressFamily::UNIX, kind, flags, None).unwrap();
        bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&socket, 0).unwrap();
        let timeout = Duration::from_millis(50);
        let mut connected = Vec::new();
        let error = loop {
            match connect_within(&path, timeout) {
                Ok(stream) => connected.push(stream),
                Err(error) => break error,
            }
        };
        std::fs::remove_file(path).unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(connected.len(), 1);
    }
}
