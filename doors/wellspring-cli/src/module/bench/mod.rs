//! `bench --kernel`: what reads from the kernel module cost, on this machine.
//!
//! ```text
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
mod readers;
mod report;
mod requests;

use super::open::{DEVICE, TEST_DEVICE, open_device};
use crate::failure::Failure;
use crate::output::Output;
use modes::ModeGuard;
use std::path::Path;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy)]
struct Pace {
    rounds: usize,
    /// The time of one case in one round.
    slice: Duration,
    /// Requests inside the kernel, of one kind in one round.
    requests: u32,
}

/// All figures.
struct Figures {
    readers: readers::Grid,
    nodes: Vec<nodes::Row>,
    /// Nothing without the module of the tests.
    requests: Vec<requests::Row>,
}

/// Measures, prints, and writes JSON to a file.
pub(crate) fn bench(is_quick: bool, json: Option<&Path>) -> Result<(), Failure> {
    open_device(DEVICE, "wellspring")?;
    // Before the measurement: a wrong path must not cost a minute.
    let file = json.map(Output::create_public).transpose()?;
    let mut output = Output::standard()?;
    let pace = if is_quick {
        Pace {
            rounds: 1,
            slice: Duration::from_millis(20),
            requests: 1000,
        }
    } else {
        Pace {
            rounds: 7,
            slice: Duration::from_millis(100),
            requests: 20_000,
        }
    };
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
