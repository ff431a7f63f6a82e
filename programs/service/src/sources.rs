//! The sources as an operator sees them: which of them work, and what is wrong with the others.

use wellspring::{SourceError, SourceHealth, SourceStats};

/// A draw that takes longer than this hangs: a sound one ends within 10 ms.
const HANGS_AFTER_MS: u64 = 1000;

/// The draws in a row that may yield nothing without an error and without a fault: on a machine with 37 threads ready
/// on 2 CPUs, the source `wakeups` yields nothing for some seconds.
const EMPTY_DRAWS: u64 = 15;

/// The state of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceState {
    /// It yields noise that passes its tests, or it is in its start-up test.
    Working,
    /// This machine has no such device, and never had while the service ran.
    Absent,
    /// It yields nothing.
    Silent,
    /// A draw does not end.
    Hanging,
    /// It failed a health test, and is tested again.
    Quarantined,
    /// It failed its health tests for good.
    Disabled,
}

impl SourceState {
    /// All states.
    pub(crate) const ALL: [Self; 6] = [
        Self::Working,
        Self::Absent,
        Self::Silent,
        Self::Hanging,
        Self::Quarantined,
        Self::Disabled,
    ];

    /// The state that these statistics show. It depends on nothing else, so that a source that was silent before the
    /// first look is found by that look.
    pub(crate) fn of(source: &SourceStats) -> Self {
        let has_yielded = source.bytes + source.discarded_bytes > 0;
        match (source.health, source.last_error) {
            (SourceHealth::Disabled, _) => Self::Disabled,
            _ if source.drawing_for_ms > HANGS_AFTER_MS => Self::Hanging,
            _ if source.empty_draws == 0 => Self::tested(source.health),
            (_, Some(SourceError::Absent)) if !has_yielded => Self::Absent,
            (_, None | Some(SourceError::Busy)) if source.empty_draws <= EMPTY_DRAWS => {
                Self::tested(source.health)
            }
            _ => Self::Silent,
        }
    }

    fn tested(health: SourceHealth) -> Self {
        match health {
            SourceHealth::Quarantined => Self::Quarantined,
            SourceHealth::Disabled => Self::Disabled,
            SourceHealth::Active | SourceHealth::StartUp => Self::Working,
        }
    }

    /// The name in reports and metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Absent => "absent",
            Self::Silent => "silent",
            Self::Hanging => "hanging",
            Self::Quarantined => "quarantined",
            Self::Disabled => "disabled",
        }
    }

    /// Whether an operator should look at it.
    pub(crate) const fn is_fault(self) -> bool {
        !matches!(self, Self::Working | Self::Absent)
    }
}

/// The problem that a source has now, in a sentence.
pub(crate) fn problem(source: &SourceStats) -> Option<String> {
    let name = source.name;
    match SourceState::of(source) {
        SourceState::Working | SourceState::Absent => None,
        SourceState::Silent => {
            let reason = source
                .last_error
                .map_or("it returns no byte".into(), |error| error.to_string());
            let draws = source.empty_draws;
            Some(format!(
                "The source {name} is silent: {reason}, {draws} draws in a row."
            ))
        }
        SourceState::Hanging => Some(format!(
            "The source {name} hangs: a draw has not ended for {} ms.",
            source.drawing_for_ms
        )),
        SourceState::Quarantined => Some(format!(
            "The source {name} failed a health test. It is not used until 1024 samples pass."
        )),
        SourceState::Disabled => Some(format!(
            "The source {name} failed its health tests permanently. It is not used until the service starts again."
        )),
    }
}

/// Looks at the sources again and again, and tells of changes.
#[derive(Debug, Default)]
pub struct SourceWatch {
    /// Empty before the first look: a source is expected to work.
    last: Vec<SourceState>,
}

impl SourceWatch {
    /// Returns a line for each source whose state has changed since the last call, and whether that is a fault. At the
    /// first call for each that does not work.
    pub fn changes(&mut self, sources: &[SourceStats]) -> Vec<(bool, String)> {
        let now: Vec<SourceState> = sources.iter().map(SourceState::of).collect();
        let before = self
            .last
            .iter()
            .copied()
            .chain(core::iter::repeat(SourceState::Working));
        let all = sources.iter().zip(&now).zip(before);
        let changed = all.filter(|((_, now), before)| **now != *before);
        let changes = changed.map(|((source, now), before)| {
            let (name, state, before) = (source.name, now.name(), before.name());
            let words = problem(source)
                .unwrap_or_else(|| format!("The source {name} is {state}, it was {before}."));
            (now.is_fault(), words)
        });
        let changes = changes.collect();
        self.last = now;
        changes
    }
}
