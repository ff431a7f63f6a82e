//! A self-test: its name and its outcome.

/// A self-test.
pub(super) struct Check {
    name: String,
    run: Box<dyn Fn() -> Outcome>,
}

/// How a self-test ended.
pub(super) type Outcome = Result<(), Stop>;

/// The reason why a self-test did not pass.
pub(super) enum Stop {
    Failed(String),
    /// This machine cannot run it.
    Skipped(String),
}

impl Check {
    pub(super) fn new(name: impl Into<String>, run: impl Fn() -> Outcome + 'static) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Runs the test.
    pub(super) fn run(&self) -> Outcome {
        (self.run)()
    }

    /// Whether `name` is its name, or the part of it before the slash.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name
            || self
                .name
                .split_once('/')
                .is_some_and(|(group, _)| group == name)
    }
}

pub(super) fn failed(reason: impl Into<String>) -> Outcome {
    Err(Stop::Failed(reason.into()))
}

pub(super) fn skipped(reason: impl Into<String>) -> Outcome {
    Err(Stop::Skipped(reason.into()))
}

/// A test that failed because of an error of the system.
pub(super) fn broken(what: &str, error: impl std::fmt::Display) -> Stop {
    Stop::Failed(format!("{what}: {error}"))
}
