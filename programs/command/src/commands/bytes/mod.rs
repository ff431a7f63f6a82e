//! `bytes [SIZE]`: random bytes, or the bytes of a reproducible stream.
//!
//! ```text
//! args       the arguments
//! encoding   bytes as text
//! lines      bytes on demand
//! workers    threads that make blocks and write them one at a time
//! progress   the progress bar
//! summary    the line at the end
//! ```

mod args;
mod encoding;
mod lines;
mod progress;
mod summary;
mod workers;

pub(crate) use args::BytesRequest;
#[cfg(target_os = "linux")]
pub(crate) use args::seed;

use crate::failure::{Failure, say};
use crate::output::Output;
use crate::size::Size;
use encoding::Encoding;
use progress::progress;
use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::time::Instant;
use summary::{Origin, Summary};
use wellspring_pseudo::{Path as StreamPath, Stream};
use workers::{Filler, Workers};

/// From this size on a run gets a progress bar and a line at the end.
const WORTHWHILE_BYTES: u64 = 1 << 20;

/// Runs the command.
pub(crate) fn run(request: &BytesRequest) -> Result<(), Failure> {
    let start = Instant::now();
    let encoding = match (request.hex, request.base64) {
        (true, _) => Encoding::Hex,
        (_, true) => Encoding::Base64,
        _ => Encoding::Raw,
    };
    let size_bytes = request.size_bytes();
    let engine;
    let (fillers, origin): (Vec<Filler<'_>>, Origin) = match request.pseudo {
        None => {
            engine = request.engine.build()?;
            let workers = workers::useful_workers(size_bytes, request.threads);
            let filler = || Box::new(|block: &mut [u8]| engine.fill(block)) as Filler<'_>;
            let fillers: Vec<_> = (0..workers).map(|_| filler()).collect();
            (fillers, Origin::Engine(engine.clone(), workers))
        }
        Some(algorithm) => {
            // The command line has both whenever it has an algorithm.
            let seed = request.seed.unwrap_or_default();
            let path = request.stream.clone().unwrap_or(StreamPath::ROOT);
            let offset_bytes = request.offset.map_or(0, |Size(bytes)| bytes);
            let mut stream = Stream::new(algorithm, seed, &path).at(offset_bytes.into());
            let filler: Filler<'_> = Box::new(move |block| stream.fill(block));
            let origin = Origin::Stream {
                algorithm,
                seed,
                path,
                offset_bytes,
            };
            (vec![filler], origin)
        }
    };
    let output = open(request, encoding)?;
    if request.each_line {
        return answer_lines(request, fillers, encoding, output);
    }
    let shows_progress = !request.quiet
        && !output.is_terminal()
        && stderr().is_terminal()
        && size_bytes.is_none_or(|bytes| bytes >= WORTHWHILE_BYTES);
    let run = Workers {
        size_bytes,
        encoding,
        progress: &progress(size_bytes, shows_progress),
    };
    run.run(fillers, output)?;
    let size_bytes = size_bytes.unwrap_or(u64::MAX);
    if !request.quiet && (size_bytes >= WORTHWHILE_BYTES || stderr().is_terminal()) {
        let summary = Summary {
            size_bytes,
            elapsed: start.elapsed(),
            origin,
        };
        say(&summary.to_string());
    }
    Ok(())
}

/// Bytes for each line of the standard input.
fn answer_lines(
    request: &BytesRequest,
    fillers: Vec<Filler<'_>>,
    encoding: Encoding,
    output: Output,
) -> Result<(), Failure> {
    let size_bytes = request.size_bytes().unwrap_or_default();
    if size_bytes > lines::MAX_BYTES {
        let most = Size(lines::MAX_BYTES);
        return Err(Failure::Input(format!(
            "--each-line: at most {most} for a line"
        )));
    }
    match fillers.into_iter().next() {
        Some(fill) => lines::answer(fill, size_bytes as usize, encoding, output),
        None => Ok(()),
    }
}

/// Without a size there is no end. A pipe and a device take that; a file would take the whole disk.
fn open(request: &BytesRequest, encoding: Encoding) -> Result<Output, Failure> {
    let is_endless = request.size_bytes().is_none();
    let needs_size = |name: &str| {
        Failure::input(format!(
            "{name}: a file needs a size, since without one there is no end: as in `wellspring bytes 1MiB`"
        ))
    };
    let path = request
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let Some(path) = path else {
        let output = Output::standard()?;
        if is_endless && output.is_file() {
            return Err(needs_size("standard output"));
        }
        if request.output.is_some() {
            return Ok(output);
        }
        if encoding == Encoding::Raw && output.is_terminal() {
            let reason = "standard output is a terminal: try --hex, --base64, --output FILE, or --output - to write to it";
            return Err(Failure::input(reason));
        }
        return Ok(output);
    };
    // Before a file is made or emptied.
    let is_file = path.metadata().map_or(true, |status| status.is_file());
    if is_endless && is_file {
        return Err(needs_size(&path.display().to_string()));
    }
    Output::create(path, request.force)
}
