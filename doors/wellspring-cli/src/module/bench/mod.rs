//! `bench --kernel`: what reads from the kernel module cost, on this machine.
//!
//! ```text
//! pace       how much is measured
//! modes      the module's mode, set for a while
//! locks      how often a read took the lock of a node
//! readers    threads that read a device file
//! nodes      readers on the CPUs of 1 to 4 NUMA nodes
//! requests   requests inside the kernel, and a loop that writes blocks; needs the module of the tests
//! report     the figures as tables and as JSON
//! ```
//!
//! All cases of a part have their turn in every round. A figure is the median over the rounds.

mod locks;
mod modes;
mod nodes;
mod pace;
mod readers;
mod report;
mod requests;

use super::open::{DEVICE, TEST_DEVICE, open_device};
use crate::failure::Failure;
use crate::output::Output;
use modes::ModeGuard;
use pace::Pace;
use report::Figures;
use std::path::Path;

/// Measures, prints, and writes JSON to a file.
pub(crate) fn bench(is_quick: bool, json: Option<&Path>) -> Result<(), Failure> {
    open_device(DEVICE, "wellspring")?;
    // Before the measurement: a wrong path must not cost a minute.
    let file = json.map(Output::create_public).transpose()?;
    let mut output = Output::standard()?;
    let pace = if is_quick { Pace::QUICK } else { Pace::FULL };
    let mode = ModeGuard::new()?;
    let figures = Figures {
        readers: readers::measure(pace, &mode)?,
        nodes: nodes::measure(pace, &mode)?,
        requests: match open_device(TEST_DEVICE, "wellspring_test") {
            Ok(tests) => requests::measure(&tests, pace, &mode)?,
            Err(_) => Vec::new(),
        },
    };
    drop(mode);
    if let Some(mut file) = file {
        file.print(&format!("{:#}\n", report::json(&figures)))?;
    }
    output.print(&report::text(&figures))
}
