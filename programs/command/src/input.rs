//! The input of a command: a file, or the standard input for `-`.

use crate::failure::Failure;
use crate::standard_streams::{input_was_closed, own_input};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A file or the standard input, without a buffer.
pub(crate) struct Input {
    file: File,
    name: String,
}

impl Input {
    /// Opens a file; `-` is the standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Self::standard();
        }
        let name = path.display().to_string();
        match open_file(path) {
            Ok(file) => Ok(Self { file, name }),
            Err(error) => Err(Self::refuse(&name, error)),
        }
    }

    /// The standard input itself: the standard library's would take an error for its end.
    pub(crate) fn standard() -> Result<Self, Failure> {
        let name = "standard input".to_string();
        if input_was_closed() {
            return Err(Failure::input(format!("{name}: it is closed")));
        }
        match own_input() {
            Ok(file) => Ok(Self { file, name }),
            Err(error) => Err(Failure::input(format!("{name}: {error}"))),
        }
    }

    /// How messages name it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The error for bytes that were read and are invalid.
    pub(crate) fn refuse(name: &str, reason: impl Display) -> Failure {
        Failure::input(format!("{name}: {reason}"))
    }
}

/// The longest line that is read. The longest that has a meaning, a sample of 1 MiB in hexadecimal digits, has half of it.
const MAX_LINE_BYTES: u64 = 4 << 20;

/// The lines of a text, each with what messages name it: the input and the number. A line without an end does not fill the
/// memory.
pub(crate) fn lines(input: Input) -> impl Iterator<Item = Result<(String, String), Failure>> {
    let name = input.name.clone();
    let mut input = BufReader::new(input);
    (1..).map_while(move |number: u64| {
        let place = format!("{name}:{number}");
        let mut line = Vec::new();
        let mut rest = Read::take(&mut input, MAX_LINE_BYTES + 1);
        match rest.read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(Input::refuse(&name, error))),
        }
        if line.len() as u64 > MAX_LINE_BYTES {
            let reason = format!("a line is longer than {MAX_LINE_BYTES} bytes");
            return Some(Err(Input::refuse(&place, reason)));
        }
        if line.pop_if(|byte| *byte == b'\n').is_some() {
            line.pop_if(|byte| *byte == b'\r');
        }
        let line = String::from_utf8(line).map_err(|_| Input::refuse(&place, "is not text"));
        Some(line.map(|line| (place, line)))
    })
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

/// Opens a file to read it. A folder would open too, and fail at the first read.
fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        #[cfg(unix)]
        return Err(rustix::io::Errno::ISDIR.into());
        #[cfg(not(unix))]
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}

/// Refuses a path whose folder does not exist: the argument is wrong, not the work.
pub(crate) fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    match std::fs::metadata(Path::new(".").join(folder).join(".")) {
        Ok(_) => Ok(()),
        Err(error) => Err(Input::refuse(&path.display().to_string(), error)),
    }
}

/// Makes the folder of a file that is to be written, if only this last folder is missing. Refuses a path whose folder
/// does not exist and cannot be made.
pub(crate) fn make_folder(path: &Path, mode: u32) -> Result<(), Failure> {
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        // The reason for a failure is the one of `check_folder`.
        #[allow(unused_mut)] // Windows has no modes.
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        #[cfg(not(unix))]
        let _ = mode;
        let _ = builder.create(folder);
    }
    check_folder(path)
}
