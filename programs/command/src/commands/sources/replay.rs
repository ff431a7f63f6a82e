//! `sources replay`.

use super::find::source_named;
use crate::failure::Failure;
use crate::input::{Input, lines};
use crate::output::Output;
use clap::Args;
use std::fmt::Write;
use std::io::{BufReader, Read};
use std::path::PathBuf;
use wellspring::Source;
use wellspring_replay::{Comparison, Replay};

/// A recording is tested in pieces of this length, the length of a draw.
const PIECE_BYTES: usize = 64;

/// Answers are written in pieces of about this length.
const PAGE_BYTES: usize = 64 << 10;

/// Run recorded noise through the health tests
///
/// Each FILE has the line format of vectors/noise/. Prints what the health tests decided for each source. If the file
/// has an answer too, the two are compared, and the exit status is 1 if one differs.
#[derive(Args)]
pub(super) struct ReplayRequest {
    /// Traces, or recordings with --raw; - is the standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The files are recordings of the source NAME, as `record` writes them
    #[arg(long, value_name = "NAME")]
    raw: Option<String>,
}

pub(super) fn run(request: &ReplayRequest) -> Result<(), Failure> {
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
