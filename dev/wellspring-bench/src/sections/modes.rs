//! The order of the modes in charts.

use wellspring::Mode;

/// The modes with the default one first, so that it has the same colour in every chart.
pub const MODES: [Mode; 4] = [
    Mode::PerThread,
    Mode::PerNode,
    Mode::Concurrent,
    Mode::Canonical,
];
