//! `sources record`.

use super::find::source_named;
use crate::failure::Failure;
use crate::output::Output;
use crate::size::Size;
use clap::Args;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wellspring::{Source, SourceError};

/// How long a source may return nothing before a recording ends with an error.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Write raw samples, as they are before any test
///
/// For assessment, for example with NIST's program for SP 800-90B. Samples are noise, NOT fit for keys.
#[derive(Args)]
pub(super) struct RecordRequest {
    /// A name from the list, file:PATH, or command:WORDS
    name: String,

    /// How many bytes, for each restart
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1000000",
        allow_negative_numbers = true
    )]
    bytes: Size,

    /// Record N times, each time in a new process
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    restarts: u32,

    /// Write to FILE; - is the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

pub(super) fn run(request: &RecordRequest) -> Result<(), Failure> {
    // Before the file is emptied: a wrong name must not cost an old recording.
    let source = source_named(&request.name)?;
    let mut output = Output::create(&request.output, true)?;
    match request.restarts {
        1 => record(request, &*source, &mut output),
        restarts => (0..restarts).try_for_each(|_| record_in_new_process(request, &mut output)),
    }
}

fn record(
    request: &RecordRequest,
    source: &dyn Source,
    output: &mut Output,
) -> Result<(), Failure> {
    let (mut left, mut sample) = (request.bytes.0, [0; 256]);
    let mut last = Instant::now();
    while left > 0 {
        let length = left.min(sample.len() as u64) as usize;
        match source.sample(&mut sample[..length]) {
            Ok(length) if length > 0 => {
                let samples = &sample[..length];
                let written = output.write(samples);
                written.map_err(|error| output.failure(&error, ""))?;
                left -= length as u64;
                last = Instant::now();
            }
            Ok(_) | Err(SourceError::Busy) if last.elapsed() < TIMEOUT => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(_) => {
                return Err(Failure::work(format!(
                    "{}: returns no samples",
                    request.name
                )));
            }
            Err(SourceError::System(number)) => {
                let error = std::io::Error::from_raw_os_error(number);
                return Err(Failure::work(format!("{}: {error}", request.name)));
            }
            Err(error) => return Err(Failure::work(format!("{}: {error}", request.name))),
        }
    }
    Ok(())
}

/// A new process: for a command the closest thing to a restart of SP 800-90B 3.1.4.
fn record_in_new_process(request: &RecordRequest, output: &mut Output) -> Result<(), Failure> {
    let command = std::env::current_exe().map_err(Failure::work)?;
    let size = request.bytes.0.to_string();
    let mut child = Command::new(command)
        .args(["sources", "record", "--bytes", &size, "--", &request.name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::work)?;
    let mut samples = Vec::new();
    if let Some(pipe) = &mut child.stdout {
        pipe.read_to_end(&mut samples).map_err(Failure::work)?;
    }
    match child.wait() {
        Ok(status) if status.success() => {}
        // It has written the reason to stderr.
        Ok(_) => return Err(Failure::Reported),
        Err(error) => return Err(Failure::work(error)),
    }
    let written = output.write(&samples);
    written.map_err(|error| output.failure(&error, ""))
}
