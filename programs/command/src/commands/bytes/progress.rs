//! The progress bar.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on stderr; a line for runs without an end; or nothing.
pub(super) fn progress(size_bytes: Option<u64>, is_shown: bool) -> ProgressBar {
    let (bar, template) = match size_bytes {
        _ if !is_shown => return ProgressBar::hidden(),
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
    bar.with_style(style.progress_chars("=> "))
}
