//! `wellspringd status`: asks the running service for its status, and prints it.

use crate::config::{Address, Config};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use wellspring_os::trusted_file::check_listener;
use wellspring_os::unix_socket::connect_within;

/// The longest wait for an answer. A service that works answers at once.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The most bytes of an answer. With 50 users and 50 connections it has some 30,000.
const MAX_BYTES: usize = 1 << 22;

/// The status of the service that this configuration describes.
///
/// # Errors
///
/// The reason why there is none, in a line.
pub fn status(config: &Config) -> Result<Value, String> {
    let mut last = "the configuration has no [web] socket".to_owned();
    for address in &config.web.listen {
        match get(config, address) {
            Ok(body) => {
                let value = serde_json::from_slice(&body);
                return value.map_err(|error| format!("{address}: {error}"));
            }
            Err(error) => last = format!("{}: {error}", shown(config, address)),
        }
    }
    Err(format!("no service answers: {last}"))
}

fn shown(config: &Config, address: &Address) -> String {
    match address {
        Address::Unix(path) => config.runtime_path(path).display().to_string(),
        Address::Tcp(_) | Address::Vsock { .. } => address.to_string(),
    }
}

fn get(config: &Config, address: &Address) -> io::Result<Vec<u8>> {
    match address {
        Address::Unix(path) => {
            let path = config.runtime_path(path);
            let stream = connect_within(&path, TIMEOUT)?;
            check_listener(&stream, &path).map_err(|fault| {
                let words =
                    format!("another user listens there, and the folder is not safe: {fault}");
                io::Error::new(io::ErrorKind::PermissionDenied, words)
            })?;
            ask(stream)
        }
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, TIMEOUT)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            ask(stream)
        }
        Address::Vsock { .. } => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the service gives no status by vsock",
        )),
    }
}

/// Another user may listen at an address of TCP, and answer without end.
fn ask(mut stream: impl Read + Write) -> io::Result<Vec<u8>> {
    stream.write_all(b"GET /status.json HTTP/1.1\r\n\r\n")?;
    let until = Instant::now() + TIMEOUT;
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    let mut is_good = true;
    while is_good {
        match stream.read(&mut part)? {
            0 => break,
            length => answer.extend_from_slice(&part[..length]),
        }
        is_good = answer.len() <= MAX_BYTES && Instant::now() < until;
    }
    is_good &= answer.starts_with(b"HTTP/1.1 200 ");
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n");
    match body {
        Some(end) if is_good => Ok(answer.split_off(end + 4)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "this is not the service",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends this again and again.
    struct Endless(&'static [u8]);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            (&*self.0).read(buffer)
        }
    }

    impl Write for Endless {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_answer_without_end_is_left() {
        let fault = ask(Endless(b"HTTP/1.1 200 OK\r\n\r\n")).unwrap_err();
        assert_eq!(fault.kind(), io::ErrorKind::InvalidData);
    }
}
