//! `sources record`.

use super::{RecordRequest, named};
use crate::failure::Failure;
use crate::output::Output;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wellspring::SourceError;

/// How long a source may yield nothing before a recording gives up.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(request: &RecordRequest) -> Result<(), Failure> {
    let mut output = Output::create(&request.output)?;
    match request.restarts {
        1 => record(request, &mut output),
        restarts => (0..restarts).try_for_each(|_| record_in_new_process(request, &mut output)),
    }
}

fn record(request: &RecordRequest, output: &mut Output) -> Result<(), Failure> {
    let source = named(&request.name)?;
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
            Ok(_) | Err(SourceError::Busy) if last.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(_) => return Err(Failure::work(format!("{}: yields nothing", request.name))),
            Err(error) => return Err(Failure::work(format!("{}: {error}", request.name))),
        }
    }
    Ok(())
}

/// The nearest that a command comes to what SP 800-90B 3.1.4 calls a restart.
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
        // It has said why.
        Ok(_) => return Err(Failure::Reported),
        Err(error) => return Err(Failure::work(error)),
    }
    let written = output.write(&samples);
    written.map_err(|error| output.failure(&error, ""))
}
