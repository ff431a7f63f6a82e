//! How a run ends that does not end well.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Why a command stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user asked for something that cannot be: status 2.
    Input(String),
    /// The kernel module that it is about is not loaded: status 3.
    NoModule(String),
    /// Something went wrong at work: status 1.
    Work(String),
    /// The same, and the output says all about it.
    Reported,
    /// The reader of our pipe has had enough. That is how `| head` works, and no error.
    ReaderGone,
}

impl Failure {
    pub(crate) fn input(reason: impl Display) -> Self {
        Self::Input(reason.to_string())
    }

    pub(crate) fn work(reason: impl Display) -> Self {
        Self::Work(reason.to_string())
    }

    /// Says it in one line on stderr, and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::Input(reason) => {
                say(&format!("wellspring: {reason}"));
                ExitCode::from(2)
            }
            Failure::NoModule(reason) => {
                say(&format!("wellspring: {reason}"));
                ExitCode::from(3)
            }
            Failure::Work(reason) => {
                say(&format!("wellspring: {reason}"));
                ExitCode::FAILURE
            }
            Failure::Reported => ExitCode::FAILURE,
            Failure::ReaderGone => ExitCode::SUCCESS,
        }
    }
}

/// One line on stderr, whatever is in `text`: a file's name may hold line breaks and escape sequences.
pub(crate) fn say(text: &str) {
    let mut line = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        match character.is_control() {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    line.push('\n');
    // There is no place left to report that stderr is closed.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
