//! The progress bar.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on stderr; a line for runs without an end; or nothing.
pub(super) struct Progress(Option<ProgressBar>);

impl Progress {
    pub(super) fn new(size_bytes: Option<u64>, is_shown: bool) -> Self {
        if !is_shown {
            return Self(None);
        }
        let (bar, template) = match size_bytes {
            Some(bytes) => (
                ProgressBar::new(bytes),
                "[{bar:30}] {binary_bytes} of {binary_total_bytes}, {decimal_bytes_per_sec}, ETA {eta}",
            ),
            None => (
                ProgressBar::new_spinner(),
                "{binary_bytes}, {decimal_bytes_per_sec}, {elapsed}",
            ),
        };
        let style = ProgressStyle::with_template(template).expect("the template is fixed");
        Self(Some(bar.with_style(style.progress_chars("=> "))))
    }

    pub(super) fn add(&self, bytes: usize) {
        if let Some(bar) = &self.0 {
            bar.inc(bytes as u64);
        }
    }

    /// Leaves the bar on the screen and moves the cursor to the next line.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.abandon();
        }
    }
}
