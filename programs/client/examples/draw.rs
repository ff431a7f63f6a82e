//! Draws bytes from a service, and writes them to standard output.
//!
//! ```text
//! draw /run/wellspring/bulk.sock 32
//! draw 127.0.0.1:9465 32
//! draw vsock:2:9465 32        from the host of this virtual machine
//! ```

use std::io::Write;
use std::time::Duration;
use wellspring_client::{Client, ClientError};

const TIMEOUT: Duration = Duration::from_secs(10);

/// The most bytes that are drawn at once.
const PIECE: usize = 1 << 20;

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, address, bytes] = &arguments[..] else {
        return Err("usage: draw ADDRESS BYTES".into());
    };
    let mut client = connect(address)?;
    let mut left: usize = bytes.parse()?;
    let mut out = std::io::stdout().lock();
    let mut buffer = vec![0; left.min(PIECE)];
    while left > 0 {
        let piece = &mut buffer[..left.min(PIECE)];
        client.fill(piece)?;
        out.write_all(piece)?;
        left -= piece.len();
    }
    out.flush()?;
    Ok(())
}

fn connect(address: &str) -> Result<Client, ClientError> {
    if let Some((machine, port)) = vsock(address) {
        return Client::connect_vsock(machine, port, TIMEOUT);
    }
    match address.parse() {
        Ok(address) => Client::connect_tcp(address, TIMEOUT),
        Err(_) => Client::connect(address, TIMEOUT),
    }
}

fn vsock(address: &str) -> Option<(u32, u32)> {
    let (machine, port) = address.strip_prefix("vsock:")?.split_once(':')?;
    Some((machine.parse().ok()?, port.parse().ok()?))
}
