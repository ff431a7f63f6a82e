//! A source by its name.

use crate::failure::Failure;
use std::sync::Arc;
use wellspring::Source;
#[cfg(unix)]
use {
    std::path::Path,
    wellspring::MinEntropy,
    wellspring_sources::{NoiseCommand, NoiseFile},
};

/// The source with this name: one of this machine, `file:PATH` or `command:WORDS`.
pub(super) fn source_named(name: &str) -> Result<Arc<dyn Source>, Failure> {
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
