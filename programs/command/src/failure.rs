//! Errors and exit codes.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// The reason why a command stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments or an input file are wrong: status 2.
    Input(String),
    /// The command needs the kernel module, which is not loaded: status 3.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    NoModule(String),
    /// An error while the command worked: status 1.
    Work(String),
    /// Status 1; the output has said why.
    Reported,
    /// The reader of our pipe has closed it, as `head` does: status 0.
    ReaderGone,
}

impl Failure {
    pub(crate) fn input(reason: impl Display) -> Self {
        Self::Input(reason.to_string())
    }

    pub(crate) fn work(reason: impl Display) -> Self {
        Self::Work(reason.to_string())
    }

    /// Writes the reason as one line to stderr, and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        let (status, reason) = match self {
            Failure::Input(reason) => (2, reason),
            Failure::NoModule(reason) => (3, reason),
            Failure::Work(reason) => (1, reason),
            Failure::Reported => return ExitCode::FAILURE,
            Failure::ReaderGone => return ExitCode::SUCCESS,
        };
        say(&format!("wellspring: {reason}"));
        ExitCode::from(status)
    }
}

/// One line on stderr, whatever is in `text`: a file's name may hold line breaks and escape sequences.
pub(crate) fn say(text: &str) {
    let mut line = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line.push('\n');
    // If stderr is closed there is no other place for the message.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
