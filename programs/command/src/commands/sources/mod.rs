//! `sources`: the noise sources of this machine, their health, and recordings of them. `watch` shows a running engine's sources.

#[cfg(target_os = "linux")]
mod watch;

use crate::arguments::{Size, bits_per_byte};
use crate::streams::{Failure, Input, Output, lines};
use clap::{Args, Subcommand};
use serde_json::json;
use std::fmt::Write;
use std::io::{BufReader, Read};
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
#[cfg(target_os = "linux")]
use watch::WatchRequest;
#[cfg(unix)]
use wellspring::MinEntropy;
use wellspring::{Source, SourceError, Speed};
use wellspring_command_line::table;
use wellspring_replay::{Comparison, Replay};
#[cfg(unix)]
use wellspring_sources::{NoiseCommand, NoiseFile};

/// Show, record and replay noise
#[derive(Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring sources list
  wellspring sources record jitter --bytes 1000000 --output jitter.bin
  wellspring sources record 'command:rtl_sdr -' --bytes 64k > sdr.bin
  wellspring sources replay vectors/noise/*.txt
  wellspring sources watch
  wellspring sources watch --json --count 10 > watch.json"
)]
pub(crate) struct SourcesRequest {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    List(ListRequest),
    Record(RecordRequest),
    Replay(ReplayRequest),
    #[cfg(target_os = "linux")]
    Watch(WatchRequest),
}

pub(crate) fn run(request: &SourcesRequest) -> Result<(), Failure> {
    match &request.action {
        Action::List(request) => run_list(request),
        Action::Record(request) => run_record(request),
        Action::Replay(request) => run_replay(request),
        #[cfg(target_os = "linux")]
        Action::Watch(request) => watch::run(request),
    }
}

// `sources list`.

/// Print a table of the sources of this machine, after a few draws from each
#[derive(Args)]
struct ListRequest {
    /// Print one JSON object a line for each source
    #[arg(long)]
    json: bool,
}

fn run_list(request: &ListRequest) -> Result<(), Failure> {
    let sources = wellspring_sources::all();
    let text = if request.json {
        sources.iter().map(object).collect()
    } else {
        let head = ["source", "claim", "sample", "drawn on", "now", "reason"];
        let mut rows = vec![head.map(String::from)];
        rows.extend(sources.iter().map(row));
        table(&rows)
    };
    Output::standard()?.print(&text)
}

/// How many bytes a draw gives now.
fn draw(source: &dyn Source) -> Result<usize, SourceError> {
    let mut sample = [0; 256];
    // Some sources learn from their first samples and return none of them.
    let _ = source.sample(&mut sample);
    let _ = source.sample(&mut sample);
    source.sample(&mut sample)
}

fn row(source: &Arc<dyn Source>) -> [String; 6] {
    [
        source.name().into(),
        format!("{} bits/byte", bits_per_byte(source.min_entropy())),
        source.symbol().name().into(),
        match source.speed() {
            Speed::Fast => "any call".into(),
            Speed::Slow { interval_ms } => format!("every {} s", interval_ms as f64 / 1000.0),
        },
        match draw(&**source) {
            Ok(bytes) => format!("{bytes} bytes"),
            Err(error) => error.to_string(),
        },
        source.reason().into(),
    ]
}

fn object(source: &Arc<dyn Source>) -> String {
    let drawn = draw(&**source);
    let object = json!({
        "name": source.name(),
        "claim_bits_per_byte": bits_per_byte(source.min_entropy()),
        "sample": source.symbol().name(),
        "interval_ms": match source.speed() {
            Speed::Fast => 0,
            Speed::Slow { interval_ms } => interval_ms,
        },
        "drawn_bytes": drawn.as_ref().ok(),
        "error": drawn.as_ref().err().map(ToString::to_string),
        "reason": source.reason(),
    });
    format!("{object}\n")
}

// `sources record`.

/// How long a source may return nothing before a recording ends with an error.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Write raw samples, as they are before any test
///
/// For assessment, for example with NIST's program for SP 800-90B. Samples are noise, NOT fit for keys.
#[derive(Args)]
struct RecordRequest {
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

fn run_record(request: &RecordRequest) -> Result<(), Failure> {
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

// `sources replay`.

/// A recording is tested in pieces of this length, the length of a draw.
const PIECE_BYTES: usize = 64;

/// Answers are written in pieces of about this length.
const PAGE_BYTES: usize = 64 << 10;

/// Run recorded noise through the health tests
///
/// Each FILE has the line format of vectors/noise/. Prints what the health tests decided for each source. If the file
/// has an answer too, the two are compared, and the exit status is 1 if one differs.
#[derive(Args)]
struct ReplayRequest {
    /// Traces, or recordings with --raw; - is the standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The files are recordings of the source NAME, as `record` writes them
    #[arg(long, value_name = "NAME")]
    raw: Option<String>,
}

fn run_replay(request: &ReplayRequest) -> Result<(), Failure> {
    let source = request.raw.as_deref().map(source_named).transpose()?;
    let mut output = Output::standard()?;
    let mut differs = false;
    for path in &request.files {
        let input = Input::open(path)?;
        let name = input.name().to_string();
        let mut text = String::new();
        let result = match &source {
            Some(source) => recording(&name, input, &**source, &mut text).map(|()| false),
            None => trace(&name, input, &mut text, &mut output),
        };
        // Before an error, print the answers so far.
        output.print(&text)?;
        differs |= result?;
    }
    if differs {
        return Err(Failure::Reported);
    }
    Ok(())
}

/// Runs the lines of a trace. Returns whether an answer differs from the file's.
fn trace(
    name: &str,
    input: Input,
    text: &mut String,
    output: &mut Output,
) -> Result<bool, Failure> {
    let mut replay = Replay::new();
    let (mut differs, mut answers) = (false, 0_u64);
    for line in lines(input) {
        let (place, line) = line?;
        let answer = replay.line(&line);
        let answer = answer.map_err(|error| Input::refuse(&place, error))?;
        let Some(answer) = answer else { continue };
        answers += 1;
        let _ = writeln!(text, "{name}: {}", answer.text.trim());
        if answer.comparison == Comparison::Different {
            differs = true;
            let _ = writeln!(text, "{name}: expected {}", line.trim());
        }
        if text.len() >= PAGE_BYTES {
            output.print(text)?;
            text.clear();
        }
    }
    if answers == 0 {
        return Err(Input::refuse(name, "asks for no answer"));
    }
    Ok(differs)
}

/// Runs a recording as the lines of a trace.
fn recording(
    name: &str,
    input: Input,
    source: &dyn Source,
    text: &mut String,
) -> Result<(), Failure> {
    let (symbol, claim) = (source.symbol(), source.min_entropy().as_256ths());
    let head = format!(
        "noise name={} symbol={} claim={claim}",
        source.name(),
        symbol.name()
    );
    let mut replay = Replay::new();
    let refuse = |error| Failure::work(format!("{name}: {error}"));
    replay.line(&head).map_err(refuse)?;
    let mut input = BufReader::new(input);
    let (mut piece, mut has_samples) = (Vec::new(), false);
    loop {
        piece.clear();
        let mut rest = Read::take(&mut input, PIECE_BYTES as u64);
        rest.read_to_end(&mut piece)
            .map_err(|error| Input::refuse(name, error))?;
        piece.truncate(piece.len() - piece.len() % symbol.bytes());
        if piece.is_empty() {
            break;
        }
        has_samples = true;
        let digits: String = piece.iter().map(|byte| format!("{byte:02x}")).collect();
        replay
            .line(&format!("samples data={digits}"))
            .map_err(refuse)?;
    }
    if !has_samples {
        return Err(Input::refuse(name, "there are no samples to test"));
    }
    if let Some(answer) = replay.line("health").map_err(refuse)? {
        let _ = writeln!(text, "{name}: {}", answer.text.trim());
    }
    Ok(())
}

// A source by its name.

/// The source with this name: one of this machine, `file:PATH` or `command:WORDS`.
fn source_named(name: &str) -> Result<Arc<dyn Source>, Failure> {
    #[cfg(unix)]
    if let Some(source) = source_of_operator(name)? {
        return Ok(source);
    }
    let all = wellspring_sources::all();
    let names: Vec<_> = all.iter().map(|source| source.name()).collect();
    let known = names.join(", ");
    let found = all.into_iter().find(|source| source.name() == name);
    found.ok_or_else(|| {
        Failure::input(format!(
            "no source is called '{name}'; there are {known}, file:PATH and command:WORDS"
        ))
    })
}

/// A file or a command.
#[cfg(unix)]
fn source_of_operator(name: &str) -> Result<Option<Arc<dyn Source>>, Failure> {
    let refuse = |error| Failure::input(format!("{name}: {error}"));
    if let Some(path) = name.strip_prefix("file:") {
        if path.is_empty() {
            return Err(Failure::input("file: names no file: expected file:PATH"));
        }
        // For the system's own message if the file is missing.
        let metadata = std::fs::metadata(path);
        metadata.map_err(|error| Failure::input(format!("{name}: {error}")))?;
        let file = NoiseFile::open(Path::new(path), MinEntropy::NONE).map_err(refuse)?;
        return Ok(Some(Arc::new(file)));
    }
    if let Some(words) = name.strip_prefix("command:") {
        let words: Vec<_> = words.split_whitespace().map(Into::into).collect();
        if words.is_empty() {
            return Err(Failure::input(
                "command: names no program: expected command:WORDS, such as 'command:rtl_sdr -'",
            ));
        }
        let command = NoiseCommand::new(words, MinEntropy::NONE).map_err(refuse)?;
        return Ok(Some(Arc::new(command)));
    }
    Ok(None)
}
