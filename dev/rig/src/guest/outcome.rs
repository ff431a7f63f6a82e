//! How a run ends: a result, a failure, or something that is missing on this machine.

/// The reason why there is no result, or a bad one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// This machine cannot run it: a program is missing, or Debian's archive is out of reach.
    Missing(String),
    /// It ran, and something is wrong.
    Failed(String),
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Stop::Failed(reason)
    }
}

/// The result of anything that a rig does.
pub(crate) type Result<T = ()> = std::result::Result<T, Stop>;

/// A failure, with its reason.
pub(crate) fn failed<T>(reason: impl Into<String>) -> Result<T> {
    Err(Stop::Failed(reason.into()))
}

/// Turns an error of the operating system into a failure that names `what` was used.
pub(crate) fn at(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Stop {
    move |error| Stop::Failed(format!("{what}: {error}"))
}

/// The result of a whole command. What is missing is printed as SKIPPED and is not a failure.
pub(crate) fn verdict(result: Result) -> std::result::Result<(), String> {
    match result {
        Ok(()) => Ok(()),
        Err(Stop::Missing(reason)) => {
            println!("SKIPPED: {reason}");
            Ok(())
        }
        Err(Stop::Failed(reason)) => Err(reason),
    }
}
