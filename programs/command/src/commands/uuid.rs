//! `uuid`: identifiers, one on each line.

use crate::streams::{Failure, Output};
use clap::Args;
use std::io::Write;
use wellspring::{bytes, ids};
use zeroize::{Zeroize, Zeroizing};

/// Lines are written in pieces of this many bytes: 1800 UUIDs.
const PIECE_BYTES: usize = 64 << 10;

/// Write identifiers, one a line: UUIDs, ULIDs or trace ids
///
/// UUIDs follow RFC 9562. UUIDs of version 7 and ULIDs begin with the time in milliseconds, and each is greater than the
/// one before, even if the clock goes back.
#[derive(Args)]
pub(crate) struct UuidRequest {
    /// UUIDs of version 4: 122 random bits (the default)
    #[arg(short = '4', group = "kind")]
    version_4: bool,

    /// UUIDs of version 7: time, counter, 56 random bits
    #[arg(short = '7', group = "kind")]
    version_7: bool,

    /// ULIDs: time, counter, 62 random bits
    #[arg(long, group = "kind")]
    ulid: bool,

    /// Trace ids of 16 or 32 random bytes, as hexadecimal digits
    #[arg(long, group = "kind", value_name = "BYTES", value_parser = ["16", "32"])]
    trace: Option<String>,

    /// How many
    #[arg(short = 'n', value_name = "COUNT", default_value_t = 1)]
    count: u64,
}

/// Runs the command.
pub(crate) fn run(request: &UuidRequest) -> Result<(), Failure> {
    let count = request.count;
    match request.trace.as_deref() {
        _ if request.version_7 => print(count, || ids::uuid_text(ids::uuid7())),
        _ if request.ulid => print(count, || ids::ulid_text(ids::ulid())),
        None => print(count, || ids::uuid_text(ids::uuid4())),
        Some("16") => print(count, || ids::hex_text::<16, 32>(bytes())),
        Some(_) => print(count, || ids::hex_text::<32, 64>(bytes())),
    }
}

fn print<const N: usize>(count: u64, make: impl Fn() -> ids::Text<N>) -> Result<(), Failure> {
    let mut output = Output::standard()?;
    let mut lines = Zeroizing::new(Vec::with_capacity(PIECE_BYTES));
    for left in (0..count).rev() {
        // A vector of bytes takes all that has room.
        let _ = writeln!(lines, "{}", &*make());
        if lines.len() + N >= PIECE_BYTES || left == 0 {
            let written = output.write(&lines);
            written.map_err(|error| output.failure(&error, ""))?;
            lines.zeroize();
        }
    }
    Ok(())
}
