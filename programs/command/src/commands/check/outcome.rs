//! A self-test: its name, its outcome, and the comparison that most of them end with: no 16 bytes twice.

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

// No 16 bytes twice.

/// The size of the blocks that are compared: among a million random blocks, two are equal with a probability of about 10^-27.
pub(super) const BLOCK_BYTES: usize = 16;

/// Passes if no block occurs twice among all of the reads, and none is all zeros.
pub(super) fn are_distinct<'a>(reads: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let blocks = |read: &'a [u8]| read.as_chunks::<BLOCK_BYTES>().0;
    let mut blocks: Vec<u128> = reads
        .into_iter()
        .flat_map(blocks)
        .map(|&block| u128::from_le_bytes(block))
        .collect();
    blocks.sort_unstable();
    if blocks.first() == Some(&0) {
        return failed("16 zero bytes were returned");
    }
    match blocks.windows(2).filter(|pair| pair[0] == pair[1]).count() {
        0 => Ok(()),
        repetitions => failed(format!(
            "{repetitions} of {} blocks of 16 bytes came twice",
            blocks.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_and_zeros_are_found_wherever_they_are() {
        let read: Vec<u8> = (1..=64).collect();
        assert!(are_distinct([&read[..]]).is_ok());
        assert!(are_distinct([&read[..], &read[48..]]).is_err());
        assert!(are_distinct([&[7; 32][..]]).is_err());
        assert!(are_distinct([&read[..], &[0; 16]]).is_err());
    }
}
