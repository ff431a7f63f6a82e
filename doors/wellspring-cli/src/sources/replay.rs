//! `sources replay`.

use super::{ReplayRequest, named};
use crate::failure::Failure;
use crate::output::Output;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use wellspring::Source;
use wellspring::replay::{Comparison, Replay, run as replay};

/// What a recording is judged in: the samples of a draw.
const PIECE_BYTES: usize = 64;

pub(super) fn run(request: &ReplayRequest) -> Result<(), Failure> {
    let source = request.raw.as_deref().map(named).transpose()?;
    let mut output = Output::standard()?;
    let mut differs = false;
    for path in &request.files {
        let file = File::open(path).map_err(|error| fail(path, &error))?;
        let mut text = String::new();
        match &source {
            Some(source) => recording(path, file, &**source, &mut text)?,
            None => {
                let report = |_: usize, line: &str, answer: &wellspring::replay::Answer| {
                    let _ = writeln!(text, "{}: {}", path.display(), answer.text.trim());
                    if answer.comparison == Comparison::Different {
                        differs = true;
                        let _ = writeln!(text, "{}: expected {}", path.display(), line.trim());
                    }
                };
                let summary = replay(Replay::new(), BufReader::new(file), report);
                summary.map_err(|(number, error)| {
                    Failure::input(format!("{}:{number}: {error}", path.display()))
                })?;
            }
        }
        output.print(&text)?;
    }
    match differs {
        true => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Turns a recording into the lines of a trace, one after the other.
fn recording(
    path: &Path,
    file: File,
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
    let refuse = |error| Failure::work(format!("{}: {error}", path.display()));
    replay.line(&head).map_err(refuse)?;
    let mut file = BufReader::new(file);
    let mut piece = Vec::new();
    loop {
        piece.clear();
        let mut rest = Read::take(&mut file, PIECE_BYTES as u64);
        rest.read_to_end(&mut piece)
            .map_err(|error| fail(path, &error))?;
        piece.truncate(piece.len() - piece.len() % symbol.bytes());
        if piece.is_empty() {
            break;
        }
        let digits: String = piece.iter().map(|byte| format!("{byte:02x}")).collect();
        replay
            .line(&format!("samples data={digits}"))
            .map_err(refuse)?;
    }
    if let Some(answer) = replay.line("health").map_err(refuse)? {
        let _ = writeln!(text, "{}: {}", path.display(), answer.text.trim());
    }
    Ok(())
}

fn fail(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("{}: {error}", path.display()))
}
