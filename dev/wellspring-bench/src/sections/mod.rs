//! The sections of a report's page, as drawings.
//!
//! ```text
//! costs    small reads and long ones, beside others: bars
//! sizes    throughput by size: lines
//! threads  one thread and many
//! latency  the distribution of single reads
//! ```

mod costs;
mod latency;
mod modes;
mod sizes;
mod threads;

use crate::page::Section;
use crate::report::Report;
pub use modes::MODES;

/// Every section of `report`, the u64 first. Sections of what was not measured have no drawings.
#[must_use]
pub fn of(report: &Report) -> Vec<Section> {
    vec![
        costs::small(report),
        costs::long(report),
        sizes::section(report),
        threads::section(report),
        latency::section(report),
        costs::backends(report),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn drawn(report: &Report) -> Vec<String> {
        let sections = of(report)
            .into_iter()
            .filter(|section| !section.drawings.is_empty());
        sections.map(|section| section.title).collect()
    }

    #[test]
    fn a_full_report_has_a_drawing_in_every_section() {
        assert_eq!(drawn(&sample::report()).len(), of(&sample::report()).len());
    }

    #[test]
    fn a_run_of_one_section_draws_that_one_alone() {
        let mut partial = sample::report();
        partial.measurements.clear();
        assert_eq!(drawn(&partial), ["Latency of a 32-byte read"]);
    }

    #[test]
    fn no_name_becomes_markup() {
        let drawings = of(&sample::report())
            .into_iter()
            .flat_map(|section| section.drawings);
        let svg: String = drawings.map(|drawing| drawing.inline()).collect();
        assert!(svg.contains("&lt;b&gt;&amp;&quot;peer&quot;") && !svg.contains("<b>"));
    }
}
