//! The cost of reads from the kernel module, on this machine.
//!
//! ```text
//! pace       how much is measured, and the median over the rounds
//! modes      the module's mode, set for a while
//! locks      how often a read took the lock of a node
//! readers    threads that read a device file
//! nodes      readers on the CPUs of 1 to 4 NUMA nodes
//! requests   requests inside the kernel, and a loop that writes blocks
//! report     the figures as tables
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

use crate::open::{DEVICE, Failure, TEST_DEVICE, open_device};
use modes::ModeGuard;
pub(crate) use pace::{FULL, Pace, QUICK};
use report::Figures;

/// Measures and prints.
pub(crate) fn run(pace: Pace) -> Result<(), Failure> {
    open_device(DEVICE, "wellspring")?;
    let tests = open_device(TEST_DEVICE, "wellspring_test")?;
    let mode = ModeGuard::new()?;
    let figures = Figures {
        readers: readers::measure(pace, &mode)?,
        nodes: nodes::measure(pace, &mode)?,
        requests: requests::measure(&tests, pace, &mode)?,
    };
    print!("{}", report::text(&figures));
    Ok(())
}
