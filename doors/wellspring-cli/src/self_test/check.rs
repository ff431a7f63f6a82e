//! A self-test: its name and its outcome.

/// A self-test.
pub(crate) struct Check {
    name: String,
    run: Box<dyn Fn() -> Result<String, Stop>>,
}

/// How a self-test ended.
pub(crate) type Outcome = Result<(), Stop>;

/// The reason why a self-test did not pass.
pub(crate) enum Stop {
    Failed(String),
    /// This machine cannot run it.
    Skipped(String),
}

impl Check {
    pub(crate) fn new(name: impl Into<String>, run: impl Fn() -> Outcome + 'static) -> Self {
        Self::with_figures(name, move || run().map(|()| String::new()))
    }

    /// A test that returns figures when it passes.
    pub(crate) fn with_figures(
        name: impl Into<String>,
        run: impl Fn() -> Result<String, Stop> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs the test.
    pub(crate) fn run(&self) -> Result<String, Stop> {
        (self.run)()
    }

    /// Whether `name` is its name, or the part of it before the slash.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name
            || self
                .name
                .split_once('/')
                .is_some_and(|(group, _)| group == name)
    }
}

pub(crate) fn failed(reason: impl Into<String>) -> Outcome {
    Err(Stop::Failed(reason.into()))
}

pub(crate) fn skipped(reason: impl Into<String>) -> Outcome {
    Err(Stop::Skipped(reason.into()))
}

/// A test that failed because of an error of the system.
pub(crate) fn broken(what: &str, error: impl std::fmt::Display) -> Stop {
    Stop::Failed(format!("{what}: {error}"))
}
